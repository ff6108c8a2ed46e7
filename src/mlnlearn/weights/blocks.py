"""Blocks of mutually exclusive atoms, grouped by their flip-count vectors.

A predicate with places declared ``!`` has exactly one true atom in each block of atoms that agree
on the other places. Its conditional probability is one multi-way choice, so the rows of a block
belong together; equal blocks are merged, by signatures as for single atoms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from mlnlearn.counting.arrays import Ints, expand_ranges
from mlnlearn.counting.equal_rows import ranked_marks
from mlnlearn.counting.exclusive import block_atoms
from mlnlearn.counting.flip_tables import Flips
from mlnlearn.counting.signatures import mixed, multipliers
from mlnlearn.counting.stack import Stack
from mlnlearn.logic.atoms import Predicate
from mlnlearn.weights.rows import RowBlocks, Rows, by_row, is_handy


def compress_blocks(
    stack: Stack, predicate: Predicate, exclusive: tuple[int, ...], flips: Sequence[Flips]
) -> Rows:
    """Group the blocks of a predicate by the flip-count vectors of their values.

    A block has rows of its own, of which one is true; weights are by database. What all values of a
    block have in common does not tell them apart, and is left out: blocks that differ in that alone
    are one, and likelihoods keep their digits where it is large.
    """
    atoms = block_atoms(stack, predicate, exclusive)
    database, columns, starts, truth = atoms.database, atoms.columns, atoms.starts, atoms.true
    signature = np.zeros(len(database), np.uint64)
    for feature, factor in zip(flips, multipliers(len(flips)), strict=True):
        values = _above_least(feature.at(stack, database, columns), starts, atoms.lengths)
        signature += values.view(np.uint64) * factor
    scrambled = mixed(signature)
    marks = mixed(scrambled[truth])
    if len(starts):
        marks = marks + np.add.reduceat(scrambled, starts)
    group, first = ranked_marks(marks)
    shape = len(first), len(stack)
    size = by_row(group, database[starts], np.ones(len(starts)), shape)
    lengths = atoms.lengths[first]
    rows = expand_ranges(starts[first], lengths)
    new_starts = np.cumsum(lengths) - lengths
    counts = np.zeros((len(rows), len(flips)))
    for number, feature in enumerate(flips):
        found = feature.at(stack, database[rows], [c[rows] for c in columns])
        counts[:, number] = _above_least(found, new_starts, lengths)
    true = np.zeros((len(rows), len(stack)))
    true[new_starts + truth[first] - starts[first]] = size
    blocks = RowBlocks(np.arange(len(rows)), new_starts)
    return Rows(
        np.arange(len(flips)),
        counts if is_handy(*counts.shape) else csr_array(counts),
        true,
        size,
        blocks,
    )


def _above_least(counts: Ints, starts: Ints, lengths: Ints) -> Ints:
    """Return counts less the least of their block."""
    if not len(starts):
        return counts
    above: Ints = np.repeat(np.minimum.reduceat(counts, starts), lengths)
    np.subtract(counts, above, out=above)
    return above
