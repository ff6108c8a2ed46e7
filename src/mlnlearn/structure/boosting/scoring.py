"""Squared errors of all splits of a node, in one pass over the counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.example_joins import AskedCandidates
from mlnlearn.counting.example_sums import AskedSums, ExampleSums
from mlnlearn.counting.pattern import Body
from mlnlearn.structure.boosting.candidates import CandidateList
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.regression import (
    EXAMPLES,
    MASS,
    PATH_MASS,
    PATH_SLOPE,
    SLOPE,
    WITHOUT_PATH,
    Floats,
    NodeTerms,
    Regression,
)
from mlnlearn.structure.boosting.units import Part, Unit


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over the examples of a node, for each candidate: what its squared errors are made of.

    For the examples with groundings, ``n`` of them: ``moment = Σ v·n·Δ`` and ``square = Σ v·n²``;
    for the others, with the path's own groundings ``m``: ``rest_moment = Σ v·m·Δ`` and
    ``rest_square = Σ v·m²``. Under existential semantics ``n = m = 1``. `examples` counts the
    former, regardless of weight.
    """

    moment: Floats
    square: Floats
    rest_moment: Floats
    rest_square: Floats
    examples: Floats


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScores:
    """How good some candidates are.

    Attributes
    ----------
    listed
        The candidates.
    examples
        How many examples each holds for.
    gains
        By how much each lowers the squared error.
    sums
        What the gains of clauses are made of, where that is a single value.
    """

    listed: CandidateList
    examples: Floats
    gains: Floats
    sums: Sums | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NodeSums:
    """Sums over the examples of a node, for every candidate to extend its conjunction.

    Attributes
    ----------
    regression
        What was summed.
    rest
        Whether over the examples without groundings, too.
    entries
        Some candidates each: the unit they are of, the candidates, the sums.
    """

    regression: Regression
    rest: bool
    entries: list[tuple[int, CandidateList, Floats]]

    def __iter__(self) -> Iterator[tuple[CandidateList, Sums]]:
        for _, listed, sums in self.entries:
            yield listed, _sums(sums, self.regression, self.rest)

    def scores(self, *, splits: bool) -> Iterator[CandidateScores]:
        """Yield what candidates gain, as splits of the node or as clauses alone."""
        gains_of = split_gains if splits else clause_gains
        for listed, sums in self:
            values = None if splits else sums
            yield CandidateScores(listed, sums.examples, gains_of(sums), values)

    def without(self, other: NodeSums, regression: Regression) -> NodeSums:
        """Return the sums over the others, given those over some; exact where sums are."""
        known = {unit: sums for unit, _, sums in other.entries}
        entries = [(unit, listed, sums - known[unit]) for unit, listed, sums in self.entries]
        return NodeSums(regression, self.rest, entries)


def node_sums(
    features: Features, body: Body, regression: Regression, *, pairs: bool, rest: bool
) -> NodeSums:
    """Sum over a node's examples, for every candidate to extend its conjunction.

    Parameters
    ----------
    features, body
        The candidates, and the node's conjunction.
    regression
        What is summed.
    pairs
        Whether pairs of literals are candidates too.
    rest
        Whether sums over the examples without groundings are wanted, as a split needs them.
    """
    terms = NodeTerms(features, body, regression)
    units = features.units(body, pairs)
    width = regression.columns if rest else WITHOUT_PATH
    sums = {unit.key: np.zeros((unit.listed.size, width)) for unit in units}
    if features.elsewhere is not None:
        _sum_elsewhere(features.elsewhere, units, terms, sums)
    else:
        views = {(id(unit.view), unit.rest): unit for unit in units}
        for _ in features.shared(terms.of, views.values()):
            pass

        def add(unit: Unit, parts: Iterable[Part]) -> None:
            terms.of(unit).add(parts, sums[unit.key])

        features.each(body, pairs, terms.members, add)
    entries = [(unit.key, unit.listed, sums[unit.key]) for unit in units]
    return NodeSums(regression, rest, entries)


def _sum_elsewhere(
    elsewhere: ExampleSums, units: Iterable[Unit], terms: NodeTerms, sums: dict[int, Floats]
) -> None:
    """Have the sums of units made by a server of SQL, all by one statement."""
    alike: dict[int, list[Unit]] = {}
    for unit in units:
        alike.setdefault(id(terms.of(unit)), []).append(unit)
    groups, places = [], []
    for group in alike.values():
        first = group[0]
        members = terms.members(first)
        names = ("g", "w", "n", "y", "z")[: sums[first.key].shape[1]]
        columns = map(np.ascontiguousarray, terms.of(first).columns(members).T)
        asked = [
            (unit.key, start, AskedCandidates(unit.joined(template), template.slot))
            for unit in group
            for slab in unit.slabs
            for start, template in slab.templates
        ]
        numbers = dict(zip(names, columns, strict=False))
        candidates = [candidate for _, _, candidate in asked]
        groups.append(AskedSums(first.view.examples, members, numbers, candidates))
        places.append(asked)
    found = elsewhere.sums(groups, existential=terms.regression.existential)
    for asked, by_candidate in zip(places, found, strict=True):
        for (key, start, _), by_slot in zip(asked, by_candidate, strict=True):
            for slot, row in by_slot.items():
                sums[key][start + slot] = row


def _sums(sums: Floats, regression: Regression, rest: bool) -> Sums:
    moment, square, examples = sums[:, SLOPE], sums[:, MASS], sums[:, EXAMPLES]
    total, mass, _ = regression.moments
    if regression.existential:
        return Sums(moment, square, total - moment, mass - square, examples)
    if not rest:
        nothing = np.zeros(len(moment))
        return Sums(moment, square, nothing, nothing, examples)
    return Sums(moment, square, total - sums[:, PATH_SLOPE], mass - sums[:, PATH_MASS], examples)


def split_gains(sums: Sums) -> Floats:
    """Return ``Σ v·Δ²`` minus the squared error of each split: the larger, the better."""
    return _gains(sums.moment, sums.square) + _gains(sums.rest_moment, sums.rest_square)


def clause_gains(sums: Sums) -> Floats:
    """Return by how much each clause alone lowers the squared error."""
    return _gains(sums.moment, sums.square)


def _gains(moment: Floats, square: Floats) -> Floats:
    found: Floats = np.divide(moment * moment, square, np.zeros(len(moment)), where=square > 0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class BestTest:
    """The best candidate found so far."""

    gain: float
    test: Body
    rank: tuple[int, int]
