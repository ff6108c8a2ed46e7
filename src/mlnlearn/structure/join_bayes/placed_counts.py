"""Families counted where the tables lie: joins of true links are grouped counts in SQL.

What relationships that are linked together say of all columns is one table of counts, where the
combinations of values are few: one statement for all families of a chain. Counts with false
relationships are made of such tables here, as those in memory are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlnlearn.counting.budget import Room
from mlnlearn.counting.sparse import SparseTable, join_all, sum_out
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.resources import in_use
from mlnlearn.structure.join_bayes.counts import (
    POPULATION,
    Counter,
    Counts,
    MoebiusJob,
    Question,
    Table,
)
from mlnlearn.structure.join_bayes.layout import Relationship
from mlnlearn.structure.join_bayes.placed_data import PlacedData
from mlnlearn.structure.join_bayes.work import FAMILY, Work

FEW_CELLS = 1 << 18
"""Combinations of values of all columns of a chain, of which all that occur are fetched."""


@dataclass(frozen=True)
class Join:
    """Relationships that are linked together, or a single variable: what one statement counts.

    Attributes
    ----------
    links
        The relationships, in such an order that each shares a variable with those before it.
    variables
        All their variables.
    merged
        Variables that stand for the same entity as another.
    """

    links: tuple[Relationship, ...]
    variables: tuple[Variable, ...]
    merged: tuple[tuple[Variable, Variable], ...] = ()
    _stands_for: Mapping[Variable, Variable] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stands_for", dict(self.merged))

    def stands_for(self, variable: Variable) -> Variable:
        """Return the variable that another stands for the same entity as."""
        return self._stands_for.get(variable, variable)

    def nodes(self, given: Iterable[NetNode]) -> tuple[NetNode, ...]:
        """Return those attributes of some nodes that the join has the values of."""
        names = {r.predicate.name for r in self.links}
        return tuple(
            node
            for node in given
            if node.is_attribute
            and (
                self.stands_for(node.variables[0]) in self.variables
                if node.relationship is None
                else node.relationship.name in names
            )
        )

    def sql(self, data: PlacedData, nodes: Sequence[NetNode]) -> JoinText:
        """Return the join with the columns of some nodes, in SQL."""
        source, tests = "", []
        bound: dict[Variable, str] = {}
        codes: dict[NetNode, str] = {}
        for number, link in enumerate(self.links):
            alias, same = f"t{number}", []
            for place, variable in enumerate(map(self.stands_for, link.variables)):
                column = f"{alias}.e{place}"
                if variable in bound:
                    same.append(f"{column} = {bound[variable]}")
                else:
                    bound[variable] = column
            name = data.links[link.predicate.name]
            here = [test for test in same if test.count(f"{alias}.") > 1]
            tests += here
            joined = [test for test in same if test not in here]
            source += (
                f" JOIN {name} {alias} ON {' AND '.join(joined)}" if number else f"{name} {alias}"
            )
            for node in link.attributes:
                codes[node] = f"{alias}.{data.columns[node.predicate.name]}"
        for number, variable in enumerate(self.variables):
            own = [
                n
                for n in nodes
                if n.relationship is None and self.stands_for(n.variables[0]) == variable
            ]
            if not own and variable in bound:
                continue
            kind = data.layout.types[variable]
            if variable in bound:
                source += (
                    f" JOIN {data.entities[kind]} u{number} ON u{number}.e = {bound[variable]}"
                )
            elif kind in data.entities:
                source += f"{data.entities[kind]} u{number}"
                bound[variable] = f"u{number}.e"
            else:
                source += f"(SELECT code AS e FROM {data.place.dictionary(kind)}) u{number}"
                bound[variable] = f"u{number}.e"
            codes |= {n: f"u{number}.{data.columns[n.predicate.name]}" for n in own}
        return JoinText(source, tuple(tests), bound, codes)


@dataclass(frozen=True)
class JoinText:
    """A join in SQL.

    Attributes
    ----------
    source
        What follows ``FROM``.
    tests
        What follows ``WHERE``.
    entities, codes
        What entities of variables and values of nodes are called.
    """

    source: str
    tests: tuple[str, ...]
    entities: Mapping[Variable, str]
    codes: Mapping[NetNode, str]

    @property
    def where(self) -> str:
        """The tests, if there are any."""
        return f" WHERE {' AND '.join(self.tests)}" if self.tests else ""


def joins_of(
    variables: Sequence[Variable],
    links: Sequence[Relationship],
    merged: Mapping[Variable, Variable],
) -> list[Join]:
    """Return variables and relationships, those apart that are not linked."""
    left, found = list(links), []
    pairs = tuple(merged.items())
    free = dict.fromkeys(variables)
    while left:
        chosen = [left.pop(0)]
        inside = dict.fromkeys(merged.get(v, v) for v in chosen[0].variables)
        grown = True
        while grown:
            grown = False
            for link in left:
                own = [merged.get(v, v) for v in link.variables]
                if any(v in inside for v in own):
                    chosen.append(link)
                    inside |= dict.fromkeys(own)
                    left.remove(link)
                    grown = True
                    break
        found.append(Join(tuple(chosen), tuple(inside), pairs))
        for variable in inside:
            free.pop(variable, None)
    return found + [Join((), (variable,), pairs) for variable in free]


class PlacedCounter(Counter):
    """Counts families of nodes at a server.

    Parameters
    ----------
    data
        The tables there.
    work
        What it takes is added to this.
    """

    def __init__(self, data: PlacedData, work: Work | None = None) -> None:
        super().__init__(data.layout, work)
        self.data: PlacedData = data
        self.completions = ()
        self._joints: dict[tuple[Join, tuple[NetNode, ...]], Table] = {}

    def estimate(self, families: int, links: int) -> int:
        """Return about how much work it is to count some families on a chain of so many links."""
        return families * FAMILY + links

    def ahead(
        self,
        families: Iterable[tuple[tuple[NetNode, ...], Sequence[Relationship]]],
        scope: Iterable[Variable] = (),
    ) -> None:
        """Do nothing: what a server counts at once, it counts by all threads."""

    def forget(self) -> None:
        """Forget what was counted, so that further work does not depend on what came before."""
        super().forget()
        self._joints.clear()

    def joint(self, join: Join, nodes: Sequence[NetNode]) -> Table:
        """Count the combinations of values of some nodes over a join of true links."""
        if not join.links and not nodes:
            total = self.data.sizes[self.data.layout.types[join.variables[0]]]
            return SparseTable({POPULATION: np.zeros(1, np.int32)}, total.copy())
        every = join.nodes(self.data.layout.nodes)
        whole = every if math.prod(node.size for node in every) <= FEW_CELLS else tuple(nodes)
        key = (join, whole)
        if key not in self._joints:
            self._joints[key] = self._counted(join, whole)
        table = self._joints[key]
        names = {POPULATION, *map(str, nodes)}
        return table if names == set(table.columns) else sum_out(table, names, _sizes(whole))

    def _counted(self, join: Join, nodes: Sequence[NetNode]) -> Table:
        data = self.data
        rows = sum(data.link_count(link.predicate.name) for link in join.links)
        self.work.add(rows or data.total(data.layout.types[join.variables[0]]))
        text = join.sql(data, nodes)
        cells = [f"{text.codes[node]} AS n{place}" for place, node in enumerate(nodes)]
        groups = ", ".join(text.codes[node] for node in nodes)
        answer = data.fetch(
            f"SELECT {', '.join([*cells, 'count(*) AS n'])} FROM {text.source}{text.where}"
            + (f" GROUP BY {groups}" if groups else "")
        )
        return counted_table(answer, nodes)

    def _count(self, asked: Question) -> Counts:
        assert not asked.keep
        assert not asked.merged
        return PlacedJob(self, asked).count()


def counted_table(answer: Mapping[str, np.ndarray], nodes: Sequence[NetNode]) -> Table:
    """Return an answer with columns ``n0`` and so on, of the nodes, and ``n``, as counts."""
    counts = np.asarray(answer["n"]).astype(np.int64)
    columns = {
        str(node): np.asarray(answer[f"n{place}"]).astype(np.int32)
        for place, node in enumerate(nodes)
    }
    return SparseTable({POPULATION: np.zeros(len(counts), np.int32), **columns}, counts)


def _sizes(nodes: Sequence[NetNode]) -> dict[str, int]:
    return {POPULATION: 1, **{str(node): node.size + 1 for node in nodes}}


class PlacedJob(MoebiusJob):
    """One family's count: tables of what is linked together, side by side.

    Parameters
    ----------
    counter
        Counts each of these tables.
    asked
        What is counted.
    """

    def __init__(self, counter: PlacedCounter, asked: Question) -> None:
        self.counter, self.asked = counter, asked
        self.kept, self.described = (), {}
        self.spread = counter.data.spread(asked.outside)
        self.sizes = _sizes(asked.nodes)

    def table(self, join: Join) -> Table:
        """Return the counts of what is linked together."""
        return self.counter.joint(join, join.nodes(self.asked.nodes))

    def flat(self, true: tuple[str, ...]) -> Table:
        """Count with some relationships true, whatever the others are."""
        links = [self.counter.relationships[name] for name in true]
        joins = joins_of(self.asked.variables, links, self.asked.merged)
        tables = [self.table(join) for join in joins]
        if not tables:
            tables = [SparseTable({POPULATION: np.zeros(1, np.int32)}, np.ones(1, np.int64))]
        room = Room(in_use().nbytes, "a count over several tables")
        return join_all(tables, (), lambda t, _: (t, set(t.columns)), self.sizes, room)
