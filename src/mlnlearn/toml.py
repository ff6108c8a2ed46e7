"""TOML that a person wrote: its values, and the line on which each of them stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mlnlearn.errors import InputError, Location

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)")
_AT_END = "(at end of document)"
_MOST_LINES = 300  # of one value: the reader of places begins anew with each of its lines
Path = tuple[str, ...]


@dataclass(frozen=True)
class Toml:
    r"""The values of a TOML text.

    Examples
    --------
    >>> found = Toml.of("[people]\ntype = 3\n", "mapping.toml")
    >>> found.values, str(found.place("people", "type"))
    ({'people': {'type': 3}}, 'mapping.toml:2')
    """

    values: dict[str, Any]
    text: str
    file: str

    @classmethod
    def of(cls, text: str, file: str) -> Toml:
        """Read a text; the name of its file is for errors."""
        try:
            return cls(tomllib.loads(text), text, file)
        except RecursionError:
            raise InputError("not TOML: nested too deeply", Location(file)) from None
        except ValueError as error:  # a syntax error, or a number of thousands of digits
            message = f"not TOML: {_PLACE.sub('', str(error))}"
            raise InputError(message, _place(str(error), text, file)) from None

    def place(self, *path: str) -> Location:
        """Return where a value is set, or the innermost table around it that stands there."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return Location(self.file, self._lines[path[:length]])
        return Location(self.file)

    @cached_property
    def _lines(self) -> dict[Path, int]:
        """The first line of every value and table."""
        found: dict[Path, int] = {}
        table: Path = ()
        for line, part in _statements(self.text):
            paths = list(_paths(tomllib.loads(part)))
            if part.lstrip().startswith("["):
                table = paths[-1]
                paths = [table[:length] for length in range(1, len(table) + 1)]
            else:
                paths = [(*table, *path) for path in paths]
            for path in paths:
                found.setdefault(path, line)
        return found


def _place(message: str, text: str, file: str) -> Location:
    """Return the place that an error of the reader names."""
    lines = text.splitlines()
    if _AT_END in message:
        return Location(file, len(lines))
    place = _PLACE.search(message)
    line, column = (int(part) for part in place.groups()) if place else (0, 0)
    return Location(file, line, column, lines[line - 1] if 0 < line <= len(lines) else "")


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement of a valid text with its line; a value may go over several."""
    start, part = 1, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not part:
            start = number
        part += line + "\n"
        if number - start > _MOST_LINES:
            return
        try:
            tomllib.loads(part)
        except (ValueError, RecursionError):
            continue
        if part.strip():
            yield start, part
        part = ""


def _paths(values: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    """Yield the path to every value, and to what is around it."""
    for name, value in values.items():
        yield (*above, name)
        inner = value[-1] if isinstance(value, list) and value else value
        if isinstance(inner, Mapping):
            yield from _paths(inner, (*above, name))
