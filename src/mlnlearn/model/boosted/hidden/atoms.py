"""Atoms whose truth is not known, numbered through all predicates and databases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, pack, places_among
from mlnlearn.counting.blocks import Blocks
from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import is_among, number_of_keys, unpack
from mlnlearn.data.sampling import pack as pack_atoms
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.logic.atoms import Predicate

Mask = NDArray[np.bool_]

_MOST_ATOMS = 100_000_000


@dataclass(frozen=True, eq=False)
class HiddenAtoms:
    """Unknown atoms of some databases.

    Attributes
    ----------
    databases
        The databases; all other unknown atoms in them are taken as false.
    columns
        Per predicate, the codes of its unknown atoms in each database.
    block
        Per unknown atom, the number of the ``!`` block in which exactly one is true; -1 for none.
        Every block has two atoms or more.
    forced
        Per predicate with ``!``, the atoms of each database that no evidence lists and that are
        true: the only value that is left in their block. The databases have them as facts.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)]}, unknown={"smokes": [("Bob",)]})
    >>> hidden = HiddenAtoms.of([db, db], ["smokes"])
    >>> len(hidden), [d.count("smokes") for d in hidden.completed(np.array([True, False]))]
    (2, [2, 1])
    """

    databases: tuple[Database, ...]
    columns: Mapping[Predicate, tuple[Columns, ...]]
    block: Ints
    forced: Mapping[Predicate, tuple[Columns, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        databases: Sequence[Database],
        names: Iterable[str],
        asked: Iterable[str] = (),
        *,
        exclusive: bool = True,
    ) -> HiddenAtoms:
        """Gather the unknown atoms of some predicates, and all atoms of the ones asked for.

        A block whose true value is known has no unknown atoms, whatever the database says.
        Without `exclusive`, all atoms are taken on their own.
        """
        forgotten = tuple(asked)  # in this order: the draws of a sampler depend on it
        kept = [database.without_facts(forgotten) for database in databases]
        columns, forced, blocks, first = {}, {}, [np.empty(0, np.int64)], 0
        for name in dict.fromkeys([*names, *forgotten]):
            predicate = databases[0].schema[name]
            found = [_unknown(database, name, name in forgotten) for database in databases]
            block = [np.full(part.shape[1], -1, np.int64) for part in found]
            if exclusive and databases[0].schema.exclusive(name):
                parts = [
                    _resolved(database, predicate, part, name in forgotten)
                    for database, part in zip(kept, found, strict=True)
                ]
                found, block = [part[0] for part in parts], [part[1] for part in parts]
                forced[predicate] = tuple(part[2] for part in parts)
                kept = [_with(kept[n], predicate, part[2]) for n, part in enumerate(parts)]
            if any(part.shape[1] for part in found):
                columns[predicate] = tuple(found)
                for part in block:
                    blocks.append(np.where(part < 0, part, part + first))
                    first += int(part.max(initial=-1)) + 1
        return cls(tuple(kept), columns, np.concatenate(blocks), forced)

    @cached_property
    def next_value(self) -> Ints:
        """Per atom, the next of its block, in a circle; itself for an atom of no block."""
        following = np.arange(len(self))
        block = self.block
        members = np.argsort(block, kind="stable")[np.count_nonzero(block < 0) :]
        first = np.flatnonzero(np.diff(block[members], prepend=-1))
        following[members] = np.roll(members, -1)
        following[members[np.append(first[1:], len(members))[: len(first)] - 1]] = members[first]
        return following

    @cached_property
    def starts(self) -> Mapping[Predicate, int]:
        """The number of each predicate's first atom."""
        sizes = [sum(part.shape[1] for part in parts) for parts in self.columns.values()]
        return dict(zip(self.columns, np.cumsum([0, *sizes]).tolist(), strict=False))

    def __len__(self) -> int:
        return sum(part.shape[1] for parts in self.columns.values() for part in parts)

    @cached_property
    def known(self) -> Objects:
        """The world in which every unknown atom is false."""
        return Objects([database.closed() for database in self.databases])

    @cached_property
    def possible(self) -> Objects:
        """The world in which every atom that may be true is."""
        return Objects(self.completed(np.ones(len(self), np.bool_)))

    @cached_property
    def rows(self) -> Mapping[Predicate, Codes]:
        """The atoms over numbered objects: a row of databases, then one of each argument."""
        return {
            predicate: self.known.numbered(predicate, _owners(parts), np.concatenate(parts, axis=1))
            for predicate, parts in self.columns.items()
        }

    def numbers(self, predicate: Predicate, rows: Codes) -> Ints:
        """Return the numbers of atoms given as rows; -1 for those that are not among these."""
        if predicate not in self.columns or not rows.shape[1]:
            return np.full(rows.shape[1], -1, np.int64)
        keys, order = self._keys[predicate]
        places = places_among(keys, self._packed(predicate, rows))
        return np.where(places >= 0, self.starts[predicate] + order[places], -1)

    @cached_property
    def _keys(self) -> Mapping[Predicate, tuple[Ints, Ints]]:
        found = {}
        for predicate, rows in self.rows.items():
            keys = self._packed(predicate, rows)
            order = np.argsort(keys)
            found[predicate] = keys[order], order
        return found

    def _packed(self, predicate: Predicate, rows: Codes) -> Ints:
        sizes = [len(self.databases), *map(self.known.number, predicate.types)]
        keys = pack(list(rows), sizes)
        if keys is None:
            raise CountOverflowError(f"the atoms of {predicate.name} do not fit in a 64-bit key")
        return keys

    def completed(self, truth: Mask) -> list[Database]:
        """Return the databases with these truth values, and nothing unknown."""
        filled = []
        for number, database in enumerate(self.databases):
            true = dict(database.true)
            for predicate, parts in self.columns.items():
                start = self.starts[predicate] + sum(part.shape[1] for part in parts[:number])
                part = parts[number]
                chosen = part[:, truth[start : start + part.shape[1]]]
                true[predicate.name] = _with(database, predicate, chosen).facts(predicate.name)
            filled.append(replace(database.closed(), true=true))
        return filled


def unknown_predicates(databases: Sequence[Database]) -> list[str]:
    """Return the predicates that have unknown atoms, in the order of the schema.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> unknown_predicates([Database.from_facts(schema, {}, unknown={"cancer": [("Bob",)]})])
    ['cancer']
    """
    return [
        predicate.name
        for predicate in databases[0].schema.predicates
        if any(_has_unknown(database, predicate.name) for database in databases)
    ]


def forgotten_targets(
    targets: Sequence[str],
    database: Database,
    asked: Collection[str] | None,
    closed: Collection[str] = (),
) -> list[str]:
    """Return the targets whose atoms are all unknown when some of them are asked for.

    Parameters
    ----------
    targets
        All targets of a model.
    database
        The evidence.
    asked
        Targets asked for; None for all. Of those with atoms listed as unknown, these alone are
        asked for, and what else is listed of them is evidence.
    closed
        Targets of which no atom that is not listed is true, even where none is listed.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)", "sad(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)], "cancer": [("Anna",)]})
    >>> forgotten_targets(["smokes", "cancer", "sad"], db, ["smokes"])
    ['smokes', 'sad']
    >>> forgotten_targets(["smokes", "cancer", "sad"], db, ["smokes"], closed=["sad"])
    ['smokes']
    """
    wanted = targets if asked is None else asked

    def given(name: str) -> bool:
        tables = (database.facts(name), database.false_facts(name), database.unknown_facts(name))
        return name in closed or any(table.shape[1] for table in tables)

    return [
        name
        for name in targets
        if (name in wanted and not _has_unknown(database, name)) or not given(name)
    ]


def _has_unknown(database: Database, name: str) -> bool:
    if name not in database.open:
        return bool(database.unknown_facts(name).shape[1])
    listed = database.count(name) + int(database.false_facts(name).shape[1])
    return database.ground_atoms(name) > listed


def _unknown(database: Database, name: str, asked: bool) -> Columns:
    """Return the unknown atoms of a predicate, or all of its atoms."""
    if not asked and name not in database.open:
        return database.unknown_facts(name)
    sizes = domain_sizes(database, name)
    total = number_of_keys(sizes)
    if total > _MOST_ATOMS:
        raise MemoryLimitError(
            f"{total} atoms of {name} are unknown; the limit is {_MOST_ATOMS}",
            hint="list the unknown atoms, or ask for fewer",
        )
    everything = np.arange(total)
    if not asked:
        listed = [database.facts(name), database.false_facts(name)]
        keys = np.sort(np.concatenate([pack_atoms(part, sizes) for part in listed]))
        everything = everything[~is_among(everything, keys)]
    return unpack(everything, sizes)


def _owners(parts: Sequence[Columns]) -> Codes:
    sizes = [part.shape[1] for part in parts]
    return np.repeat(np.arange(len(parts), dtype=np.int32), sizes)


def _resolved(
    database: Database, predicate: Predicate, unknown: Columns, asked: bool
) -> tuple[Columns, Ints, Columns]:
    """Return the atoms that evidence leaves unknown, their blocks, and those that it forces."""
    name, sizes = predicate.name, domain_sizes(database, predicate.name)
    blocks = Blocks(predicate, sizes, database.schema.exclusive(name), database)
    true, possible = pack_atoms(database.facts(name), sizes), pack_atoms(unknown, sizes)
    if asked or name in database.open:
        blocks.refuse_empty(np.concatenate([true, possible]))
    decided, left = blocks.resolved(true, possible)
    return unpack(left, sizes), blocks.numbered(left)[0], unpack(np.setdiff1d(decided, true), sizes)


def _with(database: Database, predicate: Predicate, more: Columns) -> Database:
    """Return the database with further true atoms of a predicate."""
    columns = np.concatenate([database.facts(predicate.name), more], axis=1)
    if len(columns):
        columns = np.ascontiguousarray(columns[:, np.lexsort(columns[::-1])])
    return replace(database, true={**database.true, predicate.name: columns})
