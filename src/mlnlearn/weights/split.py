"""Ground atoms taken apart by the constants at one place of few: each is then as a database.

Where one table of flip counts is by course and quarter, another by person and quarter, and atoms
are of course, person and quarter, each table leaves a place open, and its rows times the constants
there would have to be listed. In a given quarter both are of one place, and atoms fall into classes
by each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from mlnlearn.counting.arrays import AnyInts, Codes, Ints, expand_ranges, sort_keys
from mlnlearn.counting.flip_tables import FlipProduct, Flips, FlipTable
from mlnlearn.counting.stack import Domains, Relation
from mlnlearn.data.sampling import keys_of
from mlnlearn.logic.atoms import Predicate
from mlnlearn.weights.objective import Floats

_MOST_VALUES = 128
# Up to so many atoms are listed one by one for a table that leaves places open.
MOST_LISTED = 1 << 16


def wide_places(stack: Domains, predicate: Predicate, flips: Flips) -> frozenset[tuple[int, ...]]:
    """Return the places of a feature's wide tables: several, not all, and many atoms."""
    return frozenset(
        table.places
        for table in flips.tables
        if 1 < len(table.places) < predicate.arity and atoms_of_table(stack, predicate, table)
    )


def place_to_split(
    stack: Domains, predicate: Predicate, wide: Collection[tuple[int, ...]]
) -> int | None:
    """Return the place of few constants that most of several wide tables have, if there are such.

    Parameters
    ----------
    stack, predicate
        The databases, and whose atoms tables are of.
    wide
        The places of wide tables, see `wide_places`.
    """
    if len(wide) < 2:
        return None
    shared = [
        (sum(place in places for places in wide), -stack.size(kind), place)
        for place, kind in enumerate(predicate.types)
        if stack.size(kind) <= _MOST_VALUES
    ]
    most, _, place = max(shared, default=(0, 0, 0))
    return place if most > 1 else None


def atoms_of_table(stack: Domains, predicate: Predicate, table: FlipTable) -> float:
    """Return how many atoms a table that leaves places open would list, 0 where these are few."""
    types = [kind for place, kind in enumerate(predicate.types) if place not in table.places]
    spans = np.prod([stack.sizes(kind).astype(np.float64) for kind in types], axis=0)
    atoms = float(spans[table.database].sum())
    return atoms if atoms > MOST_LISTED else 0.0


class SplitDomains:
    """Databases taken apart by the constants at one place of a predicate.

    Number ``d * size + c`` is the part of database ``d`` where constant ``c`` stands there; it has
    all constants of the other places, and none where the database does not have that constant.

    Parameters
    ----------
    stack
        The databases.
    predicate
        The predicate.
    place
        The place, of a type with few constants.

    Attributes
    ----------
    predicate
        The predicate without that place.
    """

    def __init__(self, stack: Domains, predicate: Predicate, place: int) -> None:
        self.stack, self.whole, self.place = stack, predicate, place
        kept = [kind for other, kind in enumerate(predicate.types) if other != place]
        self.predicate = Predicate(predicate.name, tuple(kept))
        self.values = stack.size(predicate.types[place])
        members = stack.members(predicate.types[place])
        present = np.zeros(len(stack) * self.values, np.int64)
        present[self._part(members.database, members.columns[0])] = 1
        self.present = present.reshape(len(stack), self.values)

    def __len__(self) -> int:
        return self.present.size

    def size(self, kind: str) -> int:
        """Return the bound of the codes of a type."""
        return self.stack.size(kind)

    def sizes(self, kind: str) -> Ints:
        """Return the domain size of a type in each part."""
        sizes: Ints = (self.stack.sizes(kind)[:, None] * self.present).ravel()
        return sizes

    def key_sizes(self, types: Iterable[str]) -> list[int]:
        """Return the bounds for packed keys: the number of parts, then one per type."""
        return [len(self), *(self.size(kind) for kind in types)]

    def members(self, kind: str) -> Relation:
        """Return the constants of a type in each part, in order."""
        (codes,) = self.stack.members(kind).columns
        lengths = self.stack.sizes(kind)
        starts = (np.cumsum(lengths) - lengths)[:, None] * self.present
        own = self.sizes(kind)
        database = np.repeat(np.arange(len(self), dtype=np.int32), own)
        return Relation(database, (codes[expand_ranges(starts.ravel(), own)],))

    def relation(self, predicate: Predicate) -> Relation:
        """Return the true facts, each in its part."""
        facts = self.stack.relation(self.whole)
        database, columns = self._apart(facts.database, facts.columns, range(len(facts.columns)))
        return Relation(database, columns)

    def flips(self, flips: Flips) -> Flips:
        """Return the flip counts of the atoms of each part."""
        constant = np.repeat(flips.constant, self.values)
        tables = []
        for table in flips.tables:
            part = self._table(table)
            if part.places:
                tables.append(part)
            else:
                constant[part.database] += part.values
        products = tuple(self._product(product) for product in flips.products)
        return Flips(self.predicate, constant, tuple(tables), products)

    def added(self, weights: Floats) -> Floats:
        """Add up weights by part to those by database."""
        added: Floats = weights.reshape(len(weights), *self.present.shape).sum(axis=2)
        return added

    def whole_of(self, part: Codes) -> Codes:
        """Return the database that each part is of."""
        return part // np.int32(self.values)

    def _part(self, database: AnyInts, codes: AnyInts) -> Codes:
        return (database.astype(np.int64) * self.values + codes).astype(np.int32)

    def _apart(
        self, database: Codes, columns: Sequence[Codes], places: Iterable[int]
    ) -> tuple[Codes, tuple[Codes, ...]]:
        """Take the column of the place away, and make it part of the number of the database."""
        by_place = dict(zip(places, columns, strict=True))
        part = self._part(database, by_place.pop(self.place))
        return part, tuple(by_place.values())

    def _table(self, table: FlipTable) -> FlipTable:
        """Return a table as it is in the parts: in those it names, or the same in all."""
        places = tuple(
            place - (place > self.place) for place in table.places if place != self.place
        )
        if self.place in table.places:
            database, columns = self._apart(table.database, table.columns, table.places)
            return self._ordered(FlipTable(places, database, columns, table.values))
        lengths = self.present.sum(axis=1)[table.database]
        where = np.flatnonzero(self.present).astype(np.int32)
        counts = self.present.sum(axis=1)
        first = (np.cumsum(counts) - counts)[table.database]
        database = where[expand_ranges(first, lengths)]
        columns = tuple(np.repeat(column, lengths) for column in table.columns)
        return self._ordered(FlipTable(places, database, columns, np.repeat(table.values, lengths)))

    def _ordered(self, table: FlipTable) -> FlipTable:
        types = [self.predicate.types[place] for place in table.places]
        order, _ = sort_keys(keys_of((table.database, *table.columns), self.key_sizes(types)))
        columns = tuple(column[order] for column in table.columns)
        return FlipTable(table.places, table.database[order], columns, table.values[order])

    def _product(self, product: FlipProduct) -> FlipProduct:
        """Return a product as it is in the parts; its factor of the place is a number in each."""
        scale = np.ones(len(self), np.int64)
        factors = []
        for factor in product.factors:
            if factor.places == (self.place,):
                own = np.zeros(len(self), np.int64)
                own[self._part(factor.database, factor.columns[0])] = factor.values
                scale = scale * own
            else:
                factors.append(factor)
        made = [self._table(factor) for factor in factors]
        kept = np.flatnonzero(scale[made[0].database])
        first = made[0]
        columns = tuple(column[kept] for column in first.columns)
        database = first.database[kept]
        scaled = replace(
            first, database=database, columns=columns,
            values=first.values[kept] * scale[database],
        )  # fmt: skip
        return FlipProduct((scaled, *made[1:]))
