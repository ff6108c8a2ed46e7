"""A table column in factorised form: distinct constant names and one integer code a row.

Everything after reading works on the distinct names, so a column of a million cells costs one
factorisation and after that only integer gathers.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.spelling import number_spelling, read_numbers
from mlnlearn.data.vocabulary import number_name

Codes = NDArray[np.int32]

_INTEGER = re.compile(r"[+-]?\d+(?:\.0*)?\Z")
TRUTHS = (
    ("0", "1"),
    ("false", "true"),
    ("f", "t"),
    ("no", "yes"),
    ("n", "y"),
    ("off", "on"),
    ("falsch", "wahr"),
    ("nein", "ja"),
    ("n", "j"),
    ("non", "oui"),
    ("no", "si"),
    ("no", "sí"),
    ("ne", "ano"),
    ("nie", "tak"),
)
"""Pairs of words for no and yes, in small letters."""
YES, NO = frozenset(yes for _, yes in TRUTHS), frozenset(no for no, _ in TRUTHS)


class OpaqueCellsError(TypeError):
    """Cells that can be no constants: bytes, lists and the like.

    Examples
    --------
    >>> OpaqueCellsError("bytes").what
    'bytes'
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"a cell holds {what}, not a name or number")
        self.what = what


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column: ``names[codes[row]]``, with code -1 for a missing (NULL) cell.

    Attributes
    ----------
    names
        Distinct names, all of which occur.
    codes
        One code a row.
    opaque
        What the cells hold, where it can be no constant (``BLOB``); all of them are missing then.

    Examples
    --------
    >>> column = Column.of(["low", None, "high", "low"])
    >>> column.names, column.codes.tolist(), column.missing.tolist()
    (('low', 'high'), [0, -1, 1, 0], [False, True, False, False])
    >>> Column.of(np.array([3.0, np.nan, 2.5])).names
    ('2.5', '3')
    """

    names: tuple[str, ...]
    codes: Codes
    opaque: str = ""

    @classmethod
    def unreadable(cls, rows: int, what: str) -> Column:
        """Return a column of cells that hold something that is neither a name nor a number."""
        return cls((), np.full(rows, -1, np.int32), what)

    @classmethod
    def of(cls, cells: Iterable[Any], missing: NDArray[np.bool_] | None = None) -> Column:
        """Factorise cells of any plain Python or NumPy type; `missing` marks further NULLs."""
        if isinstance(cells, np.ma.MaskedArray):
            missing = np.ma.getmaskarray(cells)
            cells = cells.data
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufb":
            return cls._of_array(cells, missing)
        values = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
        places = {value: place for place, value in enumerate(_distinct(values))}
        codes = np.fromiter(map(places.__getitem__, values), np.int32, len(values))
        names = [None if _is_null(value) else constant_name(value) for value in places]
        return cls._merged(names, codes, missing)

    @classmethod
    def _of_array(cls, cells: NDArray[Any], missing: NDArray[np.bool_] | None) -> Column:
        if cells.dtype.kind == "f":
            unknown = np.isnan(cells)
            missing = unknown if missing is None else missing | unknown
        distinct, codes = np.unique(cells, return_inverse=True)
        return cls._merged(map(constant_name, distinct.tolist()), codes, missing)

    @classmethod
    def _merged(
        cls,
        names: Iterable[str | None],
        codes: NDArray[np.integer],
        missing: NDArray[np.bool_] | None = None,
    ) -> Column:
        """Give equal names one code, drop names no row uses, and code the missing cells -1."""
        given = list(names)
        used = np.zeros(len(given), np.bool_)
        used[codes if missing is None else codes[~missing]] = True
        places: dict[str, int] = {}
        recode = np.full(len(given) + 1, -1, np.int32)
        for place, name in enumerate(given):
            if name is not None and used[place]:
                recode[place] = places.setdefault(name, len(places))
        final = recode[codes]
        if missing is not None:
            final[missing] = -1
        return cls(tuple(places), final)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return self.codes < 0

    @property
    def has_missing(self) -> bool:
        """Whether any row has no value."""
        return bool((self.codes < 0).any())

    @cached_property
    def number_spelling(self) -> str | None:
        """How all cells write numbers; None where not all are numbers: see `number_spelling`."""
        return number_spelling(self.names)

    @cached_property
    def holds_integers(self) -> bool:
        """Whether all cells are whole numbers, plainly written."""
        return self.number_spelling == "" and bool((read_numbers(self.names) % 1 == 0).all())

    def recoded(self, names: Sequence[str | None]) -> Column:
        """Return the column with its distinct names replaced one by one (None: missing)."""
        if self.opaque:
            return self
        return self._merged([*names, None], np.where(self.codes < 0, len(names), self.codes))

    def at(self, rows: NDArray[Any]) -> Column:
        """Return the column of some rows only, without the names that they do not use."""
        if self.opaque:
            return replace(self, codes=self.codes[rows])
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        names = [self.names[code] if code >= 0 else None for code in present.tolist()]
        return self._merged(names, codes)

    def where(self, rows: NDArray[np.bool_]) -> Column:
        """Return the column of some rows only.

        Examples
        --------
        >>> Column.of(["low", None, "high"]).where(np.array([False, True, True])).names
        ('high',)
        """
        if self.opaque:
            return replace(self, codes=self.codes[rows])
        return self._merged(self.names, self.codes[rows], self.missing[rows])

    def without(self, rows: NDArray[np.bool_]) -> Column:
        """Return the column with the cells of some rows emptied.

        Examples
        --------
        >>> Column.of(["low", "high"]).without(np.array([True, False])).codes.tolist()
        [-1, 0]
        """
        if self.opaque:
            return self
        return self._merged(self.names, self.codes, self.missing | rows)

    def codes_in(self, places: dict[str, int]) -> Codes:
        """Return the row codes in another vocabulary, -1 where missing or not in it."""
        recode = np.array([*(places.get(name, -1) for name in self.names), -1], np.int32)
        return recode[self.codes]

    def numbers(self) -> NDArray[np.float64]:
        """Return the distinct names as numbers, NaN where a name is none."""
        return np.array([_number(name) for name in self.names], np.float64)

    def without_blanks(self) -> Column:
        """Return the column with cells missing that hold a text without a letter.

        Examples
        --------
        >>> Column.of(["", "low", " "]).without_blanks().codes.tolist()
        [-1, 0, -1]
        """
        if all(name.strip() for name in self.names):
            return self
        return self.recoded([name if name.strip() else None for name in self.names])

    def typed(self, declared: str) -> tuple[Column, dict[int, str]]:
        """Return the column with names in the canonical form of a declared SQL type.

        The second result gives, for each distinct name that does not fit the type, what was
        expected. Text types and unknown ones leave the names alone.
        """
        convert = _converter(declared)
        if convert is None:
            return self, {}
        expected, canonical = convert
        names = [canonical(name) for name in self.names]
        bad = {place: expected for place, name in enumerate(names) if name is None}
        return self.recoded(names), bad


class ColumnBuilder:
    """Factorises text cells that arrive in pieces, so that only distinct texts stay in memory.

    Examples
    --------
    >>> builder = ColumnBuilder()
    >>> builder.extend(["a", "b"])
    >>> builder.extend(["b"])
    >>> builder.column().codes.tolist()
    [0, 1, 1]
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes: list[Codes] = []

    def extend(self, cells: Sequence[str]) -> None:
        """Add the cells of some rows."""
        places = self._places
        for cell in dict.fromkeys(cells):
            places.setdefault(cell, len(places))
        self._codes.append(np.fromiter(map(places.__getitem__, cells), np.int32, len(cells)))

    def column(self) -> Column:
        """Return all cells so far as a column without missing cells."""
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, np.int32)
        return Column(tuple(self._places), codes)


def constant_name(value: Any) -> str:
    """Return the name of a cell's value as a constant; whole numbers lose their ``.0``.

    Examples
    --------
    >>> [constant_name(value) for value in (3, 3.0, 0.25, True, Decimal("2.50"), "3.0")]
    ['3', '3', '0.25', 'true', '2.5', '3.0']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        # digit by digit: keys may have more of them than a float
        digits = format(value, "f")
        short = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return "0" if short == "-0" else short
    if isinstance(value, float | np.floating):
        return number_name(float(value))
    if isinstance(value, int | np.integer | datetime.date | datetime.time):
        return str(value)
    if isinstance(value, bytes | bytearray | list | dict | set | np.ndarray):
        raise OpaqueCellsError(type(value).__name__)
    return str(value)


def sorted_names(names: Iterable[str]) -> list[str]:
    """Return distinct names in order: by number where all are numbers, else alphabetically.

    Examples
    --------
    >>> sorted_names(["10", "9", "9"]), sorted_names(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    distinct = sorted(set(names))
    numbers = {}
    for name in distinct:
        numbers[name] = _number(name)
        if math.isnan(numbers[name]):
            return distinct
    return sorted(distinct, key=numbers.__getitem__)


def _distinct(values: list[Any]) -> dict[Any, None]:
    try:
        return dict.fromkeys(values)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values if not _is_hashable(value)})
        raise OpaqueCellsError(kinds[0]) from None


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_null(value: Any) -> bool:
    # NaN and the frames' own null markers are the values that do not equal themselves.
    return value is None or (isinstance(value, float | Decimal) and math.isnan(value))


def _number(name: str) -> float:
    try:
        number = float(name)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and "_" not in name else math.nan


def _converter(declared: str) -> tuple[str, Callable[[str], str | None]] | None:
    """Return what a declared type expects and how it reads a name (None: it does not fit)."""
    kind = declared.upper()
    if "BOOL" in kind:
        return "true or false", _truth_name
    if "INT" in kind and "INTERVAL" not in kind and "POINT" not in kind:
        return "an integer", _integer_name
    if any(part in kind for part in ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL")):
        return "a number", _number_name
    return None


def _truth_name(name: str) -> str | None:
    word = name.strip().lower()
    return "true" if word in YES else "false" if word in NO else None


def _integer_name(name: str) -> str | None:
    text = name.strip()
    return str(int(text.split(".")[0])) if _INTEGER.match(text) and len(text) < 40 else None


def _number_name(name: str) -> str | None:
    number = _number(name.strip())
    return None if math.isnan(number) else constant_name(number)
