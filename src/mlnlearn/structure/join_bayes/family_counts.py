"""Families counted in memory: joins over true links.

An entity is replaced by its *profile* (the number of its combination of attribute values) as soon
as no other link needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mlnlearn.counting.arrays import Codes, distinct_rows, group_sums
from mlnlearn.counting.budget import Room
from mlnlearn.counting.sparse import SparseTable, join_all, sum_out
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.resources import in_use
from mlnlearn.run import workers_of_run
from mlnlearn.structure.join_bayes.counts import (
    POPULATION,
    REMEMBERED_ROWS,
    Counter,
    Counts,
    MoebiusJob,
    Question,
    Table,
)
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.layout import Relationship
from mlnlearn.structure.join_bayes.work import FAMILY, OutOfWorkError, Work
from mlnlearn.threads import in_order


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
        missing: dict[tuple[object, ...], Question] = {}
        for nodes, true in families:
            asked = Question(nodes, around, tuple(true))
            if asked.key not in self._memory and asked.key not in self._counted:
                missing.setdefault(asked.key, asked)  # in the order in which it is asked for first

        def count(asked: Question) -> _Ahead | None:
            with self.work.apart() as noted:
                try:
                    return _Ahead(self._made(asked), noted)
                except (OutOfWorkError, MemoryLimitError, CountOverflowError):
                    return None  # it will be said to whoever asks for it

        if len(missing) > 1:
            found = zip(missing, in_order(count, list(missing.values())), strict=True)
            self._counted.update((key, ahead) for key, ahead in found if ahead is not None)

    def _family(self, asked: Question) -> Counts:
        ahead = self._counted.pop(asked.key, None)
        if ahead is None:
            return self._made(asked)
        for rows in ahead.work:
            self.work.add(rows)
        return ahead.found

    def _made(self, asked: Question) -> Counts:
        if self._completed and any(n.predicate.name in self.data.unknown for n in asked.nodes):
            return self._of_completions(asked)
        return self._count(asked)

    def _count(self, asked: Question) -> Counts:
        if asked.is_plain and _is_of_one_table(asked):
            return self._within_table(asked)
        return _FamilyJob(self, asked).count()

    def _of_completions(self, asked: Question) -> Counts:
        """Count on all completions together."""
        if _is_of_one_table(asked):
            found = self._stacked._within_table(asked)
            return replace(found, completions=len(self._completed))
        return _together([part._count(asked) for part in self._completed])

    @cached_property
    def _stacked(self) -> FamilyCounter:
        return FamilyCounter(self.data.stacked(self.completions), (), self.work)

    def _within_table(self, asked: Question) -> Counts:
        """Count attributes of one entity: rows of its table, without a join."""
        data, nodes, [variable] = self.data, asked.nodes, asked.variables
        columns = [data.values[node.predicate.name] for node in nodes]
        known = np.ones(len(columns[0]), np.bool_)
        for node, column in zip(nodes, columns, strict=True):
            if node.predicate.name in data.unknown:
                known &= column < node.size
        self.work.add(len(known))
        counts = data.spread(asked.outside)[data.owner[data.layout.types[variable]]]
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
            if self._profile_rows > REMEMBERED_ROWS:
                self._profiles.clear()
                self._profile_rows = 0
            self._profiles[attributes] = found
        return found


@dataclass(frozen=True, eq=False)
class _Ahead:
    """What came of counting a family ahead, and the work it was, as `Work.add` was told of it."""

    found: Counts
    work: list[int]


def _is_of_one_table(asked: Question) -> bool:
    """Tell whether only attributes of one entity are asked for."""
    linked = asked.true or any(node.relationship is not None for node in asked.nodes)
    return not linked and len(asked.variables) == 1


class _FamilyJob(MoebiusJob):
    """One family's count: which columns its tables have, and how they are joined."""

    def __init__(self, counter: FamilyCounter, asked: Question) -> None:
        self.counter, self.data, self.asked = counter, counter.data, asked
        own = [node for node in asked.nodes if node.relationship is None]
        self.attributes = {
            v: tuple(n for n in own if asked.stands_for(n.variables[0]) == v)
            for v in asked.variables
        }
        self.described = {}
        self.kept = tuple(map(_entity, asked.keep))
        self.spread = self.data.spread(asked.outside)
        self.sizes = {POPULATION: self.data.populations}
        for variable, attributes in self.attributes.items():
            self.sizes[_entity(variable)] = self.data.total(self.data.layout.types[variable])
            if attributes:
                _, distinct = counter.profiles(attributes)
                self.sizes[_profile(variable)] = len(distinct[0])
                self.described[_profile(variable)] = attributes, distinct
        self.sizes |= {str(node): node.size + 1 for node in asked.nodes}

    def flat(self, true: tuple[str, ...]) -> Table:
        """Count with some relationships true, whatever the others are."""
        relationships = [self.counter.relationships[name] for name in true]
        entities = [{_entity(self.asked.stands_for(v)) for v in r.variables} for r in relationships]
        tables = [
            self._links(relationship, set().union(*entities[:place], *entities[place + 1 :]))
            for place, relationship in enumerate(relationships)
        ]
        linked = set().union(*entities)
        tables += [self._alone(v) for v in self.asked.variables if _entity(v) not in linked]
        every = {_entity(variable) for variable in self.asked.variables}
        room, tally = Room(in_use().nbytes, "a count over several tables"), self.counter.work.add

        def reduced(table: Table, others: Sequence[Table]) -> tuple[Table, set[str]]:
            return self._profiled(table, {name for other in others for name in other.columns})

        return join_all(tables or [self._nothing()], every, reduced, self.sizes, room, tally)

    def _links(self, relationship: Relationship, needed: Collection[str]) -> Table:
        """Return the links, in which entities that are not needed are replaced by their profiles.

        Many families ask for the same, which is then made once, as far as there is room for it.
        """
        name = relationship.predicate.name
        self.counter.work.add(self.data.link_count(name))
        if self.asked.merged or self.asked.only:
            return self._forget(self._true(relationship), needed)
        entities = tuple(
            None if _entity(v) in needed else (self.attributes[v], v in self.asked.keep)
            for v in relationship.variables
        )
        own = tuple(node for node in relationship.attributes if node in self.asked.nodes)
        found = self.data.summed.get((name, entities, own))
        if found is None:
            links = self._true(relationship)
            found = self._forget(links, needed)
            if len(found) < len(links):  # those of whom nothing is forgotten are as soon made anew
                self.data.summed.put((name, entities, own), found)
        return found

    def _true(self, relationship: Relationship) -> Table:
        """Return the links with the entities joined, and with what is asked of the links."""
        entities = self.data.links[relationship.predicate.name]
        columns: dict[str, Codes] = {}
        alike = np.ones(entities.shape[1], np.bool_)
        for variable, column in zip(relationship.variables, entities, strict=True):
            stands_for = self.asked.stands_for(variable)
            first = columns.setdefault(_entity(stands_for), column)
            if first is not column:
                alike &= first == column
            if stands_for in self.asked.only:
                alike &= column == self.asked.only[stands_for]
        for node in relationship.attributes:
            if node in self.asked.nodes:
                columns[str(node)] = self.data.values[node.predicate.name]
        owner = self.data.owner[relationship.predicate.types[0]]
        columns[POPULATION] = owner[entities[0]]
        if not alike.all():
            columns = {name: column[alike] for name, column in columns.items()}
        return SparseTable(columns, np.ones(int(alike.sum()), np.int64))

    def _alone(self, variable: Variable) -> Table:
        owner = self.data.owner[self.data.layout.types[variable]]
        self.counter.work.add(len(owner))
        entities = np.arange(len(owner), dtype=np.int32)
        if variable in self.asked.only:
            entities = entities[self.asked.only[variable] :][:1]
        columns = {_entity(variable): entities, POPULATION: owner[entities]}
        return self._forget(SparseTable(columns, np.ones(len(entities), np.int64)), ())

    def _nothing(self) -> Table:
        every = np.arange(self.data.populations, dtype=np.int32)
        return SparseTable({POPULATION: every}, np.ones(len(every), np.int64))

    def _forget(self, table: Table, needed: Collection[str]) -> Table:
        """Replace entities that are not needed by their profiles, and sum."""
        table, keep = self._profiled(table, needed)
        return table if len(keep) == len(table.columns) else sum_out(table, keep, self.sizes)

    def _profiled(self, table: Table, needed: Collection[str]) -> tuple[Table, set[str]]:
        """Add the profiles of entities that are not needed; name the columns to keep."""
        columns, keep = dict(table.columns), set(table.columns)
        for variable in self.asked.variables:
            name = _entity(variable)
            if name not in columns or name in needed:
                continue
            if self.attributes[variable] and _profile(variable) not in columns:
                profile, _ = self.counter.profiles(self.attributes[variable])
                columns[_profile(variable)] = profile[columns[name]]
                keep.add(_profile(variable))
            if variable not in self.asked.keep:
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
