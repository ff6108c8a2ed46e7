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
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.example_joins import (
    COUNT,
    MOST_GROUNDINGS,
    AskedCandidates,
    ExampleJoin,
    FactSource,
)
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body
from mlnlearn.counting.sql_engine import FullServerError, SqlEngine, StoringServer
from mlnlearn.data.database import Database
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.resources import in_use

_NAMES = count()
_BRANCHES = 48  # candidates in a statement
_LEAST_OF_DUCKDB = 128 << 20
_BYTES_OF_ARGUMENT = 15  # what an argument of a fact takes in memory, with the lookups it is in


@dataclass(frozen=True, slots=True, eq=False)
class AskedSums:
    """Numbers of examples, and the candidates that they are summed for.

    Attributes
    ----------
    examples
        A row of databases, then one of each argument's objects. What is known of them at the server
        is let go of with this array.
    chosen
        The examples that are summed.
    numbers
        What is summed, of each of these.
    asked
        The candidates.
    """

    examples: Codes
    chosen: Ints
    numbers: Mapping[str, NDArray[np.float64]]
    asked: Sequence[AskedCandidates]


@dataclass(frozen=True, slots=True, eq=False)
class _StoredView:
    """Examples at a server: their table, those of who has which candidates, and which these are."""

    table: str
    tables: list[str] = field(default_factory=list)
    places: dict[tuple[AskedCandidates, bool], tuple[str, int]] = field(default_factory=dict)


_WASTE: WeakKeyDictionary[StoringServer, list[str]] = WeakKeyDictionary()
"""Tables that nobody needs any more, by the server that has them.

They are dropped when it is asked for something next. Who lets go of them may be the collector of
garbage, in the midst of another call to the same server, and must not wait for it.
"""


def _let_go(waste: list[str], views: dict[int, _StoredView], key: int) -> None:
    view = views.pop(key)
    waste.extend((view.table, *view.tables))


def _let_go_of_facts(waste: list[str], tables: dict[Any, str]) -> None:
    waste.extend(tables.values())


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
    ...     asked = AskedSums(people, np.arange(3), numbers, [AskedCandidates(likes, None)])
    ...     found = sums.sums([asked], existential=True)
    >>> groundings.tolist(), found
    ([2, 0, 0], [[{0: [2.0]}]])
    """

    def __init__(self, engine: SqlEngine) -> None:
        self.engine = engine
        self.server = cast("StoringServer", engine.server)  # as those of Spark and DuckDB are
        self._together = _BRANCHES
        self._views: dict[int, _StoredView] = {}
        self._narrow: dict[tuple[Predicate, tuple[int, ...]], str] = {}
        self._waste = _WASTE.setdefault(self.server, [])
        weakref.finalize(self, _let_go_of_facts, self._waste, self._narrow).atexit = False

    def groundings(self, examples: Codes, body: Body) -> Ints:
        """Return how many groundings a conjunction has for each example."""
        join = self._join(self._view(examples), len(examples) - 1, existential=False)
        found = self.server.fetch(join.select(AskedCandidates(body, None)))
        counts = np.zeros(examples.shape[1], np.int64)
        numbers = np.asarray(found["m"], np.float64)
        _refuse_rounded(numbers.max(initial=0.0))
        counts[np.asarray(found["r"], np.int64)] = numbers.astype(np.int64)
        return counts

    def sums(
        self, groups: Sequence[AskedSums], *, existential: bool
    ) -> list[list[dict[int, list[float]]]]:
        """Sum numbers of the examples that have groundings of candidates, by one statement.

        Parameters
        ----------
        groups
            What is summed, for which candidates; numbers of the same names. Unless `existential`,
            the first two are taken times the groundings, and their square.
        existential
            Whether an example counts once, however many groundings it has.

        Returns
        -------
        For each candidate of each group, its sums by the code of the constant; 0 where there is no
        slot.
        """
        if not groups:
            return []
        places = [self._stored(group, existential) for group in groups]
        with self._uploaded(_side_by_side(groups)) as table:
            names = list(groups[0].numbers)
            selects = [
                _summing(table, group, [name for name, _ in stored], names, existential)
                for group, stored in enumerate(places)
            ]
            rows = self.server.fetch(" UNION ALL ".join(selects))
        if not existential:
            _refuse_rounded(np.max(rows.pop("most"), initial=0.0))
        found: dict[tuple[int, int], dict[int, list[float]]] = {}
        for group, number, slot, *sums in zip(*(c.tolist() for c in rows.values()), strict=True):
            found.setdefault((group, number), {})[slot] = sums
        return [
            [found.get((group, number), {}) for _, number in stored]
            for group, stored in enumerate(places)
        ]

    def _view(self, examples: Codes) -> _StoredView:
        """Return what the server has of some examples; they are sent there first, once."""
        while self._waste:
            self.server.drop(self._waste.pop())
        key = id(examples)
        if key not in self._views:
            columns = {f"a{place}": column for place, column in enumerate(examples[1:])}
            with self._uploaded(
                {"r": np.arange(examples.shape[1], dtype=np.int32), **columns}
            ) as t:
                table = self.server.create(f"view{next(_NAMES)}", f"SELECT * FROM {t}")
            self._views[key] = _StoredView(table)
            weakref.finalize(examples, _let_go, self._waste, self._views, key).atexit = False
        return self._views[key]

    def _join(self, view: _StoredView, heads: int, *, existential: bool) -> ExampleJoin:
        facts = FactSource(self._fact_table, self.engine.stack.code)
        return ExampleJoin(facts, view.table, heads, counted=not existential)

    def _fact_table(self, predicate: Predicate, places: tuple[int, ...]) -> str:
        """Return the table of a predicate's facts by some places; it is made once, and kept."""
        table = self.engine.fact_table(predicate)
        if len(places) == predicate.arity:
            return table
        key = predicate, places
        if key not in self._narrow:
            columns = [f"c{place}" for place in places]
            chosen = ", ".join([*columns, f"{COUNT} AS m"])
            group = f"GROUP BY {', '.join(columns)}" if columns else "HAVING count(*) > 0"
            select = f"SELECT {chosen} FROM {table} {group}"
            self._narrow[key] = self.server.create(f"narrow{next(_NAMES)}", select)
        return self._narrow[key]

    def _stored(self, group: AskedSums, existential: bool) -> list[tuple[str, int]]:
        """Return the tables of who has candidates, and the numbers that these have there."""
        view = self._view(group.examples)
        join = self._join(view, len(group.examples) - 1, existential=existential)
        asked = dict.fromkeys(group.asked)
        waiting = [item for item in asked if (item, existential) not in view.places]
        while waiting:
            chosen = waiting[: self._together]
            numbers = [next(_NAMES) for _ in chosen]
            branches = [
                join.select(item, number) for number, item in zip(numbers, chosen, strict=True)
            ]
            try:
                table = self.server.create(f"having{numbers[0]}", " UNION ALL ".join(branches))
            except FullServerError as error:
                if len(chosen) == 1:
                    raise MemoryLimitError(
                        f"the sums of a candidate do not fit, even with spilling to disk: {error}",
                        hint=error.hint,
                    ) from error
                self._together = (len(chosen) + 1) // 2
                continue
            view.tables.append(table)
            for number, item in zip(numbers, chosen, strict=True):
                view.places[item, existential] = table, number
            del waiting[: len(chosen)]
        return [view.places[item, existential] for item in group.asked]

    @contextmanager
    def _uploaded(self, columns: Mapping[str, NDArray[np.generic]]) -> Iterator[str]:
        """Send columns to the server for a while, as the table that is named."""
        table = self.server.load(f"examples{next(_NAMES)}", columns)
        try:
            yield table
        finally:
            self.server.drop(table)


def _side_by_side(groups: Sequence[AskedSums]) -> dict[str, NDArray[np.generic]]:
    """Return the numbers of all groups: whose they are, of which examples, and the numbers."""
    sizes = [len(group.chosen) for group in groups]
    columns: dict[str, NDArray[np.generic]] = {
        "u": np.repeat(np.arange(len(groups), dtype=np.int32), sizes),
        "r": np.concatenate([group.chosen for group in groups]).astype(np.int32),
    }
    for name in groups[0].numbers:
        columns[name] = np.concatenate([group.numbers[name] for group in groups])
    return columns


def _summing(
    table: str, group: int, having: Sequence[str], names: Sequence[str], existential: bool
) -> str:
    """Return a statement that sums the numbers of a group, for who has which candidates."""
    factors = {} if existential else {0: "q.m * ", 1: "q.m * q.m * "}
    totals = [f"sum({factors.get(n, '')}v.{name}) AS {name}" for n, name in enumerate(names)]
    if not existential:
        totals.append("max(q.m) AS most")
    counted = " UNION ALL ".join(f"SELECT * FROM {name}" for name in dict.fromkeys(having))
    return (
        f"SELECT {group} AS u, q.k AS k, q.s AS s, {', '.join(totals)} FROM ({counted}) q"
        f" JOIN {table} v ON v.r = q.r WHERE v.u = {group} GROUP BY q.k, q.s"
    )


def _refuse_rounded(most: float) -> None:
    if most >= MOST_GROUNDINGS:
        raise CountOverflowError(
            f"an example has about {most:.3g} groundings: sums of them would be rounded",
            hint="give modes, or fewer bodies, to say which rules matter",
        )
