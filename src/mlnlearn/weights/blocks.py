"""Blocks of mutually exclusive atoms, grouped by their flip-count vectors.

A predicate with places declared ``!`` has exactly one true atom in each block of atoms that agree
on the other places. Its conditional probability is one multi-way choice, so the rows of a block
belong together; equal blocks are merged, by signatures as for single atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mlnlearn.counting.arrays import Codes, Ints, expand_ranges, pack
from mlnlearn.counting.flips import Flips
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Constant, Predicate
from mlnlearn.weights.compress import mixed, multipliers

_MOST_ATOMS = 50_000_000


@dataclass(frozen=True, slots=True)
class Blocks:
    """Distinct blocks: their rows one after the other.

    Attributes
    ----------
    counts
        One row a value of a block, one column a feature.
    starts
        Where each block's rows start.
    chosen
        The row of each block's true value.
    size
        How many blocks are alike, by block and database.
    """

    counts: csr_array
    starts: Ints
    chosen: Ints
    size: Ints


def compress_blocks(
    stack: Stack, predicate: Predicate, exclusive: tuple[int, ...], flips: Sequence[Flips]
) -> Blocks:
    """Group the blocks of a predicate by the flip-count vectors of their values."""
    database, columns, lengths = _all_atoms(stack, predicate, exclusive)
    starts = np.cumsum(lengths) - lengths
    true = _true_atoms(stack, predicate, database, columns)
    found = np.add.reduceat(true, starts) if len(starts) else np.empty(0, np.int64)
    _refuse_other_than_one(stack, predicate, database, columns, starts, found)
    signature = np.zeros(len(database), np.uint64)
    for feature, factor in zip(flips, multipliers(len(flips)), strict=True):
        signature += feature.at(stack, database, columns).view(np.uint64) * factor
    scrambled = mixed(signature)
    truth = np.flatnonzero(true)
    whole = (
        np.add.reduceat(scrambled, starts) + mixed(scrambled[truth])
        if len(starts)
        else scrambled[:0]
    )
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    size = np.zeros((len(first), len(stack)), np.int64)
    np.add.at(size, (group.reshape(-1), database[starts]), 1)
    rows = expand_ranges(starts[first], lengths[first])
    values = np.zeros((len(rows), len(flips)))
    for number, feature in enumerate(flips):
        values[:, number] = feature.at(stack, database[rows], [c[rows] for c in columns])
    new_starts = np.cumsum(lengths[first]) - lengths[first]
    chosen = new_starts + truth[first] - starts[first]
    return Blocks(csr_array(values), new_starts, chosen, size)


def require_one_value(stack: Stack, predicate: Predicate, exclusive: tuple[int, ...]) -> None:
    """Refuse data in which a block does not have exactly one true value."""
    database, columns, lengths = _all_atoms(stack, predicate, exclusive)
    starts = np.cumsum(lengths) - lengths
    true = _true_atoms(stack, predicate, database, columns)
    found = np.add.reduceat(true, starts) if len(starts) else np.empty(0, np.int64)
    _refuse_other_than_one(stack, predicate, database, columns, starts, found)


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


def _true_atoms(
    stack: Stack, predicate: Predicate, database: Codes, columns: Sequence[Codes]
) -> Ints:
    facts = stack.relation(predicate)
    sizes = stack.key_sizes(predicate.types)
    keys = pack([database, *columns], sizes)
    known = pack([facts.database, *facts.columns], sizes)
    assert keys is not None
    assert known is not None
    return np.isin(keys, known).astype(np.int64)


def _refuse_other_than_one(
    stack: Stack,
    predicate: Predicate,
    database: Codes,
    columns: Sequence[Codes],
    starts: Ints,
    found: Ints,
) -> None:
    wrong = np.flatnonzero(found != 1)
    if not len(wrong):
        return
    row = starts[wrong[0]]
    terms = tuple(
        Constant(stack.vocabularies[kind][int(column[row])])
        for kind, column in zip(predicate.types, columns, strict=True)
    )
    raise InputError(
        f"{len(wrong)} blocks of {stack.schema.declaration(predicate.name)} do not have exactly "
        f"one true value; that of {Atom(predicate, terms)} has {found[wrong[0]]}",
        hint="mend the data, or strip the '!' markers with Schema.without_functional()",
    )
