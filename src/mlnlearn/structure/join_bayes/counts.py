"""Counts of families with true and false relationships, without the cross product.

With the memberships of the other relationships fixed, the tuples for which R is false are all
tuples less those for which R is true (the Möbius identity; Qian, Schulte & Sun 2014). So a family
with relationships R is counted from the 2^|R| tables in which some of them are true and the others
are not asked for; how these are counted depends on where the data lie.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, times
from mlnlearn.counting.sparse import SparseTable, sum_out
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.run import check_time
from mlnlearn.structure.join_bayes.encode import CountedData, EncodedData
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship
from mlnlearn.structure.join_bayes.work import FAMILY, Work

POPULATION = "population"
"""The column of populations, in tables of counts."""
REMEMBERED_ROWS = 20_000_000
"""Rows of counts that are kept at the most."""

Table: TypeAlias = SparseTable[str]
"""Counts by named columns: nodes, entities, profiles, the population."""


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each combination of values occurs; combinations that never do are left out.

    Attributes
    ----------
    nodes
        The nodes, one column of codes each.
    kept
        Entity numbers of the variables asked for, one column each; else empty.
    completions
        How many completions of the data were counted together: `mean` is the count of one.
    """

    nodes: tuple[NetNode, ...]
    columns: tuple[Codes, ...]
    counts: Ints
    kept: tuple[Codes, ...] = ()
    completions: int = 1

    @property
    def mean(self) -> NDArray[np.float64]:
        """How often each combination occurs in one completion of the data, on average."""
        return self.counts / self.completions

    def __len__(self) -> int:
        return len(self.counts)

    def at(self, rows: Ints) -> Counts:
        """Return some of the rows."""
        return replace(
            self,
            columns=tuple(column[rows] for column in self.columns),
            counts=self.counts[rows],
            kept=tuple(column[rows] for column in self.kept),
        )

    def project(self, nodes: Sequence[NetNode]) -> Counts:
        """Return the counts of fewer nodes, or of the same in another order."""
        chosen = {node: self.columns[self.nodes.index(node)] for node in nodes}
        sizes = {node: node.size for node in nodes}
        found = sum_out(SparseTable(chosen, self.counts), sizes, sizes)
        columns = tuple(found.columns.values())
        return Counts(tuple(nodes), columns, found.counts, completions=self.completions)


@dataclass(frozen=True)
class Question:
    """What is counted: the combinations of values of some nodes, over tuples of entities.

    Attributes
    ----------
    nodes
        The family.
    scope
        Further variables that range freely.
    true
        Relationships that must hold; all others may be true or false.
    keep
        Variables to count for each entity apart.
    only
        The one entity of such a variable to count for; those that are not there, for all.
    merged
        Variables that stand for the same entity as another.
    unknown
        Whether tuples with unknown values count, too.
    """

    nodes: tuple[NetNode, ...]
    scope: frozenset[Variable] = frozenset()
    true: tuple[Relationship, ...] = ()
    keep: tuple[Variable, ...] = ()
    only: Mapping[Variable, int] = field(default_factory=dict)
    merged: Mapping[Variable, Variable] = field(default_factory=dict)
    unknown: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether all tuples of known values count together."""
        return not (self.keep or self.merged or self.unknown)

    @property
    def key(self) -> tuple[object, ...]:
        """What plain questions of the same answer have in common, but for the order of nodes."""
        return frozenset(self.nodes), self.scope, frozenset(self.true)

    def stands_for(self, variable: Variable) -> Variable:
        """Return the variable that another stands for the same entity as."""
        return self.merged.get(variable, variable)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the count speaks of."""
        named = [v for node in self.nodes for v in node.variables]
        named += [v for relationship in self.true for v in relationship.variables]
        return tuple(dict.fromkeys(map(self.stands_for, (*named, *self.keep))))

    @cached_property
    def outside(self) -> tuple[Variable, ...]:
        """The variables that range freely beside them."""
        return tuple({self.stands_for(v) for v in self.scope} - set(self.variables))

    @property
    def free(self) -> list[str]:
        """The relationships that may be true or false."""
        given = {r.predicate.name for r in self.true}
        asked = [n.relationship.name for n in self.nodes if n.relationship is not None]
        return [name for name in dict.fromkeys(asked) if name not in given]

    def subsets(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Yield which relationships are true, and which of these need not be, few of them first."""
        given = sorted(r.predicate.name for r in self.true)
        for chosen in subsets(self.free):
            yield (*given, *chosen), chosen


class Counter(ABC):
    """Counts families of nodes; answers are exact and remembered.

    What it takes is added to `work`.
    """

    data: CountedData
    completions: tuple[EncodedData, ...]

    def __init__(self, layout: NetLayout, work: Work | None = None) -> None:
        self.work = Work() if work is None else work
        self.relationships = {r.predicate.name: r for r in layout.relationships}
        self._memory: dict[tuple[object, ...], Counts] = {}
        self._rows = 0

    @abstractmethod
    def estimate(self, families: int, links: int) -> int:
        """Return about how much work it is to count some families on a chain of so many links."""

    def count(
        self,
        nodes: Iterable[NetNode],
        *,
        scope: Iterable[Variable] = (),
        true: Iterable[Relationship] = (),
        keep: Sequence[Variable] = (),
        at: Sequence[int] | None = None,
        merged: Sequence[tuple[Variable, Variable]] = (),
        unknown: bool = False,
    ) -> Counts:
        """Count the combinations of values of some nodes over all tuples of entities.

        Parameters
        ----------
        nodes
            The family, in any order.
        scope
            Further variables that range freely, so that every count is multiplied by their domain.
        true
            Relationships that must hold; all others may be true or false.
        keep
            Variables to count for each entity apart.
        at
            The one entity of each such variable to count for; by default for all.
        merged
            Pairs of variables of one type; only tuples count in which the first of a pair stands
            for the same entity as the second.
        unknown
            Count tuples with unknown values too, coded as one more value of their node; else only
            those in which all values are known.
        """
        check_time()
        only = {} if at is None else dict(zip(keep, at, strict=True))
        where = frozenset(scope), tuple(true), tuple(keep)
        asked = Question(tuple(nodes), *where, only, dict(merged), unknown)
        if not asked.is_plain:
            return self._count(asked)
        found = self._memory.get(asked.key)
        if found is None:
            self.work.add(FAMILY)
            found = self._family(asked)
            self._make_room(len(found))
            self._memory[asked.key] = found
        return found if found.nodes == asked.nodes else found.project(asked.nodes)

    @abstractmethod
    def ahead(
        self,
        families: Iterable[tuple[tuple[NetNode, ...], Sequence[Relationship]]],
        scope: Iterable[Variable] = (),
    ) -> None:
        """Count families that may be asked for next, each with what holds, by all threads.

        What is asked for, and what it takes, is as if it were counted then.
        """

    def forget(self) -> None:
        """Forget what was counted, so that further work does not depend on what came before."""
        self._memory.clear()
        self._rows = 0

    def _make_room(self, rows: int) -> None:
        """Forget what was counted before where it and some new rows would be too much to hold."""
        self._rows += rows
        if self._rows > REMEMBERED_ROWS:
            self.forget()
            self._rows = rows

    def _family(self, asked: Question) -> Counts:
        """Count a family over all tuples of known values."""
        return self._count(asked)

    @abstractmethod
    def _count(self, asked: Question) -> Counts: ...


class MoebiusJob(ABC):
    """One family's count from those with some relationships true, whatever the others are.

    Attributes
    ----------
    asked
        What is counted.
    kept
        Columns of entities that are counted apart.
    spread
        How many tuples the variables that range freely have, in each population.
    sizes
        A bound of the codes of each column.
    described
        Columns that stand for several nodes, with these and the values that each code has of them.
    """

    asked: Question
    kept: tuple[str, ...]
    spread: Ints
    sizes: dict[str, int]
    described: dict[str, tuple[tuple[NetNode, ...], tuple[Codes, ...]]]

    @abstractmethod
    def flat(self, true: tuple[str, ...]) -> Table:
        """Count with some relationships true, whatever the others are."""

    def count(self) -> Counts:
        """Count the family where some relationships hold, and all others may or may not."""
        given = {r.predicate.name for r in self.asked.true}
        parts = []
        for true, chosen in self.asked.subsets():
            table = self.flat(true)
            # every set of relationships taken as true, the others as false, contains this one
            for kept_true in subsets(chosen):
                sign = -1 if (len(chosen) - len(kept_true)) % 2 else 1
                parts.append(self._decided(table, {*given, *kept_true}, sign))
        return self._merge(parts)

    def _decided(self, table: Table, true: set[str], sign: int) -> Table:
        """Give the links their values: those outside `true` count as false, with this sign."""
        columns = {name: table.columns[name] for name in (*self.kept, *self.described)}
        rows = len(table.counts)
        for node in self.asked.nodes:
            name = str(node)
            if node.relationship is None:
                if name in table.columns:
                    columns[name] = table.columns[name]
                continue
            holds = node.relationship.name in true
            if node.is_link or not holds:
                columns[name] = np.full(rows, int(holds), np.int32)
            else:
                columns[name] = table.columns[name]
        counts = table.counts
        if self.asked.outside:
            counts = times(counts, self.spread[table.columns[POPULATION]])
        return SparseTable(columns, counts if sign == 1 else -counts)

    def _merge(self, parts: Sequence[Table]) -> Counts:
        """Add up the signed parts, spell the profiles out, and drop unknown values if told so."""
        together, names = parts[0], list(parts[0].columns)
        if len(parts) > 1:
            columns = {n: np.concatenate([part.columns[n] for part in parts]) for n in names}
            counts = np.concatenate([part.counts for part in parts])
            together = SparseTable(columns, counts)
        merged = sum_out(together, names, self.sizes)
        codes = dict(merged.columns)
        for name, (nodes, values) in self.described.items():
            rows = codes[name]
            codes |= {str(n): column[rows] for n, column in zip(nodes, values, strict=True)}
        known = merged.counts != 0
        for node in () if self.asked.unknown else self.asked.nodes:
            known &= codes[str(node)] < node.size
        kept = tuple(codes[name] for name in self.kept)
        found = tuple(codes[str(node)] for node in self.asked.nodes)
        every = Counts(self.asked.nodes, found, merged.counts, kept)
        return every if known.all() else every.at(np.flatnonzero(known))


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield all subsets of some names, small ones first."""
    for size in range(len(names) + 1):
        yield from combinations(names, size)
