"""Several databases side by side: the form the counting engines read.

Every database keeps its own domains; constants are told apart by their names, one vocabulary per
type, and every fact carries the number of its database. A join always matches on that number too,
so facts of different databases never meet, and all databases are counted in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints, pack, sort_keys
from mlnlearn.counting.facts import Facts
from mlnlearn.counting.plan import Size
from mlnlearn.data.database import Database
from mlnlearn.data.placed import FactPlace, PlacedFacts
from mlnlearn.logic.atoms import Atom, Predicate, Variable


@dataclass(frozen=True, slots=True)
class Relation:
    """True facts of one predicate: the database number, then the arguments; sorted, distinct."""

    database: Codes
    columns: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.database)


class Domains(Protocol):
    """Databases as far as their constants and facts go, by number and code."""

    def __len__(self) -> int:
        """Return the number of databases."""
        ...

    def size(self, kind: str) -> int:
        """Return the bound of the codes of a type."""
        ...

    def sizes(self, kind: str) -> Ints:
        """Return the domain size of a type in each database."""
        ...

    def key_sizes(self, types: Iterable[str]) -> list[int]:
        """Return the bounds for packed keys: the number of databases, then one per type."""
        ...

    def members(self, kind: str) -> Relation:
        """Return the constants of a type in each database, in order."""
        ...

    def relation(self, predicate: Predicate) -> Relation:
        """Return the true facts of a predicate in all databases."""
        ...


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
        self.facts = Facts.of(databases)
        self.databases = self.facts.databases
        self.schema = self.facts.schema
        self.vocabularies = {kind: self.facts.values(kind)[0] for kind in self.schema.types}
        self._relations: dict[str, Relation] = {}
        self._members: dict[str, Relation] = {}
        self._distinct: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self.databases)

    def place_of(self, predicate: Predicate) -> FactPlace | None:
        """Return where the facts of a predicate lie, if they are not loaded yet."""
        facts = self.databases[0].true
        if len(self) > 1 or not isinstance(facts, PlacedFacts):
            return None
        loaded = predicate.name in self._relations or predicate.name not in self.schema
        return None if loaded else facts.place

    def fact_count(self, predicate: Predicate) -> int:
        """Return the number of facts of a predicate, in all databases together."""
        place = self.place_of(predicate)
        return len(self.relation(predicate)) if place is None else place.count(predicate.name)

    def size(self, kind: str) -> int:
        """Return the number of constants of a type over all databases: the bound of its codes."""
        return len(self.vocabularies[kind])

    def sizes(self, kind: str) -> Ints:
        """Return the domain size of a type in each database."""
        return np.diff(self.facts.offsets[kind])

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
            owners, (_, codes) = self.facts.owners(kind), self.facts.values(kind)
            order = np.lexsort((codes, owners))
            self._members[kind] = Relation(owners, (codes[order],))
        return self._members[kind]

    def relation(self, predicate: Predicate) -> Relation:
        """Return the true facts of a predicate in all databases."""
        found = self._relations.get(predicate.name)
        if found is None:
            numbers, *objects = self.facts.atoms(predicate)
            codes = [self.facts.values(kind)[1] for kind in predicate.types]
            columns = tuple(code[place] for code, place in zip(codes, objects, strict=True))
            found = self._sorted(predicate, numbers, columns)
            self._relations[predicate.name] = found
        return found

    def scan_size(self, atom: Atom) -> Size[Variable]:
        """Guess how many facts match an atom's constants and repeated variables."""
        rows = float(self.fact_count(atom.predicate))
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
        where = self.place_of(predicate)
        if key not in self._distinct and where is not None:
            self._distinct[key] = where.different(predicate.name, place)
        if key not in self._distinct:
            relation = self.relation(predicate)
            size = self.size(predicate.types[place])
            seen = np.zeros((len(self), size), np.bool_)
            seen[relation.database, relation.columns[place]] = True
            self._distinct[key] = int(seen.sum())
        return self._distinct[key]

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
