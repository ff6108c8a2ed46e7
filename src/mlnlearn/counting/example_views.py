"""Examples as far as a conjunction tells them apart.

A conjunction that has one argument of the target only is the same for all examples that agree in
it: it is counted once for each object, and the sums of these examples are taken first. Where a
conjunction falls into parts that share no variable but the target's arguments, its groundings are
the product of theirs, and each part is counted for its own arguments.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, pack
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.threads import in_slices

Number = TypeVar("Number", np.integer, np.bool_)


@dataclass(frozen=True, slots=True)
class Linked:
    """The literals of a conjunction that go with some others.

    Attributes
    ----------
    joined
        The literals that do, as the conjunction has them.
    rest
        The literals that do not.
    places
        Arguments of the target that the literals, and those they go with, are about.
    """

    joined: Body
    rest: Body
    places: frozenset[int]


def linked(body: Body, others: Sequence[Pattern], heads: int) -> Linked:
    """Tell which literals of a body share variables with others, the target's arguments aside.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> wrote, old = Predicate("wrote", ("title", "person")), Predicate("old", ("title",))
    >>> body = (Pattern(wrote, (2, 0)), Pattern(wrote, (3, 1)))
    >>> found = linked(body, [Pattern(old, (3,))], 2)
    >>> found.joined == body[1:], found.rest == body[:1], sorted(found.places)
    (True, True, [1])
    """
    variables = {number for pattern in others for number in pattern.variables}
    joined: set[int] = set()
    while True:
        more = {
            place
            for place, pattern in enumerate(body)
            if place not in joined
            and any(number >= heads and number in variables for number in pattern.variables)
        }
        if not more:
            break
        joined |= more
        variables.update(number for place in more for number in body[place].variables)
    return Linked(
        tuple(pattern for place, pattern in enumerate(body) if place in joined),
        tuple(pattern for place, pattern in enumerate(body) if place not in joined),
        frozenset(number for number in variables if number < heads),
    )


def parts_of(body: Body, heads: int) -> Iterator[Linked]:
    """Yield the parts of a conjunction that share no variable but the target's arguments.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> wrote = Predicate("wrote", ("title", "person"))
    >>> body = (Pattern(wrote, (2, 0)), Pattern(wrote, (3, 1)), Pattern(wrote, (2, 1)))
    >>> [sorted(part.places) for part in parts_of(body, 2)]
    [[0, 1], [1]]
    """
    waiting = body
    while waiting:
        first = waiting[0]
        found = linked(waiting[1:], [first], heads)
        yield Linked((first, *found.joined), found.rest, found.places)
        waiting = found.rest


@dataclass(frozen=True, slots=True, eq=False)
class ExampleView:
    """Examples that agree in some arguments made one.

    Attributes
    ----------
    examples
        A row of databases, then one of each argument's objects; 0 where that is left open.
    of
        Per example, the number of its row here; None where each has one of its own.
    """

    examples: Codes
    of: Codes | None = None

    def __len__(self) -> int:
        return int(self.examples.shape[1])

    def spread(self, values: NDArray[Number]) -> NDArray[Number]:
        """Give every example the value of its row."""
        of = self.of
        if of is None:
            return values
        found = np.empty(len(of), values.dtype)
        in_slices(lambda part: np.take(values, of[part], out=found[part], mode="clip"), len(of))
        return found


class ExampleViews:
    """Views of a set of examples, made on first use.

    Parameters
    ----------
    examples
        A row of databases, then one of each argument's objects.
    least
        Examples from which on views pay; fewer are all told apart.

    Examples
    --------
    >>> pairs = np.array([[0, 0, 0, 0], [3, 3, 5, 5], [0, 1, 0, 1]], np.int32)
    >>> view = ExampleViews(pairs, least=1).view({0})
    >>> view.examples.tolist(), view.of.tolist()
    ([[0, 0], [3, 5], [0, 0]], [0, 0, 1, 1])
    """

    def __init__(self, examples: Codes, least: int) -> None:
        self.everyone = ExampleView(examples)
        self.pays = examples.shape[1] >= least
        self._made: dict[frozenset[int], ExampleView] = {}
        self._making = Lock()

    def view(self, places: Collection[int]) -> ExampleView:
        """Return the examples by some arguments; all apart where that makes few of them one."""
        key = frozenset(places)
        if not self.pays or len(key) == len(self.everyone.examples) - 1:
            return self.everyone
        with self._making:
            if key not in self._made:
                self._made[key] = self._make(key)
        return self._made[key]

    def _make(self, places: frozenset[int]) -> ExampleView:
        examples = self.everyone.examples
        # an object is of one database: where there is one, the database need not be asked
        rows = [place + 1 for place in sorted(places)] or [0]
        numbers = _numbers([examples[row] for row in rows])
        size = int(numbers.max(initial=-1)) + 1
        if 2 * size > len(numbers):
            return self.everyone
        distinct = np.zeros((len(examples), size), np.int32)
        for row in {0, *rows}:
            distinct[row, numbers] = examples[row]
        return ExampleView(distinct, numbers)


def _numbers(columns: Sequence[Codes]) -> Codes:
    """Return numbers, rising with the keys, that are equal where the columns are."""
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    keys = pack(columns, sizes)
    if keys is None:  # too many to be told by one number: all apart
        return np.arange(len(columns[0]), dtype=np.int32)
    space = math.prod(sizes)
    if space > 4 * len(keys):
        return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int32)
    seen = np.zeros(space, np.int32)
    seen[keys] = 1
    ranks: Codes = np.cumsum(seen, dtype=np.int32) - 1
    return ranks[keys]
