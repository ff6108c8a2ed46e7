"""Worlds: which ground atoms are known, and which discrete variables the others form.

Predicates in the evidence are closed: what is not listed is false, unless it is listed as unknown.
The others, and the predicates of the query, are open: what is not listed is unknown. Where a
predicate has exactly one value (``!``) for each choice of its other arguments, the unknown atoms of
such a block are the values of one variable, and a known value decides the whole block.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlnlearn.counting.arrays import bounds_of, pack, unpack
from mlnlearn.counting.blocks import Blocks
from mlnlearn.data.database import Columns, Database
from mlnlearn.errors import InputError, MemoryLimitError, collected, raise_all
from mlnlearn.infer.network import Codes, GroundAtoms, Ints
from mlnlearn.logic.atoms import Atom, Constant, Predicate

_MOST_ATOMS = 1 << 27
_KEY_LIMIT = 1 << 62


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of the atoms of one predicate: true and unknown ones; the others are false.

    Atoms are written as packed keys, sorted.

    Attributes
    ----------
    size
        Number of ground atoms.
    sizes
        Domain size of each argument.
    true, unknown
        Keys of the atoms known to be true, and of the unknown ones.
    variable, value
        The variable of each unknown atom, and the value of it that stands for the atom.
    forced
        Keys of the true atoms that no evidence lists: the only value that is left in their block.
    """

    predicate: Predicate
    size: int
    sizes: tuple[int, ...]
    true: Ints
    unknown: Ints
    variable: Codes
    value: Codes
    forced: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def free(self) -> bool:
        """Whether all atoms are unknown."""
        return len(self.unknown) == self.size

    @property
    def sparse(self) -> bool:
        """Whether most atoms are false, so that listing the others is the shorter way."""
        return 2 * (len(self.true) + len(self.unknown)) <= self.size

    def columns(self, keys: Ints) -> list[Codes]:
        """Return the argument codes of keys."""
        return unpack(keys, (1, *self.sizes))[1:] if self.sizes else []


@dataclass(frozen=True, eq=False)
class World:
    """The unknown atoms of a database as discrete variables.

    Attributes
    ----------
    known
        Predicates that are open or have unknown atoms; all others are as in the data.
    cardinalities
        Number of values of each variable.
    """

    database: Database
    known: dict[str, Knowledge]
    cardinalities: Codes

    @property
    def atoms(self) -> tuple[GroundAtoms, ...]:
        """The unknown atoms, by predicate."""
        return tuple(
            GroundAtoms(
                found.predicate,
                np.array(found.columns(found.unknown), np.int32).reshape(
                    found.predicate.arity, len(found.unknown)
                ),
                found.variable,
                found.value,
            )
            for found in self.known.values()
            if len(found.unknown)
        )

    @property
    def forced(self) -> dict[str, Codes]:
        """The columns of the forced atoms, by the names of predicates that have some."""
        return {
            name: np.stack(found.columns(found.forced)).astype(np.int32)
            for name, found in self.known.items()
            if len(found.forced)
        }

    def name(self, variable: int) -> str:
        """Return one of the atoms that a variable stands for, as text."""
        for atoms in self.atoms:
            found = np.flatnonzero(atoms.variable == variable)
            if len(found):
                name = atoms.predicate.name
                row = next(self.database.decode(name, atoms.columns[:, found[:1]]))
                return str(Atom(atoms.predicate, tuple(map(Constant, row))))
        raise KeyError(variable)

    @property
    def starts(self) -> Ints:
        """Where the values of each variable start, if the values of all are numbered in one row."""
        return bounds_of(self.cardinalities)


def open_predicates(
    database: Database,
    query: Collection[str] = (),
    *,
    open: Collection[str] = (),
    closed: Collection[str] = (),
    query_evidence: bool = False,
) -> frozenset[str]:
    """Return the predicates of which an atom that is not listed is unknown rather than false.

    Parameters
    ----------
    database
        The evidence. Predicates that it lists atoms of are closed, the others open.
    query
        Predicates asked for: open.
    open, closed
        Predicates for which the user says so; of a closed query predicate, only the atoms listed as
        unknown are asked for.
    query_evidence
        Only the atoms of query predicates that are listed as unknown are asked for; those that are
        not listed are false.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "friends(person,person)", "cancer(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)], "friends": [("Anna", "Bob")]})
    >>> sorted(open_predicates(db, ["smokes"]))
    ['cancer', 'smokes']
    >>> sorted(open_predicates(db, ["smokes"], closed=["cancer"]))
    ['smokes']
    """
    problems = [
        InputError(f"{name} is declared both open and closed") for name in set(open) & set(closed)
    ]
    for name in dict.fromkeys([*query, *open, *closed]):
        if name not in database.schema:
            known = ", ".join(p.name for p in database.schema.predicates)
            problems.append(InputError(f"no such predicate {name!r}; declared are: {known}"))
    if query_evidence and not any(
        database.unknown_facts(name).shape[1] for name in query if not problems
    ):
        problems.append(
            InputError(
                "no atom of a query predicate is listed as unknown",
                hint="list the atoms to ask for as ?P(A), or ask for all that are not evidence",
            )
        )
    raise_all(problems)
    closed = {*closed, *(query if query_evidence else ())} - set(open)
    asked = {*query, *open, *database.open}
    return frozenset(
        predicate.name
        for predicate in database.schema.predicates
        if predicate.name not in closed
        and (
            predicate.name in asked
            or not (predicate.name in database.schema.closed or _listed(database, predicate.name))
        )
    )


def _listed(database: Database, name: str) -> bool:
    tables = (database.facts(name), database.false_facts(name), database.unknown_facts(name))
    return any(table.shape[1] for table in tables)


def world_of(database: Database, predicates: Iterable[str], opened: Collection[str]) -> World:
    """Find the unknown atoms of some predicates and number the variables they form.

    Parameters
    ----------
    database
        The evidence.
    predicates
        Predicates that matter: those of the model and the query.
    opened
        Predicates of which atoms that are not listed are unknown.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "phase(person,step!)")
    >>> db = Database.from_facts(
    ...     schema,
    ...     {"smokes": [("Anna",)], "phase": [("Anna", "One")]},
    ...     domains={"person": ["Anna", "Bob"], "step": ["One", "Two", "Three"]},
    ... )
    >>> world = world_of(db, ["smokes", "phase"], ["smokes", "phase"])
    >>> world.cardinalities.tolist(), world.known["phase"].value.tolist()
    ([2, 3], [0, 1, 2])
    """
    wanted = set(predicates)
    known: dict[str, Knowledge] = {}
    cardinalities = [np.empty(0, np.int32)]
    problems: list[InputError] = []
    first = 0
    for predicate in database.schema.predicates:
        name = predicate.name
        if name not in wanted:
            continue
        if name not in opened and not database.unknown_facts(name).shape[1]:
            continue
        with collected(problems):
            known[name], own = _knowledge(database, predicate, name in opened, first)
            cardinalities.append(own)
            first += len(own)
    raise_all(problems)
    return World(database, known, np.concatenate(cardinalities))


def _knowledge(
    database: Database, predicate: Predicate, is_open: bool, first: int
) -> tuple[Knowledge, Codes]:
    """Return what is known of a predicate, and the cardinalities of its variables."""
    name = predicate.name
    sizes = tuple(database.size(kind) for kind in predicate.types)
    size = math.prod(sizes)
    if size >= (_MOST_ATOMS if is_open else _KEY_LIMIT):
        raise MemoryLimitError(
            f"{name} has {size} ground atoms, too many to be unknown",
            hint="declare it closed and list the atoms that are unknown",
        )
    true = _keys(database.facts(name), sizes)
    if is_open:
        unknown = np.ones(size, np.bool_)
        unknown[true] = False
        unknown[_keys(database.false_facts(name), sizes)] = False
        candidates = np.flatnonzero(unknown)
    else:
        candidates = _keys(database.unknown_facts(name), sizes)
    marked = database.schema.exclusive(name)
    if not marked:
        variable = np.arange(first, first + len(candidates), dtype=np.int32)
        ones = np.ones(len(candidates), np.int32)
        return Knowledge(predicate, size, sizes, true, candidates, variable, ones), ones * 2
    blocks = Blocks(predicate, sizes, marked, database)
    if is_open:
        blocks.refuse_empty(np.concatenate([true, candidates]))
    listed = true
    true, candidates = blocks.resolved(true, candidates)
    forced = np.setdiff1d(true, listed, assume_unique=True)
    number, value, cardinalities = blocks.numbered(candidates)
    variable = (number + first).astype(np.int32)
    found = Knowledge(predicate, size, sizes, true, candidates, variable, value, forced)
    return found, cardinalities


def _keys(facts: Columns, sizes: Sequence[int]) -> Ints:
    zeros = np.zeros(facts.shape[1], np.int64)
    keys = pack([zeros, *facts], [1, *sizes])
    assert keys is not None
    return keys
