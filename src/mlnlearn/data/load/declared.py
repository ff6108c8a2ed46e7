"""From declarations to a mapping: facts read as the tables that they could have come from."""

from __future__ import annotations

from mlnlearn.data.load.mapping import ColumnMapping, Mapping, TableMapping
from mlnlearn.data.load.names import unused
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema


def declared_mapping(schema: Schema) -> Mapping:
    """Return the tables whose rows the facts of a schema could be, for learners from tables.

    A predicate ``p(entity,value!)`` is a column of the entity's table, if nothing else is said of
    such values; a predicate of one argument is a column that says yes or no. All others relate
    entities, a table each. Only declarations count, not what a database happens to hold.

    Examples
    --------
    >>> schema = Schema.of("student(person)", "phase(person,step!)", "advises(person,person)")
    >>> print(declared_mapping(schema))
    [person]
    kind = "entity"
    type = "person"
    columns.id = { as = "key" }
    columns.student = { as = "flag", predicate = "student" }
    columns.phase = { as = "value", predicate = "phase", type = "step", functional = true }
    <BLANKLINE>
    [advises]
    kind = "relationship"
    predicate = "advises"
    columns.person1 = { as = "key", references = "person" }
    columns.person2 = { as = "key", references = "person" }
    """
    predicates = [predicate for predicate in schema.predicates if predicate.arity]
    shaped = {p.name for p in predicates if p.arity == 2 and schema.functional.get(p.name) == (1,)}
    entities = dict.fromkeys(
        kind
        for predicate in predicates
        for kind in (predicate.types[:1] if predicate.name in shaped else predicate.types)
    )
    columns = {kind: [ColumnMapping("id", "key")] for kind in entities}
    tables = []
    for predicate in predicates:
        first, *rest = predicate.types
        if not rest:
            columns[first].append(ColumnMapping(predicate.name, "flag", predicate.name))
        elif predicate.name in shaped and rest[0] not in entities:
            columns[first].append(
                ColumnMapping(predicate.name, "value", predicate.name, rest[0], functional=True)
            )
        else:
            tables.append(_relationship(predicate, unused(predicate.name, entities)))
    owners = [TableMapping(kind, "entity", kind, columns=tuple(columns[kind])) for kind in entities]
    return Mapping((*owners, *tables))


def _relationship(predicate: Predicate, name: str) -> TableMapping:
    keys = [
        ColumnMapping(
            f"{kind}{predicate.types[: place + 1].count(kind)}"
            if predicate.types.count(kind) > 1
            else kind,
            "key",
            references=kind,
        )
        for place, kind in enumerate(predicate.types)
    ]
    return TableMapping(name, "relationship", predicate=predicate.name, columns=tuple(keys))
