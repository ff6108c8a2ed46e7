"""Counts of families with true and false relationships, without the cross product.

With the memberships of the other relationships fixed, the tuples for which R is false are all
tuples less those for which R is true (the Möbius identity; Qian, Schulte & Sun 2014). So a family
with relationships R is counted from the 2^|R| tables in which some of them are true and the others
are not asked for; each of those is a join over true links, in which an entity is replaced by its
*profile* (the number of its combination of attribute values) as soon as no other link needs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, distinct_rows, group_sums, times
from mlnlearn.counting.budget import Room
from mlnlearn.counting.sparse import SparseTable, join_all, sum_out
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.resources import in_use
from mlnlearn.run import check_time, workers_of_run
from mlnlearn.structure.join_bayes.encode import CountedData, EncodedData
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship
from mlnlearn.structure.join_bayes.work import FAMILY, OutOfWorkError, Work
from mlnlearn.threads import in_order

POPULATION = "population"
"""The column of populations, in tables of counts."""
_REMEMBERED_ROWS = 20_000_000

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
        wanted = tuple(nodes)
        where = frozenset(scope), tuple(true)
        if keep or merged or unknown:
            only = {} if at is None else dict(zip(keep, at, strict=True))
            return self._count(wanted, *where, tuple(keep), dict(merged), unknown, only)
        key = (frozenset(wanted), frozenset(scope), frozenset(true))
        found = self._memory.get(key)
        if found is None:
            self.work.add(FAMILY)
            found = self._family(wanted, *where)
            self._make_room(len(found))
            self._memory[key] = found
        return found if found.nodes == wanted else found.project(wanted)

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
        if self._rows > _REMEMBERED_ROWS:
            self.forget()
            self._rows = rows

    def _family(
        self,
        nodes: tuple[NetNode, ...],
        scope: frozenset[Variable],
        true: tuple[Relationship, ...],
    ) -> Counts:
        """Count a family over all tuples of known values."""
        return self._count(nodes, scope, true, (), {}, False)

    @abstractmethod
    def _count(
        self,
        nodes: tuple[NetNode, ...],
        scope: frozenset[Variable],
        true: tuple[Relationship, ...],
        keep: tuple[Variable, ...],
        merged: dict[Variable, Variable],
        unknown: bool,
        only: Mapping[Variable, int] | None = None,
    ) -> Counts: ...


class FamilyCounter(Counter):
    """Counts families of nodes over encoded databases; answers are exact and remembered.

    Where values are unknown, families that ask for them are counted on several completions of the
    data, if there are any; else on the tuples in which all their values are known.

    Examples
    --------
    >>> from mlnlearn.data.load.build import build_database
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.data.load.tables import ForeignKey, Table
    >>> from mlnlearn.structure.join_bayes.layout import NetLayout
    >>> people = {"id": Column.of(["Anna", "Bob"]), "sex": Column.of(["f", "m"])}
    >>> links = {"a": Column.of(["Anna", "Bob"]), "b": Column.of(["Bob", "Bob"])}
    >>> keys = (ForeignKey(("a",), "person"), ForeignKey(("b",), "person"))
    >>> tables = [Table("person", people, ("id",)), Table("likes", links, ("a", "b"), keys)]
    >>> database, mapping = build_database(tables)
    >>> layout = NetLayout.of([database], mapping)
    >>> counter = FamilyCounter(EncodedData([database], layout))
    >>> found = counter.count(layout.nodes)
    >>> print(*found.nodes)
    sex(person0) sex(person1) likes(person0,person1)
    >>> for *values, count in zip(*found.columns, found.counts):
    ...     names = [node.values[code] for node, code in zip(found.nodes, values)]
    ...     print(*names, count)
    f f F 1
    f m T 1
    m f F 1
    m m T 1
    """

    def __init__(
        self,
        data: EncodedData,
        completions: Sequence[EncodedData] = (),
        work: Work | None = None,
    ) -> None:
        self.data: EncodedData = data
        self.completions = tuple(completions)
        super().__init__(data.layout, work)
        self._completed = [FamilyCounter(completion, (), self.work) for completion in completions]
        self._profiles: dict[tuple[NetNode, ...], tuple[Codes, tuple[Codes, ...]]] = {}
        self._profile_rows = 0
        self._counted: dict[tuple[object, ...], _Ahead] = {}

    def estimate(self, families: int, links: int) -> int:
        """Return about how much work it is to count some families on a chain of so many links."""
        return families * (FAMILY + links * max(1, len(self._completed)))

    def forget(self) -> None:
        """Forget what was counted, so that further work does not depend on what came before."""
        super().forget()
        self._counted.clear()
        self._profiles.clear()
        self._profile_rows = 0
        for part in self._completed:
            part.forget()

    def ahead(
        self,
        families: Iterable[tuple[tuple[NetNode, ...], Sequence[Relationship]]],
        scope: Iterable[Variable] = (),
    ) -> None:
        """Count families that may be asked for next, by all threads."""
        if workers_of_run() < 2:
            return
        around = frozenset(scope)
        missing: dict[tuple[object, ...], tuple[tuple[NetNode, ...], Sequence[Relationship]]] = {}
        for family in families:
            key = (frozenset(family[0]), around, frozenset(family[1]))
            if key not in self._memory and key not in self._counted:
                missing.setdefault(key, family)  # in the order in which it is asked for first

        def count(family: tuple[tuple[NetNode, ...], Sequence[Relationship]]) -> _Ahead | None:
            nodes, true = family
            with self.work.apart() as noted:
                try:
                    return _Ahead(self._made(nodes, around, tuple(true)), noted)
                except (OutOfWorkError, MemoryLimitError, CountOverflowError):
                    return None  # it will be said to whoever asks for it

        if len(missing) > 1:
            found = zip(missing, in_order(count, list(missing.values())), strict=True)
            self._counted.update((key, ahead) for key, ahead in found if ahead is not None)

    def _family(
        self,
        nodes: tuple[NetNode, ...],
        scope: frozenset[Variable],
        true: tuple[Relationship, ...],
    ) -> Counts:
        ahead = self._counted.pop((frozenset(nodes), scope, frozenset(true)), None)
        if ahead is None:
            return self._made(nodes, scope, true)
        for rows in ahead.work:
            self.work.add(rows)
        return ahead.found

    def _made(
        self,
        nodes: tuple[NetNode, ...],
        scope: frozenset[Variable],
        true: tuple[Relationship, ...],
    ) -> Counts:
        if self._completed and any(n.predicate.name in self.data.unknown for n in nodes):
            return self._of_completions(nodes, scope, true)
        return super()._family(nodes, scope, true)

    def _count(
        self,
        nodes: tuple[NetNode, ...],
        scope: frozenset[Variable],
        true: tuple[Relationship, ...],
        keep: tuple[Variable, ...],
        merged: dict[Variable, Variable],
        unknown: bool,
        only: Mapping[Variable, int] | None = None,
    ) -> Counts:
        inside, outside = variables_of(nodes, scope, true, keep, merged)
        links = true or any(node.relationship is not None for node in nodes)
        if len(inside) == 1 and not (links or keep or merged or unknown):
            return self._within_table(nodes, inside[0], outside)
        job = _FamilyJob(self, nodes, inside, outside, keep, merged, only or {})
        return job.count(true, unknown=unknown)

    def _of_completions(
        self,
        nodes: tuple[NetNode, ...],
        scope: frozenset[Variable],
        true: tuple[Relationship, ...],
    ) -> Counts:
        """Count on all completions together."""
        [variable, *others] = {variable for node in nodes for variable in node.variables}
        if not others and not true and all(node.relationship is None for node in nodes):
            outside = tuple(scope - {variable})
            found = self._stacked._within_table(nodes, variable, outside)
            return replace(found, completions=len(self._completed))
        parts = [part._count(nodes, scope, true, (), {}, False) for part in self._completed]
        return _together(parts)

    @cached_property
    def _stacked(self) -> FamilyCounter:
        return FamilyCounter(self.data.stacked(self.completions), (), self.work)

    def _within_table(
        self, nodes: tuple[NetNode, ...], variable: Variable, outside: tuple[Variable, ...]
    ) -> Counts:
        """Count attributes of one entity: rows of its table, without a join."""
        data = self.data
        columns = [data.values[node.predicate.name] for node in nodes]
        known = np.ones(len(columns[0]), np.bool_)
        for node, column in zip(nodes, columns, strict=True):
            if node.predicate.name in data.unknown:
                known &= column < node.size
        self.work.add(len(known))
        counts = data.spread(outside)[data.owner[data.layout.types[variable]]]
        if not known.all():
            columns, counts = [column[known] for column in columns], counts[known]
        rows, sums = group_sums(columns, [node.size for node in nodes], counts)
        return Counts(nodes, tuple(rows), sums)

    def profiles(self, attributes: tuple[NetNode, ...]) -> tuple[Codes, tuple[Codes, ...]]:
        """Return each entity's profile over some attributes, and the values of every profile."""
        found = self._profiles.get(attributes)
        if found is None:
            columns = [self.data.values[node.predicate.name] for node in attributes]
            found = distinct_rows(columns, [node.size + 1 for node in attributes])
            self._profile_rows += len(found[0]) + len(found[1][0]) * len(columns)
            if self._profile_rows > _REMEMBERED_ROWS:
                self._profiles.clear()
                self._profile_rows = 0
            self._profiles[attributes] = found
        return found


@dataclass(frozen=True, eq=False)
class _Ahead:
    """What came of counting a family ahead, and the work it was, as `Work.add` was told of it."""

    found: Counts
    work: list[int]


def variables_of(
    nodes: Sequence[NetNode],
    scope: Iterable[Variable],
    true: Sequence[Relationship],
    keep: Sequence[Variable],
    merged: Mapping[Variable, Variable],
) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """Return the variables that a count speaks of, and those that range freely beside them."""
    variables = dict.fromkeys(v for node in nodes for v in node.variables)
    variables |= dict.fromkeys(v for r in true for v in r.variables)
    variables |= dict.fromkeys(keep)
    inside = tuple(dict.fromkeys(merged.get(v, v) for v in variables))
    return inside, tuple({merged.get(v, v) for v in scope} - set(inside))


class MoebiusJob(ABC):
    """One family's count from those with some relationships true, whatever the others are.

    Attributes
    ----------
    nodes
        The family.
    kept
        Columns of entities that are counted apart.
    spread
        How many tuples the variables that range freely have, in each population.
    sizes
        A bound of the codes of each column.
    described
        Columns that stand for several nodes, with these and the values that each code has of them.
    """

    nodes: tuple[NetNode, ...]
    kept: tuple[str, ...]
    spread: Ints
    sizes: dict[str, int]
    described: dict[str, tuple[tuple[NetNode, ...], tuple[Codes, ...]]]

    @abstractmethod
    def flat(self, true: tuple[str, ...]) -> Table:
        """Count with some relationships true, whatever the others are."""

    def count(self, true: Sequence[Relationship], *, unknown: bool) -> Counts:
        """Count the family where some relationships hold, and all others may or may not."""
        given = {r.predicate.name for r in true}
        asked = [n.relationship.name for n in self.nodes if n.relationship is not None]
        free = [name for name in dict.fromkeys(asked) if name not in given]
        parts = []
        for chosen in subsets(free):
            table = self.flat((*sorted(given), *chosen))
            # every set of relationships taken as true, the others as false, contains this one
            for kept_true in subsets(chosen):
                sign = -1 if (len(chosen) - len(kept_true)) % 2 else 1
                parts.append(self._decided(table, {*given, *kept_true}, sign))
        return self._merge(parts, unknown=unknown)

    def _decided(self, table: Table, true: set[str], sign: int) -> Table:
        """Give the links their values: those outside `true` count as false, with this sign."""
        columns = {name: table.columns[name] for name in (*self.kept, *self.described)}
        rows = len(table.counts)
        for node in self.nodes:
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
        counts = times(table.counts, self.spread[table.columns[POPULATION]])
        return SparseTable(columns, sign * counts)

    def _merge(self, parts: Sequence[Table], *, unknown: bool) -> Counts:
        """Add up the signed parts, spell the profiles out, and drop unknown values if told so."""
        names = list(parts[0].columns)
        columns = {n: np.concatenate([part.columns[n] for part in parts]) for n in names}
        counts = np.concatenate([part.counts for part in parts])
        merged = sum_out(SparseTable(columns, counts), names, self.sizes)
        codes = dict(merged.columns)
        for name, (nodes, values) in self.described.items():
            rows = codes[name]
            codes |= {str(n): column[rows] for n, column in zip(nodes, values, strict=True)}
        known = merged.counts != 0
        for node in () if unknown else self.nodes:
            known &= codes[str(node)] < node.size
        kept = tuple(codes[name][known] for name in self.kept)
        found = tuple(codes[str(node)][known] for node in self.nodes)
        return Counts(self.nodes, found, merged.counts[known], kept)


class _FamilyJob(MoebiusJob):
    """One family's count: which columns its tables have, and how they are joined."""

    def __init__(
        self,
        counter: FamilyCounter,
        nodes: tuple[NetNode, ...],
        variables: tuple[Variable, ...],
        outside: tuple[Variable, ...],
        keep: tuple[Variable, ...],
        merged: dict[Variable, Variable],
        only: Mapping[Variable, int],
    ) -> None:
        self.counter, self.data = counter, counter.data
        self.nodes, self.variables, self.keep, self.merged = nodes, variables, keep, merged
        self.only = only
        self.kinds = {v: self.data.layout.types[v] for v in variables}
        own = [node for node in nodes if node.relationship is None]
        self.attributes = {
            v: tuple(n for n in own if merged.get(n.variables[0], n.variables[0]) == v)
            for v in variables
        }
        self.described = {}
        self.kept = tuple(map(_entity, keep))
        self.spread = self.data.spread(outside)
        self.sizes = {POPULATION: self.data.populations}
        for variable, kind in self.kinds.items():
            self.sizes[_entity(variable)] = self.data.total(kind)
            attributes = self.attributes[variable]
            if attributes:
                _, distinct = counter.profiles(attributes)
                self.sizes[_profile(variable)] = len(distinct[0])
                self.described[_profile(variable)] = attributes, distinct
        self.sizes |= {str(node): node.size + 1 for node in nodes}

    def flat(self, true: tuple[str, ...]) -> Table:
        """Count with some relationships true, whatever the others are."""
        relationships = [self.counter.relationships[name] for name in true]
        links = [self._links(relationship) for relationship in relationships]
        linked = {self.merged.get(v, v) for r in relationships for v in r.variables}
        tables = [
            self._forget(table, [*links[:place], *links[place + 1 :]])
            for place, table in enumerate(links)
        ]
        tables += [self._alone(v) for v in self.variables if v not in linked]
        entities = {_entity(variable) for variable in self.variables}
        room, tally = Room(in_use().nbytes, "a count over several tables"), self.counter.work.add
        return join_all(
            tables or [self._nothing()], entities, self._profiled, self.sizes, room, tally
        )

    def _links(self, relationship: Relationship) -> Table:
        entities = self.data.links[relationship.predicate.name]
        columns: dict[str, Codes] = {}
        alike = np.ones(entities.shape[1], np.bool_)
        for variable, column in zip(relationship.variables, entities, strict=True):
            stands_for = self.merged.get(variable, variable)
            first = columns.setdefault(_entity(stands_for), column)
            if first is not column:
                alike &= first == column
            if stands_for in self.only:
                alike &= column == self.only[stands_for]
        for node in relationship.attributes:
            if node in self.nodes:
                columns[str(node)] = self.data.values[node.predicate.name]
        self.counter.work.add(entities.shape[1])
        owner = self.data.owner[relationship.predicate.types[0]]
        columns[POPULATION] = owner[entities[0]]
        if not alike.all():
            columns = {name: column[alike] for name, column in columns.items()}
        return SparseTable(columns, np.ones(int(alike.sum()), np.int64))

    def _alone(self, variable: Variable) -> Table:
        owner = self.data.owner[self.kinds[variable]]
        self.counter.work.add(len(owner))
        entities = np.arange(len(owner), dtype=np.int32)
        if variable in self.only:
            entities = entities[self.only[variable] :][:1]
        columns = {_entity(variable): entities, POPULATION: owner[entities]}
        return self._forget(SparseTable(columns, np.ones(len(entities), np.int64)), [])

    def _nothing(self) -> Table:
        every = np.arange(self.data.populations, dtype=np.int32)
        return SparseTable({POPULATION: every}, np.ones(len(every), np.int64))

    def _forget(self, table: Table, others: Sequence[Table]) -> Table:
        """Replace entities that no other table asks for by their profiles, and sum."""
        table, keep = self._profiled(table, others)
        return table if len(keep) == len(table.columns) else sum_out(table, keep, self.sizes)

    def _profiled(self, table: Table, others: Sequence[Table]) -> tuple[Table, set[str]]:
        """Add the profiles of entities that no other table asks for; name the columns to keep."""
        columns, keep = dict(table.columns), set(table.columns)
        for variable in self.variables:
            name = _entity(variable)
            if name not in columns or any(name in other.columns for other in others):
                continue
            if self.attributes[variable] and _profile(variable) not in columns:
                profile, _ = self.counter.profiles(self.attributes[variable])
                columns[_profile(variable)] = profile[columns[name]]
                keep.add(_profile(variable))
            if variable not in self.keep:
                keep.remove(name)
        return SparseTable(columns, table.counts), keep


def _together(parts: Sequence[Counts]) -> Counts:
    """Return the counts of several completions of the same data, added up."""
    nodes = parts[0].nodes
    columns = [np.concatenate(columns) for columns in zip(*(p.columns for p in parts), strict=True)]
    counts = np.concatenate([part.counts for part in parts])
    whole = Counts(nodes, tuple(columns), counts, completions=len(parts))
    return whole.project(nodes)


def _entity(variable: Variable) -> str:
    return f"#{variable}"


def _profile(variable: Variable) -> str:
    return f"@{variable}"


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield all subsets of some names, small ones first."""
    for size in range(len(names) + 1):
        yield from combinations(names, size)
