"""Where rules and data meet: which constants each type has.

A constant that a rule names belongs to its type, whether or not the data mention it. Every function
that takes a network and databases calls `with_constants_of` first, so that all of them speak of the
same worlds.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from mlnlearn.data.bands import banded_like
from mlnlearn.data.database import Database, constants_by_type
from mlnlearn.errors import DataWarning
from mlnlearn.logic.atoms import Constant
from mlnlearn.logic.constants import constants_of
from mlnlearn.logic.formulas import Rule, atoms_of, variable_types
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN

_SHOWN = 3


def with_constants_of(
    mln: MLN, databases: Iterable[Database], asked: Collection[str] = ()
) -> tuple[Database, ...]:
    """Return the databases with all constants of a network's rules in their domains.

    These are the constants that a rule names; for a variable ``+x`` all of its type, in whichever
    database they are; and those that the network's schema declares for a type that the database's
    own schema leaves open. Numbers of a type that the network declares as bands are cut into them.

    Parameters
    ----------
    mln
        The network.
    databases
        The databases; one that has all constants already is returned as it is.
    asked
        Predicates asked for beside those of the rules.

    Warns
    -----
    DataWarning
        Where a domain grows, and where a type has no constant at all.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... uses(person,tool)
    ... 1.5 uses(x,Hammer)
    ... ''')
    >>> db = Database.from_facts(mln.schema, {"uses": [("Anna", "Saw")]})
    >>> with warnings.catch_warnings(record=True) as said:
    ...     (larger,) = with_constants_of(mln, [db])
    >>> larger.domains["tool"].names
    ('Saw', 'Hammer')
    >>> print(said[0].message)
    the rules name constants of type 'tool' that the database does not mention: Hammer; they \
belong to its domain
    """
    given = banded_like(mln.schema, databases)
    named = _named(mln, given)
    larger = tuple(database.extended(_wanted(mln, database, named)) for database in given)
    _say_growth(given, larger)
    _say_empty(mln, larger, asked)
    return larger


def with_constants(
    named: Iterable[tuple[str, str]], databases: Sequence[Database]
) -> tuple[Database, ...]:
    """Return the databases with some constants, given with their types, in their domains.

    Examples
    --------
    >>> db = Database.from_facts(Schema.of("uses(person,tool)"), {"uses": [("Anna", "Saw")]})
    >>> with_constants([("tool", "Saw")], [db])[0] is db
    True
    """
    wanted: dict[str, list[str]] = {}
    for kind, name in named:
        wanted.setdefault(kind, []).append(name)
    larger = tuple(
        database.extended({kind: each for kind, each in wanted.items() if kind in database.domains})
        for database in databases
    )
    _say_growth(databases, larger)
    return larger


def _named(mln: MLN, databases: Sequence[Database]) -> dict[str, list[str]]:
    """Return the constants that the rules name or stand for, by type."""
    named: dict[str, list[str]] = {}
    for kind, name in sorted({pair for rule in mln.rules for pair in constants_of(rule.formula)}):
        named.setdefault(kind, []).append(name)
    kinds = {kind for rule in mln.rules for kind in _kinds_per_constant(rule)}
    if kinds:
        everywhere = constants_by_type(databases)
        for kind in sorted(kinds):
            named.setdefault(kind, []).extend(everywhere.get(kind, ()))
    return named


def _kinds_per_constant(rule: Rule) -> Iterable[str]:
    if not rule.per_constant:
        return ()
    types = variable_types(rule.formula)
    return (types[variable] for variable in rule.per_constant if variable in types)


def _wanted(
    mln: MLN, database: Database, named: dict[str, list[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the constants that a database should have; types that it does not know are no matter.

    A type that the database's schema declares has no more constants than that schema says, and a
    part of the data may well have fewer: those of its fold.
    """
    wanted = {kind: tuple(names) for kind, names in named.items() if kind in database.domains}
    for kind, names in mln.schema.constants.items():
        if kind in database.domains and kind not in database.schema.declared:
            wanted[kind] = (*names, *wanted.get(kind, ()))
    return wanted


def _say_growth(before: Sequence[Database], after: Sequence[Database]) -> None:
    grown: dict[str, dict[str, None]] = {}
    where: dict[str, list[str]] = {}
    for old, new in zip(before, after, strict=True):
        for kind, vocabulary in new.domains.items():
            added = [vocabulary[code] for code in range(old.size(kind), len(vocabulary))]
            if added:
                grown.setdefault(kind, {}).update(dict.fromkeys(added))
                where.setdefault(kind, []).append(old.name or "the database")
    for kind, names in grown.items():
        shown = ", ".join(str(Constant(name)) for name in list(names)[:_SHOWN])
        rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        places = where[kind]
        place = places[0] if len(places) == 1 else f"{len(places)} of {len(after)} databases"
        warnings.warn(
            f"the rules name constants of type {kind!r} that {place} "
            f"{'does' if len(places) == 1 else 'do'} not mention: {shown}{rest}; they belong to "
            "its domain",
            DataWarning,
            stacklevel=4,
        )


def _say_empty(mln: MLN, databases: Sequence[Database], asked: Collection[str]) -> None:
    used = {atom.predicate.name: None for rule in mln.rules for atom in atoms_of(rule.formula)}
    for name in dict.fromkeys([*asked, *used]):
        for kind in mln.schema[name].types if name in mln.schema else ():
            sizes = [database.size(kind) for database in databases if kind in database.domains]
            if sizes and not any(sizes):
                warnings.warn(
                    f"type {kind!r} has no constants, in the data or in the rules, so {name} has "
                    f"no atoms; declare them: {kind} = {{A, B, ...}}",
                    DataWarning,
                    stacklevel=4,
                )


def carrying_domains(mln: MLN, databases: Sequence[Database]) -> MLN:
    """Return a learned network that lists the constants that data to come may not mention.

    An unlabelled file says nothing of the values that are to be predicted. A type is listed with
    all constants of the training data if rules name some of them or a ``!`` marks its place, and
    if no other facts could bring them: all its places are marked, or are in one predicate. Where
    the rules name every constant, there is nothing to list.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... topic(page,subject!)
    ... 0.5 topic(p,Sports)
    ... ''')
    >>> facts = {"topic": [("P1", "Sports"), ("P2", "Politics")]}
    >>> print(carrying_domains(mln, [Database.from_facts(mln.schema, facts)]))
    subject = {Sports, Politics, ...}
    topic(page,subject!)
    <BLANKLINE>
    0.5 topic(p,Sports)
    """
    named: dict[str, set[str]] = {}
    for rule in mln.rules:
        for kind, name in constants_of(rule.formula):
            named.setdefault(kind, set()).add(name)
    listed = dict(mln.schema.listed)
    for kind, names in constants_by_type(databases).items():
        known = named.get(kind, set())
        if kind in mln.schema.declared or not _is_scarce(mln.schema, kind, bool(known)):
            continue
        if not known >= set(names):
            listed[kind] = tuple(names)
    return replace(mln, schema=replace(mln.schema, listed=listed))


def _is_scarce(schema: Schema, kind: str, named: bool) -> bool:
    """Tell whether a type's constants may be missing from data in which they matter."""
    users, marks = set(), []
    for predicate in schema.predicates:
        for place, other in enumerate(predicate.types):
            if other == kind:
                users.add(predicate.name)
                marks.append(place in schema.functional.get(predicate.name, ()))
    return (named or any(marks)) and (all(marks) or len(users) == 1)
