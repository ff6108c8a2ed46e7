"""Tables of target atoms: from rows of names to codes, and to a database to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import pack
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema

Table = NDArray[np.object_]
Labels = NDArray[np.bool_]

_SHOWN = 10


class TableError(InputError, ValueError):
    """Something is wrong with X or y; also a ValueError, which scikit-learn expects.

    Examples
    --------
    >>> print(TableError("row 3: no constant 'Bob' of type 'person'"))
    row 3: no constant 'Bob' of type 'person'
    """


def target_table(
    databases: Database | Sequence[Database],
    target: str,
    *,
    ratio: float | None = None,
    rng: np.random.Generator | int = 0,
) -> tuple[Table, Labels]:
    """Return the atoms of a predicate as X and their truth as y.

    X has one column for each argument; with several databases, a last one names the database.

    Parameters
    ----------
    databases, target, ratio, rng
        As for `mlnlearn.data.examples.positives_and_negatives`.

    Examples
    --------
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> X, y = target_table(db, "likes")
    >>> X[0].tolist(), y.tolist()
    (['Anna', 'Bob'], [True, False, False, False])
    """
    whole = [databases] if isinstance(databases, Database) else list(databases)
    examples = positives_and_negatives(whole, target, ratio=ratio, rng=rng)
    table = np.empty((len(examples), examples.predicate.arity + (len(whole) > 1)), np.object_)
    labels = _database_labels(whole)
    for row, names in enumerate(examples.rows(whole)):
        table[row, : len(names)] = names
    if len(whole) > 1:
        table[:, -1] = [labels[number] for number in examples.database.tolist()]
    return table, examples.labels


def _database_labels(databases: Sequence[Database]) -> list[str]:
    """Return what each database is called in X: its name if no other has it, else its place."""
    uses = Counter(database.name for database in databases)
    return [
        database.name if database.name and uses[database.name] == 1 else str(place)
        for place, database in enumerate(databases)
    ]


def coded(table: NDArray[Any], databases: Sequence[Database], target: str) -> Examples:
    """Return the rows of X as atoms, labels all false; every problem is reported.

    Examples
    --------
    >>> db = Database.from_facts(Schema.of("smokes(person)"), {"smokes": [("Anna",), ("Bob",)]})
    >>> coded(np.array([["Bob"], ["Anna"]]), [db], "smokes").columns.tolist()
    [[1, 0]]
    """
    predicate = databases[0].schema[target]
    count, width = table.shape
    if width != predicate.arity + (len(databases) > 1):
        last = ", and a last one that names the database" if len(databases) > 1 else ""
        raise TableError(f"X has {width} columns, but {predicate} takes {predicate.arity}{last}")
    problems: list[str] = []
    number = _database_numbers(table, databases, problems)
    columns = np.full((predicate.arity, count), -1, np.int32)
    for place, kind in enumerate(predicate.types):
        names = [_name(value) for value in table[:, place].tolist()]
        codes = [database.domains[kind].codes for database in databases]
        found = [
            codes[n].get(name, -1) if n >= 0 else 0
            for n, name in zip(number.tolist(), names, strict=True)
        ]
        columns[place] = found
        for row in np.flatnonzero(columns[place] < 0).tolist():
            problems.append(f"row {row}: no constant {names[row]!r} of type {kind!r}")
    if problems:
        raise _table_error(problems)
    unlabelled = np.zeros(count, np.bool_)
    return Examples(predicate, number, columns, unlabelled, np.ones(count))


def _database_numbers(
    table: NDArray[Any], databases: Sequence[Database], problems: list[str]
) -> NDArray[np.int32]:
    """Return the database of each row, -1 where X names none that there is."""
    if len(databases) == 1:
        return np.zeros(len(table), np.int32)
    places = {str(place): place for place in range(len(databases))}
    places |= {label: place for place, label in enumerate(_database_labels(databases))}
    names = [_name(value) for value in table[:, -1].tolist()]
    found = np.array([places.get(name, -1) for name in names], np.int32).reshape(len(names))
    for row in np.flatnonzero(found < 0).tolist():
        problems.append(f"row {row}: no database {names[row]!r}; there are: {', '.join(places)}")
    return found


def _name(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _table_error(problems: Sequence[str]) -> TableError:
    more = [f"… and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
    return TableError("\n".join([*problems[:_SHOWN], *more]))


def training_databases(
    databases: Sequence[Database], examples: Examples, labels: Labels
) -> list[Database]:
    """Return the databases to learn from: all evidence, and of the target the labelled rows only.

    The target becomes an open predicate: rows labelled true are its true atoms, rows labelled
    false its false ones, and all other atoms are unknown, whatever the databases say of them.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",), ("Bob",)]})
    >>> rows = coded(np.array([["Anna"]]), [db], "smokes")
    >>> part, = training_databases([db], rows, np.array([True]))
    >>> list(part.rows("smokes")), part.open
    ([('Anna',)], frozenset({'smokes'}))
    """
    target = examples.predicate.name
    found = []
    for place, database in enumerate(databases):
        inside = examples.database == place
        true = examples.columns[:, inside & labels]
        false = examples.columns[:, inside & ~labels]
        _refuse_contradictions(database, target, true, false)
        evidence = database.without_facts([target])
        found.append(
            Database.from_codes(
                database.schema,
                database.domains,
                {**evidence.true, target: true},
                {**evidence.false, target: false},
                evidence.unknown,
                open=database.open | {target},
                name=database.name,
                cells=evidence.cells,
            )
        )
    return found


def _refuse_contradictions(database: Database, target: str, true: Columns, false: Columns) -> None:
    sizes = domain_sizes(database, target)
    _, places, _ = np.intersect1d(pack(true, sizes), pack(false, sizes), return_indices=True)
    if len(places):
        rows = list(database.decode(target, true[:, places]))
        raise _table_error([f"{target}{row} is in X with both labels" for row in rows])


def database_of(table: NDArray[Any], target: str) -> Database:
    """Return a database that knows nothing but the constants of X, one type for each column.

    Examples
    --------
    >>> db = database_of(np.array([["Anna", "Pie"], ["Bob", "Pie"]]), "likes")
    >>> print(db.schema, db.size("column1"), db.size("column2"))
    likes(column1,column2) 2 1
    """
    kinds = [f"column{place + 1}" for place in range(table.shape[1])]
    schema = Schema((Predicate(target, tuple(kinds)),))
    names = [dict.fromkeys(_name(value) for value in column.tolist()) for column in table.T]
    return Database.from_facts(schema, {}, domains=dict(zip(kinds, names, strict=True)))
