"""Probabilities of unknown atoms of a boosted model, component by component.

Small components are enumerated, so that their answers are exact; the others are drawn together, by
several chains of Gibbs sampling with the budget and the diagnostics of every sampler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MlnError
from mlnlearn.model.answers import CLOSED_FORM, ComponentSummary
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, Mask, unknown_predicates
from mlnlearn.model.boosted.hidden.components import HiddenComponents, hidden_components
from mlnlearn.model.boosted.hidden.enumeration import enumerated
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.rules import TargetRules, bodies
from mlnlearn.montecarlo.chains import run
from mlnlearn.montecarlo.settings import Sampling

"""The method for an atom that no other unknown atom matters to."""
METHODS = ("auto", "exact", "gibbs")
"""Ways to answer."""


def depends_on_unknown(
    targets: Sequence[TargetRules], existential: bool, database: Database, asked: Collection[str]
) -> bool:
    """Tell whether atoms of the predicates asked for depend on each other or on unknown evidence.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)]})
    >>> depends_on_unknown([TargetRules(schema["smokes"], 0.5)], False, db, ["smokes"])
    False
    """
    names = {rules.predicate.name for rules in targets}
    unknown = names.intersection({*asked, *unknown_predicates([database])})
    return any(
        pattern.predicate.name in unknown
        for rules in targets
        # in a dependency network only the rules of what is unknown have a say
        if not existential or rules.predicate.name in unknown
        for step in (rules.prior, *rules.steps)
        for body in bodies(step)
        for pattern in body
    )


@dataclass(frozen=True, eq=False)
class HiddenMarginals:
    """What is found of unknown atoms; arrays run over all of them.

    Attributes
    ----------
    probability, standard_error
        Of each atom; zero for atoms of components that were not wanted.
    method
        How each atom's probability was found.
    components
        What was done for each wanted component.
    """

    probability: Floats
    standard_error: Floats
    method: NDArray[np.object_]
    components: tuple[ComponentSummary, ...]


def hidden_marginals(
    targets: Sequence[TargetRules],
    existential: bool,
    hidden: HiddenAtoms,
    *,
    wanted: Collection[str] | None = None,
    method: str = "auto",
    sampling: Sampling | None = None,
) -> HiddenMarginals:
    """Return the probabilities of unknown atoms, all others being known.

    Parameters
    ----------
    targets, existential
        The model; every predicate with unknown atoms must be a target of it.
    hidden
        The unknown atoms.
    wanted
        Predicates asked for; components without their atoms are passed over. By default all.
    method
        ``"auto"``: exact where components are small, else sampled. ``"exact"``: exact or an error.
        ``"gibbs"``: all sampled.
    sampling
        How long to sample.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(
    ...     schema, {"smokes": [("Anna",)]}, unknown={"smokes": [("Bob",)]})
    >>> rules = [TargetRules(schema["smokes"], 0.0)]
    >>> found = hidden_marginals(rules, False, HiddenAtoms.of([db, db], ["smokes"]))
    >>> found.probability.tolist(), found.method.tolist()
    ([0.5, 0.5], ['closed form', 'closed form'])
    """
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise InputError(f"a boosted model has no method {method!r}; there are: {known}")
    network = GroundNetwork.of(targets, existential, hidden)
    found = hidden_components(network.rules)
    worker = _HiddenWorker(network, found, sampling or Sampling())
    chosen = _holding(hidden, found, wanted)
    hard = chosen if method == "gibbs" else worker.enumerate(chosen)
    if hard.any() and method == "exact":
        size = int(found.sizes[hard].max())
        raise MlnError(
            f"{size} unknown atoms depend on each other: too many to enumerate",
            hint="take the method auto, which samples them",
        )
    if hard.any():
        worker.sample(hard)
    summaries = tuple(worker.summaries(chosen))
    return HiddenMarginals(worker.probability, worker.error, worker.method[found.label], summaries)


def _holding(hidden: HiddenAtoms, found: HiddenComponents, wanted: Collection[str] | None) -> Mask:
    """Tell which components have atoms of some predicates."""
    if wanted is None:
        return np.ones(len(found), np.bool_)
    chosen = np.zeros(len(found), np.bool_)
    for predicate, parts in hidden.columns.items():
        if predicate.name in wanted:
            start = hidden.starts[predicate]
            chosen[found.label[start : start + sum(part.shape[1] for part in parts)]] = True
    return chosen


class _HiddenWorker:
    """Answers components and notes how."""

    def __init__(self, network: GroundNetwork, found: HiddenComponents, sampling: Sampling) -> None:
        self.network, self.found, self.sampling = network, found, sampling
        self.probability = np.zeros(len(found.label))
        self.error = np.zeros(len(found.label))
        alone = np.diff(found.starts) == 1
        self.method = np.where(alone, CLOSED_FORM, "enumeration").astype(object)
        self.details: dict[int, tuple[bool, float, float]] = {}

    def enumerate(self, chosen: Mask) -> Mask:
        """Answer those of the chosen components that are small; return the others."""
        sampler = Sampler(self.network, np.random.default_rng(0), self.found.order)
        self.probability, _, done = enumerated(sampler, self.found, chosen)
        return chosen & ~done

    def sample(self, chosen: Mask) -> None:
        """Draw the atoms of some components together."""
        order = self.found.order[chosen[self.found.label[self.found.order]]]
        settings = self.sampling
        samplers = [
            Sampler(self.network, np.random.default_rng(child), order)
            for child in settings.sequence(int(order.min())).spawn(settings.chains)
        ]
        for sampler in samplers:
            sampler.scatter()
        uncertain = chosen[self.found.label]
        result = run(
            samplers,
            uncertain,
            samples=settings.samples,
            burn_in=settings.burn_in,
            max_seconds=settings.max_seconds,
            precision=settings.precision,
            workers=settings.workers,
        )
        self.probability[uncertain] = np.clip(result.marginals[uncertain], 0.0, 1.0)
        self.error[uncertain] = result.standard_error[uncertain]
        self.method[chosen] = "gibbs"
        self.details.update(result.judged(np.where(uncertain, self.found.label, -1)))

    def summaries(self, chosen: Mask) -> Iterator[ComponentSummary]:
        """Yield what was done for each of the chosen components."""
        atoms = self.found.sizes.tolist()
        clauses = self.found.groundings(self.network.rules).tolist()
        for number in np.flatnonzero(chosen).tolist():
            details = self.details.get(number, (True, None, None))
            yield ComponentSummary(atoms[number], clauses[number], self.method[number], *details)
