"""Several databases side by side: the form the counting engines read.

Every database keeps its own domains; their constants are merged into one vocabulary per type, and
every fact carries the number of its database. A join always matches on that number too, so facts of
different databases never meet, and all databases are counted in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints, pack, sort_keys
from mlnlearn.counting.plan import Size
from mlnlearn.data.common import common_schema
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.atoms import Atom, Predicate, Variable


@dataclass(frozen=True, slots=True)
class Relation:
    """True facts of one predicate: the database number, then the arguments; sorted, distinct."""

    database: Codes
    columns: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.database)


class Stack:
    """Databases of one schema, merged for counting. Grows derived relations, else immutable.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> one = Database.from_facts(schema, {"smokes": [("Anna",)]}, domains={"person": ["Bob"]})
    >>> two = Database.from_facts(schema, {"smokes": [("Carl",)]})
    >>> stack = Stack([one, two])
    >>> stack.sizes("person").tolist(), len(stack.relation(schema["smokes"]))
    ([2, 1], 2)
    """

    def __init__(self, databases: Sequence[Database]) -> None:
        self.databases = tuple(databases)
        self.schema = common_schema(databases)
        self.vocabularies: dict[str, Vocabulary] = {}
        self._codes: dict[str, list[Codes]] = {}
        for kind in self.schema.types:
            self._merge(kind)
        self._relations: dict[str, Relation] = {}
        self._members: dict[str, Relation] = {}
        self._distinct: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self.databases)

    def _merge(self, kind: str) -> None:
        first = self.databases[0].domains[kind]
        if all(database.domains[kind] == first for database in self.databases[1:]):
            identity = np.arange(len(first), dtype=np.int32)
            self.vocabularies[kind] = first
            self._codes[kind] = [identity] * len(self)
            return
        names: dict[str, int] = {}
        self._codes[kind] = [
            np.fromiter(
                (names.setdefault(name, len(names)) for name in database.domains[kind]),
                np.int32,
                database.size(kind),
            )
            for database in self.databases
        ]
        self.vocabularies[kind] = Vocabulary(names)

    def size(self, kind: str) -> int:
        """Return the number of constants of a type over all databases: the bound of its codes."""
        return len(self.vocabularies[kind])

    def sizes(self, kind: str) -> Ints:
        """Return the domain size of a type in each database."""
        return np.array([database.size(kind) for database in self.databases], np.int64)

    def ground_atoms(self, types: Iterable[str]) -> list[int]:
        """Return, per database, how many tuples of constants of the given types there are."""
        totals = [1] * len(self)
        for kind in types:
            totals = [t * size for t, size in zip(totals, self.sizes(kind).tolist(), strict=True)]
        return totals

    def code(self, kind: str, name: str) -> int:
        """Return the code of a constant, -1 where no database has it."""
        return self.vocabularies[kind].code(name)

    def members(self, kind: str) -> Relation:
        """Return the constants of a type in each database, as a unary relation."""
        if kind not in self._members:
            counts = [database.size(kind) for database in self.databases]
            numbers = np.repeat(np.arange(len(self), dtype=np.int32), counts)
            codes = np.concatenate([np.sort(codes) for codes in self._codes[kind]])
            self._members[kind] = Relation(numbers, (codes.astype(np.int32),))
        return self._members[kind]

    def relation(self, predicate: Predicate) -> Relation:
        """Return the true facts of a predicate in all databases."""
        found = self._relations.get(predicate.name)
        if found is None:
            found = self._collect(predicate)
            self._relations[predicate.name] = found
        return found

    def scan_size(self, atom: Atom) -> Size[Variable]:
        """Guess how many facts match an atom's constants and repeated variables."""
        rows = float(len(self.relation(atom.predicate)))
        distinct: dict[Variable, float] = {}
        for place, term in enumerate(atom.terms):
            values = float(self._different(atom.predicate, place))
            if isinstance(term, Variable) and term not in distinct:
                distinct[term] = values
            else:
                rows /= max(values, 1.0)
        return Size(rows, {term: min(n, max(rows, 1.0)) for term, n in distinct.items()})

    def _different(self, predicate: Predicate, place: int) -> int:
        """Return how many constants stand at a place of a relation, in all databases together."""
        key = predicate.name, place
        if key not in self._distinct:
            relation = self.relation(predicate)
            size = self.size(predicate.types[place])
            seen = np.zeros((len(self), size), np.bool_)
            seen[relation.database, relation.columns[place]] = True
            self._distinct[key] = int(seen.sum())
        return self._distinct[key]

    def _collect(self, predicate: Predicate) -> Relation:
        facts = [database.facts(predicate.name) for database in self.databases]
        numbers = np.repeat(np.arange(len(self), dtype=np.int32), [f.shape[1] for f in facts])
        columns = tuple(
            np.concatenate(
                [codes[f[place]] for f, codes in zip(facts, self._codes[kind], strict=True)]
            )
            for place, kind in enumerate(predicate.types)
        )
        return self._sorted(predicate, numbers, columns)

    def _sorted(self, predicate: Predicate, numbers: Codes, columns: tuple[Codes, ...]) -> Relation:
        keys = pack((numbers, *columns), self.key_sizes(predicate.types))
        if keys is None:
            order = np.lexsort((*columns[::-1], numbers))
        elif len(keys) < 2 or bool((keys[1:] > keys[:-1]).all()):
            return Relation(numbers, columns)
        else:
            order, _ = sort_keys(keys)
        return Relation(numbers[order], tuple(column[order] for column in columns))

    def key_sizes(self, types: Iterable[str]) -> list[int]:
        """Return the bounds for packed keys: the number of databases, then one per type."""
        return [len(self), *(self.size(kind) for kind in types)]

    def derive(self, predicate: Predicate, numbers: Codes, columns: Sequence[Codes]) -> None:
        """Add a relation that is computed, not stored: distinct rows under a new name."""
        if predicate.name in self.schema or predicate.name in self._relations:
            raise ValueError(f"{predicate.name} exists already")
        self._relations[predicate.name] = self._sorted(predicate, numbers, tuple(columns))

    def derived(self, predicate: Predicate) -> bool:
        """Tell whether a derived relation of that name exists."""
        return predicate.name in self._relations and predicate.name not in self.schema
