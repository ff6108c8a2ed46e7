"""Learned weights: the reference's gradient of the objective is zero there, its value the same.

On data with unknown atoms these are summed out, or the data refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np

import mlnlearn as ml
from agreement.case import Facts
from agreement.compare import Answer, Path
from agreement.conditionals import Conditionals
from agreement.language import Rule
from agreement.problem import Problem, Skip
from agreement.reference import (
    Distribution,
    Floats,
    Impossible,
    TooLarge,
    listed_worlds,
    require_values,
)
from agreement.translate import rules_of
from mlnlearn.data.database import Database

SIGMA = 2.0
Objective = Callable[[Problem, Sequence[Rule], Facts], tuple[float, Floats]]


def _weights(rules: Sequence[Rule]) -> Floats:
    return np.array([rule.weight for rule in rules if rule.weight is not None])


def pseudo(problem: Problem, rules: Sequence[Rule], facts: Facts) -> tuple[float, Floats]:
    if facts.unknown:
        raise Impossible("pseudo-likelihood needs all atoms")
    case = problem.case
    found = Conditionals.of(case, facts, case.domains(facts), rules)
    return found.pseudo_likelihood(_weights(rules), weighted=True)


def likelihood(problem: Problem, rules: Sequence[Rule], facts: Facts) -> tuple[float, Floats]:
    """log P(known atoms), whatever the unknown ones are."""
    names = {p.name for p in problem.case.predicates}
    return _difference(problem, rules, facts, names)


def conditional(problem: Problem, rules: Sequence[Rule], facts: Facts) -> tuple[float, Floats]:
    """log P(known atoms of the query | all others)."""
    return _difference(problem, rules, facts, set(problem.case.query))


def _difference(
    problem: Problem, rules: Sequence[Rule], facts: Facts, free: set[str]
) -> tuple[float, Floats]:
    """The log-weight of the worlds that agree with the facts, less that of all worlds."""
    case = problem.case
    domains = case.domains(facts)

    def without(atoms: frozenset) -> frozenset:
        return frozenset(atom for atom in atoms if atom[0] not in free)

    asked = [p for p in case.predicates if p.name in free]
    require_values(asked, domains, facts)
    rest = Facts(without(facts.true), without(facts.false), without(facts.unknown))
    value, slope = 0.0, np.zeros(len(_weights(rules)))
    soft = [rule for rule in rules if rule.weight is not None]
    for sign, given, opened in ((1.0, facts, set()), (-1.0, rest, free)):
        try:
            worlds, _ = listed_worlds(case.predicates, domains, given, opened)
        except TooLarge:
            raise Skip from None
        found = Distribution(worlds, worlds.log_weights(rules))
        value += sign * found.log_z
        slope += sign * (worlds.feature_counts(soft) @ found.probabilities)
    return value, slope


def expected(problem: Problem, objective: Objective, hidden: bool) -> Answer:
    case = problem.case
    databases = case.hidden if hidden else case.training
    if hidden and not any(facts.unknown for facts in databases):
        raise Skip
    for facts in databases:  # raises where there is no such value
        objective(problem, case.rules, facts)
    return {"gradient": 0.0, "objective": 0.0}


def found_by(
    problem: Problem, learn: Callable[[Problem, list[Database]], object], objective: Objective,
    hidden: bool,
) -> Answer:  # fmt: skip
    learned = learn(problem, problem.hidden if hidden else problem.read)
    rules = rules_of(learned.mln)
    weights = _weights(rules)
    value, gradient = -0.5 * float(weights @ weights) / SIGMA**2, -weights / SIGMA**2
    for facts in problem.case.hidden if hidden else problem.case.training:
        more, slope = objective(problem, rules, facts)
        value, gradient = value + more, gradient + slope
    return {
        "gradient": float(np.abs(gradient).max(initial=0.0)),
        "objective": learned.objective - value,
    }


def _pseudo(problem: Problem, databases: list[Database]) -> object:
    return ml.learn_pseudolikelihood(problem.mln, databases, sigma=SIGMA)


def _likelihood(problem: Problem, databases: list[Database]) -> object:
    return ml.learn_likelihood(problem.mln, databases, sigma=SIGMA)


def _conditional(problem: Problem, databases: list[Database]) -> object:
    return ml.learn_conditional(problem.mln, databases, problem.case.query, sigma=SIGMA)


# Expectation maximisation ----------------------------------------------------------------------


def expected_em(problem: Problem) -> Answer:
    case = problem.case
    if not any(facts.unknown for facts in case.hidden):
        raise Skip
    for facts in case.hidden:
        worlds = _completions(problem, case.rules, facts)
        if not any(np.isfinite(weight) for _, weight in worlds):
            raise Impossible("no way to fill in the unknown atoms is possible")
        for world, weight in worlds:
            if np.isfinite(weight):
                pseudo(problem, case.rules, world)
    return {"gradient": 0.0, "log-weight": 0.0}


def _completions(
    problem: Problem, rules: Sequence[Rule], facts: Facts
) -> list[tuple[Facts, float]]:
    """Every way to fill in the unknown atoms, with the log-weight of the world that it makes."""
    case = problem.case
    try:
        worlds, unknown = listed_worlds(case.predicates, case.domains(facts), facts, set())
    except TooLarge:
        raise Skip from None
    log_weights = worlds.log_weights(rules)
    found = []
    for number in range(worlds.size):
        chosen = [atom for atom in unknown.atoms if worlds.truth[atom][number]]
        # explicitly false, so that the constants stay in their domains
        rest = frozenset(unknown.atoms) - frozenset(chosen)
        whole = Facts(facts.true | frozenset(chosen), facts.false | rest)
        found.append((whole, float(log_weights[number])))
    return found


def by_hard_em(problem: Problem) -> Answer:
    """A most probable way to fill in the unknown atoms makes the weights best, and they it."""
    learned = ml.learn_em(problem.mln, problem.hidden, mode="hard", sigma=SIGMA, iterations=_ROUNDS)
    rules = rules_of(learned.mln)
    weights = _weights(rules)
    choices = []
    for facts in problem.case.hidden:
        worlds = [world for world in _completions(problem, rules, facts) if np.isfinite(world[1])]
        best = max(weight for _, weight in worlds)
        slopes = [pseudo(problem, rules, world)[1] for world, _ in worlds]
        choices.append([(s, best - weight) for s, (_, weight) in zip(slopes, worlds, strict=True)])
    if np.prod([len(choice) for choice in choices]) > _MOST_FILLED:
        raise Skip
    least, gap = np.inf, 0.0
    for chosen in product(*choices):
        gradient = sum((slope for slope, _ in chosen), -weights / SIGMA**2)
        if np.abs(gradient).max(initial=0.0) < least:
            least, gap = float(np.abs(gradient).max(initial=0.0)), max(g for _, g in chosen)
    settled = learned.iterations < _ROUNDS
    return {"gradient": least, "log-weight": gap if settled else 0.0}


_ROUNDS = 8
_MOST_FILLED = 256


def _path(name: str, learn: Callable, objective: Objective, hidden: bool, share: float) -> Path:
    return Path(
        f"weights: {name}{', unknown atoms' if hidden else ''}",
        partial(expected, objective=objective, hidden=hidden),
        partial(found_by, learn=learn, objective=objective, hidden=hidden),
        share=share,
        tolerance=1e-3,
    )


PATHS = (
    *(
        _path(name, learn, objective, hidden, share)
        for name, learn, objective, share in (
            ("pseudo-likelihood", _pseudo, pseudo, 0.2),
            ("conditional", _conditional, conditional, 0.25),
            ("likelihood", _likelihood, likelihood, 0.1),
        )
        for hidden in (False, True)
    ),
    Path("weights: hard EM", expected_em, by_hard_em, share=0.1, tolerance=1e-3),
)
