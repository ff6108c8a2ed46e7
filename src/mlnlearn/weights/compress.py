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
from scipy.sparse import csr_array, hstack

from mlnlearn.counting.arrays import Codes, Ints, places_among
from mlnlearn.counting.equal_rows import ranked_marks
from mlnlearn.counting.flip_tables import Flips, lookup
from mlnlearn.counting.signatures import Signatures, multipliers
from mlnlearn.counting.stack import Domains
from mlnlearn.logic.atoms import Predicate
from mlnlearn.weights.cells import ALL, SPREAD, AllCells, CompressedCells, cells_of
from mlnlearn.weights.marks import Marks
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.rows import Rows, by_row, is_handy
from mlnlearn.weights.split import SplitDomains, place_to_split, wide_places


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
    return RowGroups.of(stack, predicate, flips).rows


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Rows taken apart by the flip counts of one more feature: a part of a row with equal ones.

    Attributes
    ----------
    marks
        Those of the feature, too.
    row, values
        The row that each part is of, and the flip count of its atoms.
    database, true, size
        Its database, whether its atoms are true, and how many there are.
    signature
        Of their flip counts, those of the feature included.
    choice
        The choice of classes that the last parts are of, which no table lists.
    """

    marks: Marks
    row: Ints
    values: Ints
    database: Codes
    true: NDArray[np.bool_]
    size: Ints
    signature: Signatures
    choice: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """All ground atoms of a predicate in rows of equal flip counts, and how to tell more apart.

    Attributes
    ----------
    stack, predicate
        The databases, and whose atoms they are.
    wide
        The places of large tables that leave some open.
    place
        The place that atoms are taken apart by first, if any.
    marks
        What the features say of atoms.
    signatures
        Of each row, in order.
    row_of_choice
        The row of the atoms of each choice of classes that no table lists, if there are any.
    rows
        The rows, with weights by database.
    """

    stack: Domains
    predicate: Predicate
    wide: frozenset[tuple[int, ...]]
    place: int | None
    marks: Marks
    signatures: Signatures
    row_of_choice: Ints
    rows: Rows

    @classmethod
    def of(
        cls,
        stack: Domains,
        predicate: Predicate,
        flips: Sequence[Flips],
        beside: frozenset[tuple[int, ...]] = frozenset(),
    ) -> RowGroups:
        """Group the atoms by the flip counts of some features.

        Parameters
        ----------
        stack, predicate
            The databases, and whose atoms are grouped.
        flips
            The features' flip counts.
        beside
            The places of large tables of further features, that rows are to be taken apart by.
        """
        wide = beside.union(*(wide_places(stack, predicate, feature) for feature in flips))
        place = place_to_split(stack, predicate, wide)
        part = None if place is None else SplitDomains(stack, predicate, place)
        within, kept = (stack, predicate) if part is None else (part, part.predicate)
        if part is not None:
            flips = [part.flips(feature) for feature in flips]
        marks = Marks.none(within, kept).plus(flips)
        cells = cells_of(marks)
        row, first, signatures, true, total = _merged(cells, within)
        counts = _vectors(within, kept, flips, cells.taken(first))
        if part is not None:
            true, total = part.added(true), part.added(total)
        rows = Rows(np.arange(len(flips)), counts, true, total)
        by_choice = _by_choice(marks, row, cells.unlisted.choice)
        return cls(stack, predicate, wide, place, marks, signatures, by_choice, rows)

    def apart(self, flips: Flips) -> SplitRows | None:
        """Take the rows apart by one more feature; None where another place is to come first."""
        wide = self.wide | wide_places(self.stack, self.predicate, flips)
        if place_to_split(self.stack, self.predicate, wide) != self.place:
            return None
        if isinstance(self.marks.domains, SplitDomains):
            flips = self.marks.domains.flips(flips)
        marks = self.marks.plus([flips])
        cells = cells_of(marks)
        listed, unlisted = cells.listed, cells.unlisted
        values = listed.values(marks, flips)
        before = listed.signature - values.view(np.uint64) * multipliers(marks.features)[-1]
        within = marks.choices_before(self.marks)[unlisted.choice]
        row = np.append(places_among(self.signatures, before), self.row_of_choice[within])
        assert (row >= 0).all(), "atoms of a part are atoms of a row"
        values = np.append(values, unlisted.values(marks, flips))
        database = cells.database
        if isinstance(self.marks.domains, SplitDomains):
            database = self.marks.domains.whole_of(database)
        return SplitRows(
            marks, row, values, database, cells.true, cells.size, cells.signature, unlisted.choice
        )

    def joined(self, flips: Flips, apart: SplitRows) -> RowGroups:
        """Return the rows taken apart by a feature as `apart` says."""
        places, first, signatures, true, total = _merged(apart, self.stack)
        row, values = apart.row[first], apart.values[first].astype(np.float64)
        known = self.rows.counts
        counts: Floats | csr_array
        if isinstance(known, np.ndarray) and is_handy(len(row), known.shape[1] + 1):
            counts = np.column_stack([known[row], values])
        else:
            counts = csr_array(hstack([csr_array(known)[row], csr_array(values[:, None])]))
        rows = Rows(np.arange(apart.marks.features), counts, true, total)
        wide = self.wide | wide_places(self.stack, self.predicate, flips)
        by_choice = _by_choice(apart.marks, places, apart.choice)
        return RowGroups(
            self.stack, self.predicate, wide, self.place, apart.marks, signatures, by_choice, rows
        )


def _by_choice(marks: Marks, row: Ints, choice: Ints) -> Ints:
    """Return the row of each choice of classes, given those of cells, such ones last."""
    found = np.full(int(marks.number_of_choices()), -1, np.int64)
    found[choice] = row[len(row) - len(choice) :]
    return found


def _merged(
    cells: AllCells | SplitRows, domains: Domains
) -> tuple[Ints, Ints, Signatures, Floats, Floats]:
    """Merge equal cells.

    Return the row of each, the first of each row, its signature, and weights by database.
    """
    signature = cells.signature
    row, first = ranked_marks(signature)
    shape = len(first), len(domains)
    database, size = cells.database, cells.size
    total = by_row(row, database, size, shape)
    chosen = np.flatnonzero(cells.true)
    true = by_row(row[chosen], database[chosen], size[chosen], shape)
    return row, first, signature[first], true, total


def _vectors(
    domains: Domains, predicate: Predicate, flips: Sequence[Flips], cells: CompressedCells
) -> Floats | csr_array:
    """Build the flip-count vectors of some cells, as a dense matrix where it is small."""
    shape = (len(cells), len(flips))
    dense = np.zeros(shape) if is_handy(*shape) else None
    rows, features, values = [], [], []
    for number, feature in enumerate(flips):
        single = tuple(table for table in feature.tables if len(table.places) == 1)
        total = replace(feature, tables=single).at(domains, cells.database, cells.columns)
        # a cell's member may itself be listed: not all tables of several places are for all cells
        for table in feature.tables:
            if len(table.places) > 1:
                least = SPREAD if table.places == cells.spread else ALL
                extra = lookup(domains, predicate, table, cells.database, cells.columns)
                total = total + np.where(cells.applies >= least, extra, 0)
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
