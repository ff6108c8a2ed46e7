"""One vocabulary per type: constants and their integer codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


class Vocabulary:
    """Distinct constant names in a fixed order; a name's place is its code. Immutable.

    Examples
    --------
    >>> people = Vocabulary(["Anna", "Bob"])
    >>> people.code("Bob"), people[0], people.code("Carl"), len(people)
    (1, 'Anna', -1, 2)
    """

    __slots__ = ("_codes", "names")

    def __init__(self, names: Iterable[str]) -> None:
        self.names: Sequence[str] = tuple(names)
        self._codes: dict[str, int] | None = None

    @property
    def codes(self) -> dict[str, int]:
        """Name to code, made on first use."""
        if self._codes is None:
            self._codes = {name: code for code, name in enumerate(self.names)}
            if len(self._codes) != len(self.names):
                raise ValueError("a vocabulary holds each name once")
        return self._codes

    def code(self, name: str) -> int:
        """Return the code of a name, -1 where it is not in the vocabulary."""
        return self.codes.get(name, -1)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, code: int) -> str:
        return self.names[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.codes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self is other or self.names == other.names)

    def __hash__(self) -> int:
        return hash(len(self.names))

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:3]) + (", …" if len(self.names) > 3 else "")
        return f"Vocabulary({len(self.names)}: {shown})"
