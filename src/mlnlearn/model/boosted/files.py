"""Boosted models as JSON: plain lists and names, nothing that runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from mlnlearn.counting.pattern import EQUALS, Body, Pattern, equality
from mlnlearn.documents import Name, Place, within
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.rules import (
    ByConstant,
    ClauseList,
    HornClause,
    Leaf,
    Node,
    Split,
    Step,
    TargetRules,
    Tree,
)

FORMAT = "mlnlearn boosted rules, version 1"


class PredicateFile(Struct, forbid_unknown_fields=True):
    """A predicate."""

    name: Name
    types: list[Name]
    function: bool


class SchemaFile(Struct, forbid_unknown_fields=True):
    """A schema."""

    predicates: list[PredicateFile]
    declared: dict[Name, list[str]]
    functional: dict[Name, list[Place]]
    listed: dict[Name, list[str]] = {}


_Literal: TypeAlias = Annotated[
    list[Annotated[int, Meta(ge=0, lt=1000)] | str], Meta(min_length=1, max_length=100)
]
_Body: TypeAlias = list[_Literal]
_Types: TypeAlias = dict[int, str]
_ByConstant: TypeAlias = tuple[Place, dict[str, float]]
_Vector: TypeAlias = tuple[float, Place, dict[str, float]]
"""A value, an argument of the target, and what is added for constants of it."""


class SplitFile(Struct, forbid_unknown_fields=True):
    """An inner node of a tree."""

    test: Annotated[_Body, Meta(min_length=1)] = field(name="if")
    yes: float | _Vector | SplitFile = field(name="then")
    no: float | _Vector | SplitFile = field(name="else")


class ClauseFile(Struct, forbid_unknown_fields=True):
    """A clause."""

    body: _Body
    weight: float
    by: _ByConstant | UnsetType = UNSET


class BoostedStepFile(Struct, forbid_unknown_fields=True):
    """A tree, or clauses."""

    tree: float | _Vector | SplitFile | UnsetType = UNSET
    clauses: list[ClauseFile] | UnsetType = UNSET


class RulesFile(Struct, forbid_unknown_fields=True):
    """The rules of a target."""

    target: Name
    bias: float
    prior: BoostedStepFile
    steps: list[BoostedStepFile]
    shifts: list[float]


class BoostedFile(Struct, forbid_unknown_fields=True):
    """A boosted model."""

    format: Literal["mlnlearn boosted rules, version 1"]
    schema: SchemaFile
    semantics: Literal["existential", "counting"]
    targets: list[RulesFile]
    checksum: str = ""
    rules: str = ""


def to_json(content: Any) -> str:
    """Return JSON text that is the same, byte for byte, for equal content.

    Examples
    --------
    >>> print(to_json({"b": 0.1, "a": [1, 2]}), end="")
    {
     "a": [1, 2],
     "b": 0.1
    }
    """
    return _layout(content, 0) + "\n"


def _layout(content: Any, depth: int) -> str:
    """Spread objects over lines and keep short lists on one, so that people can read them."""
    flat = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    if not isinstance(content, (dict, list)) or (isinstance(content, list) and len(flat) <= 80):
        return flat
    pad = " " * (depth + 1)
    if isinstance(content, dict):
        items = [
            f"{pad}{json.dumps(key, ensure_ascii=False)}: {_layout(content[key], depth + 1)}"
            for key in sorted(content)
        ]
    else:
        items = [pad + _layout(item, depth + 1) for item in content]
    opening, closing = "{}" if isinstance(content, dict) else "[]"
    return opening + "\n" + ",\n".join(items) + "\n" + " " * depth + closing


def schema_to_plain(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain data."""
    plain: dict[str, Any] = {
        "predicates": [
            {"name": p.name, "types": list(p.types), "function": p.function}
            for p in schema.predicates
        ],
        "declared": {kind: list(names) for kind, names in schema.declared.items()},
        "functional": {name: list(places) for name, places in schema.functional.items()},
    }
    if schema.listed:
        plain["listed"] = {kind: list(names) for kind, names in schema.listed.items()}
    return plain


def schema_from_file(file: SchemaFile) -> Schema:
    """Undo `schema_to_plain`.

    Examples
    --------
    >>> from mlnlearn.documents import decode
    >>> schema = Schema.of("inPhase(person,phase!)")
    >>> schema_from_file(decode(schema_to_plain(schema), SchemaFile)) == schema
    True
    """
    predicates: list[Predicate] = []
    for number, item in enumerate(file.predicates):
        with within(f"predicates[{number}]"):
            if item.function and not item.types:
                raise InputError(f"the function {item.name} has no value")
            if any(item.name == other.name for other in predicates):
                raise InputError(f"there are two predicates {item.name}")
            predicates.append(Predicate(item.name, tuple(item.types), item.function))
    schema = Schema(
        tuple(predicates),
        {kind: tuple(names) for kind, names in file.declared.items()},
        {name: tuple(places) for name, places in file.functional.items()},
        {kind: tuple(names) for kind, names in file.listed.items()},
    )
    for name, places in schema.functional.items():
        with within("functional"):
            if any(place >= schema[name].arity for place in places):
                raise InputError(f"{schema[name]} has no place {max(places)}")
    return schema


def rules_to_plain(rules: TargetRules) -> dict[str, Any]:
    """Return the rules of one target as plain data."""
    return {
        "target": rules.predicate.name,
        "bias": rules.bias,
        "prior": step_to_plain(rules.prior),
        "steps": [step_to_plain(step) for step in rules.steps],
        "shifts": list(rules.shifts),
    }


def rules_from_file(file: RulesFile, schema: Schema) -> TargetRules:
    """Return the rules of a target that a file holds, as `rules_to_plain` wrote them.

    Examples
    --------
    >>> from mlnlearn.documents import decode
    >>> schema = Schema.of("happy(person)", "rich(person)")
    >>> rich = Pattern(schema["rich"], (0,))
    >>> tree = Tree(Split((rich,), Leaf(0.5), Leaf(-0.25)))
    >>> rules = TargetRules(schema["happy"], -1.0, steps=(tree,))
    >>> rules_from_file(decode(rules_to_plain(rules), RulesFile), schema) == rules
    True
    """
    with within("target"):
        target = schema[file.target]
    with within("prior"):
        prior = _step(file.prior, schema, target)
        if not isinstance(prior, ClauseList):
            raise InputError("the prior of a boosted model must be a list of clauses")
    steps = []
    for number, step in enumerate(file.steps):
        with within(f"steps[{number}]"):
            steps.append(_step(step, schema, target))
    if len(file.shifts) not in (0, len(steps)):
        raise InputError(f"shifts: {len(steps)} steps have {len(file.shifts)} of them")
    return TargetRules(target, file.bias, prior, tuple(steps), tuple(file.shifts))


def step_to_plain(step: Step) -> dict[str, Any]:
    """Return a tree or clause list as plain data."""
    if isinstance(step, Tree):
        return {"tree": _node_to_plain(step.root)}
    clauses = []
    for clause in step.clauses:
        plain = {"body": _body_to_plain(clause.body), "weight": clause.weight}
        if clause.by is not None:
            plain["by"] = [clause.by.place, dict(clause.by.added)]
        clauses.append(plain)
    return {"clauses": clauses}


def steps_from_files(
    files: Sequence[BoostedStepFile], targets: Sequence[Predicate], schema: Schema
) -> list[Step]:
    """Undo `step_to_plain` of a step for each target."""
    if len(files) != len(targets):
        raise InputError(f"{len(targets)} targets have {len(files)} steps")
    found = []
    for number, (file, target) in enumerate(zip(files, targets, strict=True)):
        with within(f"[{number}]"):
            found.append(_step(file, schema, target))
    return found


def _step(file: BoostedStepFile, schema: Schema, target: Predicate) -> Step:
    types = dict(enumerate(target.types))
    if not isinstance(file.tree, UnsetType) and isinstance(file.clauses, UnsetType):
        with within("tree"):
            return Tree(_node(file.tree, schema, types, target))
    if isinstance(file.clauses, UnsetType) or not isinstance(file.tree, UnsetType):
        raise InputError("expected either a tree or clauses")
    clauses = []
    for number, clause in enumerate(file.clauses):
        with within(f"clauses[{number}].body"):
            body, _ = _body(clause.body, schema, types)
            by = None if isinstance(clause.by, UnsetType) else _by_constant(*clause.by, target)
            clauses.append(HornClause(body, clause.weight, by))
    return ClauseList(tuple(clauses))


def _by_constant(place: int, added: dict[str, float], target: Predicate) -> ByConstant:
    if place >= target.arity:
        raise InputError(f"{target} has no place {place}")
    return ByConstant.of(place, target.types[place], added)


def _node_to_plain(node: Node) -> Any:
    if isinstance(node, Leaf):
        by = node.by
        return node.value if by is None else [node.value, by.place, dict(by.added)]
    return {
        "if": _body_to_plain(node.test),
        "then": _node_to_plain(node.yes),
        "else": _node_to_plain(node.no),
    }


def _node(
    file: float | _Vector | SplitFile, schema: Schema, types: _Types, target: Predicate
) -> Node:
    if isinstance(file, tuple):
        value, place, added = file
        return Leaf(value, _by_constant(place, added, target))
    if not isinstance(file, SplitFile):
        return Leaf(float(file))
    with within("if"):
        test, inner = _body(file.test, schema, types)
    with within("then"):
        yes = _node(file.yes, schema, inner, target)
    with within("else"):
        no = _node(file.no, schema, types, target)
    return Split(test, yes, no)


def _body_to_plain(body: Body) -> list[list[Any]]:
    """Write a literal as its name and terms; an equality names its type first."""
    return [
        [p.predicate.name, *p.predicate.types[: p.predicate.name == EQUALS], *p.terms] for p in body
    ]


def _body(file: _Body, schema: Schema, types: _Types) -> tuple[Body, _Types]:
    """Return a conjunction, and the types of the variables known after it."""
    body, types = [], dict(types)
    for number, (name, *rest) in enumerate(file):
        with within(f"literal {number}"):
            predicate = _predicate(name, rest, schema)
            terms = rest[1:] if name == EQUALS else rest
            if len(terms) != predicate.arity:
                raise InputError(f"{predicate} has {len(terms)} terms")
            for term, kind in zip(terms, predicate.types, strict=True):
                if isinstance(term, int) and types.setdefault(term, kind) != kind:
                    raise InputError(
                        f"variable {term} of {predicate} is a {types[term]} before, not a {kind}"
                    )
            body.append(Pattern(predicate, tuple(terms)))
    return tuple(body), types


def _predicate(name: int | str, rest: list[int | str], schema: Schema) -> Predicate:
    if name != EQUALS:
        return schema[str(name)]
    if not rest or rest[0] not in schema.types:
        raise InputError("an equality names its type first")
    return equality(str(rest[0]))
