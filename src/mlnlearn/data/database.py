"""A relational database as integer columns: one vocabulary per type, one array per predicate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.placed import PlacedFacts
from mlnlearn.data.sampling import MOST_KEYS, keys_of, unpack
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, InputErrors, MemoryLimitError, raise_all
from mlnlearn.logic.atoms import Constant
from mlnlearn.logic.schema import Schema
from mlnlearn.notebook import Shown, ShownTable

Columns = NDArray[np.int32]
Facts = Mapping[str, Columns]

MOST_UNKNOWN = 20_000_000
"""More unknown atoms than this for one predicate's empty cells are refused."""


@dataclass(frozen=True, eq=False, repr=False)
class Database(Shown):
    """Facts over one domain per type. Immutable.

    Attributes
    ----------
    schema
        Types and predicates.
    domains
        The constants of each type; every type of the schema has one (possibly empty).
    true, false, unknown
        Per predicate, an ``int32`` array of shape ``(arity, facts)`` of constant codes, sorted and
        without repeats. Predicates without such facts may be missing from the mapping. Under the
        closed world, every atom that is neither true nor unknown is false; explicitly false atoms
        matter for open predicates.
    open
        Predicates for which an atom that is not listed is unknown rather than false.
    name
        Where the data came from, for messages.
    cells
        Per predicate, the empty cells of tables: an array of shape ``(arity - 1, cells)`` of those
        that the last argument is not known of. Every atom of such a cell is unknown, unless it is
        listed as true or false; none is listed here, since they are as many as there are values.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)], "friends": [("Anna", "Bob")]})
    >>> db.size("person"), db.count("friends"), db.ground_atoms("friends"), db.true_atoms
    (2, 1, 4, 2)
    """

    schema: Schema
    domains: Mapping[str, Vocabulary]
    true: Facts
    false: Facts = field(default_factory=dict)
    unknown: Facts = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    name: str = ""
    cells: Facts = field(default_factory=dict)

    @classmethod
    def from_facts(
        cls,
        schema: Schema,
        true: Mapping[str, Iterable[Sequence[str]]],
        *,
        false: Mapping[str, Iterable[Sequence[str]]] | None = None,
        unknown: Mapping[str, Iterable[Sequence[str]]] | None = None,
        domains: Mapping[str, Iterable[str]] | None = None,
        open: Iterable[str] = (),
        name: str = "",
    ) -> Database:
        """Build a database from constant names.

        Domains are the declared constants of a type, else those given in `domains` followed by
        those found in the facts.
        """
        coder = _Coder(schema, domains or {})
        parts = [coder.encode(facts or {}) for facts in (true, false, unknown)]
        if coder.problems:
            raise InputErrors(coder.problems)
        return cls.from_codes(schema, coder.vocabularies(), *parts, open=frozenset(open), name=name)

    @classmethod
    def from_codes(
        cls,
        schema: Schema,
        domains: Mapping[str, Vocabulary],
        true: Mapping[str, NDArray[np.integer]],
        false: Mapping[str, NDArray[np.integer]] | None = None,
        unknown: Mapping[str, NDArray[np.integer]] | None = None,
        *,
        open: frozenset[str] = frozenset(),
        name: str = "",
        cells: Mapping[str, NDArray[np.integer]] | None = None,
    ) -> Database:
        """Build a database from ``(arity, facts)`` code arrays, in any order, repeats allowed.

        An atom that is listed under two truth values is an error.
        """
        for predicate in open:
            schema[predicate]
        complete = {kind: domains.get(kind, Vocabulary(())) for kind in schema.types}
        sizes = {kind: len(vocabulary) for kind, vocabulary in complete.items()}

        def tidy(facts: Mapping[str, NDArray[np.integer]] | None, missing: int = 0) -> Facts:
            """Sort the facts; of each, the given number of last arguments is missing."""
            found = {}
            for predicate, codes in (facts or {}).items():
                types = schema[predicate].types
                radices = [sizes[kind] for kind in types[: len(types) - missing]]
                found[predicate] = _sorted_unique(codes, radices)
            return found

        parts = (tidy(true), tidy(false), tidy(unknown))
        database = cls(schema, complete, *parts, open, name, tidy(cells, missing=1))
        database._refuse_contradictions()
        return database

    def _refuse_contradictions(self) -> None:
        pairs = [("true", "false"), ("true", "unknown"), ("false", "unknown")]
        problems = []
        for first, second in pairs:
            for name, codes in getattr(self, first).items():
                other = getattr(self, second).get(name)
                if other is None or not codes.shape[1] or not other.shape[1]:
                    continue
                both = np.concatenate([codes, other], axis=1)
                radices = [self.size(kind) for kind in self.schema[name].types]
                merged = _sorted_unique(both, radices)
                if merged.shape[1] < both.shape[1]:
                    problems.append(InputError(f"an atom of {name} is both {first} and {second}"))
        raise_all(problems)

    def size(self, kind: str) -> int:
        """Return the number of constants of a type."""
        return len(self.domains[kind])

    def facts(self, name: str) -> Columns:
        """Return the true facts of a predicate, shape ``(arity, facts)``."""
        return self._table(self.true, name)

    def false_facts(self, name: str) -> Columns:
        """Return the explicitly false atoms of a predicate."""
        return self._table(self.false, name)

    def unknown_facts(self, name: str) -> Columns:
        """Return the atoms of a predicate listed as unknown, and those of its empty cells.

        Examples
        --------
        >>> schema = Schema.of("town(person,place!)")
        >>> db = Database.from_facts(schema, {"town": [("Anna", "Oslo"), ("Carl", "Bonn")]})
        >>> db = replace(db, cells={"town": np.array([[1]], np.int32)})
        >>> list(db.decode("town", db.unknown_facts("town")))
        [('Carl', 'Oslo')]
        """
        if not self.empty_cells(name).shape[1]:
            return self._table(self.unknown, name)
        if name not in self._expanded:
            self._expanded[name] = self._with_cells(name)
        return self._expanded[name]

    def empty_cells(self, name: str) -> Columns:
        """Return the keys of a predicate's empty cells: see `cells`."""
        arity = self.schema[name].arity
        return self.cells.get(name, np.empty((max(arity - 1, 0), 0), np.int32))

    @cached_property
    def _expanded(self) -> dict[str, Columns]:
        """The unknown atoms of predicates with empty cells, as far as someone asked for them."""
        return {}

    def _with_cells(self, name: str) -> Columns:
        keys, sizes = self.empty_cells(name), [self.size(k) for k in self.schema[name].types]
        count, values = keys.shape[1], sizes[-1]
        if count * values > MOST_UNKNOWN:
            raise MemoryLimitError(
                f"{name}: {count:,} empty cells times {values:,} constants of "
                f"{self.schema[name].types[-1]!r} are more unknown atoms than {MOST_UNKNOWN:,}",
                hint="cut the numbers into bands (cuts or bins in the mapping), or set null = "
                '"absent" if an empty cell means that there is none',
            )
        places = np.tile(np.arange(values, dtype=np.int32), count)
        atoms = np.vstack([np.repeat(keys, values, axis=1), places])
        listed = self._table(self.unknown, name)
        every = _sorted_unique(np.concatenate([listed, atoms], axis=1), sizes)
        known = np.concatenate([self.facts(name), self.false_facts(name)], axis=1)
        return every[:, ~are_among(every, known, sizes)] if known.shape[1] else every

    def _table(self, tables: Facts, name: str) -> Columns:
        arity = self.schema[name].arity
        return tables.get(name, np.empty((arity, 0), np.int32))

    def count(self, name: str) -> int:
        """Return the number of true atoms of a predicate."""
        if isinstance(self.true, PlacedFacts):
            return self.true.place.count(self.schema[name].name)
        return int(self.facts(name).shape[1])

    def ground_atoms(self, name: str) -> int:
        """Return the number of possible atoms of a predicate."""
        return math.prod(self.size(kind) for kind in self.schema[name].types)

    @property
    def true_atoms(self) -> int:
        """Number of true atoms over all predicates."""
        return sum(self.count(predicate.name) for predicate in self.schema.predicates)

    @property
    def has_unknown(self) -> bool:
        """Whether some atoms are listed as unknown, or some predicates are open.

        Examples
        --------
        >>> schema = Schema.of("Rain")
        >>> Database.from_facts(schema, {}, unknown={"Rain": [()]}).has_unknown
        True
        """
        return bool(self.incomplete)

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Predicates with unknown atoms, be they listed or the unlisted ones of open predicates."""
        # an array of atoms without arguments has the shape (0, n): its size is 0, its length too
        return tuple(
            predicate.name
            for predicate in self.schema.predicates
            if predicate.name in self.open
            or self.empty_cells(predicate.name).shape[1]
            or self._table(self.unknown, predicate.name).shape[1]
        )

    def rows(self, name: str) -> Iterator[tuple[str, ...]]:
        """Yield the true facts of a predicate as tuples of constant names."""
        return self.decode(name, self.facts(name))

    def decode(self, name: str, codes: NDArray[np.integer]) -> Iterator[tuple[str, ...]]:
        """Yield ``(arity, n)`` codes of a predicate as tuples of constant names."""
        names = [self.domains[kind].names for kind in self.schema[name].types]
        for row in codes.T.tolist():
            yield tuple(vocabulary[code] for vocabulary, code in zip(names, row, strict=True))

    def restricted(self, names: Iterable[str]) -> Database:
        """Return the database with only the named predicates (domains stay as they are)."""
        schema = self.schema.restricted(names)

        def keep(tables: Facts) -> Facts:
            return {name: codes for name, codes in tables.items() if name in schema}

        return Database(
            schema,
            {kind: self.domains[kind] for kind in schema.types},
            keep(self.true),
            keep(self.false),
            keep(self.unknown),
            frozenset(name for name in self.open if name in schema),
            self.name,
            keep(self.cells),
        )

    def extended(self, constants: Mapping[str, Iterable[str]]) -> Database:
        """Return the database with domains that hold the given constants, too.

        New constants come after the others, so that all codes stay as they are (and those of
        numbers are no ranks any more); a database that has them all is returned as it is.
        """
        larger = {}
        for kind, names in constants.items():
            known = self.domains[kind]
            new = [name for name in dict.fromkeys(names) if name not in known]
            allowed = self.schema.declared.get(kind, new)
            foreign = [str(Constant(name)) for name in new if name not in allowed]
            if foreign:
                raise InputError(
                    f"{', '.join(foreign)}: not in the closed type {kind!r} of "
                    f"{self.name or 'the database'}",
                    hint="add it where the type is declared, or correct its spelling",
                )
            if new:
                larger[kind] = known.plus(new)
        return replace(self, domains={**self.domains, **larger}) if larger else self

    def closed(self) -> Database:
        """Return the database with every unknown atom taken as false."""
        return replace(self, unknown={}, open=frozenset(), cells={})

    def without_facts(self, names: Iterable[str]) -> Database:
        """Return the database with all truth values of the named predicates forgotten."""
        drop = set(names)
        for name in drop:
            self.schema[name]

        def keep(tables: Facts) -> Facts:
            return {name: codes for name, codes in tables.items() if name not in drop}

        return replace(
            self,
            true=keep(self.true),
            false=keep(self.false),
            unknown=keep(self.unknown),
            cells=keep(self.cells),
        )

    def summary(self) -> str:
        """Say how large it is."""
        return str(self)

    def table(self) -> ShownTable:
        """Return the predicates, with how many of their atoms are true."""
        rows = [
            (
                self.schema.declaration(predicate.name),
                f"{self.count(predicate.name):,}",
                f"{self.ground_atoms(predicate.name):,}",
            )
            for predicate in self.schema.predicates
        ]
        return ("predicate", "true atoms", "of"), rows

    def __str__(self) -> str:
        kinds = ", ".join(f"{self.size(kind)} {kind}" for kind in self.schema.types)
        label = self.name or "database"
        return f"{label}: {self.true_atoms} true atoms over {kinds}"


def asked_database(given: object) -> Database:
    """Return what is asked about; refuse what is no database, such as the path of one.

    Examples
    --------
    >>> asked_database("people.db")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: a Database is asked about, not a str
      hint: read it: ml.read_db(path, schema=...); of tables, ask ml.ScoredModel.load(model)
    """
    if isinstance(given, Database):
        return given
    raise InputError(
        f"a Database is asked about, not a {type(given).__name__}",
        hint="read it: ml.read_db(path, schema=...); of tables, ask ml.ScoredModel.load(model)",
    )


def constants_by_type(databases: Iterable[Database]) -> dict[str, Sequence[str]]:
    """Return the constants of each type in all databases together, in order of first mention.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)")
    >>> parts = [Database.from_facts(schema, {"smokes": [(name,)]}) for name in ("Anna", "Bob")]
    >>> constants_by_type(parts)
    {'person': ('Anna', 'Bob')}
    """
    found: dict[str, list[Sequence[str]]] = {}
    for database in databases:
        for kind, vocabulary in database.domains.items():
            found.setdefault(kind, []).append(vocabulary.names)
    return {
        kind: names[0] if len(names) == 1 else tuple(dict.fromkeys(chain.from_iterable(names)))
        for kind, names in found.items()
    }


def _sorted_unique(codes: NDArray[np.integer], sizes: Sequence[int]) -> Columns:
    """Sort facts lexicographically by column and drop repeats."""
    columns = np.asarray(codes)
    if columns.ndim != 2 or columns.shape[0] != len(sizes):
        raise ValueError(f"facts must have shape ({len(sizes)}, n), not {columns.shape}")
    if columns.shape[1]:
        if not sizes:
            return np.empty((0, 1), np.int32)
        lowest, highest = columns.min(axis=1), columns.max(axis=1)
        if (lowest < 0).any() or (highest >= np.asarray(sizes)).any():
            raise ValueError("a code lies outside its domain")
    if columns.shape[1] < 2:
        return np.ascontiguousarray(columns, np.int32)
    if math.prod(max(size, 1) for size in sizes) < MOST_KEYS:
        keys = keys_of(columns, sizes)
        if bool((keys[1:] > keys[:-1]).all()):
            return np.ascontiguousarray(columns, np.int32)
        # Sorting and comparing neighbours is several times faster than np.unique, which hashes.
        keys.sort()
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
        return unpack(keys, sizes)
    return np.ascontiguousarray(np.unique(columns, axis=1), np.int32)


def are_among(atoms: Columns, others: Columns, sizes: Sequence[int]) -> NDArray[np.bool_]:
    """Tell for each atom of a predicate whether it is one of some others."""
    if math.prod(max(size, 1) for size in sizes) < MOST_KEYS:
        return np.isin(keys_of(atoms, sizes), keys_of(others, sizes))
    both = np.concatenate([others, atoms], axis=1)
    _, ids = np.unique(both, axis=1, return_inverse=True)
    return np.isin(ids[others.shape[1] :], ids[: others.shape[1]])


class _Coder:
    """Turns names into codes, growing open domains and collecting every problem on the way."""

    def __init__(self, schema: Schema, domains: Mapping[str, Iterable[str]]) -> None:
        self.schema = schema
        self.problems: list[InputError] = []
        self.codes: dict[str, dict[str, int]] = {kind: {} for kind in schema.types}
        for kind, constants in schema.constants.items():
            self.codes[kind] = {name: code for code, name in enumerate(dict.fromkeys(constants))}
        for kind, names in domains.items():
            if kind not in self.codes:
                self.problems.append(InputError(f"no such type {kind!r}"))
                continue
            for name in names:
                self.code(kind, name)

    def code(self, kind: str, name: str) -> int:
        known = self.codes[kind]
        code = known.get(name)
        if code is not None:
            return code
        if kind in self.schema.declared:
            self.problems.append(
                InputError(f"constant {Constant(name)} is not in the closed type {kind!r}")
            )
            return 0
        known[name] = len(known)
        return known[name]

    def encode(self, facts: Mapping[str, Iterable[Sequence[str]]]) -> dict[str, Columns]:
        tables = {}
        for name, rows in facts.items():
            if name not in self.schema:
                self.problems.append(InputError(f"no such predicate {name!r}"))
                continue
            types = self.schema[name].types
            coded = []
            for row in rows:
                if len(row) != len(types):
                    self.problems.append(
                        InputError(f"{name} takes {len(types)} arguments, not {len(row)}: {row}")
                    )
                    continue
                coded.append([self.code(kind, item) for kind, item in zip(types, row, strict=True)])
            table = np.asarray(coded, np.int32).reshape(len(coded), len(types)).T
            tables[name] = np.ascontiguousarray(table)
        return tables

    def vocabularies(self) -> dict[str, Vocabulary]:
        return {kind: Vocabulary(known) for kind, known in self.codes.items()}
