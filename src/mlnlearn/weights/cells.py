"""Cells: the ground atoms of a predicate in groups of equal flip counts, few of them listed.

Atoms that some sparse table lists are taken one by one; all others fall into classes, the product
of a class for each argument, and are counted, not enumerated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import (
    Codes,
    Ints,
    add_at,
    common_keys,
    expand_ranges,
    pack,
    run_starts,
    unpack,
)
from mlnlearn.counting.flip_tables import Flips, FlipTable, lookup, table_rows
from mlnlearn.counting.signatures import Signatures, mixed, multipliers
from mlnlearn.counting.stack import Domains
from mlnlearn.data.sampling import keys_of
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.resources import in_use
from mlnlearn.weights import split

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
    applies: NDArray[np.int8]
    size: Ints
    true: NDArray[np.bool_]
    signature: Signatures
    spread: tuple[int, ...] = ()


def cells_of(
    stack: Domains, predicate: Predicate, tables: Sequence[FlipTable], flips: Sequence[Flips]
) -> CompressedCells:
    """Group the ground atoms of a predicate by what tables of signatures hold for them.

    True atoms and those in tables of several places are listed one by one. Of a table that leaves a
    place open, that would be every constant there; where that is many, the atoms of each of its
    rows are counted by the classes of the open places instead.
    """
    spread = _widest(stack, predicate, tables)
    atoms = _listed(stack, predicate, [table for table in tables if table is not spread])
    for table in tables:
        atoms.signature[:] += _lookup(stack, predicate, table, atoms.database, atoms.columns)
    rest = _Rest(stack, predicate, tables, flips)
    if spread is None:
        return _together(atoms, rest.beside(rest.databases(), atoms, atoms.database))
    rows = rest.rows_of(spread)
    own = table_rows(stack, predicate, spread, atoms.database, atoms.columns)
    within = np.flatnonzero(own >= 0)
    grouped = rest.beside(rows, _taken(atoms, within), own[within])
    whole = rest.beside(rows, _taken(atoms, within[:0]), own[:0])
    others = _together(_taken(atoms, np.flatnonzero(own < 0)), whole)
    unlisted = rest.beside(rest.databases(), others, others.database)
    return replace(_together(_together(atoms, grouped), unlisted), spread=spread.places)


def _taken(cells: CompressedCells, chosen: Ints) -> CompressedCells:
    return CompressedCells(
        cells.database[chosen], tuple(column[chosen] for column in cells.columns),
        cells.applies[chosen], cells.size[chosen], cells.true[chosen], cells.signature[chosen],
    )  # fmt: skip


def _together(one: CompressedCells, two: CompressedCells) -> CompressedCells:
    return CompressedCells(
        np.concatenate([one.database, two.database]),
        tuple(np.concatenate(pair) for pair in zip(one.columns, two.columns, strict=True)),
        np.concatenate([one.applies, two.applies]),
        np.concatenate([one.size, two.size]),
        np.concatenate([one.true, two.true]),
        np.concatenate([one.signature, two.signature]),
    )


def _widest(stack: Domains, predicate: Predicate, tables: Sequence[FlipTable]) -> FlipTable | None:
    """Return the table of several places that would list most atoms, if these are many."""
    found, most = None, 0.0
    for table in tables:
        if 1 < len(table.places) < predicate.arity:
            atoms = split.atoms_of_table(stack, predicate, table)
            if atoms > most:
                found, most = table, atoms
    return found


class _Rest:
    """Atoms that are not listed, counted by the classes of their arguments."""

    def __init__(
        self,
        stack: Domains,
        predicate: Predicate,
        tables: Sequence[FlipTable],
        flips: Sequence[Flips],
    ) -> None:
        self.stack, self.predicate = stack, predicate
        self.constant = next(table for table in tables if not table.places)
        self.alone = [
            next((table for table in tables if table.places == (place,)), None)
            for place in range(predicate.arity)
        ]
        self.classes = [
            _classes(stack, predicate, kind, self.alone[place], _factors(flips, place))
            for place, kind in enumerate(predicate.types)
        ]

    def databases(self) -> _Start:
        """Start from all atoms of each database."""
        numbers = np.arange(len(self.stack), dtype=np.int32)
        signature = _lookup(self.stack, self.predicate, self.constant, numbers, [])
        return _Start(numbers, {}, signature, NONE)

    def rows_of(self, table: FlipTable) -> _Start:
        """Start from the atoms of each row of a table."""
        columns = dict(zip(table.places, table.columns, strict=True))
        given = [columns.get(place, table.database) for place in range(self.predicate.arity)]
        parts = [self.constant, table, *(self.alone[place] for place in table.places)]
        signature = np.zeros(len(table), np.uint64)
        for part in parts:
            if part is not None:
                signature += _lookup(self.stack, self.predicate, part, table.database, given)
        return _Start(table.database, columns, signature, SPREAD)

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
        database, columns, signature = start.database, start.columns, start.signature
        size = np.ones(len(database), np.int64)
        # the number of the cell that holds each taken part, refined place by place
        place_of = of.astype(np.int64)
        for place, kind in enumerate(self.predicate.types):
            if place in start.columns:
                continue
            classes = self.classes[place]
            lengths = classes.per_database[database]
            _refuse_beyond_memory(int(lengths.sum()), self.predicate)
            starts = classes.starts[database]
            chosen = expand_ranges(starts, lengths)
            offsets = np.cumsum(lengths) - lengths
            own = classes.of(self.stack, kind, taken.database, taken.columns[place])
            place_of = offsets[place_of] + own - starts[place_of]
            columns = {p: np.repeat(column, lengths) for p, column in columns.items()}
            columns[place] = classes.member[chosen]
            size = np.repeat(size, lengths) * classes.size[chosen]
            signature = np.repeat(signature, lengths) + classes.signature[chosen]
            database = np.repeat(database, lengths)
        left = size
        add_at(left, place_of, -taken.size)
        keep = np.flatnonzero(left)
        return CompressedCells(
            database[keep],
            tuple(columns[place][keep] for place in range(self.predicate.arity)),
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
    signature: Signatures
    applies: int


def _refuse_beyond_memory(cells: int, predicate: Predicate) -> None:
    """Refuse cells that would not fit in the memory that counting may take."""
    limit = in_use().nbytes
    if cells * _CELL > limit:
        raise MemoryLimitError(
            f"the atoms of {predicate} fall into {cells:,} groups, of some {_CELL} bytes each; "
            f"counting may take {limit:,} bytes",
            hint="drop the formula that ties its arguments together, or allow more memory",
        )


def _lookup(
    stack: Domains,
    predicate: Predicate,
    table: FlipTable,
    database: Codes,
    columns: Sequence[Codes],
) -> Signatures:
    return lookup(stack, predicate, table, database, columns).view(np.uint64)


def _listed(stack: Domains, predicate: Predicate, tables: Sequence[FlipTable]) -> CompressedCells:
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
    ordered = np.concatenate(keys)
    ordered.sort(kind="stable")  # they are in order but for the seams
    distinct = ordered[run_starts(ordered)]
    database, *columns = unpack(distinct, sizes)
    true = np.zeros(len(distinct), bool)
    true[np.searchsorted(distinct, keys[0])] = True
    return CompressedCells(
        database, tuple(columns), np.full(len(distinct), ALL, np.int8),
        np.ones(len(distinct), np.int64), true, np.zeros(len(distinct), np.uint64),
    )  # fmt: skip


def _all_places(stack: Domains, predicate: Predicate, table: FlipTable) -> list[Codes]:
    """Extend a table's keys by every constant at the places it leaves open."""
    database = table.database
    known = dict(zip(table.places, table.columns, strict=True))
    for place, kind in enumerate(predicate.types):
        if place in known:
            continue
        sizes = stack.sizes(kind)
        lengths = sizes[database]
        _refuse_beyond_memory(int(lengths.sum()), predicate)
        members = expand_ranges((np.cumsum(sizes) - sizes)[database], lengths)
        known = {p: np.repeat(column, lengths) for p, column in known.items()}
        known[place] = stack.members(kind).columns[0][members]
        database = np.repeat(database, lengths)
    return [database, *(known[place] for place in range(predicate.arity))]


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

    def of(self, stack: Domains, kind: str, database: Codes, codes: Codes) -> Ints:
        """Return the class number of each given constant."""
        if len(self.class_of_member) == len(stack) * stack.size(kind):
            # every database has every constant: each is at its place
            return self.class_of_member[keys_of((database, codes), stack.key_sizes([kind]))]
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
    stack: Domains,
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
    if table is None and not factors:
        order = np.arange(len(database))  # members are in order of their databases
    else:
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
