"""Discriminative weight learning: the likelihood of query predicates given all others.

Each database is grounded once, with the query atoms unknown. Atoms that share no ground clause with
another are independent given the evidence: they are compressed to distinct rows, as for
pseudo-likelihood. The other components are answered exactly where they are small or thin; where
they are not, expected counts come from MC-SAT and the weights from a second-order method that needs
only such estimates (Lowd & Domingos 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mlnlearn.data.database import Database, constants_by_type
from mlnlearn.errors import InputError
from mlnlearn.infer.complete import observed_world
from mlnlearn.infer.components import components
from mlnlearn.infer.elimination import TooHardError
from mlnlearn.infer.exact import exact
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.network import Codes, Network
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.model.domains import carrying_domains, with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.data import refuse_unknown
from mlnlearn.weights.objective import Floats, GaussianPrior
from mlnlearn.weights.result import LearnedWeights, best_weights
from mlnlearn.weights.rows import Rows
from mlnlearn.weights.stochastic import Optimizer, climb

Expectations = Literal["auto", "exact", "mcsat"]


@dataclass(frozen=True, eq=False)
class GroundedData:
    """A database grounded with its query atoms unknown, and what they are in truth.

    Attributes
    ----------
    network
        The whole network.
    world
        The truth.
    alone
        The atoms that are independent given the evidence, compressed.
    joint
        The other variables, as a network; None where there are none.
    joint_counts
        Counts of the rules in the joint part's true world.
    """

    network: Network
    world: Codes
    alone: Rows
    joint: Network | None
    joint_counts: Floats


@dataclass(frozen=True)
class ConditionalLikelihood:
    """Exact conditional log-likelihood of the weights; an `Objective`.

    Raises `TooHardError` where a component of the ground network is too large for exact answers.
    """

    data: tuple[GroundedData, ...]

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood of the query atoms given the rest, and its gradient."""
        total, gradient = 0.0, np.zeros(len(weights))
        for part in self.data:
            value, slope = part.alone(weights)
            total += value
            gradient[part.alone.features] += slope
            if part.joint is not None:
                answer = exact(part.joint.reweighted(weights))
                total += float(part.joint_counts @ weights) - answer.log_z
                gradient += part.joint_counts - answer.expected_counts
        return total, gradient


def learn_conditional(
    mln: MLN,
    databases: Sequence[Database],
    query: Sequence[str],
    *,
    sigma: float = 2.0,
    l1: float = 0.0,
    units: bool = True,
    expectations: Expectations = "auto",
    optimizer: Optimizer = "newton",
    samples: int = 500,
    max_iterations: int = 1000,
    seed: int = 0,
) -> LearnedWeights:
    """Learn weights that maximise the likelihood of some predicates given all others.

    Parameters
    ----------
    mln
        The rules; weights they have are starting values, locked ones stay.
    databases
        Complete databases, each with its own constants and those that rules name. Unknown atoms,
        of query predicates or evidence, are refused; `learn_em` sums them out.
    query
        Predicates to predict; all others are evidence.
    sigma, l1
        Gaussian prior around zero, and an additional L1 penalty (exact expectations only).
    units
        Add a unit clause for every query predicate that has none.
    expectations
        ``"exact"``, ``"mcsat"``, or ``"auto"``: exact where the ground networks allow.
    optimizer
        For sampled expectations: ``"newton"`` (diagonal), ``"scg"`` (scaled conjugate gradient) or
        ``"perceptron"`` (voted). Exact ones are maximised by L-BFGS.
    samples
        MC-SAT samples an iteration.
    max_iterations
        Limit of iterations.
    seed
        Seed of the samplers.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... cancer(person)
    ... smokes(x) => cancer(x)
    ... ''')
    >>> people = {"person": ["Anna", "Bob", "Carl", "Dora"]}
    >>> facts = {"smokes": [("Anna",), ("Bob",)], "cancer": [("Anna",)]}
    >>> db = Database.from_facts(mln.schema, facts, domains=people)
    >>> learned = learn_conditional(mln, [db], ["cancer"])
    >>> print(learned.mln.weights.round(2))
    [ 0.77 -1.15]
    """
    if not query:
        raise InputError("name the predicates to predict", hint="or learn generatively")
    full = _with_query_units(mln, query) if units else mln
    databases = with_constants_of(full, databases, query)
    full = carrying_domains(full.expanded(constants_by_type(databases)), databases)
    start = np.array([rule.weight or 0.0 for rule in full.soft])
    weighted = full.with_weights(start)
    used = {atom.predicate.name for rule in full.rules for atom in atoms_of(rule.formula)}
    refuse_unknown(databases, used | set(query))
    data = tuple(grounded(weighted, database, query) for database in databases)
    likelihood = ConditionalLikelihood(data)
    if expectations != "mcsat":
        try:
            return best_weights(full, likelihood, sigma=sigma, l1=l1, max_iterations=max_iterations)
        except TooHardError:
            if expectations == "exact":
                raise
    if l1:
        raise InputError(
            "an L1 penalty needs exact expectations, which these networks do not allow"
        )
    climbed = climb(
        [part.network for part in data],
        sum((part.network.counts(part.world) for part in data), np.zeros(len(start))),
        start,
        prior=GaussianPrior(sigma),
        locked=np.array([rule.locked for rule in full.soft], bool),
        optimizer=optimizer,
        samples=samples,
        max_iterations=min(max_iterations, 100),
        seed=seed,
    )
    return LearnedWeights(
        full.with_weights(climbed.weights), float("nan"), float("nan"), climbed.iterations, False
    )


def _with_query_units(mln: MLN, query: Sequence[str]) -> MLN:
    """Add missing unit clauses of the query predicates only: evidence needs none."""
    added = mln.with_unit_clauses().rules[len(mln.rules) :]
    wanted = {mln.schema[name] for name in query}
    units = tuple(rule for rule in added if getattr(rule.formula, "predicate", None) in wanted)
    return replace(mln, rules=mln.rules + units)


def grounded(mln: MLN, database: Database, query: Sequence[str]) -> GroundedData:
    """Ground a database with the atoms of the query predicates unknown."""
    others = [p.name for p in database.schema.predicates if p.name not in query]
    network = ground(mln, database.without_facts(query), query, closed=others)
    world = observed_world(network, database)
    if not np.isfinite(network.log_weight(world)):
        raise InputError(
            f"{database.name or 'a database'} violates a hard formula, so its likelihood is zero",
            hint="give the formula a weight instead of a full stop, or mend the data",
        )
    found = components(network)
    single = (found.sizes == 1)[found.label] & (network.cardinalities == 2)
    first = network.unary_starts[:-1][single]
    possible = ~(network.forbidden[first] | network.forbidden[first + 1])
    first, truth = first[possible], world[single][possible] == 1
    flips = (network.unary_counts[first + 1] - network.unary_counts[first]).toarray()
    rows, place = np.unique(flips, axis=0, return_inverse=True)
    place = place.reshape(-1)
    used = np.flatnonzero(rows.any(axis=0))
    alone = Rows(
        used,
        np.ascontiguousarray(rows[:, used]),
        np.bincount(place[truth], minlength=len(rows)).astype(np.float64),
        np.bincount(place, minlength=len(rows)).astype(np.float64),
    )
    together = np.zeros(len(found), bool)
    together[found.label[~single]] = True
    if not together.any():
        return GroundedData(network, world, alone, None, np.zeros(len(network.weights)))
    part = found.union(together)
    counts = part.network.counts(world[part.variables])
    return GroundedData(network, world, alone, part.network, counts)
