"""Pseudo-log-likelihood of weights, without grounding.

The pseudo-log-likelihood is the sum over ground atoms of the log-probability of the atom's truth
value given all others; the weighted form (Kok & Domingos 2005) takes each predicate's mean instead.
An atom's conditional log-odds is ``weights @ flip counts``, so both are sums over distinct
flip-count vectors with multiplicities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mlnlearn.counting.flip_tables import Flips
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.query import Engine
from mlnlearn.counting.stack import Stack
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import Formula, atoms_of
from mlnlearn.weights.blocks import compress_blocks
from mlnlearn.weights.compress import compress
from mlnlearn.weights.data import refuse_unknown, refuse_violations
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.rows import Numbers, RowBlocks, RowLikelihood, Rows


@dataclass(frozen=True)
class PseudoLikelihood:
    """Pseudo-log-likelihood of the weights of some formulas; a `Curved` objective.

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
        return self._sum(weights)

    def value(self, weights: Floats) -> float:
        """Return the pseudo-log-likelihood."""
        return self._sum.value(weights)

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian."""
        return self._sum.derivatives(weights)

    @cached_property
    def _sum(self) -> RowLikelihood:
        """The contributions of the predicates."""
        stack = self.engine.stack
        refuse_unknown(stack.databases)
        refuse_violations(self.engine, self.hard)
        wanted = stack.schema.predicates if self.predicates is None else self.predicates
        return RowLikelihood([self._rows(predicate) for predicate in wanted])

    def _rows(self, predicate: Predicate) -> Rows:
        stack = self.engine.stack
        exclusive = tuple(stack.schema.functional.get(predicate.name, ()))
        involved = [
            number
            for number, formula in enumerate(self.formulas)
            if any(atom.predicate == predicate for atom in atoms_of(formula))
        ]
        flips = [
            flip_counts(self.engine, formula, predicate, exclusive)
            for formula in (*(self.formulas[n] for n in involved), *self.hard)
        ]
        rows = grouped(stack, predicate, flips, np.array(involved, np.int64))
        scale = np.ones(len(stack)) if self.shares is None else np.array(self.shares)
        return rows.weighed(scale * one_conditional(stack, predicate) if self.weighted else scale)


def one_conditional(stack: Stack, predicate: Predicate) -> Floats:
    """Return the weight of one atom, or block of atoms, in each database: one over their number."""
    exclusive = stack.schema.functional.get(predicate.name, ())
    types = [kind for place, kind in enumerate(predicate.types) if place not in exclusive]
    return 1.0 / np.maximum([float(total) for total in stack.ground_atoms(types)], 1.0)


def grouped(stack: Stack, predicate: Predicate, flips: Sequence[Flips], features: Numbers) -> Rows:
    """Return the rows of a predicate's atoms, or blocks, that no hard formula decides.

    Parameters
    ----------
    stack
        The data.
    predicate
        The predicate.
    flips
        Flip counts of the features, then those of the hard formulas.
    features
        The numbers of the features.

    Returns
    -------
    Rows
        With weights by database: how many atoms, or blocks, each has.
    """
    exclusive = tuple(stack.schema.functional.get(predicate.name, ()))
    if exclusive:
        rows = compress_blocks(stack, predicate, exclusive, flips)
    else:
        rows = compress(stack, predicate, flips)
    soft, hard = rows.counts[:, : len(features)], rows.counts[:, len(features) :]
    rows = replace(rows, features=features, counts=soft)
    return _undecided(rows, np.asarray(hard.sum(axis=1)).ravel()) if hard.shape[1] else rows


def _undecided(rows: Rows, held: Floats) -> Rows:
    """Drop the atoms that hard formulas decide, and the values that they make impossible.

    Parameters
    ----------
    rows
        All rows, of which those of a block are its own.
    held
        Of each row, how many more hard groundings hold with its atom than without.
    """
    # every hard grounding holds in the data: an atom that one depends on is decided, and of a
    # block only the values that are as good as the true one are possible
    if rows.blocks is None:
        kept = np.flatnonzero(held == 0)
        return replace(rows, counts=rows.counts[kept], true=rows.true[kept], total=rows.total[kept])
    chosen, starts = rows.true.sum(axis=1) > 0, rows.blocks.starts
    possible = held == np.repeat(held[chosen], rows.blocks.lengths)
    kept = np.flatnonzero(possible)
    lengths = np.add.reduceat(possible, starts, dtype=np.int64) if len(starts) else starts
    blocks = RowBlocks(np.arange(len(kept)), np.cumsum(lengths) - lengths)
    return replace(rows, counts=rows.counts[kept], true=rows.true[kept], blocks=blocks)
