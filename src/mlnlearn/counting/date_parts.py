"""Parts of days and moments: weekday, month, hour; and how long two of them lie apart.

Which columns there are follows from names alone, never from cells, so that a model finds in other
data what it was learned from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAY, _HOUR = 86_400.0, 3_600.0
_BIRTH = re.compile(r"birth|born|dob|geb")


@dataclass(frozen=True, eq=False)
class DatePart:
    """A column made of moments.

    Attributes
    ----------
    values
        Numbers, or codes of `names`; NaN where a moment is not known.
    names
        What codes stand for; None for numbers.
    of
        The columns of the same row that it is made of.
    is_span
        Whether numbers are seconds from one moment to another.
    """

    values: Floats
    names: tuple[str, ...] | None
    of: tuple[str, ...]
    is_span: bool = False


def calendar_of(column: str | None) -> tuple[str, ...]:
    """Return all names that a part of a date may be, by the column's name; none for others.

    Examples
    --------
    >>> calendar_of("weekday of sent")[0], calendar_of("weekday")
    ('Monday', ())
    """
    words = {"weekday of ": WEEKDAYS, "month of ": MONTHS}
    return next((names for word, names in words.items() if (column or "").startswith(word)), ())


def parts_of(column: str, seconds: Floats) -> Iterator[tuple[str, DatePart]]:
    """Yield weekday, month and hour of the moments of a column, by name.

    Examples
    --------
    >>> parts = dict(parts_of("sent", np.array([0.0, 86_400.0 * 31 + 3_600.0, np.nan])))
    >>> for name, part in parts.items():
    ...     print(name, part.values)
    weekday of sent [ 3.  6. nan]
    month of sent [ 0.  1. nan]
    hour of sent [ 0.  1. nan]
    """
    known = np.isfinite(seconds)
    whole = np.where(known, np.floor(seconds), 0.0).astype(np.int64)
    months = whole.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12
    found: Mapping[str, tuple[NDArray[np.int64], tuple[str, ...] | None]] = {
        "weekday": ((whole // int(_DAY) + 3) % 7, WEEKDAYS),  # 1970 began on a Thursday
        "month": (months, MONTHS),
        "hour": (whole % int(_DAY) // int(_HOUR), None),
    }
    for word, (values, names) in found.items():
        yield f"{word} of {column}", DatePart(np.where(known, values, np.nan), names, (column,))


def spans_of(
    time: str,
    seconds: Floats,
    others: Mapping[str, Floats],
    linked: Mapping[tuple[str, str], Floats],
) -> Iterator[tuple[str, DatePart]]:
    """Yield how long other moments lie from that of a row.

    Parameters
    ----------
    time, seconds
        The column that says when a row is from, and its moments.
    others
        The moments of other columns: later ones, unless they are births.
    linked
        Those of columns of linked rows, by link and column.

    Examples
    --------
    >>> one = np.array([86_400.0])
    >>> spans = spans_of("day", one, {"sent": 2 * one}, {("customer", "born"): -one})
    >>> [(name, float(part.values[0])) for name, part in spans]
    [('time from day to sent', 86400.0), ('time from born of its customer to day', 172800.0)]
    """
    for column, moments in others.items():
        first = _BIRTH.search(column.lower())
        name = f"time from {column} to {time}" if first else f"time from {time} to {column}"
        span = seconds - moments if first else moments - seconds
        yield name, DatePart(span, None, (column, time), is_span=True)
    for (link, column), moments in linked.items():
        name = f"time from {column} of its {link} to {time}"
        yield name, DatePart(seconds - moments, None, (link, time), is_span=True)
