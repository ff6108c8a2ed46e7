"""The method for each component: exact where that is possible, else what suits it best.

An atom alone has a closed form; few atoms are enumerated; a thin component is taken by variable
elimination; the rest is sampled, by MC-SAT where clauses are hard or nearly so, else by Gibbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import MlnError
from mlnlearn.infer.belief import belief_propagation
from mlnlearn.infer.components import Components, NetworkPart
from mlnlearn.infer.elimination import DEFAULT_LIMIT, TooHardError, eliminate, eliminate_max
from mlnlearn.infer.enumeration import enumerate_components
from mlnlearn.infer.exact import is_small, refuse_contradiction
from mlnlearn.infer.network import Flags, Floats, Network
from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.infer.sampling.gibbs_plan import STRONG
from mlnlearn.infer.sampling.layout import build_layout
from mlnlearn.infer.sampling.maxwalksat import feasible_world, maxwalksat
from mlnlearn.model.answers import CLOSED_FORM, ComponentSummary
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.registry import METHODS


@dataclass(frozen=True, eq=False)
class Inference:
    """Probabilities of a network's values.

    Attributes
    ----------
    marginals
        Probability of each value of each variable; for MAP, 1 for the values of the best world.
    standard_error
        Monte Carlo standard errors: 0 for exact answers, not a number where unknown.
    method
        What was used for each variable.
    components
        What was used for each component.
    """

    marginals: Floats
    standard_error: Floats
    method: NDArray[np.object_]
    components: tuple[ComponentSummary, ...]


def infer(
    found: Components,
    method: str = "auto",
    *,
    wanted: Flags | None = None,
    sampling: Sampling | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Inference:
    """Return the probabilities of a network's values, component by component.

    Parameters
    ----------
    found
        The components of a network.
    method
        As for `query`.
    wanted
        Components to answer; the others get zeros and no summary. All by default.
    sampling
        Settings of the samplers.
    limit
        Most table cells of variable elimination for one component.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mlnlearn.infer.components import components
    >>> network = Network(
    ...     cardinalities=np.full(2, 2, np.int32), unary_starts=np.arange(0, 6, 2),
    ...     unary_counts=csr_array((4, 1)), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.ones(2, np.int32), literal_positive=np.ones(2, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(1), weights=np.array([np.log(2)]),
    ... )
    >>> result = infer(components(network))
    >>> result.marginals.round(4).tolist(), result.components[0].method
    ([0.4286, 0.5714, 0.4286, 0.5714], 'enumeration')
    """
    entry = METHODS[method]
    worker = _NetworkWorker(found, sampling or Sampling(), limit)
    if wanted is None:
        wanted = np.ones(len(found), np.bool_)
    match method:
        case "auto" | "exact":
            worker.exactly(wanted, may_sample=method == "auto")
        case "map":
            worker.best_world(wanted)
        case "gibbs" | "mcsat" | "bp":
            worker.together(wanted, method)
        case _:
            worker.by(wanted, method, entry.load())
    # sums of probabilities may leave [0, 1] by their rounding
    marginals = np.clip(worker.marginals, 0.0, 1.0)
    method_of = worker.method[found.label]
    return Inference(marginals, worker.errors, method_of, tuple(worker.summaries(wanted)))


class _NetworkWorker:
    """Answers components and notes how."""

    def __init__(self, found: Components, sampling: Sampling, limit: int) -> None:
        self.found, self.sampling, self.limit = found, sampling, limit
        self.marginals = np.zeros(len(found.network.forbidden))
        self.errors = np.zeros(len(found.network.forbidden))
        self.method = np.where(found.sizes == 1, CLOSED_FORM, "enumeration").astype(object)
        self.details: dict[int, tuple[bool, float | None, float | None]] = {}

    def exactly(self, wanted: Flags, *, may_sample: bool) -> None:
        """Answer components exactly, or those that are too hard by a sampler."""
        small = is_small(self.found)
        listed = enumerate_components(self.found, np.flatnonzero(small & wanted))
        refuse_contradiction(listed.log_z)
        self.marginals += listed.marginals
        for number in np.flatnonzero(~small & wanted).tolist():
            part = self.found.part(number)
            try:
                answer = eliminate(part.network, self.limit)
            except TooHardError:
                if not may_sample:
                    raise
                self._sample(part, [number], _sampler_for(part.network))
                continue
            refuse_contradiction(np.array([answer.log_z]))
            self.marginals[part.values] = answer.marginals
            self.method[number] = "elimination"

    def best_world(self, wanted: Flags) -> None:
        """Find a most probable world, where it is too hard by local search."""
        small = is_small(self.found)
        chosen = np.flatnonzero(small & wanted)
        listed = enumerate_components(self.found, chosen, marginals=False)
        refuse_contradiction(listed.best)
        starts = self.found.network.unary_starts
        for number in np.flatnonzero(~small & wanted).tolist():
            part = self.found.part(number)
            try:
                best, world = eliminate_max(part.network, self.limit)
                refuse_contradiction(np.array([best]))
                self.method[number] = "elimination"
            except TooHardError:
                seed = self.sampling.sequence(int(part.variables[0]))
                search = maxwalksat(part.network, seed=seed, max_seconds=self.sampling.max_seconds)
                world = search.world
                self.method[number] = "maxwalksat"
                self.details[number] = (search.proven, None, None)
            listed.world[part.variables] = world
        variables = np.flatnonzero(wanted[self.found.label])
        self.marginals[starts[variables] + listed.world[variables]] = 1.0

    def together(self, wanted: Flags, method: Literal["gibbs", "mcsat", "bp"]) -> None:
        """Answer all wanted components by one run of one method."""
        if not wanted.any():
            return
        part = self.found.union(wanted)
        numbers = np.flatnonzero(wanted).tolist()
        if method != "bp":
            self._sample(part, numbers, method)
            return
        self._refuse_impossible(wanted)
        result = belief_propagation(part.network)
        self.marginals[part.values] = result.marginals
        self.errors[part.values] = np.nan
        self.method[numbers] = method
        self.details.update((number, (result.converged, None, None)) for number in numbers)

    def by(self, wanted: Flags, name: str, method: Callable[[Network, Sampling], Floats]) -> None:
        """Answer all wanted components by a method of another package."""
        if not wanted.any():
            return
        part = self.found.union(wanted)
        marginals = np.asarray(method(part.network, self.sampling), np.float64)
        if marginals.shape != part.network.forbidden.shape or not np.isfinite(marginals).all():
            raise MlnError(
                f"the method {name} must return {len(part.network.forbidden)} probabilities,"
                f" not an array of shape {marginals.shape} with"
                f" {np.count_nonzero(~np.isfinite(marginals))} that are no numbers"
            )
        self.marginals[part.values] = marginals
        self.errors[part.values] = np.nan
        self.method[wanted] = name

    def _refuse_impossible(self, wanted: Flags) -> None:
        """Refuse hard rules that contradict each other, which messages do not always notice."""
        small = is_small(self.found)
        chosen = np.flatnonzero(small & wanted)
        refuse_contradiction(enumerate_components(self.found, chosen, marginals=False).best[chosen])
        for number in np.flatnonzero(~small & wanted).tolist():
            part = self.found.part(number)
            rng = np.random.default_rng(self.sampling.sequence(int(part.variables[0])))
            feasible_world(build_layout(part.network), rng)

    def _sample(
        self, part: NetworkPart, numbers: list[int], method: Literal["gibbs", "mcsat"]
    ) -> None:
        settings = self.sampling
        result = run_chains(
            part.network,
            method,
            samples=settings.samples,
            burn_in=settings.burn_in,
            chains=settings.chains,
            seed=settings.sequence(int(part.variables[0])),
            max_seconds=settings.max_seconds,
            precision=settings.precision,
            workers=settings.workers,
        )
        self.marginals[part.values] = result.marginals
        self.errors[part.values] = result.standard_error
        self.method[numbers] = method
        label = np.repeat(self.found.label[part.variables], part.network.cardinalities)
        self.details.update(result.judged(label))

    def summaries(self, wanted: Flags) -> Iterator[ComponentSummary]:
        """Yield what was used for each wanted component."""
        atoms, clauses = self.found.atom_counts.tolist(), self.found.clause_counts.tolist()
        for number in np.flatnonzero(wanted).tolist():
            details = self.details.get(number, (True, None, None))
            yield ComponentSummary(atoms[number], clauses[number], self.method[number], *details)


def _sampler_for(network: Network) -> Literal["gibbs", "mcsat"]:
    """Choose a sampler: MC-SAT where clauses are hard or nearly so."""
    strongest = float(np.abs(network.strengths).max(initial=0.0))
    return "mcsat" if strongest >= STRONG else "gibbs"
