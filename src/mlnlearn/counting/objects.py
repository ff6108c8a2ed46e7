"""Facts over numbered objects: the view of several databases that binding tables are made of.

Every constant of every database is an *object* with a number of its own within its type, so a join
on objects never mixes databases. Constants in rules are names; they are matched by *value codes*,
one for each name, whatever the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.lookups import Lookups
from mlnlearn.counting.pattern import EQUALS
from mlnlearn.data.common import common_schema
from mlnlearn.data.database import Database
from mlnlearn.data.sampling import number_of_keys, unpack
from mlnlearn.logic.atoms import Predicate


class Objects:
    """Facts of several databases over numbered objects. Lookups are made on first use.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> objects = Objects([db, db])
    >>> objects.number("person"), objects.relation(schema["likes"]).tolist()
    (4, [[0, 1], [0, 2], [1, 3]])
    """

    def __init__(self, databases: Sequence[Database]) -> None:
        self.databases = tuple(databases)
        self.schema = common_schema(databases)
        self.offsets: Mapping[str, Ints] = {
            kind: np.cumsum([0] + [database.size(kind) for database in databases])
            for kind in self.schema.types
        }
        self._relations: dict[Predicate, Codes] = {}
        self._values: dict[str, tuple[dict[str, int], NDArray[np.int32]]] = {}
        self.lookups = Lookups(self)

    def beside(self, predicate: Predicate, facts: Codes) -> Objects:
        """Return the same objects with facts of one predicate only, by given facts.

        Its lookups are its own and go with it: what is needed for a moment burdens no one.
        """
        other = Objects(self.databases)
        other.offsets, other._values = self.offsets, self._values
        other._relations[predicate] = facts
        return other

    def number(self, kind: str) -> int:
        """Return the number of objects of a type."""
        return int(self.offsets[kind][-1])

    def numbered(self, predicate: Predicate, database: Codes, columns: Codes) -> Codes:
        """Turn atoms given by codes of their databases into rows (database, objects...)."""
        rows = np.empty((predicate.arity + 1, len(database)), np.int32)
        rows[0] = database
        for place, kind in enumerate(predicate.types):
            rows[place + 1] = columns[place] + self.offsets[kind][database]
        return rows

    def atoms(self, predicate: Predicate) -> Codes:
        """Return all ground atoms of a predicate, true or false, as rows (database, objects...)."""
        rows = []
        for number, database in enumerate(self.databases):
            sizes = [database.size(kind) for kind in predicate.types]
            columns = unpack(np.arange(number_of_keys(sizes)), sizes)
            owner = np.full(columns.shape[1], number, np.int32)
            rows.append(self.numbered(predicate, owner, columns))
        return np.concatenate(rows, axis=1)

    def relation(self, predicate: Predicate) -> Codes:
        """Return the true facts of a predicate: a row of databases, then one of each argument."""
        if predicate not in self._relations:
            self._relations[predicate] = self._collect(predicate)
        return self._relations[predicate]

    def _collect(self, predicate: Predicate) -> Codes:
        if predicate.name == EQUALS:
            bounds = self.offsets[predicate.types[0]]
            everything = np.arange(bounds[-1], dtype=np.int32)
            numbers = np.repeat(np.arange(len(self.databases), dtype=np.int32), np.diff(bounds))
            return np.stack([numbers, everything, everything])
        return self._stacked(predicate, [db.facts(predicate.name) for db in self.databases])

    def unknown(self, predicate: Predicate) -> Codes:
        """Return the atoms of a predicate that are listed as unknown, as `relation` does facts."""
        return self._stacked(predicate, [db.unknown_facts(predicate.name) for db in self.databases])

    def _stacked(self, predicate: Predicate, atoms: Sequence[Codes]) -> Codes:
        sizes = [columns.shape[1] for columns in atoms]
        numbers = np.repeat(np.arange(len(atoms), dtype=np.int32), sizes)
        return self.numbered(predicate, numbers, np.concatenate(atoms, axis=1))

    def values(self, kind: str) -> tuple[dict[str, int], NDArray[np.int32]]:
        """Return the code of each constant's name, and the code of each object."""
        if kind not in self._values:
            names: dict[str, int] = {}
            codes = [
                names.setdefault(name, len(names))
                for database in self.databases
                for name in database.domains[kind]
            ]
            self._values[kind] = names, np.array(codes, np.int32)
        return self._values[kind]
