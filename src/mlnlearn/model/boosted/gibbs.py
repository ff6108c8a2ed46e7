"""Gibbs sampling of several targets that stand in each other's rules.

The atoms of one target are drawn together, given the other targets. Under existential semantics,
and for clauses that hold a target at most once, that is exact: such atoms are independent given the
rest. Where atoms of one target do interact, they are drawn in random groups, so that two of them
are seldom drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from mlnlearn.counting.arrays import Codes
from mlnlearn.data.database import Database
from mlnlearn.model.boosted.bindings import Mask
from mlnlearn.model.boosted.evaluate import Floats, step_values
from mlnlearn.model.boosted.potentials import potentials
from mlnlearn.model.boosted.rules import ClauseList, Step, TargetRules, bodies
from mlnlearn.model.boosted.world import World


@dataclass(frozen=True, slots=True)
class GibbsSettings:
    """How long to sample.

    Attributes
    ----------
    samples
        Sweeps that count.
    burn_in
        Sweeps before that.
    groups
        Into how many groups interacting atoms of a target are cut.
    seed
        Of the generator.
    """

    samples: int = 200
    burn_in: int = 50
    groups: int = 32
    seed: int = 0


def sample_targets(
    targets: Sequence[TargetRules],
    existential: bool,
    database: Database,
    rows: Sequence[Codes],
    settings: GibbsSettings,
) -> list[Floats]:
    """Return the probability of every target atom, given the predicates that are no targets.

    The mean of the conditional probabilities over the sweeps is returned, which varies less than
    the share of sweeps in which an atom is true.

    Parameters
    ----------
    targets, existential
        The model.
    database
        The evidence; facts of targets in it are not looked at.
    rows
        For each target, all its atoms: a row of databases, then one of each argument's codes.
    settings
        How long to sample.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("rich(person)")
    >>> db = Database.from_facts(schema, {}, domains={"person": ["Bob"]})
    >>> rules = [TargetRules(schema["rich"], 0.0)]
    >>> sample_targets(rules, False, db, [np.array([[0], [0]], np.int32)], GibbsSettings(3, 1))
    [array([0.5])]
    """
    rng = np.random.default_rng(settings.seed)
    changing, fixed = _separated(targets, existential, database, rows)
    state = [
        rng.random(part.shape[1]) < expit(base) for part, base in zip(rows, fixed, strict=True)
    ]
    means = [np.zeros(part.shape[1]) for part in rows]
    for sweep in range(settings.burn_in + settings.samples):
        for number, rules in enumerate(changing):
            groups = settings.groups if _interact(rules, changing, existential) else 1
            member = rng.integers(groups, size=rows[number].shape[1])
            for group in range(groups):
                chosen = np.flatnonzero(member == group)
                if not len(chosen):
                    continue
                world = _world(database, changing, rows, state)
                part = np.ascontiguousarray(rows[number][:, chosen])
                odds = potentials(changing, existential, world, rules.predicate.name, part)
                probability = expit(odds + fixed[number][chosen])
                state[number][chosen] = rng.random(len(chosen)) < probability
                if sweep >= settings.burn_in:
                    means[number][chosen] += probability / settings.samples
    return means


def _separated(
    targets: Sequence[TargetRules], existential: bool, database: Database, rows: Sequence[Codes]
) -> tuple[list[TargetRules], list[Floats]]:
    """Split the rules into those that other targets change, and the values of all others.

    Under counting semantics rules without a target in the body are fixed too: what they give to
    their head does not depend on other targets, and no target stands in their bodies.
    """
    names = {rules.predicate for rules in targets}
    world = World([database.without_facts(predicate.name for predicate in names)])
    changing, fixed = [], []

    def depends(step: Step) -> bool:
        return any(pattern.predicate in names for body in bodies(step) for pattern in body)

    for rules, part in zip(targets, rows, strict=True):
        values = np.full(part.shape[1], rules.intercept)
        kept: list[Step] = []
        for step in (rules.prior, *rules.steps):
            if depends(step):
                kept.append(step)
            else:
                values += step_values(step, world, part, existential)
        changing.append(TargetRules(rules.predicate, 0.0, steps=tuple(kept)))
        fixed.append(values)
    return changing, fixed


def _interact(rules: TargetRules, targets: Sequence[TargetRules], existential: bool) -> bool:
    """Tell whether atoms of a target may depend on each other, given all other targets."""
    if existential:
        return False
    for other in targets:
        for step in other.steps:
            uses = [sum(p.predicate == rules.predicate for p in body) for body in bodies(step)]
            if max(uses, default=0) > (1 if isinstance(step, ClauseList) else 0):
                return True
    return False


def _world(
    database: Database,
    targets: Sequence[TargetRules],
    rows: Sequence[Codes],
    state: Sequence[Mask],
) -> World:
    facts = {
        rules.predicate.name: np.ascontiguousarray(part[1:, truth])
        for rules, part, truth in zip(targets, rows, state, strict=True)
    }
    return World([replace(database, true={**database.true, **facts})])
