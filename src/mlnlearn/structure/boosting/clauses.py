"""Beam search for one Horn clause that fits the gradients (algorithm 1 of Khot et al. 2011)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.pattern import Body, renamed
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Leaf
from mlnlearn.structure.boosting.class_regression import AnyRegression
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.regression import Floats, Mask, Regression
from mlnlearn.structure.boosting.scoring import CandidateScores, node_sums
from mlnlearn.threads import in_slices

_SMALLEST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class ClauseSettings:
    """Limits of the search.

    Attributes
    ----------
    length
        Most literals in a body.
    beam
        Most clauses kept for expansion.
    number
        Clauses learned in a row, gradients being updated after each.
    min_examples
        Fewest training examples that a body must cover.
    existential
        Whether a clause counts once, not once a grounding.
    """

    length: int = 3
    beam: int = 10
    number: int = 3
    min_examples: int = 6
    existential: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A clause and the examples whose potentials it changes.

    Attributes
    ----------
    clause
        The clause.
    counts
        Per example of the pool, what the weight is multiplied by.
    """

    clause: HornClause
    counts: NDArray[np.integer]

    def add_to(self, values: Floats, weight: float) -> None:
        """Add what the clause gives to each example with a weight."""

        def add(part: slice) -> None:
            values[part] += weight * self.counts[part]

        in_slices(add, len(values))


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A body, what it gains, and the leaf that gains it; None where that is to be found yet."""

    body: Body
    gain: float
    leaf: Leaf | None


def find_clause(
    features: Features, gradient: Floats, weight: Floats, chosen: Mask, settings: ClauseSettings
) -> Found:
    """Return the clause that lowers the squared error most, as far as the beam sees.

    Parameters
    ----------
    features
        Candidates and counts for the pool of examples.
    gradient, weight
        Per example of the pool.
    chosen
        The examples to fit.
    settings
        Limits.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.counting.objects import Objects
    >>> from mlnlearn.structure.boosting.language import language_of
    >>> schema = Schema.of("happy(person)", "rich(person)")
    >>> people = [f"P{i}" for i in range(4)]
    >>> facts = {"rich": [("P0",), ("P1",)]}
    >>> world = Objects([Database.from_facts(schema, facts, domains={"person": people})])
    >>> examples = np.array([[0] * 4, range(4)], np.int32)
    >>> language = language_of(world, "happy", ["rich"], max_constants=0)
    >>> features = Features(world, examples, ("person",), language)
    >>> found = find_clause(features, np.array([1.0, 0.5, -0.1, 0.1]), np.ones(4),
    ...                     np.ones(4, bool), ClauseSettings(min_examples=1))
    >>> found.clause.body[0].predicate.name, found.clause.weight
    ('rich', 0.75)
    """
    regression = Regression(gradient, weight, chosen, None, settings.existential)
    return search_clause(features, regression, settings)


def search_clause(features: Features, regression: AnyRegression, settings: ClauseSettings) -> Found:
    """Return the clause that fits best what is to be fitted; see `find_clause`."""
    best = _Candidate((), regression.explained, regression.leaf)
    waiting, seen = [best], {features.forms.of(())}
    while waiting:
        parent = waiting.pop(0)
        if len(parent.body) >= settings.length:
            continue
        for child in _children(features, parent, regression, settings):
            form = features.forms.of(child.body)
            if form in seen:
                continue
            seen.add(form)
            waiting.append(child)
            if child.gain > best.gain + _SMALLEST_GAIN * regression.total:
                best = child
        waiting.sort(key=lambda candidate: -candidate.gain)
        del waiting[settings.beam :]
    if settings.existential:
        counts: NDArray[np.integer] = features.holds(best.body).view(np.uint8)
    else:
        counts = features.groundings(best.body)
    leaf = best.leaf
    if leaf is None:
        path = None if settings.existential else counts
        leaf = regression.of(regression.inside & (counts > 0), path).leaf
    if counts.max(initial=0) <= np.iinfo(np.uint8).max:
        counts = counts.astype(np.uint8)
    body = arranged(best.body, len(features.types))
    return Found(HornClause(body, leaf.value, leaf.by), counts)


def _children(
    features: Features, parent: _Candidate, regression: AnyRegression, settings: ClauseSettings
) -> Iterator[_Candidate]:
    """Yield the best extensions that are no worse than their parent, as many as the beam holds."""
    found = []
    pairs = len(parent.body) + 2 <= settings.length
    scores: Iterable[CandidateScores]
    if isinstance(regression, Regression):
        sums = node_sums(features, parent.body, regression, pairs=pairs, rest=False)
        scores = sums.scores(splits=False)
    else:
        scores = regression.scores(features, parent.body, pairs=pairs, splits=False)
    for block in scores:
        gains = block.gains
        good = np.flatnonzero((block.examples >= settings.min_examples) & (gains >= parent.gain))
        order = good[np.argsort(-gains[good], kind="stable")][: settings.beam]
        for number in order.tolist():
            found.append((-float(gains[number]), block.listed.rank(number), number, block))
    found.sort(key=lambda item: item[:3])
    for value, _, number, block in found[: settings.beam]:
        leaf = None
        if block.sums is not None:
            leaf = Leaf(float(block.sums.moment[number] / block.sums.square[number]))
        yield _Candidate(parent.body + block.listed.test(number), -value, leaf)


def arranged(body: Body, heads: int) -> Body:
    """Return the literals in one order, whatever order they were found in.

    Of all orders in which every literal shares a variable with the head or an earlier one, the
    first by name is taken; new variables are numbered by first occurrence.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.counting.pattern import Pattern
    >>> wrote, old = Predicate("publication", ("title", "person")), Predicate("old", ("title",))
    >>> one = (Pattern(wrote, (2, 1)), Pattern(wrote, (2, 0)), Pattern(old, (2,)))
    >>> [(pattern.predicate.name, pattern.terms) for pattern in arranged(one, 2)]
    [('publication', (2, 0)), ('old', (2,)), ('publication', (2, 1))]
    """
    orders = [order for order in permutations(body) if _is_connected(order, heads)]
    return renamed(min(orders, key=lambda order: _name(order, heads)), heads)


def _is_connected(body: Body, heads: int) -> bool:
    known = set(range(heads))
    for pattern in body:
        if pattern.terms and known.isdisjoint(pattern.variables):
            return False
        known.update(pattern.variables)
    return True


def _name(body: Body, heads: int) -> tuple[tuple[str, tuple[tuple[bool, int, str], ...]], ...]:
    """Name literals in order, new variables by first occurrence."""
    numbers: dict[int, int] = {}
    return tuple(
        (
            pattern.predicate.name,
            tuple(
                (True, 0, term)
                if isinstance(term, str)
                else (
                    False,
                    term if term < heads else heads + numbers.setdefault(term, len(numbers)),
                    "",
                )
                for term in pattern.terms
            ),
        )
        for pattern in body
    )


@dataclass(frozen=True, slots=True, eq=False)
class FoundList:
    """The clauses of one step, in the order they were found."""

    found: tuple[Found, ...]
    size: int

    @property
    def step(self) -> ClauseList:
        """The clauses alone."""
        return ClauseList(tuple(item.clause for item in self.found))

    def values(self, step: ClauseList) -> Floats:
        """Return each example's value under clauses of the same bodies."""
        result = np.zeros(self.size)
        for item, clause in zip(self.found, step.clauses, strict=True):
            item.add_to(result, clause.weight)
        return result
