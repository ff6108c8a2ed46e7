"""Cells: the ground atoms of a predicate in groups of equal flip counts, few of them listed.

Atoms that some sparse table lists are taken one by one; all others fall into classes, the product
of a class for each argument, and are counted, not enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import (
    Codes,
    Ints,
    add_at,
    expand_ranges,
    pack,
    places_among,
    run_starts,
    unpack,
)
from mlnlearn.counting.flip_tables import Flips, FlipTable, lookup, table_rows
from mlnlearn.counting.signatures import Signatures
from mlnlearn.counting.stack import Domains
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.resources import in_use
from mlnlearn.weights import split
from mlnlearn.weights.marks import Marks

NONE, SPREAD, ALL = 0, 1, 2
"""Which tables of several places hold for the atoms of a cell."""
# Bytes that a cell takes on its way, at most, of the memory that counting may take.
_CELL = 192


@dataclass(frozen=True, slots=True)
class CompressedCells:
    """Groups of ground atoms with one flip-count vector each, before equal ones are merged.

    A cell is a single listed atom, or all atoms that are not listed whose arguments are given
    constants, or lie in given classes; then `columns` hold some member of each class.

    Attributes
    ----------
    database
        Number of the database.
    columns
        Arguments, of a member.
    classes
        The class of each argument.
    applies
        Which tables of several places hold for all of the cell: `NONE`, the `SPREAD` one, or `ALL`.
    size
        Number of atoms.
    true
        Whether they are true.
    signature
        Of their flip-count vector.
    spread
        The places of the table whose rows are cells with classes at the other places, if any.
    """

    database: Codes
    columns: tuple[Codes, ...]
    classes: tuple[Codes, ...]
    applies: NDArray[np.int8]
    size: Ints
    true: NDArray[np.bool_]
    signature: Signatures
    spread: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.size)

    def taken(self, chosen: Ints) -> CompressedCells:
        """Return some of the cells."""
        return CompressedCells(
            self.database[chosen],
            tuple(column[chosen] for column in self.columns),
            tuple(column[chosen] for column in self.classes),
            self.applies[chosen],
            self.size[chosen],
            self.true[chosen],
            self.signature[chosen],
            self.spread,
        )

    def values(self, marks: Marks, flips: Flips) -> Ints:
        """Return the flip counts of the newest feature of the marks that the cells are of."""
        domains, predicate = marks.domains, marks.predicate
        values = flips.constant[self.database]
        for table in flips.tables:
            if len(table.places) == 1:
                (place,) = table.places
                known = marks.classes[place]
                codes = [known.member] * predicate.arity
                found = lookup(domains, predicate, table, known.database, codes)
                values += found[self.classes[place]]
                continue
            # a cell's member may itself be listed: tables of several places are not for all cells
            own = np.flatnonzero(self.applies >= (SPREAD if table.places == self.spread else ALL))
            columns = [column[own] for column in self.columns]
            values[own] += lookup(domains, predicate, table, self.database[own], columns)
        if flips.products:
            values += marks.newest_products()[marks.choice(self.database, self.classes)]
        return values


@dataclass(frozen=True, slots=True)
class UnlistedCells:
    """All atoms of a choice of classes, those of other cells aside.

    Attributes
    ----------
    choice
        The number of the choice of classes.
    database, size, signature
        As those of `CompressedCells`.
    """

    choice: Ints
    database: Codes
    size: Ints
    signature: Signatures

    def values(self, marks: Marks, flips: Flips) -> Ints:
        """Return the flip counts of the newest feature of the marks that the cells are of."""
        parts = [np.zeros(len(known.member), np.int64) for known in marks.classes]
        for table in flips.tables:
            if len(table.places) == 1:
                (place,) = table.places
                known = marks.classes[place]
                codes = [known.member] * marks.predicate.arity
                found = lookup(marks.domains, marks.predicate, table, known.database, codes)
                parts[place] += found
        values = marks.combined(parts, np.add, np.int64)[self.choice]
        values += flips.constant[self.database]
        if flips.products:
            values += marks.newest_products()[self.choice]
        return values


@dataclass(frozen=True, slots=True)
class AllCells:
    """All ground atoms of a predicate: those that tables list, and the others by their classes."""

    marks: Marks
    listed: CompressedCells
    unlisted: UnlistedCells

    @property
    def database(self) -> Codes:
        """The database of each cell, listed ones first, as all that follows."""
        return np.concatenate([self.listed.database, self.unlisted.database])

    @property
    def size(self) -> Ints:
        """How many atoms each has."""
        return np.concatenate([self.listed.size, self.unlisted.size])

    @property
    def true(self) -> NDArray[np.bool_]:
        """Whether they are true."""
        return np.concatenate([self.listed.true, np.zeros(len(self.unlisted.size), np.bool_)])

    @property
    def signature(self) -> Signatures:
        """The signature of their flip counts."""
        return np.concatenate([self.listed.signature, self.unlisted.signature])

    def taken(self, chosen: Ints) -> CompressedCells:
        """Return some of the cells, in their order, with a member of each."""
        marks, count = self.marks, len(self.listed)
        inside, beyond = np.flatnonzero(chosen < count), np.flatnonzero(chosen >= count)
        listed = self.listed.taken(chosen[inside])
        places = chosen[beyond] - count
        database, number = self.unlisted.database[places], self.unlisted.choice[places]
        classes = marks.classes_of(database, number)
        known = zip(marks.classes, classes, strict=True)
        unlisted = CompressedCells(
            database,
            tuple(found.member[own] for found, own in known),
            classes,
            np.full(len(places), NONE, np.int8),
            self.unlisted.size[places],
            np.zeros(len(places), np.bool_),
            self.unlisted.signature[places],
        )
        order = np.empty(len(chosen), np.int64)
        order[np.concatenate([inside, beyond])] = np.arange(len(chosen))
        return replace(_together(listed, unlisted).taken(order), spread=self.listed.spread)


def cells_of(marks: Marks) -> AllCells:
    """Group the ground atoms of a predicate by what is said of them.

    True atoms and those in tables of several places are listed one by one. Of a table that leaves a
    place open, that would be every constant there; where that is many, the atoms of each of its
    rows are counted by the classes of the open places instead.
    """
    domains, predicate, tables = marks.domains, marks.predicate, marks.tables.values()
    spread = _widest(domains, predicate, tables)
    atoms = _listed(marks, [table for table in tables if table is not spread])
    for table in tables:
        atoms.signature[:] += _lookup(domains, predicate, table, atoms.database, atoms.columns)
    listed = taken = atoms
    if spread is not None:
        rest = _Rest(marks)
        rows = rest.rows_of(spread)
        own = table_rows(domains, predicate, spread, atoms.database, atoms.columns)
        within = np.flatnonzero(own >= 0)
        grouped = rest.beside(rows, atoms.taken(within), own[within])
        whole = rest.beside(rows, atoms.taken(within[:0]), own[:0])
        taken = _together(atoms.taken(np.flatnonzero(own < 0)), whole)
        listed = replace(_together(atoms, grouped), spread=spread.places)
    unlisted = _unlisted(marks, taken)
    if marks.has_products:
        products = marks.product_signatures()
        listed.signature[:] += products[marks.choice(listed.database, listed.classes)]
        unlisted.signature[:] += products[unlisted.choice]
    return AllCells(marks, listed, unlisted)


def _unlisted(marks: Marks, taken: CompressedCells) -> UnlistedCells:
    """Count the atoms of each choice of classes, less those that are counted elsewhere."""
    _refuse_beyond_memory(marks.number_of_choices(), marks.predicate)
    left = marks.combined([known.size for known in marks.classes], np.multiply, np.int64)
    add_at(left, marks.choice(taken.database, taken.classes), -taken.size)
    choice = np.flatnonzero(left)
    if len(marks.domains) == 1:
        database = np.zeros(len(choice), np.int32)
    else:
        database = marks.database_of_choices()[choice]
    signatures = [known.signature for known in marks.classes]
    signature = marks.combined(signatures, np.add, np.uint64)[choice]
    signature += marks.constant[database]
    return UnlistedCells(choice, database, left[choice], signature)


def _together(one: CompressedCells, two: CompressedCells) -> CompressedCells:
    return CompressedCells(
        np.concatenate([one.database, two.database]),
        tuple(np.concatenate(pair) for pair in zip(one.columns, two.columns, strict=True)),
        tuple(np.concatenate(pair) for pair in zip(one.classes, two.classes, strict=True)),
        np.concatenate([one.applies, two.applies]),
        np.concatenate([one.size, two.size]),
        np.concatenate([one.true, two.true]),
        np.concatenate([one.signature, two.signature]),
    )


def _widest(
    domains: Domains, predicate: Predicate, tables: Iterable[FlipTable]
) -> FlipTable | None:
    """Return the table of several places that would list most atoms, if these are many."""
    found, most = None, 0.0
    for table in tables:
        if 1 < len(table.places) < predicate.arity:
            atoms = split.atoms_of_table(domains, predicate, table)
            if atoms > most:
                found, most = table, atoms
    return found


class _Rest:
    """Atoms of the rows of a table, counted by the classes of their other arguments."""

    def __init__(self, marks: Marks) -> None:
        self.marks, self.predicate = marks, marks.predicate

    def rows_of(self, table: FlipTable) -> _Start:
        """Start from the atoms of each row of a table."""
        columns = dict(zip(table.places, table.columns, strict=True))
        signature = self.marks.constant[table.database] + table.values.view(np.uint64)
        classes = {}
        for place, codes in columns.items():
            known = self.marks.classes[place]
            kind = self.predicate.types[place]
            where = known.where(self.marks.domains, kind, table.database, codes)
            signature += known.by_constant[where]
            classes[place] = known.of_constant[where]
        return _Start(table.database, columns, classes, signature, SPREAD)

    def beside(self, start: _Start, taken: CompressedCells, of: Ints | Codes) -> CompressedCells:
        """Cut cells by the classes at their open places, and take others off them.

        Parameters
        ----------
        start
            The cells, of all atoms with given arguments.
        taken
            Parts of them that are counted elsewhere, each within one class at every open place.
        of
            The number of the cell that each such part is in.
        """
        database, classes, signature = start.database, dict(start.classes), start.signature
        rows = np.arange(len(database))
        size = np.ones(len(database), np.int64)
        # the number of the cell that holds each taken part, refined place by place
        place_of = of.astype(np.int64)
        for place, known in enumerate(self.marks.classes):
            if place in start.classes:
                continue
            lengths = known.per_database[database]
            _refuse_beyond_memory(int(lengths.sum()), self.predicate)
            starts = known.starts[database]
            chosen = expand_ranges(starts, lengths)
            offsets = np.cumsum(lengths) - lengths
            place_of = offsets[place_of] + taken.classes[place] - starts[place_of]
            classes = {p: np.repeat(column, lengths) for p, column in classes.items()}
            classes[place] = chosen.astype(np.int32)
            size = np.repeat(size, lengths) * known.size[chosen]
            signature = np.repeat(signature, lengths) + known.signature[chosen]
            database, rows = np.repeat(database, lengths), np.repeat(rows, lengths)
        left = size
        add_at(left, place_of, -taken.size)
        keep = np.flatnonzero(left)
        every = range(self.predicate.arity)
        kept = tuple(classes[place][keep] for place in every)
        columns = tuple(
            start.columns[place][rows[keep]]
            if place in start.columns
            else self.marks.classes[place].member[kept[place]]
            for place in every
        )
        return CompressedCells(
            database[keep],
            columns,
            kept,
            np.full(len(keep), start.applies, np.int8),
            left[keep],
            np.zeros(len(keep), np.bool_),
            signature[keep],
        )


@dataclass(frozen=True, slots=True)
class _Start:
    """Cells before they are cut: given arguments at some places, anything at the others."""

    database: Codes
    columns: dict[int, Codes]
    classes: dict[int, Codes]
    signature: Signatures
    applies: int


def _refuse_beyond_memory(cells: float, predicate: Predicate) -> None:
    """Refuse cells that would not fit in the memory that counting may take."""
    limit = in_use().nbytes
    if cells * _CELL > limit:
        raise MemoryLimitError(
            f"the atoms of {predicate} fall into {cells:,.0f} groups, of some {_CELL} bytes each; "
            f"counting may take {limit:,} bytes",
            hint="drop the formula that ties its arguments together, or allow more memory",
        )


def _lookup(
    domains: Domains,
    predicate: Predicate,
    table: FlipTable,
    database: Codes,
    columns: Sequence[Codes],
) -> Signatures:
    return lookup(domains, predicate, table, database, columns).view(np.uint64)


def _listed(marks: Marks, tables: Sequence[FlipTable]) -> CompressedCells:
    """Return the atoms to take one by one: the true ones, and those in tables of several places.

    Their signatures are without those of such tables.
    """
    domains, predicate = marks.domains, marks.predicate
    facts = domains.relation(predicate)
    sizes = domains.key_sizes(predicate.types)
    parts = [pack([facts.database, *facts.columns], sizes)]
    for table in tables:
        parts.append(pack(_all_places(domains, predicate, table), sizes))
    keys = [part for part in parts if part is not None]
    if len(keys) < len(parts):
        raise MemoryLimitError(f"the domains of {predicate} are too large to number its atoms")
    ordered = np.concatenate(keys)
    ordered.sort(kind="stable")  # they are in order but for the seams
    distinct = ordered[run_starts(ordered)]
    database, *columns = unpack(distinct, sizes)
    true = np.zeros(len(distinct), bool)
    true[places_among(distinct, keys[0])] = True  # both rise: they are found in one run
    signature = marks.constant[database]
    classes = []
    for known, kind, codes in zip(marks.classes, predicate.types, columns, strict=True):
        where = known.where(domains, kind, database, codes)
        signature += known.by_constant[where]
        classes.append(known.of_constant[where])
    return CompressedCells(
        database, tuple(columns), tuple(classes), np.full(len(distinct), ALL, np.int8),
        np.ones(len(distinct), np.int64), true, signature,
    )  # fmt: skip


def _all_places(domains: Domains, predicate: Predicate, table: FlipTable) -> list[Codes]:
    """Extend a table's keys by every constant at the places it leaves open."""
    database = table.database
    known = dict(zip(table.places, table.columns, strict=True))
    for place, kind in enumerate(predicate.types):
        if place in known:
            continue
        sizes = domains.sizes(kind)
        lengths = sizes[database]
        _refuse_beyond_memory(int(lengths.sum()), predicate)
        members = expand_ranges((np.cumsum(sizes) - sizes)[database], lengths)
        known = {p: np.repeat(column, lengths) for p, column in known.items()}
        known[place] = domains.members(kind).columns[0][members]
        database = np.repeat(database, lengths)
    return [database, *(known[place] for place in range(predicate.arity))]
