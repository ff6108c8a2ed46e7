"""Facts over numbered objects: the view of several databases that binding tables are made of.

Constants in rules are names; they are matched by value codes, one for each name, whatever the
database.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.facts import Facts
from mlnlearn.counting.lookups import Lookups
from mlnlearn.counting.pattern import EQUALS
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

    def __init__(self, databases: Sequence[Database], facts: Facts | None = None) -> None:
        self.facts = facts or Facts.of(databases)
        self.databases = self.facts.databases
        self.schema = self.facts.schema
        self.offsets = self.facts.offsets
        # what is asked of the store is asked here, too
        self.number = self.facts.number
        self.numbered = self.facts.numbered
        self.values = self.facts.values
        self._relations: dict[Predicate, Codes] = {}
        self.lookups = Lookups(self)

    def beside(self, predicate: Predicate, facts: Codes) -> Objects:
        """Return the same objects with facts of one predicate only, by given facts.

        Its lookups are its own and go with it: what is needed for a moment burdens no one.
        """
        other = Objects(self.databases, self.facts)
        other._relations[predicate] = facts
        return other

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
        if predicate in self._relations:
            return self._relations[predicate]
        if predicate.name != EQUALS:
            return self.facts.relation(predicate)
        owners = self.facts.owners(predicate.types[0])
        everything = np.arange(len(owners), dtype=np.int32)
        self._relations[predicate] = np.stack([owners, everything, everything])
        return self._relations[predicate]

    def unknown(self, predicate: Predicate) -> Codes:
        """Return the atoms of a predicate that are listed as unknown, as `relation` does facts."""
        return self.facts.atoms(predicate, "unknown")
