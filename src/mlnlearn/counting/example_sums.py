"""Sums over examples, by SQL where the facts are: for each candidate, of the examples that have it.

What a learner sums over the examples of which a conjunction holds is a join, a distinct and a sum.
Which examples have which candidates is asked once, and kept at the server. Then numbers of examples
are sent there, and what comes back is a row a candidate, in one statement. The numbers are such
that sums are exact (see `mlnlearn.structure.boosting.regression`), so that every server gives the
same.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import EQUALS, Body, Pattern
from mlnlearn.counting.sql_engine import FullServerError, SqlEngine, StoringServer
from mlnlearn.data.database import Database
from mlnlearn.errors import MemoryLimitError
from mlnlearn.resources import in_use

_NAMES = count()
_BRANCHES = 48  # candidates in a statement
_LEAST_OF_DUCKDB = 128 << 20
_BYTES_OF_ARGUMENT = 18  # what an argument of a fact takes in memory, with the lookups it is in


@dataclass(frozen=True, slots=True)
class AskedCandidates:
    """A conjunction, or several that differ in the constant at one place of the last literal."""

    body: Body
    slot: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _StoredView:
    """Examples at a server: their table, those of who has which candidates, and which these are."""

    table: str
    tables: list[str] = field(default_factory=list)
    places: dict[tuple[AskedCandidates, bool], tuple[str, int]] = field(default_factory=dict)


def _let_go(server: StoringServer, views: dict[int, _StoredView], key: int) -> None:
    view = views.pop(key)
    with suppress(Exception):  # the server may be gone before us
        for table in (view.table, *view.tables):
            server.drop(table)


def counted_elsewhere(world: Objects) -> ExampleSums | None:
    """Return who sums over the examples of a world by SQL; None where that is done in memory.

    Spark does where it is the engine in use, DuckDB where the facts would not fit in memory.
    """
    resources = in_use()
    if len(world.databases) > 1 or resources.engine not in ("spark", "duckdb"):
        return None
    if resources.engine == "duckdb":
        (database,) = world.databases
        arguments = sum(p.arity * database.count(p.name) for p in world.schema.predicates)
        if _BYTES_OF_ARGUMENT * arguments <= resources.nbytes:
            _leave_room(database, resources.nbytes)
            return None
    engine = open_engine(world.databases)
    return ExampleSums(engine) if isinstance(engine, SqlEngine) else None


def _leave_room(database: Database, nbytes: int) -> None:
    """Let DuckDB hold little more than what it reads: memory is for facts that are joined here."""
    from mlnlearn.counting.duck import DuckServer  # noqa: PLC0415 - loads DuckDB

    server = getattr(getattr(database.true, "place", None), "server", None)
    if isinstance(server, DuckServer):
        server.limit(max(nbytes // 8, _LEAST_OF_DUCKDB))


class ExampleSums:
    """Sums over examples at the server of an engine.

    Parameters
    ----------
    engine
        Where the facts of one database are.

    Examples
    --------
    >>> from mlnlearn.counting.duck import DuckEngine
    >>> from mlnlearn.counting.pattern import Pattern
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> facts = {"likes": [("Anna", "Bob"), ("Anna", "Carl")]}
    >>> people = np.array([[0, 0, 0], [0, 1, 2]], np.int32)
    >>> with DuckEngine([Database.from_facts(schema, facts)], threads=1) as engine:
    ...     sums = ExampleSums(engine)
    ...     likes = (Pattern(schema["likes"], (0, 1)),)
    ...     groundings = sums.groundings(people, likes)
    ...     numbers = {"g": np.array([2.0, 4.0, 8.0])}
    ...     asked = [AskedCandidates(likes, None)]
    ...     found = sums.sums(people, np.arange(3), numbers, asked, existential=True)
    >>> groundings.tolist(), found
    ([2, 0, 0], [{0: [2.0]}])
    """

    def __init__(self, engine: SqlEngine) -> None:
        self.engine = engine
        self.server = cast("StoringServer", engine.server)  # as those of Spark and DuckDB are
        self._together = _BRANCHES
        self._views: dict[int, _StoredView] = {}

    def groundings(self, examples: Codes, body: Body) -> Ints:
        """Return how many groundings a conjunction has for each example."""
        joins, _ = self._joins(AskedCandidates(body, None), len(examples) - 1)
        table = self._view(examples).table
        found = self.server.fetch(
            f"SELECT v.r AS r, count(*) AS n FROM {table} v{joins} GROUP BY v.r"
        )
        counts = np.zeros(examples.shape[1], np.int64)
        counts[np.asarray(found["r"], np.int64)] = np.asarray(found["n"], np.int64)
        return counts

    def sums(
        self,
        examples: Codes,
        chosen: Ints,
        numbers: Mapping[str, NDArray[np.float64]],
        asked: Sequence[AskedCandidates],
        *,
        existential: bool,
    ) -> list[dict[int, list[float]]]:
        """Sum numbers of the examples that have groundings of candidates.

        Parameters
        ----------
        examples
            A row of databases, then one of each argument's objects. What is known of them at the
            server is let go of with this array.
        chosen
            The examples that are summed.
        numbers
            What is summed, of each of these; the first two times the groundings, and their square,
            unless `existential`.
        asked
            The candidates.
        existential
            Whether an example counts once, however many groundings it has.

        Returns
        -------
        For each candidate, its sums by the code of the constant; 0 where there is no slot.
        """
        view = self._view(examples)
        places = self._stored(view, len(examples) - 1, asked, existential)
        factors = {} if existential else {0: "q.m * ", 1: "q.m * q.m * "}
        totals = ", ".join(
            f"sum({factors.get(place, '')}v.{name}) AS {name}" for place, name in enumerate(numbers)
        )
        found: dict[int, dict[int, list[float]]] = {}
        tables = dict.fromkeys(table for table, _ in places)
        counted = " UNION ALL ".join(f"SELECT * FROM {table}" for table in tables)
        with self._uploaded({"r": chosen.astype(np.int32), **numbers}) as table:
            rows = self.server.fetch(
                f"SELECT q.k AS k, q.s AS s, {totals} FROM ({counted}) q"
                f" JOIN {table} v ON v.r = q.r GROUP BY q.k, q.s"
            )
        for number, slot, *sums in zip(*(c.tolist() for c in rows.values()), strict=True):
            found.setdefault(int(number), {})[int(slot)] = sums
        return [found.get(number, {}) for _, number in places]

    def _view(self, examples: Codes) -> _StoredView:
        """Return what the server has of some examples; they are sent there first, once."""
        key = id(examples)
        if key not in self._views:
            columns = {f"a{place}": column for place, column in enumerate(examples[1:])}
            with self._uploaded(
                {"r": np.arange(examples.shape[1], dtype=np.int32), **columns}
            ) as t:
                table = self.server.create(f"view{next(_NAMES)}", f"SELECT * FROM {t}")
            self._views[key] = _StoredView(table)
            weakref.finalize(examples, _let_go, self.server, self._views, key).atexit = False
        return self._views[key]

    def _stored(
        self,
        view: _StoredView,
        heads: int,
        asked: Sequence[AskedCandidates],
        existential: bool,
    ) -> list[tuple[str, int]]:
        """Return the tables of who has candidates, and the numbers that these have there."""
        waiting = [item for item in dict.fromkeys(asked) if (item, existential) not in view.places]
        while waiting:
            chosen = waiting[: self._together]
            numbers = [next(_NAMES) for _ in chosen]
            branches = [
                self._branch(view.table, heads, number, item, existential)
                for number, item in zip(numbers, chosen, strict=True)
            ]
            try:
                table = self.server.create(f"having{numbers[0]}", " UNION ALL ".join(branches))
            except FullServerError as error:
                if len(chosen) == 1:
                    raise MemoryLimitError(
                        f"the sums of a candidate do not fit, even with spilling to disk: {error}",
                        hint="raise the limit (--memory), or make room on the disk of temporary "
                        "files (TMPDIR)",
                    ) from error
                self._together = (len(chosen) + 1) // 2
                continue
            view.tables.append(table)
            for number, item in zip(numbers, chosen, strict=True):
                view.places[item, existential] = table, number
            del waiting[: len(chosen)]
        return [view.places[item, existential] for item in asked]

    @contextmanager
    def _uploaded(self, columns: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
        """Send columns to the server for a while, as the table that is named."""
        table = self.server.load(f"examples{next(_NAMES)}", columns)
        try:
            yield table
        finally:
            self.server.drop(table)

    def _branch(
        self, table: str, heads: int, number: int, candidates: AskedCandidates, existential: bool
    ) -> str:
        """Return a statement for the examples that have some candidates, each once."""
        joins, slot = self._joins(candidates, heads)
        columns = f"{number} AS k, v.r AS r, {slot} AS s"
        if existential:
            return f"SELECT DISTINCT {columns} FROM {table} v{joins}"
        group = "v.r" if slot == "0" else f"v.r, {slot}"
        return f"SELECT {columns}, count(*) AS m FROM {table} v{joins} GROUP BY {group}"

    def _joins(self, candidates: AskedCandidates, heads: int) -> tuple[str, str]:
        """Return the joins of examples ``v`` with a conjunction's facts, and the open argument."""
        values = {number: f"v.a{number}" for number in range(heads)}
        joins: list[str] = []
        where: list[str] = []
        slot = "0"
        for number, pattern in enumerate(candidates.body):
            open_place = candidates.slot if number == len(candidates.body) - 1 else None
            if pattern.predicate.name == EQUALS:  # of the target's arguments, which have values
                terms = [self._term(pattern, place, values) for place in (0, 1)]
                if open_place is None:
                    where.append(" = ".join(terms))
                else:
                    slot = terms[1 - open_place]
                continue
            asked: list[str] = []
            for place, term in enumerate(pattern.terms):
                column = f"t{number}.c{place}"
                if place == open_place:
                    slot = column
                elif isinstance(term, str) or term in values:
                    asked.append(f"{column} = {self._term(pattern, place, values)}")
                else:
                    values[term] = column
            table = self.engine.fact_table(pattern.predicate)
            joins.append(f" JOIN {table} t{number} ON {' AND '.join(asked) or '1 = 1'}")
        if where:
            joins.append(f" WHERE {' AND '.join(where)}")
        return "".join(joins), slot

    def _term(self, pattern: Pattern, place: int, values: Mapping[int, str]) -> str:
        term = pattern.terms[place]
        if isinstance(term, str):
            return str(self.engine.stack.code(pattern.predicate.types[place], term))
        return values.get(term, "NULL")
