"""Joins that start from ground atoms: the groundings of a conjunction that go through each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip, Mask
from mlnlearn.counting.chunks import TooManyRowsError
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.logic.atoms import Predicate

CHUNK = 1 << 16
"""How many atoms are taken at a time."""
MOST_ROWS = 1 << 21
"""No table of the joins grows beyond this, unless for a single atom."""


HEAD_NUMBER = 1 << 20
"""The variable that stands for the number of a head in a list."""


@dataclass(frozen=True, slots=True, eq=False)
class Conjunct:
    """A literal to be joined: where its facts are, and whether the atom itself may not be one."""

    pattern: Pattern
    world: Objects
    is_other: bool = False


class Through:
    """Groundings of conjunctions that go through the atoms of a chunk, all of them taken as true.

    Parameters
    ----------
    world
        The facts.
    flip
        The atoms.
    """

    def __init__(self, world: Objects, flip: Flip) -> None:
        self.world = world
        self.flip = flip
        self.size = flip.columns.shape[1]

    @classmethod
    def of(cls, world: Objects, predicate: Predicate, atoms: Codes, known: Mask) -> Through:
        """Start from atoms of a predicate; `known` are true in the data."""
        columns = np.ascontiguousarray(atoms)
        return cls(world, Flip(predicate, columns, np.ones(len(known), np.bool_), known))

    def places(self, body: Body) -> list[int]:
        """Return the places of the literals that may be the atom."""
        return [n for n, pattern in enumerate(body) if pattern.predicate == self.flip.predicate]

    def count(self, body: Body, place: int, within: Conjunct) -> Ints:
        """Count, for each atom, the groundings that `groundings` lists."""
        table, numbers, last = self._until_last(body, place, within, frozenset())
        if last is None:
            return table.totals()
        if last.is_other:
            return self._joined(table, numbers, last)[0].totals()
        placed = _placed(last.pattern, numbers)
        return replace(table, world=last.world).count(placed)

    def groundings(
        self, body: Body, place: int, kept: frozenset[int], within: Conjunct | None = None
    ) -> tuple[Bindings, dict[int, int]]:
        """Return the groundings in which the literal at a place is the atom, and no earlier one.

        Parameters
        ----------
        body, place
            The conjunction, and which literal.
        kept
            The variables that matter: rows are distinct in them, `times` tells how many they were.
        within
            Another literal that must hold, of facts of its own.

        Returns
        -------
        The table, and the number that every variable has in it.
        """
        table, numbers, last = self._until_last(body, place, within, kept)
        if last is not None:
            table, numbers = self._joined(table, numbers, last)
        return self._merged(table, numbers, kept)

    def _until_last(
        self, body: Body, place: int, within: Conjunct | None, kept: frozenset[int]
    ) -> tuple[Bindings, dict[int, int], Conjunct | None]:
        """Join all literals but the last; the one that makes the fewest rows comes next."""
        rest = [
            Conjunct(p, self.world, n < place and p.predicate == self.flip.predicate)
            for n, p in enumerate(body)
            if n != place
        ]
        rest += [] if within is None else [within]
        table, numbers = self._unified(body[place])
        while len(rest) > 1:
            rows = [self._rows(table, numbers, conjunct) for conjunct in rest]
            best = rows.index(min(rows))
            table, numbers = self._joined(table, numbers, rest.pop(best))
            wanted = kept.union(*(conjunct.pattern.variables for conjunct in rest))
            table, numbers = self._merged(table, numbers, wanted)
        return table, numbers, rest[0] if rest else None

    def _rows(self, table: Bindings, numbers: dict[int, int], conjunct: Conjunct) -> int:
        return replace(table, world=conjunct.world).joined_rows(_placed(conjunct.pattern, numbers))

    def _unified(self, pattern: Pattern) -> tuple[Bindings, dict[int, int]]:
        """Start from the atoms that are instances of the pattern."""
        atoms = np.arange(self.size, dtype=np.int32)
        general = Bindings(self.world, atoms, self.flip.columns[:1], self.size, self.flip)
        numbers = {variable: number for number, variable in enumerate(pattern.variables)}
        keep = general.meets_flip(_placed(pattern, numbers))
        first = {term: place for place, term in reversed(list(enumerate(pattern.terms)))}
        chosen = [0, *(first[variable] + 1 for variable in pattern.variables)]
        columns = np.ascontiguousarray(self.flip.columns[chosen][:, keep])
        return Bindings(self.world, atoms[keep], columns, self.size, self.flip), numbers

    def _joined(
        self, table: Bindings, numbers: dict[int, int], conjunct: Conjunct
    ) -> tuple[Bindings, dict[int, int]]:
        after = _extended(conjunct.pattern, numbers)
        placed = _placed(conjunct.pattern, after)
        if self.size > 1 and self._rows(table, numbers, conjunct) > MOST_ROWS:
            raise TooManyRowsError
        table = replace(replace(table, world=conjunct.world).join(placed), world=self.world)
        if conjunct.is_other:
            table = table.where(~table.meets_flip(placed))
        return table, after

    def _merged(
        self, table: Bindings, numbers: dict[int, int], wanted: frozenset[int]
    ) -> tuple[Bindings, dict[int, int]]:
        """Drop the variables that are not wanted, and make rows one that no longer differ."""
        kept = [variable for variable in numbers if variable in wanted]
        if len(kept) == len(numbers):
            return table, numbers
        places = [0, *(numbers[variable] + 1 for variable in kept)]
        smaller = replace(table, columns=np.ascontiguousarray(table.columns[places]))
        after = {variable: number for number, variable in enumerate(kept)}
        return smaller.merged(range(len(kept))), after


def within(world: Objects, head: Predicate, heads: Codes, chosen: Ints) -> Conjunct:
    """Return a literal that is true of some heads, and gives their numbers to `HEAD_NUMBER`.

    Parameters
    ----------
    world
        Where their objects live.
    head
        Their predicate.
    heads
        A row of databases, then one of each argument's objects.
    chosen
        The numbers of the columns of `heads` that are meant.
    """
    listed = Predicate("<heads>", (*head.types, "<number>"))
    facts = np.concatenate([heads[:, chosen], chosen[np.newaxis].astype(np.int32)])
    pattern = Pattern(listed, (*range(head.arity), HEAD_NUMBER))
    return Conjunct(pattern, world.beside(listed, facts))


def _extended(pattern: Pattern, numbers: dict[int, int]) -> dict[int, int]:
    """Give numbers to the variables that have none yet."""
    after = dict(numbers)
    for variable in pattern.variables:
        after.setdefault(variable, len(after))
    return after


def _placed(pattern: Pattern, numbers: dict[int, int]) -> Pattern:
    """Return the pattern with the table's numbers for its variables."""
    known = _extended(pattern, numbers)
    terms = tuple(known[term] if isinstance(term, int) else term for term in pattern.terms)
    return Pattern(pattern.predicate, terms)
