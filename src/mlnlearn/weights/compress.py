"""Distinct rows instead of ground atoms: what pseudo-likelihood is summed over.

Most ground atoms of a predicate share their vector of flip counts. Atoms that some sparse table
lists are taken one by one; all others fall into classes, the product of a class for each argument,
and are counted, not enumerated. Equal vectors are found by their signature, a random linear
function of the vector in 64-bit arithmetic: flip counts are sums over tables, so signatures are
too, and no vector is built but one for each distinct row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.counting.arrays import Codes, Ints, common_keys, expand_ranges, pack, unpack
from mlnlearn.counting.flips import Flips, FlipTable, lookup
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.weights.rows import Rows, by_row, handy

Signatures = NDArray[np.uint64]

_MOST_CELLS = 50_000_000


@dataclass(frozen=True, slots=True)
class CompressedCells:
    """Groups of ground atoms with one flip-count vector each, before equal ones are merged.

    A cell is a single listed atom, or all unlisted atoms whose arguments lie in given classes; then
    `columns` hold some member of each class.
    """

    database: Codes
    columns: tuple[Codes, ...]
    listed: NDArray[np.bool_]
    size: Ints
    true: NDArray[np.bool_]
    signature: Signatures


def compress(stack: Stack, predicate: Predicate, flips: Sequence[Flips]) -> Rows:
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
    tables = _signature_tables(stack, predicate, flips)
    cells = _with_products(stack, flips, _cells(stack, predicate, tables, flips))
    order = np.argsort(cells.signature, kind="stable")
    ordered = cells.signature[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(order) else np.empty(0, bool)
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(new) - 1
    first = order[np.flatnonzero(new)]
    counts = _vectors(stack, predicate, flips, cells, first)
    true, total = (
        by_row(row, cells.database, sizes, (len(first), len(stack)))
        for sizes in (np.where(cells.true, cells.size, 0), cells.size)
    )
    return Rows(np.arange(len(flips)), handy(counts), true, total)


def multipliers(features: int) -> Signatures:
    """Return fixed odd random numbers: the coefficients of the features in a signature."""
    rng = np.random.default_rng(0x6D6C6E)
    numbers = rng.integers(0, 2**64, size=features, dtype=np.uint64, endpoint=False)
    return numbers | np.uint64(1)


def mixed(values: Signatures) -> Signatures:
    """Scramble 64-bit numbers (one step of SplitMix64), so that sums tell multisets apart."""
    with np.errstate(over="ignore"):
        found = values + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def _signature_tables(
    stack: Stack, predicate: Predicate, flips: Sequence[Flips]
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
    stack: Stack,
    predicate: Predicate,
    places: tuple[int, ...],
    found: Sequence[tuple[FlipTable, Signatures]],
) -> FlipTable:
    if not found:
        databases = np.arange(len(stack), dtype=np.int32)
        return FlipTable((), databases, (), np.zeros(len(stack), np.int64))
    database = np.concatenate([table.database for table, _ in found])
    columns = [np.concatenate(c) for c in zip(*(t.columns for t, _ in found), strict=True)]
    signature = np.concatenate([signature for _, signature in found])
    sizes = stack.key_sizes(predicate.types[place] for place in places)
    keys = pack([database, *columns], sizes)
    if keys is None:
        raise MemoryLimitError(f"the domains of {predicate} are too large to number its atoms")
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(signature[order], starts)
    numbers, *codes = unpack(ordered[starts], sizes)
    return FlipTable(places, numbers, tuple(codes), sums.view(np.int64))


def _lookup(
    stack: Stack, predicate: Predicate, table: FlipTable, database: Codes, columns: Sequence[Codes]
) -> Signatures:
    return lookup(stack, predicate, table, database, columns).view(np.uint64)


def _cells(
    stack: Stack,
    predicate: Predicate,
    tables: Sequence[FlipTable],
    flips: Sequence[Flips],
) -> CompressedCells:
    database, columns, true = _listed(stack, predicate, tables)
    signature = np.zeros(len(database), np.uint64)
    for table in tables:
        signature += _lookup(stack, predicate, table, database, columns)
    rest = _unlisted(stack, predicate, tables, flips, database, columns)
    return CompressedCells(
        np.concatenate([database, rest.database]),
        tuple(np.concatenate(pair) for pair in zip(columns, rest.columns, strict=True)),
        np.concatenate([np.ones(len(database), bool), rest.listed]),
        np.concatenate([np.ones(len(database), np.int64), rest.size]),
        np.concatenate([true, rest.true]),
        np.concatenate([signature, rest.signature]),
    )


def _with_products(stack: Stack, flips: Sequence[Flips], cells: CompressedCells) -> CompressedCells:
    """Add the signatures of counts in product form, whose factors are one value on each cell."""
    signature = cells.signature
    for feature, factor in zip(flips, multipliers(len(flips)), strict=True):
        if feature.products:
            only = replace(feature, constant=np.zeros_like(feature.constant), tables=())
            values = only.at(stack, cells.database, cells.columns)
            signature = signature + values.view(np.uint64) * factor
    return replace(cells, signature=signature)


def _listed(
    stack: Stack, predicate: Predicate, tables: Sequence[FlipTable]
) -> tuple[Codes, list[Codes], NDArray[np.bool_]]:
    """Return the atoms to take one by one: the true ones, and those in tables of several places."""
    facts = stack.relation(predicate)
    sizes = stack.key_sizes(predicate.types)
    parts = [pack([facts.database, *facts.columns], sizes)]
    for table in tables:
        if len(table.places) > 1:
            parts.append(pack(_all_places(stack, predicate, table), sizes))
    keys = [part for part in parts if part is not None]
    if len(keys) < len(parts):
        raise MemoryLimitError(f"the domains of {predicate} are too large to number its atoms")
    distinct = np.unique(np.concatenate(keys))
    database, *columns = unpack(distinct, sizes)
    true = np.zeros(len(distinct), bool)
    true[np.searchsorted(distinct, keys[0])] = True
    return database, columns, true


def _all_places(stack: Stack, predicate: Predicate, table: FlipTable) -> list[Codes]:
    """Extend a table's keys by every constant at the places it leaves open."""
    database = table.database
    known = dict(zip(table.places, table.columns, strict=True))
    for place, kind in enumerate(predicate.types):
        if place in known:
            continue
        sizes = stack.sizes(kind)
        lengths = sizes[database]
        if int(lengths.sum()) > _MOST_CELLS:
            raise MemoryLimitError(
                f"{int(lengths.sum()):,} atoms of {predicate} would have to be listed one by one",
                hint="drop the formula that ties two of its arguments together",
            )
        members = expand_ranges((np.cumsum(sizes) - sizes)[database], lengths)
        known = {p: np.repeat(column, lengths) for p, column in known.items()}
        known[place] = stack.members(kind).columns[0][members]
        database = np.repeat(database, lengths)
    return [database, *(known[place] for place in range(predicate.arity))]


def _unlisted(
    stack: Stack,
    predicate: Predicate,
    tables: Sequence[FlipTable],
    flips: Sequence[Flips],
    listed_database: Codes,
    listed_columns: Sequence[Codes],
) -> CompressedCells:
    """Count the atoms that are not listed by the classes of their arguments."""
    constant = next(table for table in tables if not table.places)
    databases = np.arange(len(stack), dtype=np.int32)
    cells = CompressedCells(
        databases, (), np.zeros(len(stack), bool), np.ones(len(stack), np.int64),
        np.zeros(len(stack), bool), _lookup(stack, predicate, constant, databases, []),
    )  # fmt: skip
    # the number of the cell that holds each listed atom, refined place by place
    place_of = listed_database.astype(np.int64)
    for place, kind in enumerate(predicate.types):
        table = next((table for table in tables if table.places == (place,)), None)
        classes = _classes(stack, predicate, kind, table, _factors(flips, place))
        lengths = classes.per_database[cells.database]
        if int(lengths.sum()) > _MOST_CELLS:
            raise MemoryLimitError(
                f"the atoms of {predicate} fall into {int(lengths.sum()):,} classes",
                hint="use fewer formulas at a time",
            )
        starts = classes.starts[cells.database]
        chosen = expand_ranges(starts, lengths)
        offsets = np.cumsum(lengths) - lengths
        own = classes.of(stack, kind, listed_database, listed_columns[place])
        place_of = offsets[place_of] + own - starts[place_of]
        cells = CompressedCells(
            np.repeat(cells.database, lengths),
            (*(np.repeat(c, lengths) for c in cells.columns), classes.member[chosen]),
            np.zeros(len(chosen), bool),
            np.repeat(cells.size, lengths) * classes.size[chosen],
            np.zeros(len(chosen), bool),
            np.repeat(cells.signature, lengths) + classes.signature[chosen],
        )
    left = cells.size - np.bincount(place_of, minlength=len(cells.size))
    keep = np.flatnonzero(left)
    return CompressedCells(
        cells.database[keep], tuple(column[keep] for column in cells.columns), cells.listed[keep],
        left[keep], cells.true[keep], cells.signature[keep],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Classes:
    """Constants of a type at one place, grouped by what the place's table adds."""

    database: Codes
    member: Codes
    size: Ints
    signature: Signatures
    starts: Ints
    per_database: Ints
    class_of_member: Ints

    def of(self, stack: Stack, kind: str, database: Codes, codes: Codes) -> Ints:
        """Return the class number of each given constant."""
        members = stack.members(kind)
        wanted, keys = common_keys(
            [database, codes], [members.database, members.columns[0]], stack.key_sizes([kind])
        )
        return self.class_of_member[np.searchsorted(keys, wanted)]


def _factors(flips: Sequence[Flips], place: int) -> list[FlipTable]:
    """Return the factors of products that depend on one place."""
    return [
        factor
        for feature in flips
        for product in feature.products
        for factor in product.factors
        if factor.places == (place,)
    ]


def _classes(
    stack: Stack,
    predicate: Predicate,
    kind: str,
    table: FlipTable | None,
    factors: Sequence[FlipTable],
) -> _Classes:
    """Group the constants of a type by what the tables and factors of one place hold for them."""
    members = stack.members(kind)
    database, codes = members.database, members.columns[0]
    columns = [codes] * predicate.arity
    if table is None:
        signature = np.zeros(len(database), np.uint64)
    else:
        signature = _lookup(stack, predicate, table, database, columns)
    finer = signature
    for factor, number in zip(factors, multipliers(len(factors)), strict=True):
        values = lookup(stack, predicate, factor, database, columns)
        finer = finer + mixed(values.view(np.uint64) * number)
    order = np.lexsort((finer, database))
    numbers, ordered = database[order], finer[order]
    new = np.ones(len(order), bool)
    new[1:] = (numbers[1:] != numbers[:-1]) | (ordered[1:] != ordered[:-1])
    first = np.flatnonzero(new)
    class_of_member = np.empty(len(order), np.int64)
    class_of_member[order] = np.cumsum(new) - 1
    per_database = np.bincount(numbers[first], minlength=len(stack)).astype(np.int64)
    return _Classes(
        numbers[first],
        codes[order[first]],
        np.diff(np.append(first, len(order))),
        signature[order[first]],
        np.cumsum(per_database) - per_database,
        per_database,
        class_of_member,
    )


def _vectors(
    stack: Stack, predicate: Predicate, flips: Sequence[Flips], cells: CompressedCells, chosen: Ints
) -> csr_array:
    """Build the flip-count vectors of some cells."""
    database = cells.database[chosen]
    columns = [column[chosen] for column in cells.columns]
    listed = cells.listed[chosen]
    rows, features, values = [], [], []
    for number, feature in enumerate(flips):
        # an unlisted cell's member may itself be listed: tables of several places are not for it
        single = tuple(table for table in feature.tables if len(table.places) == 1)
        total = replace(feature, tables=single).at(stack, database, columns)
        several = tuple(table for table in feature.tables if len(table.places) > 1)
        if several:
            zero = np.zeros_like(feature.constant)
            extra = Flips(predicate, zero, several).at(stack, database, columns)
            total = total + np.where(listed, extra, 0)
        found = np.flatnonzero(total)
        rows.append(found)
        features.append(np.full(len(found), number))
        values.append(total[found].astype(np.float64))
    shape = (len(chosen), len(flips))
    if not flips:
        return csr_array(shape, dtype=np.float64)
    data = np.concatenate(values), (np.concatenate(rows), np.concatenate(features))
    return csr_array(data, shape=shape)
