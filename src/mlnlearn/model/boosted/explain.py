"""Why an atom has its log-odds: the rules that apply to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.bindings import Mask
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.potentials import is_true, own_values
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Step, TargetRules
from mlnlearn.model.boosted.text import Naming


@dataclass(frozen=True, slots=True)
class Reason:
    """One part of an atom's log-odds.

    Attributes
    ----------
    rule
        A rule, as text.
    count
        How many groundings of its body the atom has.
    contribution
        What it adds to the log-odds, over all steps that hold it.
    """

    rule: str
    count: int
    contribution: float


def reasons(rules: TargetRules, existential: bool, world: Objects, atom: Codes) -> list[Reason]:
    """Return the parts of one atom's log-odds, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("rich(person)")
    >>> world = Objects([Database.from_facts(schema, {}, domains={"person": ["Bob"]})])
    >>> reasons(TargetRules(schema["rich"], -1.5), False, world, np.array([[0], [0]], np.int32))
    [Reason(rule='rich(p1)', count=1, contribution=-1.5)]
    """
    naming = Naming(rules.predicate)
    found: dict[str, Reason] = {}
    parts: list[tuple[Body, int, float]] = [((), 1, rules.intercept)]
    truth = is_true(world, rules.predicate, atom)
    for step in (rules.prior, *rules.steps):
        parts += _parts(step, existential, world, rules.predicate, atom, truth)
    for body, count, contribution in parts:
        text = naming.rule(body)
        before = found[text].contribution if text in found else 0.0
        found[text] = Reason(text, count, before + contribution)
    return sorted(found.values(), key=lambda reason: -abs(reason.contribution))


def _parts(
    step: Step, existential: bool, world: Objects, predicate: Predicate, atom: Codes, truth: Mask
) -> Iterator[tuple[Body, int, float]]:
    """Yield the bodies of a step that apply, with their groundings and contributions."""
    if isinstance(step, ClauseList):
        weighted = [(clause.body, clause.weight) for clause in step.clauses]
    else:
        paths = step.paths
        numbered = step.with_values([float(number) for number in range(len(paths))])
        number = own_values(numbered, world, predicate, atom, truth, existential=True)[0]
        reached = paths[int(number)]
        weighted = [(reached.body, reached.value)]
    for body, weight in weighted:
        once = ClauseList((HornClause(body, 1.0),))
        count = int(own_values(once, world, predicate, atom, truth, existential=False)[0])
        if count:
            yield body, count, weight if existential else weight * count
