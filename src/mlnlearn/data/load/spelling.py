"""How a column writes its numbers and moments: separators, decimal commas, units, other dates."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.vocabulary import seconds_of

Floats = NDArray[np.float64]

_TRIED = 50
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_STYLES = {
    "1234.5": _PLAIN,
    "1,234.5": re.compile(r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?\Z|[+-]?\d+(\.\d+)?\Z"),
    "1.234,5": re.compile(r"[+-]?\d{1,3}(\.\d{3})*(,\d+)?\Z|[+-]?\d+(,\d+)?\Z"),
}
"""By the way that a number is written, what all numbers then look like."""
_CURRENCY = "€|\\$|£|¥|EUR|USD|GBP|CHF"
_QUANTITY = re.compile(
    rf"(?P<before>(?:{_CURRENCY})?)\s*(?P<number>[+-]?[\d.,]*\d(?:[eE][+-]?\d+)?)"
    r"\s*(?P<after>[^\W\d_]{1,6}|%|€|\$|£|¥|°C?|)\Z"
)
_DURATION = re.compile(
    r"(?:(?P<days>\d+) days?,? )?"
    r"(?:(?P<hours>\d+):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{2}(?:\.\d+)?)\Z"
)
DURATION = "h:m:s"
_NUMBERED = ("%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d")
_SHORT = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%y", "%a %b %d %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f")
_MOMENTS = tuple(f"{day}{time}" for day in (*_NUMBERED, *_SHORT, *_NAMED) for time in _TIMES)
_ISO = "%Y-%m-%d"
"""How ISO dates are called, with or without a time, where other cells are written otherwise."""
_OR = " or "
_MOST_FORMS = 3
_RARE = 0.02  # fewer cells of a second form are slips of the pen rather than moments

_DIGITS = {
    form: re.compile(rf"\d{{{digits}}}{time}", re.ASCII)
    for form, digits, time in (
        ("%Y%m%d", 8, ""),
        ("%y%m%d", 6, ""),
        ("%Y%m%d %H:%M:%S", 8, r" \d\d:\d\d:\d\d"),
        ("%y%m%d %H:%M:%S", 6, r" \d\d:\d\d:\d\d"),
        ("%Y%m%d%H%M%S", 14, ""),
    )
}
"""Days written as one number, with what they look like."""
_TWO_BY_TWO = re.compile(r"\d\d\.\d\d\.\d\d\b")  # 1.12.10 is a version of something

_SINCE = {"seconds since 1970": 1.0, "milliseconds since 1970": 1e3}
_CLEAR = (1e9, 2.2e9)
"""Seconds that are hardly anything but moments: from 2001 to 2039."""
_LIKELY = (1e8, 4.1e9)
"""Seconds that are moments where the column's name says so."""
_DAYS_OF_OURS = (-2.21e9, 4.1e9)
"""Days of one number: from 1900 to 2100."""
_TIMED = re.compile(
    r"time|date|day|stamp|when|(?:^|[^a-z])(?:at|on|ts|epoch|created|updated|modified|seen)$"
)


def number_spelling(names: Sequence[str]) -> str | None:
    """Return how all of some cells write numbers; None where not all of them are numbers.

    The answer is empty for plain numbers, else an example: a style with its unit.

    Examples
    --------
    >>> number_spelling(["1", "2.5"]), number_spelling(["3", "1,250.0"]), number_spelling(["a"])
    ('', '1,234.5', None)
    >>> number_spelling(["3,5 kg", "1.000 kg"]), number_spelling(["1:20.5", "59:00"])
    ('1.234,5 kg', 'h:m:s')
    """
    if not names:
        return None
    if all(not math.isnan(_plain(name)) for name in names):
        return ""
    if all(_DURATION.match(name.strip()) for name in names):
        return DURATION
    parts = [_QUANTITY.match(name.strip()) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts) or len({(part["before"], part["after"]) for part in found}) > 1:
        return None
    for style, pattern in _STYLES.items():
        if all(pattern.match(part["number"]) for part in found):
            before, after = found[0]["before"], found[0]["after"]
            return f"{before}{' ' if before else ''}{style}{' ' if after else ''}{after}"
    return None


def read_numbers(names: Sequence[str], spelled: str = "") -> Floats:
    """Return cells as numbers, NaN where one is not written so.

    Examples
    --------
    >>> read_numbers(["1.000,5 kg", "7 kg", "many"], "1.234,5 kg").tolist()
    [1000.5, 7.0, nan]
    >>> read_numbers(["1:00:01.5", "2:00", "1 day, 0:00:01", "2 days 00:00:00"], "h:m:s").tolist()
    [3601.5, 120.0, 86401.0, 172800.0]
    """
    if spelled == DURATION:
        return np.array([_duration(name) for name in names], np.float64)
    style = next((style for style in _STYLES if style in spelled), "1234.5")
    return np.array([_quantity(name, style) for name in names], np.float64)


def _plain(text: str) -> float:
    return float(text) if _PLAIN.match(text.strip()) else math.nan


def _quantity(text: str, style: str) -> float:
    plain = _plain(text)
    if style == "1234.5" and not math.isnan(plain):
        return plain if math.isfinite(plain) else math.nan
    part = _QUANTITY.match(text.strip())
    if part is None or not _STYLES[style].match(part["number"]):
        return math.nan
    number = part["number"]
    if style == "1,234.5":
        number = number.replace(",", "")
    if style == "1.234,5":
        number = number.replace(".", "").replace(",", ".")
    return float(number)


def _duration(text: str) -> float:
    part = _DURATION.match(text.strip())
    if part is None:
        return math.nan
    hours = 24 * int(part["days"] or 0) + int(part["hours"] or 0)
    return 3600.0 * hours + 60.0 * int(part["minutes"]) + float(part["seconds"])


def moment_spelling(names: Sequence[str]) -> str | None:
    """Return how all of some cells write days or moments; None where not all of them do.

    The answer is empty for ISO dates, else a format as `datetime.strptime` takes it, or several.
    Where the first two numbers could both be the month, the day is taken to come first.

    Examples
    --------
    >>> [moment_spelling([cell]) for cell in ("2020-12-31", "31.12.2020", "31-Dec-2020", "1.5")]
    ['', '%d.%m.%Y', '%d-%b-%Y', None]
    >>> moment_spelling(["01/02/2020 10:30", "12/31/2020 08:00"])
    '%m/%d/%Y %H:%M'
    >>> moment_spelling(["2020-12-31", "31.12.2020"])
    '%Y-%m-%d or %d.%m.%Y'
    """
    if not names or not any(map(str.isdigit, names[0])):
        return None
    for form in ("", *_MOMENTS):
        for some in (names[:1], names[:_TRIED], names):
            if np.isnan(read_moments(some, form)).any():
                break
        else:
            return form
    return _several_forms(names)


def _several_forms(names: Sequence[str]) -> str | None:
    """Return the few ways in which cells write days, if no cell could be of two of them."""
    forms: list[str] = []
    left = list(names)
    while left and len(forms) < _MOST_FORMS:
        form = next(
            (f for f in ("", *_MOMENTS) if not np.isnan(read_moments(left[:1], f))[0]), None
        )
        if form is None:
            return None
        seconds = read_moments(left, form)
        if (~np.isnan(seconds)).sum() < _RARE * len(names):
            return None
        forms.append(form)
        left = [name for name, known in zip(left, ~np.isnan(seconds), strict=True) if not known]
    orders = {form[:8].replace("%y", "%Y") for form in forms}
    if left or {"%d/%m/%Y", "%m/%d/%Y"} <= orders or {"%d-%m-%Y", "%m-%d-%Y"} <= orders:
        return None
    return _OR.join(form or _ISO for form in forms)


def epoch_spelling(name: str, names: Sequence[str]) -> str | None:
    """Return in which unit the cells of a column count the time since 1970; None where they do not.

    Whole numbers do where all lie in our time; the column's `name` may make that likelier.

    Examples
    --------
    >>> epoch_spelling("signup", ["1500000000", "1600000000"])
    'seconds since 1970'
    >>> epoch_spelling("views", ["3", "1600000000"]), epoch_spelling("created_at", ["978300760"])
    (None, 'seconds since 1970')
    """
    if not names or not names[0].strip().isdigit():
        return None
    numbers = read_numbers(names)
    if not (numbers % 1 == 0).all():
        return None
    low, high = _LIKELY if _TIMED.search(name.lower()) else _CLEAR
    for unit, scale in _SINCE.items():
        if low <= numbers.min() / scale and numbers.max() / scale <= high:
            return unit
    return None


def digits_spelling(name: str, names: Sequence[str]) -> str | None:
    """Return how the cells of a column write days as one number; None where they do not.

    Eight digits that are all days of our time hardly are anything else; six are where the column's
    `name` says so.

    Examples
    --------
    >>> digits_spelling("opened", ["19991231", "20200105"]), digits_spelling("date", ["930102"])
    ('%Y%m%d', '%y%m%d')
    >>> digits_spelling("price", ["930102"]), digits_spelling("date", ["931302"])
    (None, None)
    """
    timed = bool(_TIMED.search(name.lower()))
    for form in _DIGITS:
        if not timed and len(form) == len("%y%m%d") and form.startswith("%y"):
            continue
        seconds = read_moments(names[:_TRIED], form)
        if np.isnan(seconds).any():
            continue
        seconds = read_moments(names, form)
        if len(seconds) and _DAYS_OF_OURS[0] <= seconds.min() and seconds.max() < _DAYS_OF_OURS[1]:
            return form
    return None


def read_moments(names: Sequence[str], spelled: str = "") -> Floats:
    """Return cells as seconds since 1970 began, NaN where one is not written so.

    Examples
    --------
    >>> read_moments(["02.01.1970", "soon"], "%d.%m.%Y").tolist()
    [86400.0, nan]
    """
    if spelled in _SINCE:
        return read_numbers(names) / _SINCE[spelled]
    if _OR in spelled:
        forms = ["" if form == _ISO else form for form in spelled.split(_OR)]
        return np.asarray(np.fmax.reduce([read_moments(names, form) for form in forms]), np.float64)
    read = _moment if spelled else (lambda name, _: seconds_of(name))
    return np.array([read(name, spelled) for name in names], np.float64)


def _moment(text: str, form: str) -> float:
    if form in _DIGITS and not _DIGITS[form].fullmatch(text.strip()):
        return math.nan
    if form.startswith("%d.%m.%y") and not _TWO_BY_TWO.match(text.strip()):
        return math.nan
    try:
        return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return math.nan
