"""One vocabulary per type: constants and their integer codes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike, NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Vocabulary:
    """Distinct constant names in a fixed order; a name's place is its code. Immutable.

    Attributes
    ----------
    names
        The constants.
    numbers
        For a type of numbers, the number that each constant is, rising: codes are ranks. None for
        all other types.
    time
        Whether the numbers are moments: seconds since 1970 began, in universal time.

    Examples
    --------
    >>> people = Vocabulary(["Anna", "Bob"])
    >>> people.code("Bob"), people[0], people.code("Carl"), len(people)
    (1, 'Anna', -1, 2)
    """

    __slots__ = ("_codes", "names", "numbers", "time")

    def __init__(
        self,
        names: Iterable[str],
        numbers: NDArray[np.float64] | None = None,
        *,
        time: bool = False,
    ) -> None:
        self.names: Sequence[str] = tuple(names)
        self.numbers = numbers
        self.time = time
        self._codes: dict[str, int] | None = None

    @classmethod
    def of_numbers(cls, numbers: ArrayLike, *, time: bool = False) -> Vocabulary:
        """Return the vocabulary of some numbers, each once, in rising order.

        Examples
        --------
        >>> Vocabulary.of_numbers([10, 2.5, 10]).names
        ('2.5', '10')
        >>> Vocabulary.of_numbers([0, 90_000], time=True).names
        ('1970-01-01', '1970-01-02 01:00:00')
        """
        rising = np.unique(np.asarray(numbers, np.float64))
        name = moment_name if time else number_name
        return cls(map(name, rising.tolist()), rising, time=time)

    def at(self, codes: NDArray[np.integer]) -> Vocabulary:
        """Return the vocabulary of some constants only, given by rising codes.

        Examples
        --------
        >>> Vocabulary.of_numbers([7, 8, 9]).at(np.array([0, 2])).numbers
        array([7., 9.])
        """
        numbers = None if self.numbers is None else self.numbers[codes]
        return Vocabulary((self.names[code] for code in codes.tolist()), numbers, time=self.time)

    def plus(self, names: Iterable[str]) -> Vocabulary:
        """Return the vocabulary with new names after the others, whose codes stay as they are.

        Examples
        --------
        >>> Vocabulary(["Anna"]).plus(["Bob"]).names
        ('Anna', 'Bob')
        """
        return Vocabulary([*self.names, *names])

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
        if self is other:
            return True
        if not isinstance(other, Vocabulary) or len(self) != len(other):
            return False
        if tuple(self.names) != tuple(other.names):
            return False
        return (self.numbers is None) == (other.numbers is None) and self.time == other.time

    def __hash__(self) -> int:
        return hash(len(self.names))

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:3]) + (", …" if len(self.names) > 3 else "")
        return f"Vocabulary({len(self.names)}: {shown})"


def number_name(number: float) -> str:
    """Return a number as a constant; whole numbers lose their ``.0``.

    Examples
    --------
    >>> number_name(3.0), number_name(0.25)
    ('3', '0.25')
    """
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


def moment_name(seconds: float) -> str:
    """Return a moment as a constant: its day, and the time of the day unless it is midnight.

    Examples
    --------
    >>> moment_name(86_400.0), moment_name(1.5)
    ('1970-01-02', '1970-01-01 00:00:01.500000')
    """
    moment = _EPOCH + timedelta(seconds=seconds)
    text = moment.strftime("%H:%M:%S" + (".%f" if moment.microsecond else ""))
    day = moment.date().isoformat()
    return day if text == "00:00:00" else f"{day} {text}"


def seconds_of(text: str) -> float:
    """Return the seconds since 1970 began of an ISO date or moment, NaN where a text is none.

    A moment without a time zone is taken as universal time.

    Examples
    --------
    >>> seconds_of("1970-01-02"), seconds_of("1970-01-01T01:00+01:00"), seconds_of("soon")
    (86400.0, 0.0, nan)
    """
    words = text.strip()
    if len(words) < len("2020-12-31") or words[4:5] != "-":
        return math.nan  # a number such as 20201231 is an ISO date, too, and mostly means none
    try:
        found = datetime.fromisoformat(words)
    except ValueError:
        return math.nan
    moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return (moment - _EPOCH).total_seconds()
