"""What a column is, judged by its cells as someone would who looks at the table.

Keys and links are told by the keys of the tables; everything else is judged here: what is a number,
a day, a truth value, a name from a few, and what no rule can be made of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import TRUTHS, Column
from mlnlearn.data.load.spelling import (
    digits_spelling,
    epoch_spelling,
    moment_spelling,
    read_moments,
    read_numbers,
)
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.tally import NameTally

MANY_NUMBERS = 10
"""A column with more different numbers than this holds numbers; one with fewer, names for them."""
MANY_NAMES = 30
"""A column with more different names than this keeps the frequent ones; the rest are `OTHER`."""
ENOUGH_ROWS = 20
"""In a table with fewer rows, nothing is left out: too few to tell what is rare or constant."""
OTHER = "other"

_TRUTHS = ({"true"}, {"false"}, *(set(pair) for pair in TRUTHS if "0" not in pair))
_TEXT_TYPE = re.compile("CHAR|TEXT|CLOB|STRING")
_BIRTH = re.compile(r"birth|born|dob|geb|death|died|until|expire|valid")
_UNIQUE_SHARE = 0.5
_LEAST_OF_A_NAME = 5
_LEAST_COVERED = 0.2
_TEXT_WORDS = 5
_IDENTIFIER = re.compile(
    r"(?:^|[^a-z])(?:id|ids|key|uuid|guid|nr|no|code|ref|zip|plz|postcode|phone|tel|telefon|fax|"
    r"isbn|iban|ssn|ip)$"
)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+\Z", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+\Z")


@dataclass(frozen=True)
class Reading:
    """How a column is read, and why.

    Attributes
    ----------
    role
        As in a mapping: value, number, time, flag or skip.
    why
        The reason, in a few words.
    spelled
        How numbers or moments are written, where not plainly.
    values
        The names that are kept, where the others become `OTHER`.
    true
        The only value, where an empty cell means no.
    """

    role: str
    why: str = ""
    spelled: str = ""
    values: tuple[str, ...] = ()
    true: str = ""


def read_column(
    name: str, column: Column, declared: str = "", tally: NameTally | None = None
) -> Reading:
    """Judge a column that is neither a key nor a link.

    Parameters
    ----------
    name
        Of the column: ``zip`` is no number.
    column
        Its cells.
    declared
        Its SQL type, where something declares one.
    tally
        How often its names occur, where the cells are a sample of others; else counted.

    Examples
    --------
    >>> cells = Column.of([f"{place} Station Road" for place in range(100)])
    >>> print(read_column("street", cells).why)
    nearly every row has its own
    >>> read_column("vip", Column.of(["yes", "no", None])).role
    'flag'
    """
    if column.opaque:
        return Reading("skip", f"holds {column.opaque}")
    judged = judge_alone(name, column, declared)
    return judged or _judge_names(name, column, tally or NameTally.of(column))


def judge_alone(name: str, column: Column, declared: str) -> Reading | None:
    """Judge by what the cells are, whatever their frequencies: none, truths, numbers, moments.

    Examples
    --------
    >>> judge_alone("vip", Column.of(["yes", "no"]), "").role, judge_alone("a", Column.of("ab"), "")
    ('flag', None)
    """
    names, rows = column.names, len(column)
    if not names:
        return Reading("skip", "empty") if rows else Reading("value", "no rows")
    if len(names) == 1 and rows >= ENOUGH_ROWS:
        # a type may have values that these rows do not show, but nothing can be learned of them
        day = None if is_identifier(name) else moment_spelling(names)
        if not column.has_missing and day is not None:  # when rows are from matters all the same
            return Reading("time", _spelled_as("always the same day", day), day)
        if not column.has_missing:
            return Reading("skip", f"always {_shown(names[0])}")
        return Reading("flag", f"{_shown(names[0])} or empty", true=names[0])
    words = {cell.lower() for cell in names}
    # 0 and 1 may be codes of anything, where they were declared as texts
    if words in _TRUTHS or (words == {"0", "1"} and not _TEXT_TYPE.search(declared.upper())):
        return Reading("flag", "yes or no")
    coded = is_identifier(name)
    dated = None if coded else moments_spelled(name, column)
    if dated is not None:
        return Reading("time", _spelled_as("days or moments", dated), dated)
    spelled = column.number_spelling
    if spelled is not None and len(names) > MANY_NUMBERS:
        whole = bool((read_numbers(names, spelled) % 1 == 0).all())
        if not (coded and whole):
            why = _spelled_as(f"{len(names):,} different numbers", spelled)
            return Reading("number", why, spelled)
    return None


def _judge_names(name: str, column: Column, tally: NameTally) -> Reading:
    """Judge by how often which name occurs."""
    names, filled = column.names, tally.filled
    if len(column) < ENOUGH_ROWS:
        return Reading("value", _count(names))
    if _most(_URL, names):
        return Reading("skip", "addresses (URL)")
    if _most(_ADDRESS, names):
        return Reading("skip", "e-mail addresses")
    if tally.distinct > max(_UNIQUE_SHARE * filled, MANY_NUMBERS):
        if np.mean([len(cell.split()) for cell in names[:1000]]) >= _TEXT_WORDS:
            return Reading("skip", "free text")
        if is_identifier(name):
            return Reading("skip", "identifiers")
        return Reading("skip", "nearly every row has its own")
    if tally.distinct <= MANY_NAMES:
        return Reading("value", _count(names))
    kept = _frequent(tally.names, tally.counts)
    covered = sum(tally.counts[tally.names.index(value)] for value in kept)
    if covered < _LEAST_COVERED * filled:
        return Reading("skip", f"{tally.distinct:,} values, none of them frequent")
    return Reading("value", f"{len(kept)} frequent of {tally.distinct:,} values", values=kept)


def _frequent(names: Sequence[str], counts: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the most frequent names, in the order of the names."""
    order = np.argsort(-counts, kind="stable")[:MANY_NAMES]
    chosen = order[counts[order] >= _LEAST_OF_A_NAME]
    return tuple(sorted(names[place] for place in chosen.tolist()))


def is_identifier(name: str) -> bool:
    """Tell whether a column's name says that its numbers are mere names.

    Examples
    --------
    >>> [is_identifier(name) for name in ("statusId", "zip", "user_id", "paid", "IdNr.", "grid")]
    [True, True, True, False, True, False]
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip().rstrip("."))
    return bool(_IDENTIFIER.search(spaced.lower()))


def moments_spelled(name: str, column: Column) -> str | None:
    """Return how the cells of a column write days or moments; None where not all of them do.

    Examples
    --------
    >>> moments_spelled("sent", Column.of(["31.12.2020"]))
    '%d.%m.%Y'
    """
    spelled = moment_spelling(column.names)
    if spelled is None and len(column.names) > MANY_NUMBERS:
        return epoch_spelling(name, column.names) or digits_spelling(name, column.names)
    return spelled


def moments_of(table: Table) -> dict[str, str]:
    """Return the columns that hold days or moments, with how they write them."""
    found = {name: moments_spelled(name, column) for name, column in table.columns.items()}
    return {name: spelled for name, spelled in found.items() if spelled is not None}


def row_time(table: Table, moments: Mapping[str, str]) -> str:
    """Return the column that says when a row is from: the first of several moments; not a birth.

    Examples
    --------
    >>> days = {"sent": Column.of(["2020-01-05"]), "ordered": Column.of(["2020-01-01"])}
    >>> parcel = Table("parcel", days)
    >>> row_time(parcel, moments_of(parcel))
    'ordered'
    """
    possible = [name for name in moments if not _BIRTH.search(name.lower())]

    def earliness(name: str) -> tuple[bool, float]:
        column, tally = table.columns[name], table.tally(name)
        if tally is None or not tally.is_complete:
            tally = NameTally.of(column)
        total = float(read_moments(tally.names, moments[name]) @ tally.counts)
        return column.has_missing, total / tally.filled if tally.filled else np.inf

    return min(possible, key=earliness, default="")


def _most(pattern: re.Pattern[str], names: Sequence[str]) -> bool:
    some = names[:200]
    return sum(bool(pattern.match(name.strip())) for name in some) > 0.8 * len(some)


def _count(names: Sequence[str]) -> str:
    return f"{len(names):,} value{'s' if len(names) > 1 else ''}"


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 20 else cell[:19] + "…")


def _spelled_as(what: str, spelled: str) -> str:
    return f"{what}, written {spelled}" if spelled else what
