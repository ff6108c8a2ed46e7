"""Truth tables: of every ground atom of a predicate, which chains of true atoms leave from it.

A *chain* is a list of atoms, of which the first shares a variable with the head, and each other a
new variable of the one before. It holds for a ground atom of the head where its other variables can
be filled in so that all of its atoms are true. Chains are listed from the schema and kept where
they hold for some ground atom: these are the ones that following true atoms would meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.count import lookup
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.query import Query
from mlnlearn.counting.stack import Stack
from mlnlearn.data.sampling import number_of_keys, unpack
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Atom, Predicate, Variable
from mlnlearn.logic.canonical import LiteralKey
from mlnlearn.run import check_time

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

Chain = tuple[LiteralKey, ...]
"""Atoms over numbered variables: those of the head come first, in order."""

# most false atoms of a predicate in a database that become rows; of more, that many are drawn
_MOST_FALSE = 20_000


@dataclass(frozen=True, eq=False)
class TruthTable:
    """Distinct rows of truth values.

    Attributes
    ----------
    chains
        What the columns after the first are about; the first is the head.
    rows
        The distinct rows.
    weight
        How many ground atoms have each row.
    """

    chains: tuple[Chain, ...]
    rows: Bools
    weight: Floats

    def only(self, columns: Sequence[int]) -> TruthTable:
        """Return the table with some columns after the first, counted from 1."""
        rows = self.rows[:, [0, *columns]]
        distinct, weight = _distinct(rows, self.weight)
        return TruthTable(tuple(self.chains[c - 1] for c in columns), distinct, weight)


def chains_of(
    predicates: Sequence[Predicate], head: int, max_links: int, max_new: int
) -> Iterator[Chain]:
    """Yield chains from a head with distinct variables, the shortest first.

    Parameters
    ----------
    predicates
        All predicates; literals have their numbers.
    head
        Number of the head.
    max_links
        Most atoms of a chain.
    max_new
        Most variables of a chain that are not the head's.

    Examples
    --------
    >>> likes, old = Predicate("likes", ("t", "t")), Predicate("old", ("t",))
    >>> for chain in chains_of([likes, old], 1, 2, 1):
    ...     print(chain)
    ((0, 0, 0),)
    ((0, 0, 1),)
    ((0, 1, 0),)
    ((0, 0, 1), (0, 1, 0))
    ((0, 0, 1), (0, 1, 1))
    ((0, 0, 1), (1, 1))
    ((0, 1, 0), (0, 0, 1))
    ((0, 1, 0), (0, 1, 1))
    ((0, 1, 0), (1, 1))
    """
    types = dict(enumerate(predicates[head].types))
    own = (head, *types)
    level: list[tuple[Chain, dict[int, str]]] = [((), types)]
    for _ in range(max_links):
        longer = []
        for chain, kinds in level:
            # the link: a variable of the head, or one that came with the atom before
            link = set(types) if not chain else set(chain[-1][1:]) - _met(chain[:-1], types)
            for atom, grown in _linked(predicates, kinds, link, len(types) + max_new):
                if atom != own and atom not in chain:
                    longer.append(((*chain, atom), grown))
        yield from (chain for chain, _ in longer)
        level = longer


def _met(chain: Chain, types: dict[int, str]) -> set[int]:
    return set(types).union(*(atom[1:] for atom in chain))


def _linked(
    predicates: Sequence[Predicate], kinds: dict[int, str], link: set[int], most: int
) -> Iterator[tuple[LiteralKey, dict[int, str]]]:
    """Yield atoms that hold a variable of the link; new variables are numbered on."""
    fresh = range(len(kinds), most)
    for number, predicate in enumerate(predicates):
        for terms in product((*kinds, *fresh), repeat=predicate.arity):
            new = list(dict.fromkeys(term for term in terms if term not in kinds))
            if new != list(fresh[: len(new)]) or not link.intersection(terms):
                continue
            grown = dict(kinds)
            pairs = zip(terms, predicate.types, strict=True)
            if all(grown.setdefault(term, kind) == kind for term, kind in pairs):
                yield (number, *terms), grown


def truth_table(
    stack: Stack, head: Predicate, chains: Sequence[Chain], rng: np.random.Generator
) -> TruthTable:
    """Return the truth table of a predicate, true and false atoms of all databases its rows.

    Where a database has very many false atoms, some are drawn and stand for the others. Chains that
    hold for no row, for all rows, or for just the rows of a chain before, are left out, and so are
    those of the head's own predicate that hold just where it does, as ``likes(x,z) ^ same(y,z)``.
    """
    engine = open_engine(stack)
    database, columns, truth, weight = _atoms(stack, head, rng)
    found: dict[bytes, tuple[Chain, Bools]] = {}
    predicates, says_the_same = stack.schema.predicates, np.packbits(truth).tobytes()
    for chain in chains:
        check_time()
        atoms = tuple(
            Atom(predicates[number], tuple(Variable(f"x{term}") for term in terms))
            for number, *terms in chain
        )
        used = {term for _, *terms in chain for term in terms}
        places = [place for place in range(head.arity) if place in used]
        try:
            counts = engine.table(Query(atoms, tuple(Variable(f"x{place}") for place in places)))
        except MemoryLimitError:
            continue
        own = [columns[place] for place in places]
        holds = lookup(engine, counts, [head.types[p] for p in places], database, own) > 0
        told = np.packbits(holds).tobytes()
        is_copy = told == says_the_same and any(predicates[n] == head for n, *_ in chain)
        if not is_copy and holds.any() and not holds.all():
            found.setdefault(told, (chain, holds))
    values = [truth, *(holds for _, holds in found.values())]
    rows, total = _distinct(np.stack(values, axis=1), weight)
    return TruthTable(tuple(chain for chain, _ in found.values()), rows, total)


def _atoms(
    stack: Stack, head: Predicate, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], Bools, Floats]:
    """Return ground atoms: their databases, constants, truth, and how many each stands for."""
    numbers, keys, truths, weights = [], [], [], []
    sizes = [stack.size(kind) for kind in head.types]
    relation = stack.relation(head)
    for number in range(len(stack)):
        own = relation.database == number
        members = [stack.members(kind) for kind in head.types]
        inside = [m.columns[0][m.database == number] for m in members]
        cells = number_of_keys([len(codes) for codes in inside])
        true = _key([column[own] for column in relation.columns], sizes, int(own.sum()))
        drawn = np.arange(cells)
        if cells > len(true) + _MOST_FALSE:
            drawn = np.unique(rng.integers(cells, size=_MOST_FALSE))
        places = unpack(drawn, [len(codes) for codes in inside])
        every = _key([c[p] for c, p in zip(inside, places, strict=True)], sizes, len(drawn))
        false = every[~np.isin(every, true)]
        keys += [true, false]
        numbers.append(np.full(len(true) + len(false), number))
        truths.append(np.arange(len(true) + len(false)) < len(true))
        share = (cells - len(true)) / max(len(false), 1)
        weights.append(np.where(truths[-1], 1.0, share))
    columns = unpack(np.concatenate(keys), sizes)
    return (
        np.concatenate(numbers),
        [column.astype(np.int64) for column in columns],
        np.concatenate(truths),
        np.concatenate(weights),
    )


def _key(
    columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], rows: int
) -> NDArray[np.int64]:
    key = np.zeros(rows, np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * size + column
    return key


def _distinct(rows: Bools, weight: Floats) -> tuple[Bools, Floats]:
    """Return distinct rows and the sums of their weights."""
    packed = np.packbits(rows, axis=1)
    _, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(place.reshape(-1), weight, len(first)).astype(np.float64)
    return rows[first], total
