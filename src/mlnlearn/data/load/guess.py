"""Keys of tables that declare none, guessed: unique columns, values that occur elsewhere, names."""

from __future__ import annotations

import re
from collections import abc
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.reading import is_identifier
from mlnlearn.data.load.spelling import moment_spelling, number_spelling, read_numbers
from mlnlearn.data.load.tables import ForeignKey, Table, row_ids

_MOST_LOST = 0.05
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
    primary = {
        table.name: _single(table.primary_key) if declared else _primary_key(table)
        for table in tables
    }
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
    spelled = number_spelling(column.names)
    if spelled is None:
        return moment_spelling(column.names) is None
    return not spelled and bool((read_numbers(column.names) % 1 == 0).all())


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
    return about, known[table].rows, -list(known).index(table)


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
    word = _word(name)
    is_text = number_spelling(column.names) is None
    for target, key in primary.items():
        own = target == table.name
        if not key or (own and key == name):
            continue
        keys = known[target].columns[key]
        there = column.codes_in({found: place for place, found in enumerate(keys.names)}) >= 0
        filled = int((~column.missing).sum())
        lost = 1 - int(there.sum()) / filled
        if lost > _MOST_LOST:
            continue
        if own:
            if _PARENT.search(name.lower()) or _is_about(word, _word(target)):
                yield 1, len(keys), target, f"{name!r} of the same table"
            continue
        if name == primary[table.name] and name == key and word:
            # of two tables with the same key, that of some of the things adds to that of all
            if whole[target] > whole[table.name] and (not lost or whole[target][0]):
                size = sum(whole[target] > other for other in whole.values())
                yield 0, -size, target, f"its values are keys of {target!r}, as its name says"
            continue
        if name == primary[table.name] and (word != _word(target) or word == _word(table.name)):
            continue  # a key of its own, unless it is called like the other table
        if word and (_is_about(word, _word(target)) or word == _word(key)):
            exact = 0 if word in (_word(target), _word(key)) else 1
            yield exact, len(keys), target, f"its values are keys of {target!r}, as its name says"
        elif (
            is_text
            and not lost
            and len(column.names) >= max(_FEWEST_TEXTS, _LEAST_USED * len(keys.names))
        ):
            yield 2, len(keys), target, f"all its values are keys of {target!r}"


def _pairs(table: Table, foreign: Sequence[ForeignKey]) -> tuple[str, ...]:
    """Return the foreign keys as the primary key, where they are several and no row repeats."""
    names = [key.columns[0] for key in foreign]
    columns = [table.columns[name] for name in names]
    if len(names) < 2 or any(column.has_missing for column in columns):
        return ()
    ids = row_ids([column.codes for column in columns])
    return tuple(names) if len(np.unique(ids)) == len(ids) else ()
