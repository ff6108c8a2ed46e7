"""Facts in place: tables of names become tables of codes by SQL, once, where they lie.

Each type has a table of its constants with their codes, each predicate one of its facts in codes.
They are made by the server on first use, and are what its counts read; nothing is loaded here but
what someone asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.sql_engine import Answer, FullServerError, StoringServer
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.data.placed import PlacedFacts, PlacedVocabulary
from mlnlearn.data.sampling import table_with_owner
from mlnlearn.errors import InputError, Location, MemoryLimitError
from mlnlearn.logic.schema import Schema

_NUMBERS = count()  # of tables at servers, which several places may share
S = TypeVar("S")
T = TypeVar("T")


def no_room(purpose: str, error: FullServerError) -> MemoryLimitError:
    """Return the error where a server has no room for something, in memory or on disk."""
    return MemoryLimitError(f"no room {purpose}: {error}", hint=error.hint)


class SqlPlace:
    """Facts at a server of SQL.

    Parameters
    ----------
    server
        What executes statements; it can see the tables.
    schema
        Types and predicates.
    selects
        Per predicate, a statement that lists its facts: columns ``a0``, ``a1``, … of texts.
    """

    def __init__(self, server: StoringServer, schema: Schema, selects: Mapping[str, str]) -> None:
        self.server, self.schema, self.selects = server, schema, dict(selects)
        self._dictionaries: dict[str, str] = {}
        self._tables: dict[str, str] = {}
        self._numbers: dict[tuple[str, ...], int] = {}

    def table(self, name: str) -> str:
        """Return the server's table of a predicate's facts in codes: ``d``, ``c0`` and so on."""
        if name not in self._tables:
            types = self.schema[name].types
            joins = [
                f" JOIN {self.dictionary(kind)} k{place} ON k{place}.name = s.a{place}"
                for place, kind in enumerate(types)
            ]
            codes = "".join(f", k{place}.code AS c{place}" for place in range(len(types)))
            select = f"SELECT DISTINCT 0 AS d{codes} FROM ({self.selects[name]}) s{''.join(joins)}"
            self._refuse_empty(name)
            table = f"facts{next(_NUMBERS)}"
            self._tables[name] = self._made(name, self.server.create, table, select)
        return self._tables[name]

    def dictionary(self, kind: str) -> str:
        """Return the server's table of a type's constants: ``code`` and ``name``."""
        if kind not in self._dictionaries:
            listed = self.schema.constants.get(kind, ())
            number = next(_NUMBERS)
            found = self._made(kind, self.server.gather, f"found{number}", self._mentions(kind))
            code = "CAST(row_number() OVER (ORDER BY p, name) - 1 AS INTEGER) AS code"
            names = f"SELECT min(p) AS p, name FROM {found} GROUP BY name"
            select = f"SELECT {code}, name FROM ({names}) n"
            table = self._made(kind, self.server.create, f"names{number}", select)
            self._dictionaries[kind] = table
            if kind in self.schema.declared:
                self._refuse_foreign(kind, len(listed))
        return self._dictionaries[kind]

    def _mentions(self, kind: str) -> list[str]:
        """Return statements for a type's constants: where they are listed, and the places of facts.

        The column ``p`` orders them: those that are listed come first, in their order.
        """
        listed = self.schema.constants.get(kind, ())
        dialect = self.server.dialect
        parts = [
            f"SELECT {place} AS p, CAST({dialect.literal(name)} AS {dialect.text}) AS name"
            for place, name in enumerate(listed)
        ]
        for predicate in self.schema.predicates:
            facts = self.selects.get(predicate.name)
            for place, other in enumerate(predicate.types if facts else ()):
                if other == kind:
                    column = f"SELECT DISTINCT {len(listed)} AS p, a{place} AS name"
                    parts.append(f"{column} FROM ({facts}) s WHERE a{place} IS NOT NULL")
        return parts or [f"SELECT 0 AS p, CAST('' AS {dialect.text}) AS name WHERE 1 = 0"]

    def _made(self, what: str, make: Callable[[str, T], str], table: str, given: T) -> str:
        """Make a table; say what it is for where there is no room."""
        try:
            return make(table, given)
        except FullServerError as error:
            raise no_room(f"to number the constants of {what}", error) from error

    def asked(self, statement: str) -> Answer:
        """Execute a statement, and return the columns of its answer."""
        try:
            return self.server.fetch(statement)
        except FullServerError as error:
            raise no_room("to look at the tables", error) from error

    def _refuse_empty(self, name: str) -> None:
        places = range(self.schema[name].arity)
        empty = " OR ".join(f"a{place} IS NULL" for place in places)
        if empty:
            rows = self._one(f"SELECT count(*) AS n FROM ({self.selects[name]}) s WHERE {empty}")
            if rows:
                raise InputError(
                    f"{rows:,} rows have an empty argument",
                    Location(f"table {name}"),
                    hint="a fact names all its constants; leave such rows out",
                )

    def _refuse_foreign(self, kind: str, declared: int) -> None:
        found = self.server.fetch(
            f"SELECT name FROM {self._dictionaries[kind]} WHERE code >= {declared} "
            "ORDER BY code LIMIT 3"
        )["name"].tolist()
        if found:
            raise InputError(
                f"{', '.join(found)}: not in the closed type {kind!r}",
                hint="add it where the type is declared, or correct its spelling",
            )

    def _one(self, statement: str) -> int:
        (number,) = next(iter(self.asked(statement).values())).tolist()
        return int(number)

    def _number(self, key: tuple[str, ...], statement: str) -> int:
        """Return a number that the server counts once."""
        if key not in self._numbers:
            self._numbers[key] = self._one(statement)
        return self._numbers[key]

    def count(self, name: str) -> int:
        """Return the number of true atoms of a predicate."""
        if name not in self.selects:
            return 0
        return self._number(("facts", name), f"SELECT count(*) AS n FROM {self.table(name)}")

    def listed(self, name: str) -> int:
        """Return how many rows tell of a predicate: its true atoms, some perhaps twice."""
        if name not in self.selects:
            return 0
        select = f"SELECT count(*) AS n FROM ({self.selects[name]}) s"
        return self._number(("listed", name), select)

    def different(self, name: str, place: int) -> int:
        """Return how many constants stand at a place of a predicate."""
        if name not in self.selects:
            return 0
        select = f"SELECT count(DISTINCT c{place}) AS n FROM {self.table(name)}"
        return self._number(("different", name, str(place)), select)

    def facts(self, name: str) -> NDArray[np.int32]:
        """Load the facts of a predicate."""
        arity = self.schema[name].arity
        columns = ", ".join(f"c{place}" for place in range(arity))
        order = f" ORDER BY {columns}" if columns else ""
        found = self.asked(f"SELECT {columns or 'd'} FROM {self.table(name)}{order}")
        if not arity:
            return np.empty((0, len(found["d"])), np.int32)
        facts = table_with_owner(arity, len(found["c0"]))
        for place in range(arity):
            facts[place] = found.pop(f"c{place}")
        return facts

    def size(self, kind: str) -> int:
        """Return the number of constants of a type."""
        return self._number(("size", kind), f"SELECT count(*) AS n FROM {self.dictionary(kind)}")

    def code(self, kind: str, name: str) -> int:
        """Return the code of a constant, -1 where there is none of that name."""
        literal = self.server.dialect.literal(name)
        select = f"SELECT max(code) AS n FROM {self.dictionary(kind)} WHERE name = {literal}"
        return self._number(("code", kind, name), f"SELECT coalesce(n, -1) AS n FROM ({select}) s")

    def names(self, kind: str, start: int, stop: int) -> list[str]:
        """Load the constants of a type whose codes are in a range, in their order."""
        found = self.asked(
            f"SELECT name FROM {self.dictionary(kind)} "
            f"WHERE code >= {start} AND code < {stop} ORDER BY code"
        )
        return [str(name) for name in found["name"].tolist()]


def placed_database(place: SqlPlace, name: str) -> Database:
    """Return the database of facts in place."""
    domains = {kind: PlacedVocabulary(place, kind) for kind in place.schema.types}
    return Database(place.schema, domains, PlacedFacts(place, place.selects), name=name)


def server_of(stack: Stack, kind: type[S]) -> S | None:
    """Return the server where the facts of a stack lie, if it is of a kind."""
    facts = stack.databases[0].true
    if len(stack) > 1 or not isinstance(facts, PlacedFacts):
        return None
    server = getattr(facts.place, "server", None)
    return server if isinstance(server, kind) else None
