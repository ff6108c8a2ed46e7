"""Tables at a server as families are counted on them: a code per entity, link and attribute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.placed import SqlPlace, no_room
from mlnlearn.counting.sql_engine import Answer, FullServerError, StoringServer
from mlnlearn.counting.table_place import TablePlace, warn_of_lost
from mlnlearn.data.database import Database
from mlnlearn.data.load.mapping import ColumnMapping, TableMapping
from mlnlearn.data.load.mapping import Mapping as TablesMapping
from mlnlearn.data.placed import PlacedFacts
from mlnlearn.errors import InputError
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.resources import in_use
from mlnlearn.structure.join_bayes.encode import CountedData
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship

_NUMBERS = count()
_BYTES_OF_ARGUMENT = 40  # what an argument of a fact takes in memory while families are counted


def counted_in_place(databases: Collection[Database]) -> bool:
    """Tell whether families are to be counted where the facts lie, by what is in use.

    So it is with an engine of SQL; ``auto`` counts there what would not fit in memory.
    """
    [first, *others] = databases
    place = getattr(first.true, "place", None)
    if others or not isinstance(place, SqlPlace):
        return False
    resources = in_use()
    if resources.engine != "auto":
        return resources.engine != "memory"
    arguments = sum(p.arity * place.listed(p.name) for p in first.schema.predicates)
    return _BYTES_OF_ARGUMENT * arguments > resources.nbytes


class PlacedData(CountedData):
    """Tables of codes at a server: one of each type's entities, one of each relationship's links.

    Codes of attributes are those of their nodes. A value that is not there is refused: to fill it
    in again and again takes the tables in memory.

    Attributes
    ----------
    server
        What executes statements.
    entities
        For each type with attributes, its table: ``e``, and a column of each attribute.
    links
        For each link predicate, its table: ``e0``, ``e1``, …, and a column of each attribute.
    columns
        For each attribute's predicate, its column.
    """

    def __init__(self, database: Database, layout: NetLayout, mapping: TablesMapping) -> None:
        facts = database.true
        assert isinstance(facts, PlacedFacts)
        assert isinstance(facts.place, SqlPlace)
        self.place, self.layout, self.mapping = facts.place, layout, mapping
        self.server: StoringServer = facts.place.server
        self.populations = 1
        kinds = dict.fromkeys(layout.types.values())
        self.sizes = {kind: np.array([database.size(kind)], np.int64) for kind in kinds}
        self.columns: dict[str, str] = {}
        self.entities: dict[str, str] = {}
        self.links: dict[str, str] = {}
        for kind in kinds:
            own = [n for n in layout.attributes if n.main and n.predicate.types[0] == kind]
            if own:
                self.entities[kind] = self._made(self._entity_table(kind, own), own)
        for relationship in layout.relationships:
            select = self._link_table(relationship)
            name = relationship.predicate.name
            self.links[name] = self._made(select, relationship.attributes)
        self._counts = {
            name: int(self.fetch(f"SELECT count(*) AS n FROM {table}")["n"][0])
            for name, table in self.links.items()
        }
        self._tell_lost()

    @property
    def incomplete(self) -> Collection[str]:
        """Predicates of attributes of which some values are unknown: none."""
        return ()

    def link_count(self, name: str) -> int:
        """Return the number of true links of a predicate."""
        return self._counts[name]

    def digest(self) -> str:
        """Return what tells these tables from others, as a checkpoint has it: sums of codes."""
        layout, parts = self.layout, []
        for kind, table in self.entities.items():
            own = [n for n in layout.attributes if n.main and n.predicate.types[0] == kind]
            parts.append((kind, table, ["e"], own))
        for relationship in layout.relationships:
            name, arity = relationship.predicate.name, relationship.predicate.arity
            keys = [f"e{place}" for place in range(arity)]
            parts.append((name, self.links[name], keys, list(relationship.attributes)))
        found = []
        for name, table, keys, nodes in parts:
            code = "CAST(0 AS BIGINT)"
            for column in [*keys, *(self.columns[node.predicate.name] for node in nodes)]:
                code = f"(({code} * 31 + {column} + 1) % 2147483647)"
            sums = f"count(*) AS n, CAST(coalesce(sum({code}), 0) AS BIGINT) AS s"
            answer = self.fetch(f"SELECT {sums} FROM {table}")
            found.append(f"{name} {int(answer['n'][0])} {int(answer['s'][0])}")
        return "; ".join(found)

    def fetch(self, statement: str) -> Answer:
        """Execute a statement; say what it was for where there is no room."""
        try:
            return self.server.fetch(statement)
        except FullServerError as error:
            purpose = "to count families of columns, even with spilling to disk"
            raise no_room(purpose, error) from error

    def load(self, columns: Mapping[str, NDArray[np.int32]]) -> str:
        """Send numbers to the server, and return what their table is called."""
        return self.server.load(f"laj{next(_NUMBERS)}", columns)

    def new_table(self, select: str) -> str:
        """Keep the answer of a statement at the server."""
        try:
            return self.server.create(f"laj{next(_NUMBERS)}", select)
        except FullServerError as error:
            raise no_room("for tables of codes", error) from error

    def _made(self, select: str, nodes: Collection[NetNode]) -> str:
        table = self.new_table(select)
        names = [self.columns[node.predicate.name] for node in nodes]
        if names:
            counts = ", ".join(f"count(*) - count({name}) AS {name}" for name in names)
            empty = self.fetch(f"SELECT {counts} FROM {table}")
            for node in nodes:
                number = int(empty[self.columns[node.predicate.name]][0])
                if number:
                    raise InputError(
                        f"{node.predicate.name}: {number:,} cells are empty, and cells are filled "
                        "in memory only",
                        hint="use --engine memory, leave such rows out, or skip the column",
                    )
        return table

    def _column(self, node: NetNode, number: int) -> str:
        name = f"a{number}"
        self.columns[node.predicate.name] = name
        return name

    def _entity_table(self, kind: str, nodes: Collection[NetNode]) -> str:
        """Return the statement for a type's entities with the codes of their attributes."""
        if isinstance(self.place, TablePlace):
            table = next(t for t in self.mapping if t.has_objects and t.type == kind)
            return self._coded(self.place, table, self.place.keys(table), [kind], ["e"], nodes)
        cells, joins = ["k.code AS e"], []
        for number, node in enumerate(nodes):
            cell, join = self._fact(node, number, ["k.code"])
            cells.append(f"{cell} AS {self._column(node, number)}")
            joins += join
        return f"SELECT {', '.join(cells)} FROM {self.place.dictionary(kind)} k{''.join(joins)}"

    def _link_table(self, relationship: Relationship) -> str:
        """Return the statement for a relationship's links with the codes of their attributes."""
        predicate, nodes = relationship.predicate, relationship.attributes
        titles = [f"e{place}" for place in range(predicate.arity)]
        if isinstance(self.place, TablePlace):
            table, column = next(
                (table, column)
                for name, table, column in self.mapping.predicates()
                if name == predicate.name
            )
            keys = self.place.keys(table)
            if column is not None:
                keys.append(self.place.cell(table, column))
            return self._coded(self.place, table, keys, predicate.types, titles, nodes)
        cells, joins = [f"t.c{place} AS {title}" for place, title in enumerate(titles)], []
        for number, node in enumerate(nodes):
            cell, join = self._fact(node, number, [f"t.c{place}" for place in range(len(titles))])
            cells.append(f"{cell} AS {self._column(node, number)}")
            joins += join
        facts = self.place.table(predicate.name)
        return f"SELECT {', '.join(cells)} FROM {facts} t{''.join(joins)}"

    def _coded(
        self,
        place: TablePlace,
        table: TableMapping,
        keys: Sequence[str],
        kinds: Sequence[str],
        titles: Sequence[str],
        nodes: Collection[NetNode],
    ) -> str:
        """Return the statement for a table in codes: of its keys, and of attributes."""
        inner = [f"{key} AS k{number}" for number, key in enumerate(keys)]
        outer = [f"k{number}.code AS {title}" for number, title in enumerate(titles)]
        joins = [
            f" JOIN {place.dictionary(kind)} k{number} ON k{number}.name = s.k{number}"
            for number, kind in enumerate(kinds)
        ]
        for number, node in enumerate(nodes):
            column = next(c for c in table.columns if c.predicate == node.predicate.name)
            title = self._column(node, number)
            if column.role == "flag":
                inner.append(f"{_flag(place, table, column, node)} AS {title}")
                outer.append(f"s.{title}")
                continue
            inner.append(f"{place.cell(table, column)} AS {title}")
            first = int(node.relationship is not None)
            outer.append(f"d{number}.code + {first} AS {title}")
            dictionary = place.dictionary(column.type)
            joins.append(f" LEFT JOIN {dictionary} d{number} ON d{number}.name = s.{title}")
        rows = f"(SELECT {', '.join(inner)} FROM {place.relations[table.name]}) s"
        return f"SELECT {', '.join(outer)} FROM {rows}{''.join(joins)}"

    def _fact(self, node: NetNode, number: int, keys: list[str]) -> tuple[str, list[str]]:
        """Return the code that a fact gives an attribute, and what is to be joined for it."""
        name, first = node.predicate.name, int(node.relationship is not None)
        if name not in self.place.selects:
            return (f"{node.values.index('F')}" if node.is_flag else "NULL"), []
        same = " AND ".join(f"f{number}.c{place} = {key}" for place, key in enumerate(keys))
        join = f" LEFT JOIN {self.place.table(name)} f{number} ON {same}"
        if node.is_flag:
            yes, no = node.values.index("T"), node.values.index("F")
            return f"CASE WHEN f{number}.c0 IS NULL THEN {no} ELSE {yes} END", [join]
        self._refuse_several(node, len(keys))
        return f"f{number}.c{len(keys)} + {first}", [join]

    def _refuse_several(self, node: NetNode, keys: int) -> None:
        groups = ", ".join(f"c{place}" for place in range(keys))
        table = self.place.table(node.predicate.name)
        repeated = f"SELECT c0 FROM {table} GROUP BY {groups} HAVING count(*) > 1 LIMIT 1"
        if len(self.fetch(repeated)["c0"]):
            raise InputError(
                f"{node} has more than one value for the same key",
                hint="attributes have one value each; make it a relationship table of its own",
            )

    def _tell_lost(self) -> None:
        """Say which rows of relationships are left out, since they lead nowhere."""
        if not isinstance(self.place, TablePlace):
            return
        for name, table, column in self.mapping.predicates():
            if name in self.links and column is None:
                relation = self.place.relations[table.name]
                rows = int(self.fetch(f"SELECT count(*) AS n FROM {relation}")["n"][0])
                if rows > self._counts[name]:
                    warn_of_lost(table.name, rows - self._counts[name])


def _flag(place: TablePlace, table: TableMapping, column: ColumnMapping, node: NetNode) -> str:
    """Return the code of a flag's cell, in SQL."""
    yes, no = node.values.index("T"), node.values.index("F")
    said = f"CASE WHEN {place.says_yes(table, column)} THEN {yes} ELSE {no} END"
    if column.null == "absent":
        return said
    return f"CASE WHEN {place.cell(table, column)} IS NULL THEN NULL ELSE {said} END"
