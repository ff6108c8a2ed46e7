"""Errors that say where, what was found, what was expected, and what to do.

Everything the library raises on purpose derives from `MlnError`; a caller (or the command line) can
catch that one class and show ``str(error)`` to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

LONGEST_MESSAGE = 2000
"""Letters of an error's text: what a person reads, whatever a file holds."""
_LONGEST_PART = 600
_SHOWN_LINE = 120
_LONGEST_COMPARED = 100
_MOST_COMPARED = 10_000

_IN_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^\s:@/?#]*):.*@")
# In quotes, up to the last one there is: what looks like the end may be part of the password.
_IN_SETTINGS = re.compile(r"((?:password|passwd|pwd)\s*=\s*)('(?:.*'|.*)|(?:\\.|\S)+)", re.I)


def without_secrets(text: str) -> str:
    """Return a text without passwords: of addresses, and of settings ``password=…``.

    Whatever stands between the user and the last ``@`` of an address is taken for the password,
    since people write those with ``/``, ``?`` and ``#`` as they are.

    Examples
    --------
    >>> without_secrets("postgresql://anna:se/cr?t@host/shop")
    'postgresql://anna@host/shop'
    >>> without_secrets("host=db password='my secret' user=anna")
    'host=db password=*** user=anna'
    """
    if "://" in text:
        text = _IN_ADDRESS.sub(r"\1@", text)
    return _IN_SETTINGS.sub(r"\1***", text)


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return a text of bounded length: of a longer one, its beginning and its end.

    Examples
    --------
    >>> shortened("a" * 50 + "b" * 50, 21)
    'aaaaaaaaaa…bbbbbbbbbb'
    """
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most like the given one, or nothing where none is.

    Examples
    --------
    >>> nearest("Smoke", ["smokes", "friends"]), nearest("weather", ["smokes", "friends"])
    ('smokes', '')
    """
    return next(iter(near_names(name, known, 1)), "")


def near_names(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known names that are like the given one, those most like it first.

    Examples
    --------
    >>> near_names("c-17", ["c17", "c-71", "d2"])
    ['c17', 'c-71']
    """
    lowered = {other.lower(): other for other in known}
    # of use to those who read a few complaints about a few names; else it takes too long
    if len(name) > _LONGEST_COMPARED or len(lowered) > _MOST_COMPARED:
        return []
    return [lowered[near] for near in get_close_matches(name.lower(), lowered, n=most)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint: the names that there are, and the one most like the given one.

    Examples
    --------
    >>> did_you_mean("smoke", ["smokes", "friends"])
    "there are: smokes, friends; did you mean 'smokes'?"
    """
    listed = list(known)
    near = nearest(name, listed)
    question = f"; did you mean '{near}'?" if near else ""
    return f"there are: {', '.join(listed) or 'none'}{question}"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in an input: a file (or table) with a line and column, both counted from 1.

    Examples
    --------
    >>> str(Location("people.db", 3, 7))
    'people.db:3:7'
    """

    file: str
    line: int = 0
    column: int = 0
    text: str = ""

    def __str__(self) -> str:
        parts = [shortened(without_secrets(self.file), _LONGEST_PART)]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)

    def caret(self) -> str:
        """Return the source line with a caret under the column, or nothing without the text."""
        if not self.text or not self.column:
            return ""
        start = max(0, self.column - _SHOWN_LINE // 2) if len(self.text) > _SHOWN_LINE else 0
        shown = self.text[start : start + _SHOWN_LINE].replace("\t", " ")
        before = "…" if start else ""
        after = "…" if start + _SHOWN_LINE < len(self.text) else ""
        gap = " " * (len(before) + self.column - 1 - start)
        return f"\n  {before}{shown}{after}\n  {gap}^"


class MlnError(Exception):
    """Base of all errors of this library: a message, optionally with a place and a remedy.

    Parameters
    ----------
    message
        What was found, and what was expected.
    location
        The place in a file or table.
    hint
        What to do about it.
    """

    def __init__(self, message: str, location: Location | None = None, hint: str = "") -> None:
        self.message = shortened(without_secrets(message), _LONGEST_PART)
        self.location = location
        self.hint = shortened(without_secrets(hint), _LONGEST_PART)
        super().__init__(self.message)

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        caret = self.location.caret() if self.location else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return shortened(f"{where}{self.message}{caret}{hint}")


class InputError(MlnError):
    """Something is wrong with a file, table or value that the user gave."""


_MORE = "… and {} more"


class InputErrors(InputError):  # noqa: N818 - several errors, so the plural
    """All problems of one input, collected so that they can be mended in one go.

    The text lists the first of them; `problems` has all.

    Parameters
    ----------
    problems
        The errors, in the order in which they were found.

    Examples
    --------
    >>> error = InputErrors([InputError("no such predicate 'likes'", Location("a.db", 2, 1))])
    >>> print(error)
    1 problem found
    a.db:2:1: no such predicate 'likes'
    """

    def __init__(self, problems: Sequence[InputError]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} found")

    def __str__(self) -> str:
        lines = [self.message]
        room = LONGEST_MESSAGE - len(self.message) - len(_MORE.format(len(self.problems))) - 1
        for number, problem in enumerate(self.problems):
            text = str(problem) if number else shortened(str(problem), room - 1)
            room -= len(text) + 1
            if room < 0:
                lines.append(_MORE.format(len(self.problems) - number))
                break
            lines.append(text)
        return "\n".join(lines)


def raise_all(problems: Sequence[InputError]) -> None:
    """Raise all problems of an input together, if there are any."""
    if problems:
        raise InputErrors(problems)


@contextmanager
def collected(problems: list[InputError]) -> Iterator[None]:
    """Note what is wrong with one part of an input, and go on with the next.

    Examples
    --------
    >>> problems = []
    >>> with collected(problems):
    ...     raise InputErrors([InputError("one"), InputError("another")])
    >>> [problem.message for problem in problems]
    ['one', 'another']
    """
    try:
        yield
    except InputError as error:
        problems += error.problems if isinstance(error, InputErrors) else [error]


class CountOverflowError(MlnError):
    """A count does not fit in 64 bits."""


class MemoryLimitError(MlnError):
    """The work asked for would need more memory than the limit allows."""


class DataWarning(UserWarning):
    """The data can be used, but something in it is probably not meant so."""
