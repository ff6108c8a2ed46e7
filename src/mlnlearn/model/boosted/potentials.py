"""Log-odds of target atoms given everything else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.bindings import Flip, Mask, is_true
from mlnlearn.counting.objects import Objects
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Evaluation, Floats, step_values
from mlnlearn.model.boosted.influence import influence
from mlnlearn.model.boosted.rules import Step, TargetRules, bodies


def without_itself(predicate: Predicate, rows: Codes, truth: Mask) -> Flip:
    """Return, for every atom, the world in which it is false: an atom is no evidence of itself.

    Examples
    --------
    >>> rows = np.array([[0], [0]], np.int32)
    >>> without_itself(Predicate("rich", ("person",)), rows, np.array([True])).value.tolist()
    [False]
    """
    return Flip(predicate, np.ascontiguousarray(rows), np.zeros(rows.shape[1], np.bool_), truth)


def own_values(
    step: Step, world: Objects, predicate: Predicate, rows: Codes, truth: Mask, existential: bool
) -> Floats:
    """Return what the rules for a target give to its atoms, each taken as false in bodies.

    Parameters
    ----------
    step
        Rules for the target.
    world
        The facts.
    predicate, rows
        The atoms: a row of databases, then one of each argument's objects.
    truth
        Which of them are true in the data.
    existential
        Whether a rule counts once, not once a grounding.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.counting.pattern import Pattern
    >>> from mlnlearn.model.boosted.rules import ClauseList, HornClause
    >>> schema = Schema.of("rich(person)", "friends(person,person)")
    >>> facts = {"rich": [("Anna",)], "friends": [("Anna", "Anna"), ("Bob", "Anna")]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> body = (Pattern(schema["friends"], (0, 1)), Pattern(schema["rich"], (1,)))
    >>> step, people = ClauseList((HornClause(body, 0.5),)), np.array([[0, 0], [0, 1]], np.int32)
    >>> own_values(step, world, schema["rich"], people, np.array([True, False]), False).tolist()
    [0.0, 0.5]
    """
    flip = own_flip(step, predicate, rows, truth)
    return step_values(step, world, rows, existential, flip)


def own_flip(step: Step, predicate: Predicate, rows: Codes, truth: Mask) -> Flip | None:
    """Return the worlds without the atoms themselves, if their predicate is in the step's rules."""
    return without_itself(predicate, rows, truth) if _reads(step, predicate) else None


def _reads(step: Step, predicate: Predicate) -> bool:
    return any(pattern.predicate == predicate for body in bodies(step) for pattern in body)


def potentials(
    targets: Sequence[TargetRules], existential: bool, world: Objects, name: str, rows: Codes
) -> Floats:
    """Return the log-odds of atoms of a target under the rules of all targets.

    Parameters
    ----------
    targets
        The rules of the model.
    existential
        Under existential semantics the rules of other targets have no say.
    world
        The facts.
    name
        The target whose atoms are asked for.
    rows
        The atoms: a row of databases, then one of each argument's objects.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("rich(person)")
    >>> world = Objects([Database.from_facts(schema, {}, domains={"person": ["Bob"]})])
    >>> rules = TargetRules(schema["rich"], -1.5)
    >>> potentials([rules], False, world, "rich", np.array([[0], [0]], np.int32)).tolist()
    [-1.5]
    """
    own = [rules for rules in targets if rules.predicate.name == name]
    if not own:
        known = ", ".join(rules.predicate.name for rules in targets)
        raise InputError(f"no target {name!r} in this model; it has: {known}")
    predicate = own[0].predicate
    truth = is_true(world, predicate, rows)
    result = np.full(rows.shape[1], own[0].intercept)
    plain = Evaluation(world, rows)
    flipped = Evaluation(world, rows, without_itself(predicate, rows, truth))
    for step in (own[0].prior, *own[0].steps):
        evaluation = flipped if _reads(step, predicate) else plain
        result += evaluation.step(step, existential)
    if not existential:
        for rules in targets:
            for step in (rules.prior, *rules.steps):
                result += influence(step, rules.predicate, world, predicate, rows, truth)
    return result
