"""Blocks of mutually exclusive atoms: those that agree on all places but those declared ``!``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints, expand_ranges, pack, places_among
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Constant, Predicate

_MOST_ATOMS = 50_000_000


@dataclass(frozen=True, slots=True)
class BlockAtoms:
    """All ground atoms of a predicate, block after block; one of each block is true.

    Attributes
    ----------
    database, columns
        The atoms.
    starts, lengths
        Where each block starts, and how many atoms it has.
    true
        Of each block, the number of the atom that is true.
    """

    database: Codes
    columns: list[Codes]
    starts: Ints
    lengths: Ints
    true: Ints


def block_atoms(stack: Stack, predicate: Predicate, exclusive: tuple[int, ...]) -> BlockAtoms:
    """List the blocks of a predicate; refuse data in which one has other than one true value."""
    database, columns, lengths = _all_atoms(stack, predicate, exclusive)
    starts = np.cumsum(lengths) - lengths
    facts = stack.relation(predicate)
    sizes = stack.key_sizes(predicate.types)
    keys = pack([database, *columns], sizes)
    known = pack([facts.database, *facts.columns], sizes)
    assert keys is not None
    assert known is not None
    true = (places_among(np.sort(known), keys) >= 0).astype(np.int64)
    number = np.add.reduceat(true, starts) if len(starts) else np.empty(0, np.int64)
    wrong = np.flatnonzero(number != 1)
    if len(wrong):
        row = starts[wrong[0]]
        terms = tuple(
            Constant(stack.vocabularies[kind][int(column[row])])
            for kind, column in zip(predicate.types, columns, strict=True)
        )
        raise InputError(
            f"{len(wrong)} blocks of {stack.schema.declaration(predicate.name)} do not have "
            f"exactly one true value; that of {Atom(predicate, terms)} has {number[wrong[0]]}",
            hint="mend the data, or strip the '!' markers with Schema.without_functional()",
        )
    return BlockAtoms(database, columns, starts, lengths, np.flatnonzero(true))


def _all_atoms(
    stack: Stack, predicate: Predicate, exclusive: tuple[int, ...]
) -> tuple[Codes, list[Codes], Ints]:
    """List all ground atoms of a predicate, block after block, with the size of each block."""
    total = sum(stack.ground_atoms(predicate.types))
    if total > _MOST_ATOMS:
        raise MemoryLimitError(
            f"{predicate} has {total:,} ground atoms in blocks of mutually exclusive values",
            hint="strip the '!' markers with Schema.without_functional()",
        )
    database = np.arange(len(stack), dtype=np.int32)
    known: dict[int, Codes] = {}
    outer = [place for place in range(predicate.arity) if place not in exclusive]
    lengths = np.ones(len(stack), np.int64)
    for place in (*outer, *exclusive):
        kind = predicate.types[place]
        sizes = stack.sizes(kind)
        repeats = sizes[database]
        if place in exclusive and not repeats.all():
            raise InputError(
                f"{int((repeats == 0).sum())} blocks of {stack.schema.declaration(predicate.name)} "
                f"do not have exactly one true value: there is no {kind} at all",
                hint="declare the constants of the type, or strip the '!' markers with "
                "Schema.without_functional()",
            )
        members = expand_ranges((np.cumsum(sizes) - sizes)[database], repeats)
        known = {p: np.repeat(column, repeats) for p, column in known.items()}
        known[place] = stack.members(kind).columns[0][members]
        if place in exclusive:
            starts = np.cumsum(lengths) - lengths
            lengths = np.add.reduceat(repeats, starts) if len(starts) else lengths
        else:
            lengths = np.ones(len(members), np.int64)
        database = np.repeat(database, repeats)
    return database, [known[place] for place in range(predicate.arity)], lengths
