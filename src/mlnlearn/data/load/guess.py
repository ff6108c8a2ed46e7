"""Keys of tables that declare none, guessed: unique columns, values that occur elsewhere, names."""

from __future__ import annotations

import re
from collections import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.reading import is_identifier
from mlnlearn.data.load.spelling import moment_spelling
from mlnlearn.data.load.tables import ForeignKey, Table, row_ids

MOST_LOST = 0.05
"""A column of which more cells than this are no keys of a table does not refer to it."""
_FEWEST_TEXTS = 5
_LEAST_USED = 0.3
_PARENT = re.compile(r"parent|manager|boss|chief|supervis|mentor|lead|recommend|refer|reply|_by$")


def guess_keys(tables: Sequence[Table]) -> list[Table]:
    """Return tables with primary and foreign keys that their cells and names suggest.

    A primary key is a column without repeats or gaps that is called ``id``, as the table, or is the
    first. A column refers to a table if nearly all its cells are keys there, and its name says so:
    that of the key (``driverId``), or of the table (``driver``, ``home_team_id`` for ``teams``);
    texts need no such name. Where any table declares a foreign key, all stay as they are; where any
    declares a primary key, only foreign keys are guessed.

    Examples
    --------
    >>> teams = Table("teams", {"id": Column.of([1, 2]), "town": Column.of(["Brno", "Linz"])})
    >>> games = {"home_team_id": Column.of([1, 2, 1]), "away_team_id": Column.of([2, 1, 2])}
    >>> found = guess_keys([teams, Table("games", games)])
    >>> found[0].primary_key, [key.table for key in found[1].foreign_keys]
    (('id',), ['teams', 'teams'])
    """
    if any(table.foreign_keys for table in tables):
        return list(tables)
    declared = any(table.primary_key for table in tables)
    primary = _primary_keys(tables)
    known = {table.name: table for table in tables}
    whole = {name: _wholeness(known, name, key) for name, key in primary.items()}
    found = []
    for table in tables:
        foreign: list[ForeignKey] = []
        notes = dict(table.notes)
        own = table.primary_key
        if not declared and primary[table.name]:
            notes[primary[table.name]] = "a guess: no value repeats"
            own = (primary[table.name],)
        for name in table.columns:
            target, why = _target(table, name, known, primary, whole)
            if target:
                foreign.append(ForeignKey((name,), target))
                notes[name] = f"a guess: {why}"
        if not declared and not own:
            own = _pairs(table, foreign)
        found.append(replace(table, primary_key=own, foreign_keys=tuple(foreign), notes=notes))
    return found


@dataclass(frozen=True)
class PossibleLink:
    """A column that may refer to a table whose key is `key`, if its cells are keys there.

    Attributes
    ----------
    strict
        Whether all cells have to be, as nothing in the names says that it refers there.
    """

    table: str
    column: str
    target: str
    key: str
    strict: bool


def possible_links(tables: Sequence[Table]) -> list[PossibleLink]:
    """Return the columns whose cells decide whether `guess_keys` has them refer to another table.

    Examples
    --------
    >>> teams = Table("teams", {"id": Column.of([1, 2]), "town": Column.of(["Brno", "Linz"])})
    >>> games = {"home_team_id": Column.of([1, 2, 1]), "goals": Column.of([2, 1, 2])}
    >>> [link.column for link in possible_links([teams, Table("games", games)])]
    ['home_team_id']
    """
    if any(table.foreign_keys for table in tables):
        return []
    primary = _primary_keys(tables)
    found = []
    for table in tables:
        for name, column in table.columns.items():
            ways = {target: _way(table, name, target, primary) for target in primary}
            if column.names and any(ways.values()):
                is_text = column.number_spelling is None
                found += [
                    PossibleLink(table.name, name, target, primary[target], way == "text")
                    for target, way in ways.items()
                    if way and (way != "text" or is_text)
                ]
    return found


def _primary_keys(tables: Sequence[Table]) -> dict[str, str]:
    """Return for each table the column that is its primary key, declared or guessed."""
    declared = any(table.primary_key for table in tables)
    return {
        table.name: _single(table.primary_key) if declared else _primary_key(table)
        for table in tables
    }


def _single(key: tuple[str, ...]) -> str:
    return key[0] if len(key) == 1 else ""


def _primary_key(table: Table) -> str:
    """Return the column that names the rows, or nothing."""
    ranked = []
    for place, (name, column) in enumerate(table.columns.items()):
        unique = len(column.names) == len(column) and not column.has_missing and len(column)
        if not unique or not _can_name(column):
            continue
        word, own = _word(name), _word(table.name)
        called = word in ("", own) or (is_identifier(name) and _is_about(word, own))
        if called or place == 0 or is_identifier(name):
            ranked.append((not called, not is_identifier(name), place, name))
    return min(ranked)[-1] if ranked else ""


def _can_name(column: Column) -> bool:
    """Tell whether cells can name things: neither fractions nor days."""
    if column.number_spelling is None:
        return moment_spelling(column.names) is None
    return column.holds_integers


def _word(name: str) -> str:
    """Return what a name speaks of, without ``id``, plural and case.

    Examples
    --------
    >>> [_word(name) for name in ("driverId", "Drivers", "id", "home_team_id", "categories")]
    ['driver', 'driver', '', 'home_team', 'category']
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower()
    plain = re.sub(r"[^0-9a-zà-ÿ]+", "_", spaced).strip("_")
    short = re.sub(r"(?:^|_)(?:id|key|code|nr|no|ref)$", "", plain)
    for ending, singular in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if short.endswith(ending) and len(short) > len(ending) + 2 and not short.endswith("ss"):
            return short[: -len(ending)] + singular
    return short


def _is_about(word: str, other: str) -> bool:
    """Tell whether one of two words is, or ends in, the other."""
    if not word or not other:
        return False
    long, short = sorted((word, other), key=len, reverse=True)
    return long == short or long.endswith(f"_{short}")


def _wholeness(known: abc.Mapping[str, Table], table: str, key: str) -> tuple[bool, int, int]:
    """Return what tells which of several tables with the same key is the one of all its things."""
    about = _is_about(_word(key), _word(table))
    return about, known[table].size, -list(known).index(table)


def _target(
    table: Table,
    name: str,
    known: abc.Mapping[str, Table],
    primary: abc.Mapping[str, str],
    whole: abc.Mapping[str, tuple[bool, int, int]],
) -> tuple[str, str]:
    """Return the table that a column refers to, and why; two empty texts for none."""
    column = table.columns[name]
    if not column.names:
        return "", ""
    ranked = sorted(_candidates(table, name, column, known, primary, whole))
    return (ranked[0][-2], ranked[0][-1]) if ranked else ("", "")


def _candidates(
    table: Table,
    name: str,
    column: Column,
    known: abc.Mapping[str, Table],
    primary: abc.Mapping[str, str],
    whole: abc.Mapping[str, tuple[bool, int, int]],
) -> Iterator[tuple[int, int, str, str]]:
    """Yield tables that a column may refer to: how sure (less is surer), their size, name, why."""
    is_text = column.number_spelling is None
    for target, key in primary.items():
        way = _way(table, name, target, primary)
        if not way or (way == "text" and not is_text):
            continue
        keys, size = known[target].columns[key], known[target].size
        there = column.codes_in({found: place for place, found in enumerate(keys.names)}) >= 0
        filled = int((~column.missing).sum())
        lost = filled - int(there.sum())
        if are_too_many(lost, filled):
            continue
        if way == "own":
            yield 1, size, target, f"{name!r} of the same table"
        elif way == "shared":
            # of two tables with the same key, that of some of the things adds to that of all
            if whole[target] > whole[table.name] and (not lost or whole[target][0]):
                larger = sum(whole[target] > other for other in whole.values())
                yield 0, -larger, target, f"its values are keys of {target!r}, as its name says"
        elif way == "name":
            exact = 0 if _word(name) in (_word(target), _word(key)) else 1
            yield exact, size, target, f"its values are keys of {target!r}, as its name says"
        elif not lost and table.distinct(name) >= max(
            _FEWEST_TEXTS, _LEAST_USED * known[target].distinct(key)
        ):
            yield 2, size, target, f"all its values are keys of {target!r}"


def are_too_many(lost: int, filled: int) -> bool:
    """Tell whether so many cells of a column lead nowhere that it is no link.

    Examples
    --------
    >>> are_too_many(1, 100), are_too_many(10, 100)
    (False, True)
    """
    return 1 - (filled - lost) / filled > MOST_LOST


def _way(table: Table, name: str, target: str, primary: abc.Mapping[str, str]) -> str:
    """Return in which way a column may refer to a table, whatever its cells; empty for none.

    Its name may say so, also in the table itself (``own``) or as that of a key of both
    (``shared``); whatever it is called, it may hold texts that are keys there.
    """
    word, key, own = _word(name), primary[target], primary[table.name]
    if not key:
        return ""
    if target == table.name:
        parent = _PARENT.search(name.lower()) or _is_about(word, _word(target))
        return "own" if parent and key != name else ""
    if name == own and name == key and word:
        return "shared"
    if name == own and (word != _word(target) or word == _word(table.name)):
        return ""  # a key of its own, unless it is called like the other table
    if word and (_is_about(word, _word(target)) or word == _word(key)):
        return "name"
    return "text"


def _pairs(table: Table, foreign: Sequence[ForeignKey]) -> tuple[str, ...]:
    """Return the foreign keys as the primary key, where they are several and no row repeats."""
    names = [key.columns[0] for key in foreign]
    columns = [table.columns[name] for name in names]
    if len(names) < 2 or any(column.has_missing for column in columns):
        return ()
    ids = row_ids([column.codes for column in columns])
    return tuple(names) if len(np.unique(ids)) == len(ids) else ()
