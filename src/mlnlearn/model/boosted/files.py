"""Boosted models as JSON: plain lists and names, nothing that runs."""

from __future__ import annotations

import json
from typing import Any

from mlnlearn.counting.pattern import EQUALS, Body, Pattern, equality
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.rules import (
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
    return {
        "predicates": [
            {"name": p.name, "types": list(p.types), "function": p.function}
            for p in schema.predicates
        ],
        "declared": {kind: list(names) for kind, names in schema.declared.items()},
        "functional": {name: list(places) for name, places in schema.functional.items()},
    }


def schema_from_plain(plain: dict[str, Any]) -> Schema:
    """Undo `schema_to_plain`.

    Examples
    --------
    >>> schema = Schema.of("inPhase(person,phase!)")
    >>> schema_from_plain(schema_to_plain(schema)) == schema
    True
    """
    return Schema(
        tuple(
            Predicate(item["name"], tuple(item["types"]), item["function"])
            for item in plain["predicates"]
        ),
        {kind: tuple(names) for kind, names in plain["declared"].items()},
        {name: tuple(places) for name, places in plain["functional"].items()},
    )


def rules_to_plain(rules: TargetRules) -> dict[str, Any]:
    """Return the rules of one target as plain data."""
    return {
        "target": rules.predicate.name,
        "bias": rules.bias,
        "prior": step_to_plain(rules.prior),
        "steps": [step_to_plain(step) for step in rules.steps],
        "shifts": list(rules.shifts),
    }


def rules_from_plain(plain: dict[str, Any], schema: Schema) -> TargetRules:
    """Undo `rules_to_plain`.

    Examples
    --------
    >>> schema = Schema.of("happy(person)", "rich(person)")
    >>> rich = Pattern(schema["rich"], (0,))
    >>> tree = Tree(Split((rich,), Leaf(0.5), Leaf(-0.25)))
    >>> rules = TargetRules(schema["happy"], -1.0, steps=(tree,))
    >>> rules_from_plain(rules_to_plain(rules), schema) == rules
    True
    """
    prior = step_from_plain(plain["prior"], schema)
    if not isinstance(prior, ClauseList):
        raise InputError("the prior of a boosted model must be a list of clauses")
    steps = tuple(step_from_plain(step, schema) for step in plain["steps"])
    shifts = tuple(map(float, plain["shifts"]))
    if len(shifts) not in (0, len(steps)):
        raise InputError(f"{len(steps)} steps of a boosted model have {len(shifts)} shifts")
    return TargetRules(schema[plain["target"]], float(plain["bias"]), prior, steps, shifts)


def step_to_plain(step: Step) -> dict[str, Any]:
    """Return a tree or clause list as plain data."""
    if isinstance(step, Tree):
        return {"tree": _node_to_plain(step.root)}
    return {"clauses": [{"body": _body_to_plain(c.body), "weight": c.weight} for c in step.clauses]}


def step_from_plain(plain: dict[str, Any], schema: Schema) -> Step:
    """Undo `step_to_plain`."""
    if "tree" in plain:
        return Tree(_node_from_plain(plain["tree"], schema))
    return ClauseList(
        tuple(
            HornClause(_body_from_plain(item["body"], schema), float(item["weight"]))
            for item in plain["clauses"]
        )
    )


def _node_to_plain(node: Node) -> Any:
    if isinstance(node, Leaf):
        return node.value
    return {
        "if": _body_to_plain(node.test),
        "then": _node_to_plain(node.yes),
        "else": _node_to_plain(node.no),
    }


def _node_from_plain(plain: Any, schema: Schema) -> Node:
    if isinstance(plain, (int, float)):
        return Leaf(float(plain))
    return Split(
        _body_from_plain(plain["if"], schema),
        _node_from_plain(plain["then"], schema),
        _node_from_plain(plain["else"], schema),
    )


def _body_to_plain(body: Body) -> list[list[Any]]:
    """Write a literal as its name and terms; an equality names its type first."""
    return [
        [p.predicate.name, *p.predicate.types[: p.predicate.name == EQUALS], *p.terms] for p in body
    ]


def _body_from_plain(plain: list[list[Any]], schema: Schema) -> Body:
    body = []
    for name, *rest in plain:
        predicate = equality(rest[0]) if name == EQUALS else schema[name]
        terms = rest[1:] if name == EQUALS else rest
        if len(terms) != predicate.arity or not all(isinstance(t, (int, str)) for t in terms):
            raise InputError(f"a literal of {predicate} has the terms {terms}")
        body.append(Pattern(predicate, tuple(terms)))
    return tuple(body)
