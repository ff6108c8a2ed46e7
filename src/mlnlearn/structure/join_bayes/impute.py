"""Empty cells while a net is learned: drawn from what the net says of them, given the rest.

Families that ask for different columns would else be scored on different rows, and such scores
cannot be compared. So every score is one of completed data: structural EM (Friedman 1998), with the
expected counts taken as means over several completions. The first completions draw each cell from
the values of its column alone. They can only weaken what columns have to do with each other, so
that an edge found there is not one that was drawn into the data. The net found then says how the
cells depend on the others, new completions are drawn by Gibbs sampling, and the search is repeated
until it finds the same net.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.run import Course
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.features import attribute_scores
from mlnlearn.structure.join_bayes.rules import Family, FamilyRules, table_rules

Floats = NDArray[np.float64]
Parents = Mapping[NetNode, tuple[NetNode, ...]]
Search = Callable[[FamilyCounter, str], Iterator[Parents]]
Values = dict[str, Codes]

COMPLETIONS = 3
"""Completions that counts are means over."""
STEPS = 8
"""EM steps after each search: redraw all completions, estimate the net's tables anew.

Too few, and a column between two others, drawn at first without regard to them, leaves an edge
between these that is not there.
"""
SEARCHES = 5
"""The most searches for a net."""


@dataclass(frozen=True)
class Imputation:
    """Learns a net from data with unknown values, together with completions of the data.

    Attributes
    ----------
    data
        The data, as one population.
    links
        Whether families are counted over all tuples, or over those of true links.
    sample_size
        Equivalent sample size of the net's tables.
    max_work
        The search is not repeated where it would take more work than this in all.
    course
        Who is told of progress.
    """

    data: EncodedData
    links: bool
    sample_size: float
    max_work: int | None = None
    course: Course = field(default_factory=Course)

    def structures(self, search: Search) -> Iterator[tuple[Parents, list[Values]]]:
        """Yield each node's parents, and the values of incomplete attributes by completion.

        `search` yields the parents for counts, better and better ones. With data that are complete
        it is asked once; else its first results come without completions, and from then on only
        what a whole search found. The last are the best.
        """
        if not self.data.unknown:
            yield from ((parents, []) for parents in search(FamilyCounter(self.data), ""))
            return
        rng = np.random.default_rng(0)
        drawn = [self._independent(rng) for _ in range(COMPLETIONS)]
        before: list[Parents] = []
        spent = 0
        for number in range(SEARCHES):
            counter = self._counter(drawn)
            for parents in search(counter, f"completed {number}: "):
                if not number:
                    yield parents, []
            for step in range(STEPS):
                self.course.check()
                drawn = self._redrawn(drawn, parents, rng)
                self.course.tell("filling empty cells", step + 1, STEPS)
            yield parents, drawn
            spent += counter.work.spent
            if parents in before or not self._may_repeat(spent, number + 1):
                return
            before.append(parents)

    def _may_repeat(self, spent: int, searches: int) -> bool:
        """Tell whether another search like those before is within the limits."""
        return self.max_work is None or spent * (searches + 1) <= self.max_work * searches

    def _counter(self, drawn: Sequence[Values]) -> FamilyCounter:
        return FamilyCounter(self.data, [self.data.completed(values) for values in drawn])

    def _independent(self, rng: np.random.Generator) -> Values:
        """Draw the empty cells of every column from its other cells."""
        drawn = {}
        for node in self._incomplete:
            name = node.predicate.name
            codes, rows = self.data.values[name].copy(), self.data.unknown[name]
            first = int(node.relationship is not None)
            counts = np.bincount(codes[codes < node.size], minlength=node.size)[first:] + 1e-9
            shares = counts / counts.sum()
            codes[rows] = first + rng.choice(len(shares), len(rows), p=shares)
            drawn[name] = codes
        return drawn

    @property
    def _incomplete(self) -> list[NetNode]:
        nodes = self.data.layout.nodes
        return [n for n in nodes if n.main and n.predicate.name in self.data.unknown]

    def _redrawn(
        self, drawn: Sequence[Values], parents: Parents, rng: np.random.Generator
    ) -> list[Values]:
        """Return new completions: each a sweep of Gibbs sampling from an old one."""
        families, weights = self._conditionals(self._counter(drawn), parents)
        return [self._sweep(values, families, weights, rng) for values in drawn]

    def _sweep(
        self,
        values: Values,
        families: Sequence[FamilyRules],
        weights: Floats,
        rng: np.random.Generator,
    ) -> Values:
        values = dict(values)
        copied = {node.predicate for node in self.data.layout.nodes if not node.main}
        for node in self._incomplete:
            name = node.predicate.name
            counter = FamilyCounter(self.data.completed(values))
            rows = self.data.unknown[name]
            if node.predicate in copied:
                # cells of one column that depend on each other must not all change at once
                rows = rows[rng.random(len(rows)) < 0.5]
            logs = attribute_scores(counter, families, node, weights)[rows]
            codes = values[name].copy()
            codes[rows] = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
            values[name] = codes
        return values

    def _conditionals(
        self, counter: FamilyCounter, parents: Parents
    ) -> tuple[list[FamilyRules], Floats]:
        """Return rules and weights whose conditionals of an attribute are those of the net.

        An attribute that depends on other tables has as many factors as it has tuples there. Each
        is P(value | all parents) / P(value | parents in the same table), for the same tuples; what
        the table itself says of it comes once.
        """
        rules: list[FamilyRules] = []
        weights: list[Floats] = []
        for child, above in parents.items():
            names = {node.predicate.name for node in (child, *above)}
            if not child.main or names.isdisjoint(self.data.unknown):
                continue
            for family, scope, factor in self._factors(child, above):
                counts = counter.count((child, *family.parents), true=family.given, scope=scope)
                rules.append(table_rules(family, counts, self.sample_size, every=True))
                weights.append(factor * rules[-1].log_probabilities())
        return rules, np.concatenate(weights)

    def _factors(
        self, child: NetNode, above: tuple[NetNode, ...]
    ) -> Iterator[tuple[Family, tuple[Variable, ...], int]]:
        """Yield families to count, over which variables, and what to multiply their logarithms by.

        Rules of the parents in the same table do not mention the entities of others, so they stand
        for all tuples of these at once.
        """
        whole = Family.of(child, above, self.data.layout, links=self.links)
        yield whole, (), 1
        near = tuple(node for node in above if set(node.variables) <= set(child.variables))
        if child.is_link or len(near) == len(above):
            return
        alone = Family.of(child, near, self.data.layout, links=self.links)
        yield alone, (), 1
        within = {v for node in (child, *(r.link for r in whole.given)) for v in node.variables}
        everyone = tuple(dict.fromkeys(v for node in above for v in node.variables))
        types = [self.data.layout.types[v] for v in everyone if v not in within]
        tuples = math.prod(self.data.total(kind) for kind in types)
        yield Family(child, alone.parents, whole.given), everyone, -tuples
