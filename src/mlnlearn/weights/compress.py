"""Distinct rows instead of ground atoms: what pseudo-likelihood is summed over.

Most ground atoms of a predicate share their vector of flip counts. Atoms that some sparse table
lists are taken one by one; all others fall into classes, the product of a class for each argument,
and are counted, not enumerated. Equal vectors are found by their signature, a random linear
function of the vector in 64-bit arithmetic: flip counts are sums over tables, so signatures are
too, and no vector is built but one for each distinct row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mlnlearn.counting.arrays import Ints, pack, run_starts, unpack
from mlnlearn.counting.flip_tables import Flips, FlipTable, lookup
from mlnlearn.counting.signatures import Signatures, multipliers
from mlnlearn.counting.stack import Domains
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.weights.cells import ALL, SPREAD, CompressedCells, cells_of
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.rows import Rows, by_row, is_handy
from mlnlearn.weights.split import SplitDomains, place_to_split


def compress(stack: Domains, predicate: Predicate, flips: Sequence[Flips]) -> Rows:
    """Group all ground atoms of a predicate by their flip-count vectors, with weights by database.

    Examples
    --------
    >>> from mlnlearn.counting.flips import flip_counts
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> people = [f"P{i}" for i in range(1000)]
    >>> facts = {"friends": [("P1", "P2"), ("P2", "P3")], "smokes": [("P1",)]}
    >>> engine = MemoryEngine([Database.from_facts(schema, facts, domains={"person": people})])
    >>> unit = flip_counts(engine, schema["friends"]("x", "y"), schema["friends"])
    >>> rows = compress(engine.stack, schema["friends"], [unit])
    >>> rows.counts.tolist(), rows.true.tolist(), rows.total.tolist()
    ([[1.0]], [[2.0]], [[1000000.0]])
    """
    place = place_to_split(stack, predicate, flips)
    if place is None:
        return _compressed(stack, predicate, flips)
    part = SplitDomains(stack, predicate, place)
    rows = _compressed(part, part.predicate, [part.flips(feature) for feature in flips])
    return replace(rows, true=part.added(rows.true), total=part.added(rows.total))


def _compressed(stack: Domains, predicate: Predicate, flips: Sequence[Flips]) -> Rows:
    """Group the ground atoms of a predicate whose places are taken as they are."""
    tables = _signature_tables(stack, predicate, flips)
    cells = _with_products(stack, flips, cells_of(stack, predicate, tables, flips))
    order = np.argsort(cells.signature, kind="stable")
    ordered = cells.signature[order]
    starts = run_starts(ordered)
    row = np.empty(len(order), np.int64)
    row[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    first = order[starts]
    counts = _vectors(stack, predicate, flips, cells, first)
    true, total = (
        by_row(row, cells.database, sizes, (len(first), len(stack)))
        for sizes in (np.where(cells.true, cells.size, 0), cells.size)
    )
    return Rows(np.arange(len(flips)), counts, true, total)


def _signature_tables(
    stack: Domains, predicate: Predicate, flips: Sequence[Flips]
) -> list[FlipTable]:
    """Add up the signatures of all features' tables, for each set of places."""
    by_places: dict[tuple[int, ...], list[tuple[FlipTable, Signatures]]] = {(): []}
    factors = multipliers(len(flips))
    databases = np.arange(len(stack), dtype=np.int32)
    for feature, factor in zip(flips, factors, strict=True):
        constant = FlipTable((), databases, (), feature.constant)
        for table in (constant, *feature.tables):
            signature = table.values.view(np.uint64) * factor
            by_places.setdefault(table.places, []).append((table, signature))
    return [_merge(stack, predicate, places, found) for places, found in by_places.items()]


def _merge(
    stack: Domains,
    predicate: Predicate,
    places: tuple[int, ...],
    found: Sequence[tuple[FlipTable, Signatures]],
) -> FlipTable:
    if not found:
        databases = np.arange(len(stack), dtype=np.int32)
        return FlipTable((), databases, (), np.zeros(len(stack), np.int64))
    if len(found) == 1:  # a table is in order, and has each key once
        ((table, signature),) = found
        return replace(table, values=signature.view(np.int64))
    database = np.concatenate([table.database for table, _ in found])
    columns = [np.concatenate(c) for c in zip(*(t.columns for t, _ in found), strict=True)]
    signature = np.concatenate([signature for _, signature in found])
    sizes = stack.key_sizes(predicate.types[place] for place in places)
    keys = pack([database, *columns], sizes)
    if keys is None:
        raise MemoryLimitError(f"the domains of {predicate} are too large to number its atoms")
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = run_starts(ordered)
    sums = np.add.reduceat(signature[order], starts)
    numbers, *codes = unpack(ordered[starts], sizes)
    return FlipTable(places, numbers, tuple(codes), sums.view(np.int64))


def _with_products(
    stack: Domains, flips: Sequence[Flips], cells: CompressedCells
) -> CompressedCells:
    """Add the signatures of counts in product form, whose factors are one value on each cell."""
    signature = cells.signature
    for feature, factor in zip(flips, multipliers(len(flips)), strict=True):
        if feature.products:
            only = replace(feature, constant=np.zeros_like(feature.constant), tables=())
            values = only.at(stack, cells.database, cells.columns)
            signature = signature + values.view(np.uint64) * factor
    return replace(cells, signature=signature)


def _vectors(
    stack: Domains,
    predicate: Predicate,
    flips: Sequence[Flips],
    cells: CompressedCells,
    chosen: Ints,
) -> Floats | csr_array:
    """Build the flip-count vectors of some cells, as a dense matrix where it is small."""
    shape = (len(chosen), len(flips))
    dense = np.zeros(shape) if is_handy(*shape) else None
    database = cells.database[chosen]
    columns = [column[chosen] for column in cells.columns]
    applies = cells.applies[chosen]
    rows, features, values = [], [], []
    for number, feature in enumerate(flips):
        single = tuple(table for table in feature.tables if len(table.places) == 1)
        total = replace(feature, tables=single).at(stack, database, columns)
        # a cell's member may itself be listed: not all tables of several places are for all cells
        for table in feature.tables:
            if len(table.places) > 1:
                least = SPREAD if table.places == cells.spread else ALL
                extra = lookup(stack, predicate, table, database, columns)
                total = total + np.where(applies >= least, extra, 0)
        if dense is not None:
            dense[:, number] = total
            continue
        found = np.flatnonzero(total)
        rows.append(found)
        features.append(np.full(len(found), number))
        values.append(total[found].astype(np.float64))
    if dense is not None:
        return dense
    data = np.concatenate(values), (np.concatenate(rows), np.concatenate(features))
    return csr_array(data, shape=shape)
