"""The worlds that soft EM fills in: how often an atom is true in them, and its chance in each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import mlnlearn as ml
from agreement.boosted import conditional
from agreement.compare import Answer, Path, Sampled
from agreement.language import GroundAtom
from agreement.paths.boosting import Setting, asked_worlds, expected_marginals, setting
from agreement.problem import Problem, Skip
from agreement.reference import Distribution, Floats, TooLarge, Unknown, listed_worlds
from mlnlearn.data.database import Database
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.structure.structural_em.expectation import Worlds, sampled_worlds
from mlnlearn.weights.em import filled_in

_BATCHES = 20


def _true_atoms(database: Database) -> frozenset[GroundAtom]:
    names = [predicate.name for predicate in database.schema.predicates]
    return frozenset((name, tuple(row)) for name in names for row in database.rows(name))


def _means(atoms: Sequence[GroundAtom], values: Floats) -> Sampled:
    """Means over worlds in the order drawn, with the standard errors of means of batches."""
    batches = np.stack([part.mean(axis=0) for part in np.array_split(values, _BATCHES)])
    errors = batches.std(axis=0, ddof=1) / np.sqrt(_BATCHES)
    return Sampled(
        dict(zip(atoms, batches.mean(axis=0).tolist(), strict=True)),
        dict(zip(atoms, errors.tolist(), strict=True)),
    )


# Boosted rules: the expectation of structural EM ------------------------------------------------


def _drawn(own: Setting, worlds: int, burn_in: int, seed: int) -> Worlds:
    model = own.library
    hidden = HiddenAtoms.of([own.database()], (), asked=own.asked)
    return sampled_worlds(model.targets, model.existential, hidden, worlds, burn_in, 5, [seed])


def _hidden_atoms(hidden: HiddenAtoms) -> list[GroundAtom]:
    """The unknown atoms in the order of their numbers."""
    found: list[GroundAtom] = []
    for predicate, (columns,) in hidden.columns.items():
        domains = [hidden.databases[0].domains[kind] for kind in predicate.types]
        for codes in columns.T.tolist():
            names = (domain[code] for domain, code in zip(domains, codes, strict=True))
            found.append((predicate.name, tuple(names)))
    return found


def expected_gap(problem: Problem) -> Answer:
    asked_worlds(setting(problem))  # skips data that no world fits
    return {"gap": 0.0}


def by_chances(problem: Problem) -> Answer:
    """How far an atom's chance in a world is from its probability given the rest of that world."""
    own = setting(problem)
    drawn = _drawn(own, worlds=4, burn_in=1, seed=0)
    atoms = _hidden_atoms(drawn.hidden)
    targets = {target.predicate.name: target for target in own.model.targets}
    gap = 0.0
    for truth, chances in zip(drawn.truth, drawn.chance, strict=True):
        world = _true_atoms(*drawn.hidden.completed(truth))
        for atom, chance in zip(atoms, chances.tolist(), strict=True):
            right = conditional(own.model, targets[atom[0]], atom, world, own.domains)
            gap = max(gap, abs(chance - right))
    return {"gap": gap}


def by_mean_chances(problem: Problem, seed: int) -> Sampled:
    own = setting(problem)
    drawn = _drawn(own, worlds=400 * (1 + 3 * seed), burn_in=100, seed=seed)
    found = _means(_hidden_atoms(drawn.hidden), drawn.chance)
    # what is left as the only value of its block is filled in for certain
    certain = _true_atoms(drawn.hidden.databases[0]) - _true_atoms(own.database(own.asked))
    return Sampled(
        found.values | dict.fromkeys(certain, 1.0), found.errors | dict.fromkeys(certain, 0.0)
    )


# Markov logic networks: the expectation of `learn_em` -------------------------------------------


def _completions(problem: Problem) -> tuple[Distribution, Unknown]:
    facts = problem.case.hidden[0]
    if not facts.unknown:
        raise Skip
    domains = problem.case.domains(facts)
    try:
        worlds, unknown = listed_worlds(problem.case.predicates, domains, facts, set())
    except TooLarge:
        raise Skip from None
    return Distribution(worlds, worlds.log_weights(problem.case.rules)), unknown


def expected_completions(problem: Problem) -> Answer:
    found, unknown = _completions(problem)
    return {atom: found.marginal(atom) for atom in unknown.atoms}


def by_filling_in(problem: Problem, seed: int) -> Sampled:
    atoms = _completions(problem)[1].atoms
    full = problem.mln.with_unit_clauses()  # as learn_em does, so that every atom has a rule
    full = full.with_weights([rule.weight or 0.0 for rule in full.soft])
    (database,) = ml.with_constants_of(full, problem.hidden[:1])
    random = np.random.SeedSequence([problem.case.seed, seed])
    filled = filled_in(full, database, "soft", 400 * (1 + 3 * seed), random)
    worlds = [_true_atoms(world) for world in filled]
    return _means(atoms, np.array([[atom in world for atom in atoms] for world in worlds], float))


PATHS = (
    Path("boosted: chances in EM's worlds", expected_gap, by_chances, share=0.3),
    Path("boosted: EM's worlds", expected_marginals, by_mean_chances, share=0.3, sampled=True),
    Path("weights: soft EM's worlds", expected_completions, by_filling_in, share=0.3,
         sampled=True),
)  # fmt: skip
