"""What is in the data: sizes, and the regularities that a modeller wants to know first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from mlnlearn.data.common import common_schema
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.sampling import pack
from mlnlearn.logic.atoms import Predicate

_SHOWN = 3


@dataclass(frozen=True)
class DatabaseProfile:
    """The sizes of one database.

    Attributes
    ----------
    name
        The database's name.
    true_atoms
        True atoms over all predicates.
    constants
        Constants of each type.
    ground_atoms
        Possible atoms: over all predicates, the product of the sizes of the argument types.
    predicates
        True atoms of each predicate.
    """

    name: str
    true_atoms: int
    constants: Mapping[str, int]
    ground_atoms: int
    predicates: Mapping[str, int]


@dataclass(frozen=True)
class Functional:
    """An argument place with one value for each choice of the other arguments.

    Examples
    --------
    >>> print(Functional(Predicate("inPhase", ("person", "phase")), 1))
    inPhase(person,phase!)
    """

    predicate: Predicate
    place: int

    def __str__(self) -> str:
        kinds = [k + "!" if i == self.place else k for i, k in enumerate(self.predicate.types)]
        return f"{self.predicate.name}({','.join(kinds)})"


@dataclass(frozen=True)
class Profile:
    """Sizes of each database, and the regularities that hold in all of them.

    A predicate without true atoms shows no regularity, since it would have every one; a relation
    that holds only between things and themselves is listed as that and nothing else.

    Attributes
    ----------
    databases
        The sizes, in the order given.
    exactly_one, at_most_one
        Argument places with exactly one value, or with one or none, for each choice of the others.
    symmetric
        Relations of a type with itself that hold both ways wherever they hold.
    reflexive, irreflexive
        Relations that hold between each thing and itself; between no thing and itself.
    identity
        Relations that hold only between a thing and itself.
    warnings
        What is probably not meant so.
    """

    databases: tuple[DatabaseProfile, ...]
    exactly_one: tuple[Functional, ...]
    at_most_one: tuple[Functional, ...]
    symmetric: tuple[str, ...]
    reflexive: tuple[str, ...]
    irreflexive: tuple[str, ...]
    identity: tuple[str, ...]
    warnings: tuple[str, ...]


def profile(databases: Sequence[Database]) -> Profile:
    """Measure databases of one schema.

    Parameters
    ----------
    databases
        The databases, all of one schema.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "sex(person,value)", "rich(person)")
    >>> facts = {"friends": [("Ann", "Bob"), ("Bob", "Ann"), ("Bob", "Cat"), ("Cat", "Bob")],
    ...          "sex": [("Ann", "F"), ("Bob", "M"), ("Cat", "F")]}
    >>> found = profile([Database.from_facts(schema, facts)])
    >>> found.databases[0].ground_atoms, found.symmetric, found.irreflexive
    (18, ('friends',), ('friends',))
    >>> [str(place) for place in found.exactly_one]
    ['sex(person,value!)']
    >>> found.warnings
    ('rich has no true atom',)
    """
    schema = common_schema(databases)
    present = [p for p in schema.predicates if any(db.count(p.name) for db in databases)]
    identity = _holding(_is_identity, present, databases)
    rest = [predicate for predicate in present if predicate.name not in identity]
    exact, partial = _functional(databases, rest)
    return Profile(
        tuple(map(_sizes, databases)),
        exact,
        partial,
        _holding(_is_symmetric, rest, databases),
        _holding(_is_reflexive, rest, databases),
        _holding(_is_irreflexive, rest, databases),
        identity,
        tuple(_warnings(databases)),
    )


def _sizes(database: Database) -> DatabaseProfile:
    names = [predicate.name for predicate in database.schema.predicates]
    return DatabaseProfile(
        database.name,
        database.true_atoms,
        {kind: database.size(kind) for kind in database.schema.types},
        sum(database.ground_atoms(name) for name in names),
        {name: database.count(name) for name in names},
    )


def _holding(
    test: Callable[[Columns, int], bool],
    predicates: Iterable[Predicate],
    databases: Sequence[Database],
) -> tuple[str, ...]:
    """Return the relations of a type with itself that pass a test in every database."""
    return tuple(
        predicate.name
        for predicate in predicates
        if len(predicate.types) == 2 and len(set(predicate.types)) == 1
        if all(test(db.facts(predicate.name), db.size(predicate.types[0])) for db in databases)
    )


def _is_identity(facts: Columns, _: int) -> bool:
    return bool((facts[0] == facts[1]).all())


def _is_reflexive(facts: Columns, size: int) -> bool:
    return int(np.count_nonzero(facts[0] == facts[1])) == size


def _is_irreflexive(facts: Columns, _: int) -> bool:
    return not bool((facts[0] == facts[1]).any())


def _is_symmetric(facts: Columns, size: int) -> bool:
    # Facts are sorted, so that the reversed ones need sorting only.
    reverse = np.sort(pack(facts[::-1], [size, size]))
    return bool(np.array_equal(pack(facts, [size, size]), reverse))


def _functional(
    databases: Sequence[Database], predicates: Iterable[Predicate]
) -> tuple[tuple[Functional, ...], tuple[Functional, ...]]:
    exact: list[Functional] = []
    partial: list[Functional] = []
    for predicate in predicates:
        for place in range(predicate.arity) if predicate.arity > 1 else ():
            found = [_cases(database, predicate, place) for database in databases]
            if not all(single for single, _, _ in found):
                continue
            filled = all(facts == cases for _, facts, cases in found)
            (exact if filled else partial).append(Functional(predicate, place))
    return tuple(exact), tuple(partial)


def _cases(database: Database, predicate: Predicate, place: int) -> tuple[bool, int, int]:
    """Tell whether no choice of the other arguments has two values; count facts and choices."""
    facts = database.facts(predicate.name)
    others = [i for i in range(predicate.arity) if i != place]
    sizes = [database.size(predicate.types[i]) for i in others]
    cases, count = math.prod(sizes), facts.shape[1]
    if count > cases:
        return False, count, cases
    keys = np.sort(pack(facts[others], sizes))
    return not bool((keys[1:] == keys[:-1]).any()), count, cases


def _warnings(databases: Sequence[Database]) -> Iterable[str]:
    schema, total = databases[0].schema, len(databases)
    for kind in schema.types:
        empty = sum(not database.size(kind) for database in databases)
        if empty:
            yield f"type {kind} has no constant{_share(empty, total)}"
    for predicate in schema.predicates:
        name = predicate.name
        counts = [(database.count(name), database.ground_atoms(name)) for database in databases]
        empty = sum(not true for true, _ in counts)
        if empty:
            yield f"{name} has no true atom{_share(empty, total)}"
        elif all(true == atoms for true, atoms in counts):
            yield f"{name} is true of everything"
        cells = sum(database.empty_cells(name).shape[1] for database in databases)
        listed = (replace(database, cells={}) for database in databases)
        unknown = sum(database.unknown_facts(name).shape[1] for database in listed)
        for count, what in ((cells, "empty cell"), (unknown, "unknown atom")):
            if count:
                yield f"{name} has {count:,} {what}{'s' if count > 1 else ''}"
    yield from _shared_names(databases)


def _share(part: int, total: int) -> str:
    return "" if part == total else f" in {part} of {total} databases"


def _shared_names(databases: Sequence[Database]) -> Iterable[str]:
    """Find things that stand under two types, as one thing should not; numbers may."""
    for one, other in combinations(databases[0].schema.types, 2):
        shared: set[str] = set()
        for database in databases:
            few, many = sorted((database.domains[one], database.domains[other]), key=len)
            shared.update(name for name in few if name in many and not _is_number(name))
        if shared:
            some = ", ".join(sorted(shared)[:_SHOWN]) + (", …" if len(shared) > _SHOWN else "")
            s = "s" if len(shared) > 1 else ""
            yield f"types {one} and {other} share {len(shared):,} constant{s}: {some}"


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
