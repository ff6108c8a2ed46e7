"""Databases as knowledge graphs, and knowledge graphs as databases."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.data.graph import Codes, Graph, relation_predicates
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import DataWarning, InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema


def graph_of(databases: Database | Sequence[Database]) -> Graph:
    """Return the facts of databases as triples.

    A predicate of two arguments is a relation. One of a single argument becomes a relation to an
    entity of its own name. Those of three or more are left out, with a warning. Entities of
    several databases, and those of one name but several types, are kept apart by what stands before
    their names.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> facts = {"smokes": [("Anna",)], "friends": [("Anna", "Bob")]}
    >>> graph_of(Database.from_facts(schema, facts)).rows()
    [('Anna', 'friends', 'Bob'), ('Anna', 'smokes', 'smokes')]
    """
    given = [databases] if isinstance(databases, Database) else list(databases)
    rows: list[tuple[str, str, str]] = []
    entities: set[str] = set()
    left_out = set()
    for database, shown in zip(given, entity_names(given), strict=True):
        entities.update(name for names in shown.values() for name in names)
        for predicate in database.schema.predicates:
            facts = database.facts(predicate.name).tolist()
            columns = [
                [shown[kind][code] for code in codes]
                for kind, codes in zip(predicate.types, facts, strict=True)
            ]
            if predicate.arity == 1:
                columns.append([predicate.name] * len(columns[0]))
            elif predicate.arity != 2:
                left_out.add(str(predicate))
                continue
            rows += [(one, predicate.name, other) for one, other in zip(*columns, strict=True)]
    if left_out:
        listed = ", ".join(sorted(left_out))
        warnings.warn(f"no triples, and left out: {listed}", DataWarning, stacklevel=2)
    relations = [p.name for p in given[0].schema.predicates if p.arity in (1, 2)] if given else []
    name = given[0].name if len(given) == 1 else ""
    return Graph.of(rows, entities=entities, relations=relations, name=name)


def entity_names(databases: Sequence[Database]) -> list[dict[str, list[str]]]:
    """Return what the constants of each database are called as entities, by type."""
    ambiguous = _ambiguous(databases)
    found = []
    for number, database in enumerate(databases):
        before = f"{database.name or number + 1}: " if len(databases) > 1 else ""
        found.append(
            {
                kind: [
                    f"{before}{kind}:{name}" if name in ambiguous else f"{before}{name}"
                    for name in database.domains[kind]
                ]
                for kind in database.schema.types
            }
        )
    return found


def _ambiguous(databases: Sequence[Database]) -> set[str]:
    """Return names that constants of two types, or a constant and a unary predicate, have."""
    seen: dict[str, str] = {}
    found = set()
    for database in databases:
        for predicate in database.schema.predicates:
            if predicate.arity == 1:
                seen[predicate.name] = ""
        for kind in database.schema.types:
            for name in database.domains[kind]:
                if seen.setdefault(name, kind) != kind:
                    found.add(name)
    return found


def graph_database(
    graph: Graph,
    types: Mapping[str, tuple[str, str]] | None = None,
    name: str = "",
    schema: Schema | None = None,
) -> Database:
    """Return a knowledge graph as a database, with a predicate for each relation.

    Parameters
    ----------
    graph
        The triples.
    types
        The types of heads and tails of relations, by relation; by default those found from which
        entities relations share (see `Graph.types`), called ``entity`` where there is one.
    name
        What to call it; by default the name of the graph.
    schema
        Predicates of a model that is asked about the graph: they give the types of relations that
        they stand for, and those of no relation are there without facts.

    Examples
    --------
    >>> graph = Graph.of([("Anna", "born in", "Prague"), ("Bob", "born in", "Rome")])
    >>> print(graph_database(graph).schema)
    born_in(entity1,entity2)
    """
    predicates = relation_predicates(graph.relations)
    declared = dict(types) if types is not None else _found_types(graph)
    missing = [relation for relation in graph.relations if relation not in declared]
    if missing:
        raise InputError(f"types: those of the relation {missing[0]!r} are not given")
    if schema is not None:
        declared |= _declared_types(predicates, schema)
    own = tuple(Predicate(predicates[one], tuple(declared[one])) for one in graph.relations)
    more = () if schema is None else schema.predicates
    names = set(predicates.values())
    schema = Schema((*own, *(other for other in more if other.name not in names)))
    places: dict[str, list[Codes]] = {kind: [] for kind in schema.types}
    heads, kinds, tails = graph.triples
    for code, relation in enumerate(graph.relations):
        here = kinds == code
        for kind, column in zip(declared[relation], (heads, tails), strict=True):
            places[kind].append(np.unique(column[here]))
    domains, recode = {}, {}
    for kind, parts in places.items():
        members = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int32)
        recode[kind] = np.full(len(graph.entities), -1, np.int32)
        recode[kind][members] = np.arange(len(members))
        domains[kind] = Vocabulary(graph.entities[code] for code in members.tolist())
    true = {}
    for code, relation in enumerate(graph.relations):
        here = kinds == code
        one, other = declared[relation]
        true[predicates[relation]] = np.stack(
            [recode[one][heads[here]], recode[other][tails[here]]]
        )
    return Database.from_codes(schema, domains, true, name=name or graph.name)


def _declared_types(predicates: Mapping[str, str], schema: Schema) -> dict[str, tuple[str, str]]:
    """Return the types of relations that a schema has a predicate for."""
    found = {}
    for relation, predicate in predicates.items():
        if predicate in schema:
            given = schema[predicate]
            if given.arity != 2:
                raise InputError(f"{given}: a relation has two arguments")
            found[relation] = (given.types[0], given.types[1])
    return found


def _found_types(graph: Graph) -> dict[str, tuple[str, str]]:
    kinds = graph.types()
    several = len(np.unique(kinds[kinds >= 0])) > 1
    found = {}
    for code, relation in enumerate(graph.relations):
        rows = np.flatnonzero(graph.triples[1] == code)
        if len(rows):
            one, other = (int(kinds[graph.triples[side][rows[0]]]) for side in (0, 2))
        else:
            one = other = 0
        names = [f"entity{kind + 1}" if several else "entity" for kind in (one, other)]
        found[relation] = (names[0], names[1])
    return found
