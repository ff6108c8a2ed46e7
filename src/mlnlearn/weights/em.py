"""Weight learning with unknown atoms: expectation maximisation on the pseudo-likelihood.

E-step: the unknown atoms are filled in under the current weights, either by a most probable world
(hard EM, as Alchemy does) or by several sampled worlds (Monte Carlo EM). M-step: the weights that
maximise the pseudo-likelihood, averaged over the filled-in databases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from mlnlearn.counting.engines import open_engine
from mlnlearn.data.database import Database, constants_by_type
from mlnlearn.infer.complete import completed
from mlnlearn.infer.elimination import TooHardError
from mlnlearn.infer.exact import exact_map
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.infer.sampling.maxwalksat import maxwalksat
from mlnlearn.model.domains import carrying_domains, with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.objective import GaussianPrior
from mlnlearn.weights.optimize import Optimum, maximise
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood
from mlnlearn.weights.result import LearnedWeights

_THIN = 10
_BURN_IN = 100


def learn_em(
    mln: MLN,
    databases: Sequence[Database],
    *,
    mode: Literal["soft", "hard"] = "soft",
    weighted: bool = True,
    iterations: int = 10,
    worlds: int = 10,
    sigma: float = 100.0,
    units: bool = True,
    seed: int = 0,
) -> LearnedWeights:
    """Learn weights from databases with unknown atoms.

    Parameters
    ----------
    mln
        The rules; weights they have are starting values, locked ones stay.
    databases
        Databases; atoms listed as unknown, and all unlisted ones of open predicates, are hidden.
    mode
        ``"hard"``: fill in a most probable world. ``"soft"``: fill in sampled worlds.
    weighted
        Whether to maximise the weighted pseudo-likelihood (WPLL) or the plain one.
    iterations
        Rounds of filling in and maximising; fewer where nothing changes any more (hard mode).
    worlds
        Sampled worlds a database (soft mode).
    sigma
        Standard deviation of the Gaussian prior around zero.
    units
        Add a unit clause for every predicate that has none.
    seed
        Seed of the samplers.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... cancer(person)
    ... smokes(x) => cancer(x)
    ... ''')
    >>> people = {"person": [f"P{i}" for i in range(8)]}
    >>> facts = {"smokes": [("P0",), ("P1",), ("P2",)], "cancer": [("P0",), ("P1",)]}
    >>> db = Database.from_facts(mln.schema, facts, unknown={"cancer": [("P2",)]}, domains=people)
    >>> learned = learn_em(mln, [db], mode="hard", sigma=1.0)
    >>> bool(learned.mln.weights[0] > 0)
    True
    """
    full = mln.with_unit_clauses() if units else mln
    databases = with_constants_of(full, databases)
    full = carrying_domains(full.expanded(constants_by_type(databases)), databases)
    current = full.with_weights([rule.weight or 0.0 for rule in full.soft])
    prior = GaussianPrior(sigma)
    optimum: Optimum | None = None
    before: list[Database] = []
    likelihood: PseudoLikelihood | None = None
    for round_number in range(iterations):
        filled = [
            filled_in(
                current, database, mode, worlds, np.random.SeedSequence([seed, round_number, i])
            )
            for i, database in enumerate(databases)
        ]
        flat = [database for group in filled for database in group]
        if mode == "hard" and _same(before, flat):
            break
        before = flat
        likelihood = PseudoLikelihood(
            open_engine(flat),
            tuple(rule.formula for rule in full.soft),
            weighted,
            hard=tuple(rule.formula for rule in full.hard),
            shares=tuple(1.0 / len(group) for group in filled for _ in group),
        )
        locked = np.array([rule.locked for rule in full.soft], bool)
        optimum = maximise(likelihood, current.weights, prior=prior, locked=locked)
        current = current.with_weights(optimum.weights)
    assert optimum is not None
    assert likelihood is not None
    value = likelihood(optimum.weights)[0]
    return LearnedWeights(current, optimum.value, value, round_number + 1, optimum.converged)


def filled_in(
    mln: MLN,
    database: Database,
    mode: Literal["soft", "hard"],
    worlds: int,
    seed: np.random.SeedSequence,
) -> list[Database]:
    """Return the database with its unknown atoms filled in, once or several times."""
    closed = [p.name for p in database.schema.predicates if p.name not in database.open]
    network = ground(mln, database, open=sorted(database.open), closed=closed)
    if not network.variables:
        return [completed(database, network, np.empty(0, np.int32))]
    if mode == "hard":
        try:
            world = exact_map(network)[1]
        except TooHardError:
            world = maxwalksat(network, seed=seed).world
        return [completed(database, network, world)]
    result = run_chains(
        network,
        "mcsat",
        samples=worlds * _THIN,
        burn_in=_BURN_IN,
        chains=1,
        seed=seed,
        thin=_THIN,
    )
    assert result.worlds is not None
    return [completed(database, network, world) for world in result.worlds]


def _same(left: list[Database], right: list[Database]) -> bool:
    return len(left) == len(right) and all(
        np.array_equal(a.facts(p.name), b.facts(p.name))
        for a, b in zip(left, right, strict=True)
        for p in a.schema.predicates
    )
