"""Flip counts as values: a constant, sparse tables, and products of tables of one place each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import AnyInts, Codes, Ints, common_keys, places_among, times
from mlnlearn.counting.query import CountTable
from mlnlearn.counting.stack import Domains, Stack
from mlnlearn.data.sampling import keys_of
from mlnlearn.logic.atoms import Atom, Constant, Predicate

_SMALL = 1 << 12


@dataclass(frozen=True, slots=True)
class FlipTable:
    """Values to add for atoms with the given constants at the given argument places."""

    places: tuple[int, ...]
    database: Codes
    columns: tuple[Codes, ...]
    values: Ints

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        codes = sum(column.nbytes for column in (self.database, *self.columns))
        return codes + self.values.nbytes


@dataclass(frozen=True, slots=True)
class FlipProduct:
    """Values to add that are products: one factor for each of several disjoint sets of places.

    This is the form of counts that would be dense as a table, such as those of
    ``student(x) ^ professor(y) => advisedBy(x,y)``.
    """

    factors: tuple[FlipTable, ...]

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return sum(factor.nbytes for factor in self.factors)


@dataclass(frozen=True, slots=True)
class Flips:
    """Flip counts of one formula for all ground atoms of one predicate.

    Attributes
    ----------
    predicate
        The predicate whose atoms flip.
    constant
        Per database, the flip count of an atom that no table lists.
    tables
        Sparse additions, one table for each set of argument places, rows distinct and in order.
    products
        Further additions in product form, where their tables would be large.
    """

    predicate: Predicate
    constant: Ints
    tables: tuple[FlipTable, ...]
    products: tuple[FlipProduct, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        tables = sum(table.nbytes for table in self.tables)
        return self.constant.nbytes + tables + sum(part.nbytes for part in self.products)

    def at(self, stack: Domains, database: AnyInts, columns: Sequence[AnyInts]) -> Ints:
        """Return the flip counts of the given ground atoms."""
        result = self.constant[database]
        for table in self.tables:
            result = result + lookup(stack, self.predicate, table, database, columns)
        for product in self.products:
            value = np.ones(len(result), np.int64)
            for factor in product.factors:
                value = times(value, lookup(stack, self.predicate, factor, database, columns))
            result = result + value
        return result


def lookup(
    stack: Domains,
    predicate: Predicate,
    table: FlipTable,
    database: AnyInts,
    columns: Sequence[AnyInts],
) -> Ints:
    """Return what a table has for some ground atoms of a predicate, zero where it has nothing."""
    if not len(table):
        return np.zeros(len(database), np.int64)
    sizes = stack.key_sizes(predicate.types[place] for place in table.places)
    space = math.prod(max(size, 1) for size in sizes)
    if space <= max(4 * (len(database) + len(table)), _SMALL):
        # an array with a place for each key is read faster than a table is searched
        values = np.zeros(space, np.int64)
        values[keys_of((table.database, *table.columns), sizes)] = table.values
        found: Ints = values[keys_of((database, *(columns[p] for p in table.places)), sizes)]
        return found
    rows = table_rows(stack, predicate, table, database, columns)
    return np.where(rows >= 0, table.values[rows], 0)


def table_rows(
    stack: Domains,
    predicate: Predicate,
    table: FlipTable,
    database: AnyInts,
    columns: Sequence[AnyInts],
) -> Ints:
    """Return the row of a table that each of some ground atoms is in, -1 for none."""
    wanted, keys = common_keys(
        [database, *(columns[place] for place in table.places)],
        [table.database, *table.columns],
        stack.key_sizes(predicate.types[place] for place in table.places),
    )
    return places_among(keys, wanted)


def keyed(stack: Stack, pattern: Atom, table: CountTable, values: Ints) -> FlipTable:
    """Turn counts by variables into counts by the places where these stand, constants included."""
    places, columns = [], []
    for place, (term, kind) in enumerate(zip(pattern.terms, pattern.predicate.types, strict=True)):
        if isinstance(term, Constant):
            columns.append(np.full(len(table), stack.code(kind, term.name), np.int32))
        elif term in table.variables:
            columns.append(table.column(term))
        else:
            continue
        places.append(place)
    return FlipTable(tuple(places), table.database, tuple(columns), values)
