"""GSLP: generative structure learning along a graph of predicates (Dinh et al. 2011, algorithm 1).

Departures from the paper. Clauses that differ in names only, or that are the same feature on the
data, are one clause, however many paths lead to it. Edges may close cycles (`Drafting`). Loops of
the graph, dropped edges included, are listed at once, since no part of them need have a measure
(see `loops`). Where there are held-out databases, a longer clause must be better for them too. Only
the best paths of each length are extended. A clause that a longer one improves upon stays a
candidate, tried after it: what a clause must do to be added is more than to have a high measure.

An added clause must improve the likelihood by more than the penalty on its length: maximised
likelihoods never fall, so that any improvement at all would let every clause in. With several
databases it must improve the likelihood of held-out ones too, and it must do no harm where atoms
are predicted together. Candidates much like a better one are tried, too, unless told otherwise: the
paper drops them because of too many clauses, which the other conditions keep out. Candidates are
screened by the score test before the weights are learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from mlnlearn.data.load.data import Data
from mlnlearn.logic.clauses import Clause
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted, never, phase
from mlnlearn.settings import AtLeast
from mlnlearn.structure.predicate_graph.candidates import (
    ClauseLimits,
    Measured,
    edge_measures,
    grow,
)
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.loops import identities, loops
from mlnlearn.structure.search.clauses import are_related, most_alike, predicates_in
from mlnlearn.structure.search.crowded import fair_order, until, warn_where_crowded
from mlnlearn.structure.search.growth import add_in_turn, prune
from mlnlearn.structure.search.network import Alone, Model
from mlnlearn.structure.search.settings import SearchNotes, SearchRun, SearchSettings
from mlnlearn.structure.search.ties import exceeds, ranked
from mlnlearn.weights.generative import learn_pseudolikelihood

_BATCH = 1024
_TIMED_BATCH = 64  # where time has a limit
# Of the time that is left, the shares for the instances of edges, then their measures, then longer
# clauses; what remains is for adding clauses to the network.
_COUNTING, _MEASURING, _GROWING = 0.2, 0.4, 0.5


@dataclass(frozen=True, kw_only=True)
class GSLPNotes(SearchNotes):
    """How GSLP went.

    Attributes
    ----------
    graph
        The reduced graph of predicates; None where the run ended before it was there.
    candidates
        The candidate clauses, after elimination, in the order in which they were tried.
    """

    graph: PredicateGraph | None = None
    candidates: tuple[Measured, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GSLP(SearchSettings[GSLPNotes]):
    """Learn clauses along a graph of predicates, by pseudo-likelihood (GSLP).

    Dinh, Exbrayat & Vrain (2011); limits as in their section 4.1. The preset ``"paper"`` is their
    algorithm: no cycles, no beam, one clause for each set of predicates, any gain is enough, and
    the last weights are those of pseudo-likelihood. Where the paper is silent: clauses that differ
    in names only, or that are the same feature on the data, are one clause, and clauses are
    screened by the score test before their weights are learned.

    Parameters
    ----------
    max_same
        Most literals of one predicate in a clause.
    min_instances
        Edges whose clause has fewer true instances are dropped (the paper's NTI, plus one).
    min_measure
        Edges whose measure is so small, or smaller, are dropped (the paper's MFT).
    min_weight
        Clauses with smaller absolute weights are pruned in the end, if that does no harm (the
        paper's MW).
    drop_subclauses
        Leave out candidates that contain, or are part of, one with a higher measure, as the paper
        does.
    drop_same_predicates
        Leave out candidates of the same predicates as one with a higher measure, as the paper does.
    close_cycles
        Let paths close cycles.
    max_loop
        Most literals of a loop of the graph; 1 for no loops, as in the paper.
    beam
        Extend only so many paths of each length, the best for each set of predicates first; None
        for all, as in the paper.
    drop_improved
        A clause that a longer one improves upon is no candidate, and to be followed up a longer one
        need improve upon one of the paths that lead to it, as in the paper.
    any_gain
        Add every candidate that raises the likelihood, however little, as the paper does.
    reflexive_units
        Have unit clauses with one variable at two places.
    final_weights
        The last weights are those of weighted pseudo-likelihood, or of pseudo-likelihood, as in the
        paper.
    max_clauses
        Measure at most so many clauses; None for no limit.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> people = [f"P{i}" for i in range(40)]
    >>> facts = {"smokes": [(p,) for p in people[:20]], "cancer": [(p,) for p in people[:16]]}
    >>> db = Database.from_facts(schema, facts, domains={"person": people})
    >>> print(GSLP().fit(db).model.rules[-1].formula)
    !cancer(x1) v smokes(x1)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "min_gain": 0.001,
            "held_out": False,
            "joint": False,
            "max_literals": 5,
            "max_same": 3,
            "min_instances": 1,
            "min_measure": 0.0,
            "min_weight": 0.001,
            "drop_subclauses": True,
            "drop_same_predicates": True,
            "close_cycles": False,
            "max_loop": 1,
            "beam": None,
            "drop_improved": True,
            "any_gain": True,
            "reflexive_units": False,
            "final_weights": "PLL",
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 5
    max_same: Annotated[int, AtLeast(1)] = 3
    min_instances: Annotated[int, AtLeast(0)] = 1
    min_measure: float = 0.0
    min_weight: Annotated[float, AtLeast(0)] = 0.001
    drop_subclauses: bool = False
    drop_same_predicates: bool = False
    close_cycles: bool = True
    max_loop: Annotated[int, AtLeast(1)] = 4
    beam: Annotated[int, AtLeast(1)] | None = 50
    drop_improved: bool = False
    any_gain: bool = False
    reflexive_units: bool = True
    final_weights: Literal["WPLL", "PLL"] = "WPLL"
    max_clauses: Annotated[int, AtLeast(0)] | None = None

    @property
    def has_reflexive_units(self) -> bool:
        """Whether a network has unit clauses with one variable at two places."""
        return self.reflexive_units

    @property
    def added_gain(self) -> float:
        """What each literal of a clause must gain for it to be added."""
        return 0.0 if self.any_gain else self.min_gain

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[MLN, GSLPNotes]]:
        """Yield the network with the unit clauses alone, and after every clause that is added."""
        with self.started(data, course) as search:
            fitted = None
            for fitted in _GraphRun(self, search, identities(data.databases)).steps():
                yield fitted
            if fitted is not None and self.final_weights == "PLL":
                # the measure of clauses is weighted, the weights need not be (section 3.4)
                learned = learn_pseudolikelihood(
                    fitted.model, data.databases, weighted=False, sigma=self.sigma, units=False
                )
                yield Fitted(learned.mln, fitted.notes)


class _GraphRun:
    """One run of GSLP."""

    def __init__(self, settings: GSLP, search: SearchRun, identities: frozenset[str]) -> None:
        self.settings = settings
        self.search = search
        self.identities = identities
        self.model = search.start()
        self.graph: PredicateGraph | None = None
        self.candidates: list[Measured] = []
        self.is_over = never  # of the phase under way

    def steps(self) -> Iterator[Fitted[MLN, GSLPNotes]]:
        """Run algorithm 1."""
        settings, search = self.settings, self.search
        yield self.fitted(self.model)
        warn_where_crowded(search.background.schema.predicates, "gslp")
        whole = self.whole_graph()
        self.graph = self.reduced_graph(whole)
        limits = ClauseLimits(
            settings.max_literals,
            settings.max_same,
            settings.close_cycles,
            settings.beam,
            settings.drop_improved,
        )
        self.is_over = phase(_GROWING)
        longest = min(settings.max_loop, settings.max_literals)
        listed = loops(whole.without(self.identities), longest, settings.max_same)
        self.candidates = self.eliminated(grow(self.graph, listed, self.measure, limits))
        clauses = [candidate.clause for candidate in self.candidates]
        journal, first, added = search.journal, len(search.background.soft), self.model
        for added in add_in_turn(self.model, clauses, search.accept, journal, search.course):
            yield self.fitted(added)
        yield self.fitted(prune(added, first, settings.min_weight, settings.added_gain, journal))

    def fitted(self, model: Model) -> Fitted[MLN, GSLPNotes]:
        """Return a network with what is known of the search."""
        candidates = tuple(self.candidates)
        return self.search.fitted(model, GSLPNotes, graph=self.graph, candidates=candidates)

    def whole_graph(self) -> PredicateGraph:
        """Build the graph, without the edges that have few true instances (lines 3 and 4)."""
        graph = PredicateGraph.of(self.search.background.schema.predicates)
        scorer, fewest = self.search.workers.scorer, self.settings.min_instances
        kept = {
            edge
            for edge in until(phase(_COUNTING), graph.edges)
            if scorer.true_instances(graph.edges[edge]) >= fewest
        }
        return PredicateGraph(graph.nodes, {e: c for e, c in graph.edges.items() if e in kept})

    def reduced_graph(self, graph: PredicateGraph) -> PredicateGraph:
        """Drop the edges with a small measure (line 4)."""
        self.is_over = phase(_MEASURING)
        known = self.measure(list(graph.edges.values()), "measuring the edges of the graph")
        least = self.settings.min_measure
        good = {c: found for c, found in known.items() if exceeds(found.measure, least)}
        return graph.reduced(edge_measures(graph, good))

    def measure(self, clauses: Sequence[Clause], stage: str) -> Mapping[Clause, Measured]:
        """Score clauses beside the unit clauses, within the limits of the search."""
        found: dict[Clause, Measured] = {}
        size = _BATCH if self.is_over is never else _TIMED_BATCH
        clauses = fair_order(clauses, self.is_over)
        for start in range(0, len(clauses), size):
            batch = clauses[start : start + size]
            if self.settings.max_clauses is not None:
                batch = batch[: max(self.settings.max_clauses - self.search.scored, 0)]
            if not batch or self.is_over():
                break
            for clause, alone in zip(batch, self.search.alone(batch), strict=True):
                if alone is not None and self.accepted(clause, alone):
                    cost = self.settings.min_gain * len(clause)
                    unseen = alone.held_out if self.settings.held_out else None
                    found[clause] = Measured(
                        clause,
                        alone.weight,
                        alone.gain - cost,
                        None if unseen is None else unseen - cost,
                    )
            self.search.course.tell(stage, start + len(batch), len(clauses))
        return found

    def accepted(self, clause: Clause, alone: Alone) -> bool:
        """Tell whether a clause is to be followed up.

        A clause with a predicate twice can predict the very atoms it was fitted to from the number
        of the others; such clauses must be of use for other databases from the start.
        """
        unseen = alone.held_out if self.settings.held_out else None
        return unseen is None or exceeds(unseen, 0.0) or most_alike(clause) == 1

    def eliminated(self, candidates: Sequence[Measured]) -> list[Measured]:
        """Sort candidates by measure and drop those too much like a better one (section 3.4)."""
        ordered = ranked(candidates, lambda c: c.measure, lambda c: str(c.clause))
        kept: list[Measured] = []
        sets: set[frozenset[str]] = set()
        for candidate in ordered:
            names = predicates_in(candidate.clause)
            if self.settings.drop_same_predicates and names in sets:
                continue
            if self.settings.drop_subclauses and any(
                are_related(candidate.clause, better.clause) for better in kept
            ):
                continue
            kept.append(candidate)
            sets.add(names)
        return kept
