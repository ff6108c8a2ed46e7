"""Blocks: groups of atoms of which exactly one is true (arguments marked ``!``)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, pack, unpack
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Constant, Predicate


class Blocks:
    """Atoms of a predicate, as packed keys, grouped by all arguments but the marked ones.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("phase(person,step!)")
    >>> domains = {"person": ["Anna", "Bob"], "step": ["One", "Two", "Three"]}
    >>> db = Database.from_facts(schema, {}, domains=domains)
    >>> blocks = Blocks(schema["phase"], (2, 3), (1,), db)
    >>> true, unknown = blocks.resolved(np.array([1]), np.array([0, 2, 3, 5]))
    >>> true.tolist(), unknown.tolist(), blocks.numbered(unknown)[1].tolist()
    ([1], [3, 5], [0, 1])
    """

    def __init__(
        self,
        predicate: Predicate,
        sizes: Sequence[int],
        marked: Collection[int],
        database: Database,
    ) -> None:
        self.predicate = predicate
        self.sizes = (1, *sizes)
        self.kept = [place for place in range(predicate.arity) if place not in marked]
        self.database = database

    def of(self, keys: Ints) -> Ints:
        """Return the block of each atom."""
        columns = unpack(keys, self.sizes)
        blocks = pack(
            [columns[0], *(columns[place + 1] for place in self.kept)],
            [1, *(self.sizes[place + 1] for place in self.kept)],
        )
        assert blocks is not None
        return blocks

    def refuse_empty(self, possible: Ints) -> None:
        """Refuse evidence that leaves a block without any value."""
        total = math.prod(self.sizes[place + 1] for place in self.kept)
        left = np.unique(self.of(possible))
        if len(left) < total:
            gap = np.flatnonzero(left != np.arange(len(left)))
            raise self._error(int(gap[0]) if len(gap) else len(left), "leaves no value for")

    def resolved(self, true: Ints, unknown: Ints) -> tuple[Ints, Ints]:
        """Decide the blocks with a true value, and those with a single value left."""
        decided, counts = np.unique(self.of(true), return_counts=True)
        if (counts > 1).any():
            raise self._error(int(decided[counts > 1][0]), "lists several true values for")
        unknown = unknown[~np.isin(self.of(unknown), decided)]
        _, inverse, left = np.unique(self.of(unknown), return_inverse=True, return_counts=True)
        single = left[inverse] == 1
        return np.sort(np.concatenate([true, unknown[single]])), unknown[~single]

    def numbered(self, unknown: Ints) -> tuple[Ints, Codes, Codes]:
        """Return the block and value of each atom, and the number of values of each block."""
        _, number, counts = np.unique(self.of(unknown), return_inverse=True, return_counts=True)
        order = np.argsort(number, kind="stable")
        value = np.empty(len(unknown), np.int32)
        starts = np.cumsum(counts) - counts
        value[order] = np.arange(len(unknown)) - starts[number[order]]
        return number, value, counts.astype(np.int32)

    def _error(self, block: int, what: str) -> InputError:
        sizes = [self.sizes[place + 1] for place in self.kept]
        codes = unpack(np.array([block]), [1, *sizes])[1:] if sizes else []
        terms = ["?"] * self.predicate.arity
        for place, code in zip(self.kept, codes, strict=True):
            kind = self.predicate.types[place]
            terms[place] = str(Constant(self.database.domains[kind][int(code[0])]))
        where = self.database.name or "the evidence"
        return InputError(
            f"{where} {what} {self.predicate.name}({','.join(terms)})",
            hint=f"{self.database.schema.declaration(self.predicate.name)} asks for exactly one",
        )


def choice_probabilities(scores: NDArray[np.float64], block: Ints) -> NDArray[np.float64]:
    """Return the probability of each value of a block: exactly one is true.

    Parameters
    ----------
    scores
        The log-weight of each value.
    block
        The number of each value's block.

    Examples
    --------
    >>> choice_probabilities(np.log([1.0, 3.0, 5.0]), np.array([0, 0, 1])).round(4).tolist()
    [0.25, 0.75, 1.0]
    """
    count = int(block.max()) + 1 if len(block) else 0
    highest = np.full(count, -np.inf)
    np.maximum.at(highest, block, scores)
    shares = np.exp(scores - highest[block])
    result: NDArray[np.float64] = shares / np.bincount(block, shares, count)[block]
    return result
