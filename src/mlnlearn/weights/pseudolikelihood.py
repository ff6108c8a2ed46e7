"""Pseudo-log-likelihood of weights, without grounding.

The pseudo-log-likelihood is the sum over ground atoms of the log-probability of the atom's truth
value given all others; the weighted form (Kok & Domingos 2005) takes each predicate's mean instead.
An atom's conditional log-odds is ``weights @ flip counts``, so both are sums over distinct
flip-count vectors with multiplicities.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.counting.flips import Flips, flip_counts
from mlnlearn.counting.query import Engine
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import Formula, atoms_of
from mlnlearn.weights.blocks import Blocks, compress_blocks
from mlnlearn.weights.compress import Rows, compress
from mlnlearn.weights.data import refuse_unknown, refuse_violations
from mlnlearn.weights.objective import Floats

_DENSE_LIMIT = 1 << 22


@dataclass(frozen=True, slots=True)
class AtomTerm:
    """Contribution of a predicate's single atoms: a weighted logistic log-likelihood."""

    features: NDArray[np.int64]
    counts: Floats | csr_array
    true: Floats
    false: Floats

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return value and gradient with respect to the term's own features."""
        odds = self.counts @ weights[self.features]
        value = -float(self.true @ np.logaddexp(0.0, -odds) + self.false @ np.logaddexp(0.0, odds))
        probability = 0.5 * (1.0 + np.tanh(0.5 * odds))
        residual = self.true * (1.0 - probability) - self.false * probability
        return value, self.counts.T @ residual


@dataclass(frozen=True, slots=True)
class BlockTerm:
    """Contribution of a predicate's exclusive blocks: a weighted softmax log-likelihood."""

    features: NDArray[np.int64]
    counts: Floats | csr_array
    starts: NDArray[np.int64]
    chosen: NDArray[np.int64]
    size: Floats

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return value and gradient with respect to the term's own features."""
        scores = self.counts @ weights[self.features]
        lengths = np.diff(np.append(self.starts, len(scores)))
        highest = np.maximum.reduceat(scores, self.starts)
        shifted = np.exp(scores - np.repeat(highest, lengths))
        sums = np.add.reduceat(shifted, self.starts)
        value = float(self.size @ (scores[self.chosen] - highest - np.log(sums)))
        residual = -shifted / np.repeat(sums, lengths) * np.repeat(self.size, lengths)
        residual[self.chosen] += self.size
        return value, self.counts.T @ residual


@dataclass(frozen=True)
class PseudoLikelihood:
    """Pseudo-log-likelihood of the weights of some formulas; an `Objective`.

    Attributes
    ----------
    engine
        The data.
    formulas
        The features, one weight each.
    weighted
        Whether each predicate counts by its mean in each database (WPLL) or by its sum (PLL).
    predicates
        Predicates whose atoms are predicted; by default all.
    hard
        Formulas that must hold: atoms they decide take no part.
    shares
        How much each database counts; by default 1.

    Examples
    --------
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> facts, people = {"smokes": [("Anna",)]}, {"person": ["Anna", "Bob", "Carl"]}
    >>> engine = MemoryEngine([Database.from_facts(schema, facts, domains=people)])
    >>> objective = PseudoLikelihood(engine, (schema["smokes"]("x"),), weighted=False)
    >>> value, gradient = objective(np.array([0.0]))
    >>> round(value, 6), gradient.tolist()
    (-2.079442, [-0.5])
    """

    engine: Engine
    formulas: tuple[Formula, ...]
    weighted: bool = True
    predicates: tuple[Predicate, ...] | None = None
    hard: tuple[Formula, ...] = ()
    shares: tuple[float, ...] | None = None

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the pseudo-log-likelihood and its gradient."""
        total, gradient = 0.0, np.zeros(len(self.formulas))
        for term in self.terms.values():
            value, slope = term(weights)
            total += value
            gradient[term.features] += slope
        return total, gradient

    @property
    def targets(self) -> tuple[Predicate, ...]:
        """The predicates whose atoms are predicted."""
        if self.predicates is None:
            return self.engine.stack.schema.predicates
        return self.predicates

    @cached_property
    def terms(self) -> dict[str, AtomTerm | BlockTerm]:
        """The contribution of each predicate."""
        refuse_unknown(self.engine.stack.databases)
        refuse_violations(self.engine, self.hard)
        return {predicate.name: self._term(predicate) for predicate in self.targets}

    def extended(self, formula: Formula) -> PseudoLikelihood:
        """Return the objective with one more formula; only predicates in it are counted anew."""
        longer = replace(self, formulas=(*self.formulas, formula))
        touched = {atom.predicate.name for atom in atoms_of(formula)}
        longer.__dict__["terms"] = {
            predicate.name: longer._term(predicate)
            if predicate.name in touched
            else self.terms[predicate.name]
            for predicate in self.targets
        }
        return longer

    def _term(self, predicate: Predicate) -> AtomTerm | BlockTerm:
        stack = self.engine.stack
        exclusive = tuple(stack.schema.functional.get(predicate.name, ()))
        involved = [
            number
            for number, formula in enumerate(self.formulas)
            if any(atom.predicate == predicate for atom in atoms_of(formula))
        ]
        flips = self._flips(predicate, (self.formulas[n] for n in involved), exclusive)
        if self.hard:
            flips += self._flips(predicate, self.hard, exclusive)
        features = np.array(involved, np.int64)
        scale = self._scale(predicate)
        if exclusive:
            blocks = undecided_blocks(
                compress_blocks(stack, predicate, exclusive, flips), len(features)
            )
            return BlockTerm(
                features, handy(blocks.counts), blocks.starts, blocks.chosen, blocks.size @ scale
            )
        rows = undecided_rows(compress(stack, predicate, flips), len(features))
        return AtomTerm(features, handy(rows.counts), rows.true @ scale, rows.false @ scale)

    def _flips(
        self, predicate: Predicate, formulas: Iterable[Formula], exclusive: tuple[int, ...]
    ) -> list[Flips]:
        return [flip_counts(self.engine, f, predicate, exclusive) for f in formulas]

    def _scale(self, predicate: Predicate) -> Floats:
        """Return the weight of one conditional in each database."""
        stack = self.engine.stack
        shares = np.ones(len(stack)) if self.shares is None else np.array(self.shares)
        if not self.weighted:
            return shares
        exclusive = stack.schema.functional.get(predicate.name, ())
        types = [kind for place, kind in enumerate(predicate.types) if place not in exclusive]
        sizes = np.array([float(total) for total in stack.ground_atoms(types)])
        return np.where(sizes > 0, shares / np.maximum(sizes, 1.0), 0.0)


def undecided_rows(rows: Rows, features: int) -> Rows:
    """Return the rows of atoms that no hard formula decides; counts of those stand last."""
    soft, hard = rows.counts[:, :features], rows.counts[:, features:]
    # every hard grounding holds in the data, so an atom that one depends on is decided
    decided = np.asarray(hard.sum(axis=1)).ravel()
    keep = np.flatnonzero(decided == 0)
    return Rows(soft[keep], rows.true[keep], rows.false[keep])


def undecided_blocks(blocks: Blocks, features: int) -> Blocks:
    """Return the blocks with those of their values that hard formulas leave possible."""
    soft, hard = blocks.counts[:, :features], blocks.counts[:, features:]
    satisfied = np.asarray(hard.sum(axis=1)).ravel()
    lengths = np.diff(np.append(blocks.starts, len(satisfied)))
    needed = np.repeat(satisfied[blocks.chosen], lengths)
    possible = satisfied == needed
    place = np.cumsum(possible) - 1
    kept = np.add.reduceat(possible, blocks.starts) if len(lengths) else lengths
    starts = np.cumsum(kept) - kept
    return Blocks(soft[np.flatnonzero(possible)], starts, place[blocks.chosen], blocks.size)


def handy(counts: csr_array) -> Floats | csr_array:
    """Return a small matrix in dense form, where products are faster."""
    rows, columns = counts.shape
    if rows * columns > _DENSE_LIMIT:
        return counts
    dense: Floats = counts.toarray()
    return dense
