"""Flip counts as values: a constant, sparse tables, and products of tables of one place each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import (
    AnyInts,
    Codes,
    Ints,
    common_keys,
    keys_within,
    places_among,
    times,
)
from mlnlearn.counting.query import CountTable
from mlnlearn.counting.stack import Domains, Stack
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
        return result + self._products_at(stack, database, columns) if self.products else result

    def _products_at(self, stack: Domains, database: AnyInts, columns: Sequence[AnyInts]) -> Ints:
        """Return what the products add."""
        matrices = _FactorMatrices.of(stack, self.predicate, self.products, len(database))
        if matrices is not None:
            return matrices.sums(stack, self.predicate, database, columns)
        result = np.zeros(len(database), np.int64)
        for product in self.products:
            value = np.ones(len(result), np.int64)
            for factor in product.factors:
                value = times(value, lookup(stack, self.predicate, factor, database, columns))
            result = result + value
        return result


@dataclass(frozen=True, slots=True)
class _FactorMatrices:
    """Factors of several products side by side: a row a constant at a place, a column a product.

    Attributes
    ----------
    places
        The places that factors are of.
    starts
        Where the rows of each place begin.
    values
        The factors; 1 throughout for products that have none of a place.
    """

    places: tuple[int, ...]
    starts: Ints
    values: Ints

    @classmethod
    def of(
        cls, stack: Domains, predicate: Predicate, products: Sequence[FlipProduct], atoms: int
    ) -> _FactorMatrices | None:
        """Return the matrices; None where they are large, or sums might not fit in 64 bits."""
        places = tuple(sorted({p for part in products for f in part.factors for p in f.places}))
        sizes = [len(stack) * stack.size(predicate.types[place]) for place in places]
        bounds = [math.prod(_highest(factor) for factor in part.factors) for part in products]
        alone = all(len(factor.places) == 1 for part in products for factor in part.factors)
        cells = sum(sizes) * len(products)
        if not alone or cells > max(4 * atoms, _SMALL) * len(products) or sum(bounds) >= 2**62:
            return None
        starts = np.cumsum([0, *sizes[:-1]])
        values = np.zeros((sum(sizes), len(products)), np.int64)
        for number, part in enumerate(products):
            own = {factor.places[0]: factor for factor in part.factors}
            for place, start, size in zip(places, starts, sizes, strict=True):
                if place in own:
                    factor, bound = own[place], stack.key_sizes([predicate.types[place]])
                    rows = start + keys_within((factor.database, factor.columns[0]), bound)
                    values[rows, number] = factor.values
                else:
                    values[start : start + size, number] = 1
        return cls(places, starts, values)

    def sums(
        self,
        stack: Domains,
        predicate: Predicate,
        database: AnyInts,
        columns: Sequence[AnyInts],
    ) -> Ints:
        """Return the sums of the products of some ground atoms."""
        rows = np.empty((len(self.places), len(database)), np.int64)
        for number, (place, start) in enumerate(zip(self.places, self.starts, strict=True)):
            bound = stack.key_sizes([predicate.types[place]])
            rows[number] = start + keys_within((database, columns[place]), bound)
        added: Ints = _sums_of_products(self.values, rows)
        return added


def _highest(table: FlipTable) -> int:
    return int(np.abs(table.values).max()) if len(table) else 0


@njit(cache=True)
def _sums_of_products(values, rows):  # type: ignore[no-untyped-def]
    sums = np.zeros(rows.shape[1], np.int64)
    for atom in range(rows.shape[1]):
        for number in range(values.shape[1]):
            product = values[rows[0, atom], number]
            for place in range(1, rows.shape[0]):
                product *= values[rows[place, atom], number]
            sums[atom] += product
    return sums


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
        values[keys_within((table.database, *table.columns), sizes)] = table.values
        wanted = database, *(columns[place] for place in table.places)
        found: Ints = values[keys_within(wanted, sizes)]
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


def keyed(stack: Stack, pattern: Atom, table: CountTable) -> FlipTable:
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
    return FlipTable(tuple(places), table.database, tuple(columns), table.counts)
