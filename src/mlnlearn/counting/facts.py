"""The facts of all databases of a run, integer-coded once; all who count read views of them.

Every constant of every database is an *object*, with a number of its own within its type, so that
facts of different databases never meet in a join on objects. A constant's name has one *value code*
for all databases. `Stack`, `Objects` and linked tables are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import AnyInts, Codes, Ints
from mlnlearn.data.common import common_schema
from mlnlearn.data.database import Database
from mlnlearn.data.sampling import with_owner
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.atoms import Predicate

_READERS = {
    "true": Database.facts,
    "false": Database.false_facts,
    "unknown": Database.unknown_facts,
}


class Facts:
    """Facts of several databases of one schema over numbered objects. What is asked for is kept.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> facts = Facts.of([db, db])
    >>> facts.number("person"), facts.atoms(schema["likes"]).tolist()
    (4, [[0, 1], [0, 2], [1, 3]])
    >>> facts.values("person")[1].tolist(), Facts.of([db, db]) is facts
    ([0, 1, 0, 1], True)
    """

    _shared: ClassVar[WeakValueDictionary[tuple[int, ...], Facts]] = WeakValueDictionary()

    def __init__(self, databases: Sequence[Database]) -> None:
        self.databases = tuple(databases)
        self.schema = common_schema(databases)
        self.offsets: Mapping[str, Ints] = {
            kind: np.cumsum([0] + [database.size(kind) for database in databases])
            for kind in self.schema.types
        }
        self._true: dict[Predicate, Codes] = {}
        self._values: dict[str, tuple[Vocabulary, Codes]] = {}

    @classmethod
    def of(cls, databases: Sequence[Database]) -> Facts:
        """Return the facts of databases: one store for all views of the same databases."""
        key = tuple(map(id, databases))  # which the store holds, so that no other has these
        found = cls._shared.get(key)
        if found is None:
            cls._shared[key] = found = cls(databases)
        return found

    def number(self, kind: str) -> int:
        """Return the number of objects of a type."""
        return int(self.offsets[kind][-1])

    def owners(self, kind: str) -> Codes:
        """Return the number of the database that each object of a type is of."""
        sizes = np.diff(self.offsets[kind])
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    def numbered(self, predicate: Predicate, database: AnyInts, columns: AnyInts) -> Codes:
        """Turn atoms given by codes of their databases into rows (database, objects...)."""
        if len(self.databases) == 1:
            found = with_owner(columns)
            if found is not None:
                return found
        rows = np.zeros((predicate.arity + 1, len(database)), np.int32)
        rows[1:] = columns
        if len(self.databases) > 1:
            rows[0] = database
            for place, kind in enumerate(predicate.types, 1):
                rows[place] += self.offsets[kind].astype(np.int32)[database]
        return rows

    def relation(self, predicate: Predicate) -> Codes:
        """Return the true facts of a predicate, as `atoms` does, and keep them."""
        if predicate not in self._true:
            self._true[predicate] = self.atoms(predicate)
        return self._true[predicate]

    def atoms(
        self, predicate: Predicate, truth: Literal["true", "false", "unknown"] = "true"
    ) -> Codes:
        """Return what is listed of a predicate: a row of databases, then one of each argument."""
        if truth == "true" and predicate in self._true:
            return self._true[predicate]
        listed = [_READERS[truth](database, predicate.name) for database in self.databases]
        sizes = [columns.shape[1] for columns in listed]
        database = np.repeat(np.arange(len(listed), dtype=np.int32), sizes)
        columns = listed[0] if len(listed) == 1 else np.concatenate(listed, axis=1)
        return self.numbered(predicate, database, columns)

    def values(self, kind: str) -> tuple[Vocabulary, Codes]:
        """Return the names of a type's constants, each once, and the code of each object's name."""
        if kind not in self._values:
            domains = [database.domains[kind] for database in self.databases]
            names = domains[0]
            if all(other == names for other in domains[1:]):
                codes = np.tile(np.arange(len(names), dtype=np.int32), len(domains))
            else:
                places: dict[str, int] = {}
                every = (name for domain in domains for name in domain)
                found = (places.setdefault(name, len(places)) for name in every)
                codes = np.fromiter(found, np.int32, self.number(kind))
                names = Vocabulary(places)
            self._values[kind] = names, codes
        return self._values[kind]

    def numbers(self, kind: str) -> NDArray[np.float64] | None:
        """Return the number that each object of a type is; None where some are none."""
        found = [database.domains[kind].numbers for database in self.databases]
        if any(numbers is None for numbers in found):
            return None
        return np.concatenate([np.asarray(numbers, np.float64) for numbers in found])
