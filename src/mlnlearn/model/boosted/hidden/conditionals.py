"""Probabilities of atoms that depend on no other unknown atom but those of their own block."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from mlnlearn.counting.bindings import is_true
from mlnlearn.counting.blocks import choice_probabilities
from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.boosted.hidden.marginals import depends_on_unknown
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.potentials import potentials
from mlnlearn.model.boosted.rules import TargetRules


def independent_probabilities(
    targets: Sequence[TargetRules], existential: bool, hidden: HiddenAtoms, wanted: Collection[str]
) -> Floats:
    """Return the probabilities of the unknown atoms of some predicates, zero for all others.

    No rule that matters to them may mention an unknown atom. The log-odds of an atom of a block,
    exactly one of which is true, are then the log-weight of this choice.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("phase(person,step!)")
    >>> domains = {"person": ["Anna"], "step": ["One", "Two"]}
    >>> hidden = HiddenAtoms.of([Database.from_facts(schema, {}, domains=domains)], [], ["phase"])
    >>> rules = [TargetRules(schema["phase"], -2.0)]
    >>> independent_probabilities(rules, False, hidden, ["phase"]).tolist()
    [0.5, 0.5]
    """
    odds = np.full(len(hidden), -np.inf)
    for predicate, rows in hidden.rows.items():
        if predicate.name in wanted:
            start = hidden.starts[predicate]
            found = potentials(targets, existential, hidden.known, predicate.name, rows)
            odds[start : start + rows.shape[1]] = found
    chances: Floats = expit(odds)
    chosen = np.flatnonzero((hidden.block >= 0) & np.isfinite(odds))
    chances[chosen] = choice_probabilities(odds[chosen], hidden.block[chosen])
    return chances


def choices_given_the_rest(
    targets: Sequence[TargetRules],
    existential: bool,
    databases: Sequence[Database],
    predicate: Predicate,
) -> tuple[HiddenAtoms, Floats]:
    """Return all atoms of a predicate with ``!`` and their probabilities given all other blocks.

    What the databases do not list, and what is unknown, is taken as false.
    """
    closed = [database.closed() for database in databases]
    hidden = HiddenAtoms.of(closed, [], [predicate.name])
    if not depends_on_unknown(targets, existential, closed[0], [predicate.name]):
        return hidden, independent_probabilities(targets, existential, hidden, [predicate.name])
    sampler = Sampler(GroundNetwork.of(targets, existential, hidden), np.random.default_rng(0))
    if len(hidden):
        sampler.assign(is_true(Objects(closed), predicate, hidden.rows[predicate]))
    return hidden, sampler.conditionals()
