"""MSL: search for clauses by weighted pseudo-likelihood (Kok & Domingos 2005).

Each round looks for the clauses that would improve the present network most, by beam search or
shortest first, adds the best of them in turn, and learns the weights anew. Departures from the
paper: candidates are screened by the score test on all data, not on samples; the best of a round
are all tried, not the single best one. As in the paper, whatever raises the training likelihood is
added; with ``held_out`` and ``joint``, clauses must be of use beyond the data they are fitted to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Struct

from mlnlearn.data.load.data import Data
from mlnlearn.documents import Place
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.canonical import ClauseKey
from mlnlearn.logic.clauses import as_clause
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted, check_time, never, phase
from mlnlearn.settings import AtLeast
from mlnlearn.structure.search.crowded import until, warn_where_crowded
from mlnlearn.structure.search.moves import ClauseFile
from mlnlearn.structure.search.network import Model
from mlnlearn.structure.search.settings import LanguageSettings, RoundNotes, SearchRun
from mlnlearn.structure.search.ties import exceeds, ranked

# how many times over clauses may be tried in a step until enough of them are good
_TRIED = 5
# most steps of a beam search, in which changes that undo each other could go on for long
_STEPS = 20
# of the time that is left when a round begins, the share for screening clauses
_SCREENING = 0.5


@dataclass(frozen=True, kw_only=True)
class MSL(LanguageSettings[RoundNotes]):
    """Learn clauses by beam search, by pseudo-likelihood (MSL; Kok & Domingos 2005).

    The preset ``"paper"`` has the present defaults, but its name will always mean these.

    Parameters
    ----------
    min_gain
        What a literal by which a clause differs from where the search started must gain.
    strategy
        "beam": from the unit clauses and those of the network, change the best few clauses step by
        step. "shortest": try all clauses grown from the best shorter ones, length by length.
    beam
        Clauses kept in each step, and added in each round at most.
    refitted
        Candidates, the most promising ones, for which the weights are learned in each step.
    max_rounds
        Stop after so many rounds; None for no limit.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> people = [f"P{i}" for i in range(40)]
    >>> facts = {"smokes": [(p,) for p in people[:20]], "cancer": [(p,) for p in people[:16]]}
    >>> db = Database.from_facts(schema, facts, domains={"person": people})
    >>> print(MSL().fit(db).model.rules[-1].formula)
    !cancer(x1) v smokes(x1)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **LanguageSettings.presets["paper"],
            "strategy": "beam",
            "max_literals": 4,
            "max_variables": 4,
            "beam": 5,
        }
    }

    strategy: Literal["beam", "shortest"] = "beam"
    beam: Annotated[int, AtLeast(1)] = 5
    refitted: Annotated[int, AtLeast(1)] = 10
    max_rounds: Annotated[int, AtLeast(0)] | None = None

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[MLN, RoundNotes]]:
        """Yield the network with the unit clauses alone, and after every round."""
        with self.started(data, course) as search:
            yield from _BeamRun(self, search).steps()


@dataclass(frozen=True, slots=True)
class _Scored:
    """A clause with what it gains, less its penalty, and how far it is from where it started."""

    key: ClauseKey
    score: float
    distance: int


class _AddedFile(Struct, array_like=True, forbid_unknown_fields=True):
    """A clause, as the journal has it, with the weights of all."""

    literals: ClauseFile
    weights: list[float]


class _RoundFile(Struct, array_like=True, forbid_unknown_fields=True):
    """A round, as the journal has it: clauses scored so far, and those that were added."""

    scored: Place
    added: list[_AddedFile]


class _BeamRun:
    """One run of MSL."""

    def __init__(self, settings: MSL, search: SearchRun) -> None:
        self.settings = settings
        self.search = search
        self.language = settings.language(search)
        self.model = search.start()
        self.rounds = 0
        self.is_over = never  # of the screening in a round

    def steps(self) -> Iterator[Fitted[MLN, RoundNotes]]:
        """Add clauses until no round finds any, then prune."""
        length = 2
        journal = self.search.journal
        yield self.network(self.model)
        warn_where_crowded(self.search.background.schema.predicates, "msl")
        while not self.over(length):
            self.search.course.check()
            self.is_over = phase(_SCREENING)
            self.rounds += 1
            key = f"round {self.rounds}"
            if key not in journal:
                found = (
                    self.by_beam() if self.settings.strategy == "beam" else self.by_length(length)
                )
                journal.record(key, [self.search.scored, self.added(found)])
            with journal.reading(key, _RoundFile) as kept:
                self.search.scored = kept.scored
                for step in kept.added:
                    clause = self.language.read_clause(step.literals)
                    self.model = self.model.extended(clause, np.array(step.weights))
            if not kept.added and not self.is_over():  # else the next round may find others
                length += 1
            yield self.network(self.model)
        yield self.network(self.search.pruned(self.model))

    def network(self, model: Model) -> Fitted[MLN, RoundNotes]:
        """Return a network with what is known of the search."""
        return self.search.fitted(model, RoundNotes, rounds=self.rounds)

    def over(self, length: int) -> bool:
        """Tell whether the search is at its end."""
        settings = self.settings
        longest = 2 if settings.strategy == "beam" else settings.max_literals
        stopped = settings.max_rounds is not None and self.rounds >= settings.max_rounds
        return length > longest or stopped

    def added(self, found: Iterable[_Scored]) -> list[list[object]]:
        """Try the best clauses in turn; return those that are worth it, with the weights then."""
        steps: list[list[object]] = []
        model, accept = self.model, self.search.accept
        for scored in found:
            longer = self.refit(model, scored.key)
            threshold = accept.penalty * scored.distance
            if longer is None or not exceeds(longer.likelihood - model.likelihood, threshold):
                continue
            if accept.generalises(model, longer):
                model = longer
                steps.append([scored.key, model.weights.tolist()])
        return steps

    def by_beam(self) -> list[_Scored]:
        """Return the best clauses that small changes lead to."""
        seen = self.present()
        beam = [_Scored(key, 0.0, 0) for key in dict.fromkeys((*self.language.units, *seen))]
        best: list[_Scored] = []
        step = 0
        while beam and step < (_STEPS if best else self.settings.max_literals - 1):
            step += 1
            distances: dict[ClauseKey, int] = {}
            for scored in beam:
                for key in self.language.neighbours(scored.key):
                    if key not in seen:
                        distances.setdefault(key, scored.distance + 1)
            seen.update(distances)
            useful, beam = self.best(distances)
            highest = best[0].score if best else 0.0
            best = _top([*best, *useful], self.settings.beam)
            if best and not exceeds(best[0].score, highest):
                break
        return best

    def by_length(self, length: int) -> list[_Scored]:
        """Return the best clauses of one length, grown from the best shorter ones."""
        seen = self.present()
        pool = list(self.language.units)
        for literals in range(2, length + 1):
            grown = dict.fromkeys(k for key in pool for k in self.language.longer(key))
            fresh = {key: literals for key in grown if key not in seen}
            if literals == length:
                return self.best(fresh)[0]
            promises = self.promises(list(grown))
            order = ranked(promises, promises.__getitem__, lambda key: key)
            pool = order[: self.settings.beam * self.settings.refitted]
        return []

    def present(self) -> set[ClauseKey]:
        """Return the clauses of the network."""
        clauses = (as_clause(formula) for formula in self.model.formulas)
        keys = (self.language.key(clause) for clause in clauses if clause is not None)
        return {key for key in keys if key is not None}

    def promises(self, keys: Sequence[ClauseKey]) -> dict[ClauseKey, float]:
        """Estimate what each clause would gain."""
        promises = {}
        for key in until(self.is_over, keys, self.rounds):
            promises[key] = self.model.promise(self.language.clause(key))
        self.search.scored += len(promises)
        return promises

    def best(self, distances: dict[ClauseKey, int]) -> tuple[list[_Scored], list[_Scored]]:
        """Screen clauses by the score test, learn the weights for the best, and score those.

        Returns
        -------
        useful, beam
            The best clauses that may be added, and those to go on from: where there are too few of
            the former, others that score well, from which more literals may make good ones.
        """
        penalty, most, wanted = self.settings.min_gain, self.settings.refitted, self.settings.beam
        promises = self.promises(list(distances))
        order = ranked(promises, lambda k: promises[k] - penalty * distances[k], lambda k: k)
        useful: list[_Scored] = []
        others: list[_Scored] = []
        for start in range(0, min(_TRIED * most, len(order)), most):
            for scored, longer in self.fitted(order[start : start + most], distances):
                # asked last, and of no more clauses than are wanted: it takes the longest
                if len(useful) < wanted and self.search.accept.generalises(self.model, longer):
                    useful.append(scored)
                else:
                    others.append(scored)
            if len(useful) >= wanted or self.is_over():
                break
        size = len(distances)
        self.search.course.tell(f"round {self.rounds}", size, size)
        useful = _top(useful, wanted)
        return useful, [*useful, *_top(others, wanted - len(useful))]

    def fitted(
        self, keys: Iterable[ClauseKey], distances: Mapping[ClauseKey, int]
    ) -> list[tuple[_Scored, Model]]:
        """Learn the weights with each clause; return those that gain more than they cost."""
        found: list[tuple[_Scored, Model]] = []
        for key in keys:
            longer = self.refit(self.model, key)
            if longer is not None:
                gain = longer.likelihood - self.model.likelihood
                score = gain - self.settings.min_gain * distances[key]
                if exceeds(score, 0.0):
                    found.append((_Scored(key, score, distances[key]), longer))
        return ranked(found, lambda pair: pair[0].score, lambda pair: pair[0].key)

    def refit(self, model: Model, key: ClauseKey) -> Model | None:
        """Return a network with one more clause, or None where that is too large."""
        check_time()
        try:
            return model.extended(self.language.clause(key))
        except MemoryLimitError:
            return None


def _top(found: Iterable[_Scored], most: int) -> list[_Scored]:
    """Return the best clauses."""
    return ranked(found, lambda scored: scored.score, lambda scored: scored.key)[:most]
