"""Errors that say where, what was found, what was expected, and what to do.

Everything the library raises on purpose derives from `MlnError`; a caller (or the command line) can
catch that one class and show ``str(error)`` to a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
        parts = [self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)

    def caret(self) -> str:
        """Return the source line with a caret under the column, or nothing without the text."""
        if not self.text or not self.column:
            return ""
        shown = self.text.replace("\t", " ")
        return f"\n  {shown}\n  {' ' * (self.column - 1)}^"


class MlnError(Exception):
    """Base of all errors of this library: a message, optionally with a place and a remedy."""

    def __init__(self, message: str, location: Location | None = None, hint: str = "") -> None:
        self.message = message
        self.location = location
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        caret = self.location.caret() if self.location else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{where}{self.message}{caret}{hint}"


class InputError(MlnError):
    """Something is wrong with a file, table or value that the user gave."""


class InputErrors(InputError):  # noqa: N818 - several errors, so the plural
    """All problems of one input, collected so that they can be mended in one go.

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
        return "\n".join([self.message, *(str(problem) for problem in self.problems)])


class CountOverflowError(MlnError):
    """A count does not fit in 64 bits."""


class MemoryLimitError(MlnError):
    """The work asked for would need more memory than the limit allows."""


class DataWarning(UserWarning):
    """The data can be used, but something in it is probably not meant so."""
