"""Folds: what to train on and what to test on.

Databases may be folds themselves (leave one out), or be grouped. A single database is split by its
entities, at random or by groups, with relationships restricted to those of a part, or by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database, Facts
from mlnlearn.errors import InputError

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Databases to train on and databases to test on.

    Examples
    --------
    >>> Fold((), (), name="first").name
    'first'
    """

    train: tuple[Database, ...]
    test: tuple[Database, ...]
    name: str = ""


def leave_one_out(databases: Sequence[Database]) -> list[Fold]:
    """Return a fold for each database: test on it, train on all others.

    Parameters
    ----------
    databases
        The databases; each is left out once.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> parts = [Database.from_facts(Schema.of("p(t)"), {}, name=name) for name in "abc"]
    >>> [(fold.name, [db.name for db in fold.train]) for fold in leave_one_out(parts)]
    [('a', ['b', 'c']), ('b', ['a', 'c']), ('c', ['a', 'b'])]
    """
    return leave_group_out(databases, list(range(len(databases))))


def leave_group_out(databases: Sequence[Database], groups: Sequence[object]) -> list[Fold]:
    """Return a fold for each group of databases, in order of first mention.

    Parameters
    ----------
    databases
        The databases.
    groups
        The group of each.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> parts = [Database.from_facts(Schema.of("p(t)"), {}, name=name) for name in "abc"]
    >>> [fold.name for fold in leave_group_out(parts, ["x", "y", "x"])]
    ['a, c', 'b']
    """
    if len(groups) != len(databases):
        raise InputError(f"{len(databases)} databases, but {len(groups)} groups")
    names = list(dict.fromkeys(groups))
    if len(names) < 2:
        raise InputError(
            f"at least two folds are needed; there is {len(names)}",
            hint="give several databases, or split one by its entities",
        )
    found = []
    for name in names:
        test = tuple(db for db, group in zip(databases, groups, strict=True) if group == name)
        train = tuple(db for db, group in zip(databases, groups, strict=True) if group != name)
        found.append(Fold(train, test, ", ".join(db.name for db in test if db.name)))
    return found


def restricted_to(database: Database, keep: Mapping[str, Codes], name: str = "") -> Database:
    """Return the database of some constants: facts with any other constant are left out.

    Parameters
    ----------
    database
        The whole.
    keep
        For some types, the codes of the constants that stay; other types stay whole.
    name
        Of the part.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob"), ("Bob", "Carl")]})
    >>> part = restricted_to(db, {"person": np.array([1, 2])})
    >>> list(part.rows("likes")), part.size("person")
    ([('Bob', 'Carl')], 2)
    """
    moved: dict[str, NDArray[np.int32]] = {}
    domains = dict(database.domains)
    for kind, codes in keep.items():
        if kind not in domains:
            raise InputError(f"no type {kind!r}; there are: {', '.join(domains)}")
        chosen = np.unique(codes)
        moved[kind] = np.full(database.size(kind), -1, np.int32)
        moved[kind][chosen] = np.arange(len(chosen), dtype=np.int32)
        domains[kind] = database.domains[kind].at(chosen)

    def part(tables: Facts) -> dict[str, NDArray[np.int32]]:
        found = {}
        for predicate, columns in tables.items():
            fresh = columns.copy()
            types = database.schema[predicate].types[: len(columns)]  # empty cells lack the value
            for place, kind in enumerate(types):
                if kind in moved:
                    fresh[place] = moved[kind][columns[place]]
            found[predicate] = fresh[:, (fresh >= 0).all(axis=0)]
        return found

    return Database.from_codes(
        database.schema,
        domains,
        part(database.true),
        part(database.false),
        part(database.unknown),
        open=database.open,
        name=name or database.name,
        cells=part(database.cells),
    )


def entity_folds(
    databases: Database | Sequence[Database],
    types: Sequence[str],
    parts: int = 5,
    rng: np.random.Generator | int = 0,
) -> list[Fold]:
    """Split databases by their entities: each constant of the given types is in one random part.

    To test on a part is to test on the database of its entities: a relationship stays where all
    its entities are in the part. Training data are the database of all other entities. Types that
    are not named (values, such as ages or ranks) stay whole on both sides. This is how Khosravi et
    al. make five folds out of one database.

    Parameters
    ----------
    databases
        The databases to be split.
    parts
        How many folds.
    types
        The types whose constants are dealt out.
    rng
        Where randomness comes from.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> people = {"person": [f"P{i}" for i in range(10)]}
    >>> db = Database.from_facts(schema, {"likes": [("P0", "P1")]}, domains=people)
    >>> [(f.train[0].size("person"), f.test[0].size("person"))
    ...  for f in entity_folds(db, ["person"], 3)]
    [(6, 4), (7, 3), (7, 3)]
    """
    whole = [databases] if isinstance(databases, Database) else list(databases)
    generator = np.random.default_rng(rng)
    if parts < 2:
        raise InputError(f"at least two parts are needed, not {parts}")
    if not types:
        raise InputError("name the types of the entities to split by")
    train: list[list[Database]] = [[] for _ in range(parts)]
    test: list[list[Database]] = [[] for _ in range(parts)]
    for database in whole:
        part_of = {kind: _parts(database, kind, parts, generator) for kind in types}
        for number in range(parts):
            label = f"{database.name or 'database'}, part {number + 1} of {parts}"
            inside = {kind: np.flatnonzero(part == number) for kind, part in part_of.items()}
            outside = {kind: np.flatnonzero(part != number) for kind, part in part_of.items()}
            test[number].append(restricted_to(database, inside, label))
            train[number].append(restricted_to(database, outside, f"{label} left out"))
    return [
        Fold(tuple(train[number]), tuple(test[number]), f"part {number + 1}")
        for number in range(parts)
    ]


def _parts(database: Database, kind: str, parts: int, rng: np.random.Generator) -> Codes:
    """Return the random part of each constant of a type; parts differ in size by at most one."""
    if kind not in database.domains:
        raise InputError(f"no type {kind!r}; there are: {', '.join(database.domains)}")
    if database.size(kind) < parts:
        raise InputError(f"{database.size(kind)} constants of {kind!r} do not make {parts} parts")
    return rng.permutation(np.arange(database.size(kind)) % parts)


def group_folds(database: Database, predicate: str) -> list[Fold]:
    """Split a database by groups of its entities: a fold for each group, tested on its entities.

    Entities without a group are there in training and in testing, and so are all other types.

    Parameters
    ----------
    database
        The whole.
    predicate
        Says of each entity, its first argument, to which group it belongs, its second.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("inArea(person,area!)", "knows(person,person)")
    >>> facts = {"inArea": [("Anna", "AI"), ("Bob", "AI"), ("Carl", "DB")],
    ...          "knows": [("Anna", "Bob"), ("Bob", "Carl")]}
    >>> folds = group_folds(Database.from_facts(schema, facts), "inArea")
    >>> [(fold.name, list(fold.test[0].rows("knows"))) for fold in folds]
    [('AI', [('Anna', 'Bob')]), ('DB', [])]
    """
    kind, group = _value_of_each(database, predicate)
    names = database.domains[database.schema[predicate].types[1]].names
    found = []
    for code in np.unique(group[group >= 0]).tolist():
        name = names[code]
        test = {kind: np.flatnonzero((group == code) | (group < 0))}
        train = {kind: np.flatnonzero(group != code)}
        found.append(
            Fold(
                (restricted_to(database, train, f"{predicate} other than {name}"),),
                (restricted_to(database, test, f"{predicate} {name}"),),
                name,
            )
        )
    if len(found) < 2:
        raise InputError(f"{predicate} makes {len(found)} groups; at least two are needed")
    return found


def _value_of_each(database: Database, predicate: str) -> tuple[str, Codes]:
    """Return the type of a predicate's entities, and for each the code of its value, else -1."""
    types = database.schema[predicate].types
    if len(types) != 2:
        raise InputError(
            f"{predicate} has {len(types)} arguments",
            hint="name a predicate that gives an entity, its first argument, one value, its second",
        )
    entities, values = database.facts(predicate)
    if len(np.unique(entities)) < len(entities):
        raise InputError(f"{predicate} gives some {types[0]} more than one {types[1]}")
    codes = np.full(database.size(types[0]), -1, np.int64)
    codes[entities] = values
    return types[0], codes


def time_folds(database: Database, time: str, cuts: Sequence[float]) -> list[Fold]:
    """Split a database by time: train on what is up to a cut, test on what is until the next.

    The test data after the last cut reach to the end.

    Parameters
    ----------
    database
        The whole.
    time
        A type whose constants read as numbers: facts with such a constant belong to its time, all
        others are known at all times. Or a predicate that gives each entity, its first argument,
        such a time, its second: the entities belong to their times, with all their facts.
    cuts
        The last times to train on, ascending; one fold each.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("sold(item,year)")
    >>> facts = {"sold": [("A", "1999"), ("B", "2000"), ("C", "2001")]}
    >>> fold, = time_folds(Database.from_facts(schema, facts), "year", [1999])
    >>> list(fold.train[0].rows("sold")), list(fold.test[0].rows("sold"))
    ([('A', '1999')], [('B', '2000'), ('C', '2001')])
    """
    kind, times = _times(database, time)
    limits = [*cuts, np.inf]
    if not cuts or any(later <= cut for cut, later in zip(cuts, limits[1:], strict=True)):
        raise InputError(f"cuts must be given in ascending order, not {list(cuts)}")
    always = np.isnan(times)
    found = []
    for cut, later in zip(cuts, limits[1:], strict=True):
        before, after = times <= cut, (times > cut) & (times <= later)
        if not before.any() or not after.any():
            raise InputError(f"no {time} at or before {cut:g}, or none after it")
        label = f"{time} > {cut:g}"
        train = restricted_to(
            database, {kind: np.flatnonzero(before | always)}, f"{time} ≤ {cut:g}"
        )
        test = restricted_to(database, {kind: np.flatnonzero(after | always)}, label)
        found.append(Fold((train,), (test,), label))
    return found


def _times(database: Database, time: str) -> tuple[str, NDArray[np.float64]]:
    """Return the type that is split by time, and the time of each of its constants."""
    if time in database.schema:
        kind, codes = _value_of_each(database, time)
        values = _numbers(database, database.schema[time].types[1])
        return kind, np.where(codes >= 0, values[codes], np.nan)
    return time, _numbers(database, time)


def _numbers(database: Database, kind: str) -> NDArray[np.float64]:
    if kind not in database.domains:
        raise InputError(f"no type {kind!r}; there are: {', '.join(database.domains)}")
    try:
        return np.array([float(name) for name in database.domains[kind]])
    except ValueError as error:
        raise InputError(
            f"the constants of {kind!r} do not read as numbers: {error}",
            hint="name a type whose constants are years, dates as numbers, or steps",
        ) from None
