"""Explanations add up, and give the atom's probability given all others."""

from __future__ import annotations

import math

import numpy as np

import mlnlearn as ml
from agreement.compare import Answer, Path
from agreement.conditionals import Conditionals
from agreement.language import GroundAtom, atom_text
from agreement.problem import Problem, Skip


def _atom(problem: Problem) -> GroundAtom:
    """One of the atoms, by the seed."""
    case = problem.case
    conditionals = _conditionals(problem)
    atoms = [atom for choice in conditionals.choices for atom in choice.atoms if atom is not None]
    if not atoms:
        raise Skip
    return atoms[case.seed % len(atoms)]


def _conditionals(problem: Problem) -> Conditionals:
    case = problem.case
    facts = case.training[0]
    return Conditionals.of(case, facts, case.domains(facts), case.rules)


def expected(problem: Problem) -> Answer:
    found = _conditionals(problem)
    if any(choice.chosen is None for choice in found.choices):
        raise Skip  # a block without a value: what the rest of the world is, is not said
    if found.broken.size and found.broken.min() and problem.case.hard:
        raise Skip  # every world breaks a hard rule
    probability = found.of_atoms(np.array(problem.case.weights))[_atom(problem)]
    return {"probability": probability, "sum": 0.0, "odds": 0.0}


def by_explain(problem: Problem) -> Answer:
    names = [predicate.name for predicate in problem.mln.schema.predicates]
    found = ml.explain(problem.mln, problem.read[0], atom_text(_atom(problem)), closed=names)
    total = sum(part.log_odds for part in found.contributions)
    gap = 0.0 if total == found.log_odds else total - found.log_odds
    odds = 0.0
    if found.against is None:
        implied = 1.0 / (1.0 + math.exp(-found.log_odds)) if found.log_odds > -700 else 0.0
        odds = found.probability - implied
    return {"probability": found.probability, "sum": gap, "odds": odds}


PATHS = (Path("explain: network", expected, by_explain, share=0.5),)
