"""Facts that stay where they lie: read only as far as someone asks for them.

A database usually holds its facts as arrays. One whose facts stay in files, or at a server, has the
same face: who counts in SQL reads the tables there; who asks for an array has it loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.vocabulary import Vocabulary

_BLOCK = 1 << 16
_MOST_BLOCKS = 16


class FactPlace(Protocol):
    """Where facts lie, with the constants of each type numbered there."""

    def count(self, name: str) -> int:
        """Return the number of true atoms of a predicate."""
        ...

    def different(self, name: str, place: int) -> int:
        """Return how many constants stand at a place of a predicate."""
        ...

    def facts(self, name: str) -> NDArray[np.int32]:
        """Load the facts of a predicate, sorted: shape ``(arity, facts)``."""
        ...

    def size(self, kind: str) -> int:
        """Return the number of constants of a type."""
        ...

    def code(self, kind: str, name: str) -> int:
        """Return the code of a constant, -1 where there is none of that name."""
        ...

    def names(self, kind: str, start: int, stop: int) -> list[str]:
        """Load the constants of a type whose codes are in a range, in their order."""
        ...

    def table(self, name: str) -> str:
        """Return what the table of a predicate's facts in codes is called there."""
        ...


@runtime_checkable
class DigestedPlace(Protocol):
    """Where facts lie that are told from others by what is read of them, without loading facts."""

    def digests(self) -> dict[str, str]:
        """Return a digest of each part of what is read."""
        ...


class PlacedFacts(Mapping[str, NDArray[np.int32]]):
    """The facts of some predicates, each loaded when it is asked for, and kept then."""

    def __init__(self, place: FactPlace, names: Iterable[str]) -> None:
        self.place = place
        self._names = tuple(names)
        self._loaded: dict[str, NDArray[np.int32]] = {}

    @property
    def loaded(self) -> tuple[str, ...]:
        """The predicates whose facts were loaded so far."""
        return tuple(self._loaded)

    def __getitem__(self, name: str) -> NDArray[np.int32]:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = self.place.facts(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class PlacedNames(Sequence[str]):
    """The names of a type's constants, loaded a block at a time; names of one's own come after.

    Of all blocks the last few are kept: whoever goes through names in their order, or asks for some
    of them, never has all.
    """

    def __init__(self, place: FactPlace, kind: str, more: Sequence[str] = ()) -> None:
        self._place, self._kind, self._more = place, kind, more
        self._blocks: dict[int, list[str]] = {}

    @cached_property
    def _known(self) -> int:
        return self._place.size(self._kind)

    def __len__(self) -> int:
        return self._known + len(self._more)

    @overload
    def __getitem__(self, code: int) -> str: ...
    @overload
    def __getitem__(self, code: slice) -> Sequence[str]: ...
    def __getitem__(self, code: int | slice) -> str | Sequence[str]:
        if isinstance(code, slice):
            return [self[each] for each in range(*code.indices(len(self)))]
        place = code + len(self) if code < 0 else code
        if not 0 <= place < len(self):
            raise IndexError(code)
        if place >= self._known:
            return self._more[place - self._known]
        number, inner = divmod(place, _BLOCK)
        return self._block(number)[inner]

    def __iter__(self) -> Iterator[str]:
        for number in range(-(-self._known // _BLOCK)):
            yield from self._block(number)
        yield from self._more

    def __repr__(self) -> str:
        more = ", …" if len(self) > 3 else ""
        return f"PlacedNames({len(self)}: {', '.join(self[:3])}{more})"

    def _block(self, number: int) -> list[str]:
        found = self._blocks.get(number)
        if found is None:
            start = number * _BLOCK
            found = self._place.names(self._kind, start, min(start + _BLOCK, self._known))
            while len(self._blocks) >= _MOST_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[number] = found
        return found


class PlacedVocabulary(Vocabulary):
    """The constants of a type that are numbered elsewhere; names that rules add come after them."""

    __slots__ = ("_kind", "_more", "_names", "_place")

    def __init__(self, place: FactPlace, kind: str, more: Iterable[str] = ()) -> None:
        self.numbers, self.time = None, False
        self._place, self._kind, self._more = place, kind, tuple(more)
        self._codes: dict[str, int] | None = None
        self._names = PlacedNames(place, kind, self._more)

    @property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """All constants, loaded as far as they are asked for."""
        return self._names

    def plus(self, names: Iterable[str]) -> Vocabulary:
        """Return the vocabulary with new names after the others."""
        return PlacedVocabulary(self._place, self._kind, (*self._more, *names))

    def code(self, name: str) -> int:
        """Return the code of a name, -1 where it is not in the vocabulary."""
        if name in self._more:
            return self._place.size(self._kind) + self._more.index(name)
        return self._place.code(self._kind, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.code(name) >= 0

    def __len__(self) -> int:
        return self._place.size(self._kind) + len(self._more)

    def __getitem__(self, code: int) -> str:
        return self._names[code]
