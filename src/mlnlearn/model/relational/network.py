"""A model of boosted features as a Markov logic network over derived predicates.

Every test is a predicate of the target's arguments, declared with a comment that says it in words;
a branch of a tree is a conjunction of such atoms and the target, with the leaf's value as weight.
Where leaves have values by name, a second rule adds, for each name, what its value is more.
Given the facts of the derived predicates, the network gives the model's probabilities exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Constant, Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.model.relational.rules import Condition
from mlnlearn.model.relational.trees import FeatureNode, Test, axis_of

_VARIABLES = "xyzuvw"


def derived_names(trees: Sequence[FeatureNode], target: str) -> dict[Test, str]:
    """Return a name for each test of trees."""
    tests = dict.fromkeys(node.test for tree in trees for node in tree.nodes() if node.test)
    return {test: f"{target}_test{number}" for number, test in enumerate(tests, 1)}


def branches(tree: FeatureNode) -> Iterator[tuple[tuple[Condition, ...], FeatureNode]]:
    """Yield the leaves of a tree, each with its conditions."""
    waiting: list[tuple[FeatureNode, tuple[Condition, ...]]] = [(tree, ())]
    while waiting:
        node, body = waiting.pop()
        if node.test is None or node.yes is None or node.no is None:
            yield body, node
        else:
            waiting.append((node.no, (*body, Condition(node.test, False))))
            waiting.append((node.yes, (*body, Condition(node.test, True))))


def network_text(
    target: Predicate,
    marked: Sequence[int],
    heads: Sequence[str],
    start: Sequence[float],
    trees: Sequence[FeatureNode],
) -> str:
    """Return the text of the network.

    Parameters
    ----------
    target, marked
        The target, and its places marked ``!``.
    heads
        The class that each score is of; empty for one score of the target itself.
    start, trees
        The model.
    """
    names = derived_names(trees, target.name)
    valued = bool(heads)
    keys = target.types[:-1] if valued else target.types
    variables = ",".join(_VARIABLES[: len(keys)])
    lines = [_declaration(target, marked)]
    for test, name in names.items():
        lines += [f"// {_one_line(str(test))}", f"{name}({','.join(keys)})"]
    atoms = [
        f"{target.name}({variables},{Constant(head)})" if valued else f"{target.name}({variables})"
        for head in heads or ("",)
    ]
    weights: dict[str, float] = {}
    by_name: dict[str, Floats] = {}
    for body, leaf in [((), FeatureNode(tuple(start))), *(b for t in trees for b in branches(t))]:
        literals = [
            f"{'' if c.holds else '!'}{names[c.test]}({variables})"
            for c in sorted(body, key=lambda c: names[c.test])
        ]
        for atom, value in zip(atoms, leaf.values, strict=True):
            formula = " ^ ".join([*literals, atom])
            weights[formula] = weights.get(formula, 0.0) + value
            if leaf.by_name is not None:
                more = np.array(leaf.by_name.values) - value
                by_name[formula] = by_name.get(formula, 0.0) + more
    lines += [f"{weight!r} {text}" for text, weight in weights.items() if weight]
    axis = axis_of(trees)
    if axis is not None:
        if axis.argument >= len(keys):
            raise InputError(f"{target} has no argument {axis.argument} for values by name")
        variable = _VARIABLES[axis.argument]
        for text, more in by_name.items():
            listed = zip(axis.names, more.tolist(), strict=True)
            said = [f"{Constant(name)}: {weight!r}" for name, weight in listed if weight]
            if said:
                lines.append(f"{{{', '.join(said)}}} {_by_constant(text, variable)}")
    return "\n".join(lines) + "\n"


def _by_constant(formula: str, variable: str) -> str:
    """Mark a variable of a formula: there is a rule for each of its constants."""
    return formula.replace(f"({variable}", f"(+{variable}").replace(f",{variable}", f",+{variable}")


def _declaration(target: Predicate, marked: Sequence[int]) -> str:
    kinds = [f"{kind}{'!' if at in marked else ''}" for at, kind in enumerate(target.types)]
    return f"{target.name}({','.join(kinds)})"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def derived_database(
    schema: Schema,
    domains: Mapping[str, Vocabulary],
    passing: Mapping[str, NDArray[np.bool_]],
    keys: Columns,
) -> Database:
    """Return the facts of derived predicates, by which of some rows pass each test."""
    true = {name: keys[:, rows] for name, rows in passing.items()}
    used = {kind: domains[kind] for kind in schema.types}
    return Database.from_codes(schema, used, true)
