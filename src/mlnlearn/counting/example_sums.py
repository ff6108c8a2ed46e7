"""Sums over examples, by SQL where the facts are: for each candidate, of the examples that have it.

What a learner sums over the examples of which a conjunction holds is a join, a distinct and a sum.
The examples with their numbers are sent to the server; what comes back is a row a candidate. The
numbers are such that sums are exact (see `mlnlearn.structure.boosting.regression`), so that every
server gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import EQUALS, Body, Pattern
from mlnlearn.counting.sql_engine import Answer, FullServerError, SqlEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import MemoryLimitError
from mlnlearn.resources import in_use

_BRANCHES = 48  # candidates in a statement
_LEAST_OF_DUCKDB = 128 << 20
_BYTES_OF_ARGUMENT = 18  # what an argument of a fact takes in memory, with the lookups it is in


@dataclass(frozen=True, slots=True)
class AskedCandidates:
    """A conjunction, or several that differ in the constant at one place of the last literal."""

    body: Body
    slot: int | None


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
    ...     found = sums.sums(people, numbers, asked, existential=True)
    >>> groundings.tolist(), found
    ([2, 0, 0], [{0: [2.0]}])
    """

    def __init__(self, engine: SqlEngine) -> None:
        self.engine, self.server = engine, engine.server
        self._names = count()
        self._together = _BRANCHES

    def groundings(self, examples: Codes, body: Body) -> Ints:
        """Return how many groundings a conjunction has for each example."""
        joins, _ = self._joins(AskedCandidates(body, None), len(examples) - 1)
        with self._uploaded(examples, {}) as table:
            found = self.server.fetch(
                f"SELECT v.r AS r, count(*) AS n FROM {table} v{joins} GROUP BY v.r"
            )
        counts = np.zeros(examples.shape[1], np.int64)
        counts[np.asarray(found["r"], np.int64)] = np.asarray(found["n"], np.int64)
        return counts

    def sums(
        self,
        examples: Codes,
        numbers: Mapping[str, NDArray[np.float64]],
        asked: Sequence[AskedCandidates],
        *,
        existential: bool,
    ) -> list[dict[int, list[float]]]:
        """Sum numbers of the examples that have groundings of candidates.

        Parameters
        ----------
        examples
            A row of databases, then one of each argument's objects.
        numbers
            What is summed; the first two times the groundings, and their square, unless
            `existential`.
        asked
            The candidates.
        existential
            Whether an example counts once, however many groundings it has.

        Returns
        -------
        For each candidate, its sums by the code of the constant; 0 where there is no slot.
        """
        found: list[dict[int, list[float]]] = [{} for _ in asked]
        factors = {} if existential else {0: "q.m * ", 1: "q.m * q.m * "}
        totals = ", ".join(
            f"sum({factors.get(place, '')}v.{name}) AS {name}" for place, name in enumerate(numbers)
        )
        with self._uploaded(examples, numbers) as table:
            branches = [
                self._branch(table, len(examples) - 1, number, candidates, existential)
                for number, candidates in enumerate(asked)
            ]
            for rows in self._answers(table, totals, branches):
                for number, slot, *sums in zip(*(c.tolist() for c in rows.values()), strict=True):
                    found[number][int(slot)] = sums
        return found

    def _answers(self, table: str, totals: str, branches: Sequence[str]) -> Iterator[Answer]:
        """Execute branches, several in a statement: fewer where the server has no room for them."""
        waiting = list(branches)
        while waiting:
            chosen = waiting[: self._together]
            try:
                yield self.server.fetch(
                    f"SELECT q.k AS k, q.s AS s, {totals} FROM ({' UNION ALL '.join(chosen)}) q"
                    f" JOIN {table} v ON v.r = q.r GROUP BY q.k, q.s"
                )
            except FullServerError as error:
                if len(chosen) == 1:
                    raise MemoryLimitError(
                        f"the sums of a candidate do not fit, even with spilling to disk: {error}",
                        hint="raise the limit (--memory), or make room on the disk of temporary "
                        "files (TMPDIR)",
                    ) from error
                self._together = (len(chosen) + 1) // 2
                continue
            del waiting[: len(chosen)]

    @contextmanager
    def _uploaded(
        self, examples: Codes, numbers: Mapping[str, NDArray[np.float64]]
    ) -> Iterator[str]:
        """Send examples and their numbers to the server for a while, as the table that is named."""
        columns: dict[str, NDArray[np.generic]] = {
            "r": np.arange(examples.shape[1], dtype=np.int32),
            **{f"a{place}": column for place, column in enumerate(examples[1:])},
            **numbers,
        }
        table = self.server.load(f"examples{next(self._names)}", columns)
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
