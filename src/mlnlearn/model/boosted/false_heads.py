"""The false heads that an atom in the tests of a tree may bear on."""

from __future__ import annotations

import numpy as np

from mlnlearn.counting.arrays import Codes, pack, run_starts
from mlnlearn.counting.bindings import Bindings, Mask, is_true
from mlnlearn.counting.chunks import TooManyRowsError, in_chunks
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern, equality
from mlnlearn.counting.through import CHUNK, MOST_ROWS, Through
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.rules import Tree, bodies

_MOST_HEADS = 1 << 20


def false_heads(
    tree: Tree, head: Predicate, world: Objects, predicate: Predicate, atoms: Codes, known: Mask
) -> Codes:
    """Return all false heads or, where they are too many, those that some test could touch."""
    total = sum(database.ground_atoms(head.name) for database in world.databases)
    if total <= _MOST_HEADS:
        heads = world.atoms(head)
    else:
        heads = _touched_heads(tree, head, world, predicate, atoms, known)
    return np.ascontiguousarray(heads[:, ~is_true(world, head, heads)])


def _touched_heads(
    tree: Tree, head: Predicate, world: Objects, predicate: Predicate, atoms: Codes, known: Mask
) -> Codes:
    """Return the distinct heads of all groundings of tests that go through the atoms."""
    found: list[Codes] = []
    variables = frozenset(range(head.arity))

    def run(start: int, end: int) -> None:
        through = Through.of(world, predicate, atoms[:, start:end], known[start:end])
        for body in dict.fromkeys(bodies(tree)):
            for place in through.places(body):
                table, numbers = through.groundings(body, place, variables)
                found.append(_distinct(_full_heads(head, table, numbers)))

    in_chunks(len(known), CHUNK, run)
    return _distinct(np.concatenate(found, axis=1))


def _full_heads(head: Predicate, table: Bindings, numbers: dict[int, int]) -> Codes:
    """Return the heads of groundings, with every object for an argument that has no value."""
    numbers = dict(numbers)
    for place, kind in enumerate(head.types):
        if place not in numbers:
            numbers[place] = table.variables
            anything = Pattern(equality(kind), (table.variables, table.variables))
            if table.size > 1 and table.joined_rows(anything) > MOST_ROWS:
                raise TooManyRowsError
            table = table.join(anything)
    return np.ascontiguousarray(table.columns[[0, *(numbers[p] + 1 for p in range(head.arity))]])


def _distinct(columns: Codes) -> Codes:
    """Return the distinct columns."""
    sizes = (columns.max(axis=1, initial=0).astype(np.int64) + 1).tolist()
    keys = pack(list(columns), sizes)
    if keys is None:
        return np.unique(columns, axis=1)
    # sorting and comparing neighbours is several times faster than np.unique, which hashes
    order = np.argsort(keys)
    ordered = keys[order]
    return np.ascontiguousarray(columns[:, order[run_starts(ordered)]])
