"""Numbered constants, made when asked for: millions of names cost nothing until printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from mlnlearn.data.vocabulary import Vocabulary


class NumberedNames(Sequence[str]):
    """The names ``prefix0, prefix1, …``, not stored.

    Examples
    --------
    >>> names = NumberedNames("P", 1_000_000)
    >>> names[7], names[-1], names[:2], len(names), "P12" in names, "P012" in names
    ('P7', 'P999999', ('P0', 'P1'), 1000000, True, False)
    """

    __slots__ = ("prefix", "size")

    def __init__(self, prefix: str, count: int) -> None:
        self.prefix = prefix
        self.size = count

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        chosen = range(self.size)[place]
        if isinstance(chosen, range):
            return tuple(f"{self.prefix}{number}" for number in chosen)
        return f"{self.prefix}{chosen}"

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{number}" for number in range(self.size))

    def place(self, name: str) -> int:
        """Return the place of a name, -1 where it is none of these."""
        digits = name[len(self.prefix) :]
        if not name.startswith(self.prefix) or not digits.isdecimal():
            return -1
        number = int(digits)
        return number if number < self.size and name == f"{self.prefix}{number}" else -1

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.place(name) >= 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return (self.prefix, self.size) == (other.prefix, other.size)
        if isinstance(other, tuple):
            return len(other) == self.size and all(map(str.__eq__, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.prefix, self.size))


class NumberedVocabulary(Vocabulary):
    """A vocabulary of numbered constants that looks codes up by arithmetic.

    Examples
    --------
    >>> people = NumberedVocabulary("P", 10_000_000)
    >>> people.code("P9999999"), people[3], people.code("Anna"), "P3" in people
    (9999999, 'P3', -1, True)
    """

    __slots__ = ("_numbered",)

    def __init__(self, prefix: str, count: int) -> None:
        super().__init__(())
        self._numbered = NumberedNames(prefix, count)
        self.names = self._numbered

    def code(self, name: str) -> int:
        """Return the code of a name, -1 where it is not in the vocabulary."""
        return self._numbered.place(name)

    def __contains__(self, name: object) -> bool:
        return name in self._numbered
