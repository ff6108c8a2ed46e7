"""What rules say of attributes in tables that stay where they lie.

Groundings of an attribute for which all counts are the same have the same features. Which these are
is found at the server: each grounding gets *marks*, sums of random numbers over the tuples that it
is part of, one number for each combination of values; groundings of equal marks are a group. What
comes back is how many of a group have each value of the attribute, and one grounding of each, for
which alone the counts are fetched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Ints
from mlnlearn.counting.equal_rows import equal_rows
from mlnlearn.counting.sparse import SparseTable
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.structure.join_bayes.counts import Counts, Question, Table
from mlnlearn.structure.join_bayes.feature_rows import FeatureRows
from mlnlearn.structure.join_bayes.features import Look, MatrixBuilder, attributes_of, looks_of
from mlnlearn.structure.join_bayes.layout import Relationship
from mlnlearn.structure.join_bayes.placed_counts import (
    Join,
    PlacedCounter,
    PlacedJob,
    counted_table,
    joins_of,
)
from mlnlearn.structure.join_bayes.placed_data import PlacedData
from mlnlearn.structure.join_bayes.rules import FamilyRules

MOST_COMBINATIONS = 1 << 22
"""Combinations of values of a family, each of which has a random number."""
_GROUP = "#group"


def placed_rows(counter: PlacedCounter, families: Sequence[FamilyRules]) -> list[FeatureRows]:
    """Return the features of all attributes, each attribute's equal groundings together."""
    rules = sum(family.size for family in families)
    found = []
    for node in attributes_of(counter.data.layout):
        looks = list(looks_of(families, node))
        groups = _groups(counter, node, looks)
        builder = MatrixBuilder(counter.data, node)
        for look in looks:
            counts = groups.counts(counter, look)
            builder.emit(look, counts, counts.kept[0].astype(np.int64))
        matrix = builder.matrix(len(groups.groundings), rules)
        found.append(FeatureRows(node, matrix, groups.true, groups.groundings).reduced())
        counter.data.server.drop(groups.table)
    return found


@dataclass(frozen=True)
class _Kept:
    """A join that groundings are part of, by the variables of the attribute.

    Attributes
    ----------
    join
        The join.
    nodes
        Nodes whose values are told apart.
    keep
        The variables that a grounding fixes, in the order of its entities.
    """

    join: Join
    nodes: tuple[NetNode, ...]
    keep: tuple[Variable, ...]


@dataclass(frozen=True, eq=False)
class _GroundingGroups:
    """Groups of groundings of an attribute.

    Attributes
    ----------
    owner
        The relationship of the attribute, if it is one of links.
    table
        The server's table of one grounding of each group: ``g``, ``e0`` and so on.
    true
        How many of a group have each value; shape ``(groups, values)``.
    groundings
        How many there are in each.
    """

    owner: Relationship | None
    table: str
    true: Ints
    groundings: Ints

    def counts(self, counter: PlacedCounter, look: Look) -> Counts:
        """Count the values of a family's other nodes for one grounding of each group."""
        return _GroupJob(counter, _question(look, self.owner), self).count()


class _GroupJob(PlacedJob):
    """The count of a family for each of some groundings."""

    def __init__(self, counter: PlacedCounter, asked: Question, groups: _GroundingGroups) -> None:
        super().__init__(counter, asked)
        self.groups = groups
        self.kept = (_GROUP,)
        self.sizes[_GROUP] = len(groups.groundings)

    def table(self, join: Join) -> Table:
        """Return the counts of what is linked together, by group where groundings are part."""
        if not set(self.asked.keep) & set(join.variables):
            return super().table(join)
        nodes, data = join.nodes(self.asked.nodes), self.counter.data
        text = join.sql(data, nodes)
        same = [f"{text.entities[v]} = r.e{place}" for place, v in enumerate(self.asked.keep)]
        cells = ["r.g AS g", *(f"{text.codes[n]} AS n{k}" for k, n in enumerate(nodes))]
        groups = ", ".join(["r.g", *(text.codes[node] for node in nodes)])
        tests = " AND ".join([*text.tests, *same])
        answer = data.fetch(
            f"SELECT {', '.join(cells)}, count(*) AS n FROM {text.source}, {self.groups.table} r "
            f"WHERE {tests} GROUP BY {groups}"
        )
        found = counted_table(answer, nodes)
        group = np.asarray(answer["g"]).astype(np.int32)
        return SparseTable({**found.columns, _GROUP: group}, found.counts)


def _groups(counter: PlacedCounter, node: NetNode, looks: Sequence[Look]) -> _GroundingGroups:
    """Find the groups of an attribute's groundings by their marks."""
    data = counter.data
    owners = {r.predicate: r for r in data.layout.relationships}
    owner = None if node.relationship is None else owners[node.relationship]
    base, keys = _base(data, node, owner)
    marks: list[str] = []
    tables: list[str] = []
    joins: dict[str, None] = {}
    for number, kept in enumerate(dict.fromkeys(_kept(data, owner, looks))):
        if _is_local(kept, owner):
            for join, code in _local_codes(data, kept, node):
                marks.append(code)
                joins |= dict.fromkeys(join)
            continue
        table = _mark_table(data, kept)
        tables.append(table)
        same = " AND ".join(f"m{number}.e{place} = b.e{place}" for place in range(len(keys)))
        joins[f" LEFT JOIN {table} m{number} ON {same}"] = None
        marks += [f"coalesce(m{number}.{name}, -1)" for name in ("w0", "w1")]
    marks = list(dict.fromkeys(marks))
    listed = "".join(f", {mark} AS x{number}" for number, mark in enumerate(marks))
    packed = keys[0]
    for place, key in enumerate(keys[1:], 1):
        packed = f"({packed}) * {data.total(node.predicate.types[place])} + {key}"
    rows = (
        f"SELECT b.{data.columns[node.predicate.name]} AS truth, {packed} AS grounding{listed} "
        f"FROM {base} b{''.join(joins)}"
    )
    groups = ", ".join(["truth", *(f"x{number}" for number in range(len(marks)))])
    answer = data.fetch(
        f"SELECT {groups}, count(*) AS n, min(grounding) AS grounding FROM ({rows}) s "
        f"GROUP BY {groups}"
    )
    for table in tables:
        data.server.drop(table)
    return _read_groups(data, node, owner, answer, len(marks))


def _read_groups(
    data: PlacedData,
    node: NetNode,
    owner: Relationship | None,
    answer: Mapping[str, NDArray[np.generic]],
    marks: int,
) -> _GroundingGroups:
    columns = [np.asarray(answer[f"x{number}"]).astype(np.int64) for number in range(marks)]
    counts = np.asarray(answer["n"]).astype(np.int64)
    rows = np.stack([np.zeros(len(counts), np.int64), *columns], axis=1)
    group, first = equal_rows(np.ascontiguousarray(rows))
    true = np.zeros((len(first), node.size), np.int64)
    np.add.at(true, (group, np.asarray(answer["truth"]).astype(np.int64)), counts)
    # of each group the grounding that comes first, whatever the order of the answer
    packed = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(packed, group, np.asarray(answer["grounding"]).astype(np.int64))
    entities: list[Ints] = []
    for kind in reversed(node.predicate.types[1 : owner.predicate.arity] if owner else ()):
        packed, last = np.divmod(packed, data.total(kind))
        entities.insert(0, last)
    keys = [packed, *entities]
    listed = {f"e{place}": column.astype(np.int32) for place, column in enumerate(keys)}
    number = np.arange(len(first), dtype=np.int32)
    table = data.load({"g": number, **listed})
    return _GroundingGroups(owner, table, true, true.sum(axis=1))


def _base(data: PlacedData, node: NetNode, owner: Relationship | None) -> tuple[str, list[str]]:
    """Return the table whose rows are the groundings, with the keys of these."""
    if owner is None:
        table = data.entities[node.predicate.types[0]]
        return f"(SELECT e AS e0, * FROM {table})", ["CAST(b.e0 AS BIGINT)"]
    places = range(owner.predicate.arity)
    keys = [f"CAST(b.e{place} AS BIGINT)" for place in places]
    return data.links[owner.predicate.name], keys


def _kept(data: PlacedData, owner: Relationship | None, looks: Sequence[Look]) -> Iterator[_Kept]:
    """Yield the joins that groundings are part of, in all that is counted for them."""
    relationships = {r.predicate.name: r for r in data.layout.relationships}
    for look in looks:
        asked = _question(look, owner)
        for true, _ in asked.subsets():
            links = [relationships[name] for name in true]
            for join in joins_of(asked.variables, links, asked.merged):
                if set(asked.keep) & set(join.variables):
                    yield _Kept(join, join.nodes(asked.nodes), asked.keep)


def _question(look: Look, owner: Relationship | None) -> Question:
    """Return what is counted of a family's other nodes for groundings of an attribute."""
    scope, true = frozenset(look.variables), look.given(owner)
    merged = dict(look.merged)
    return Question(tuple(look.rest), scope, true, look.keep, merged=merged, unknown=True)


def _is_local(kept: _Kept, owner: Relationship | None) -> bool:
    """Tell whether each grounding is one tuple of a join: its own row."""
    return set(kept.join.variables) == set(kept.keep) and set(kept.join.links) <= {owner}


def _local_codes(
    data: PlacedData, kept: _Kept, node: NetNode
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield values in a grounding's own row and in those of its entities, and joins for them."""
    for other in kept.nodes:
        column = data.columns[other.predicate.name]
        if other.relationship is not None or node.relationship is None:
            yield (), f"b.{column}"
        else:
            place = kept.keep.index(kept.join.stands_for(other.variables[0]))
            table = data.entities[other.predicate.types[0]]
            yield (f" JOIN {table} u{place} ON u{place}.e = b.e{place}",), f"u{place}.{column}"


def _mark_table(data: PlacedData, kept: _Kept) -> str:
    """Keep two sums of random numbers for each grounding that is part of a join."""
    combinations = math.prod(node.size for node in kept.nodes)
    if combinations > MOST_COMBINATIONS:
        raise MemoryLimitError(
            f"{combinations:,} combinations of {', '.join(map(str, kept.nodes))} are too many for "
            "weights in place",
            hint="set max_parents, or weights to log-probability",
        )
    text = kept.join.sql(data, kept.nodes)
    code = "0"
    for node in kept.nodes:
        code = f"({code}) * {node.size} + {text.codes[node]}"
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, 1 << 31, size=(2, combinations)).astype(np.int32)
    listed = {"x": np.arange(combinations, dtype=np.int32), "w0": numbers[0], "w1": numbers[1]}
    random = data.load(listed)
    keys = [text.entities[variable] for variable in kept.keep]
    titled = [f"{key} AS e{place}" for place, key in enumerate(keys)]
    sums = [f"CAST(sum(CAST(w.{name} AS BIGINT)) AS BIGINT) AS {name}" for name in ("w0", "w1")]
    table = data.new_table(
        f"SELECT {', '.join([*titled, *sums])} FROM {text.source} JOIN {random} w ON w.x = {code}"
        f"{text.where} GROUP BY {', '.join(keys)}"
    )
    data.server.drop(random)
    return table
