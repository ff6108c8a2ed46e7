"""ILS: iterated local search for clauses (Biba, Ferilli & Esposito 2008).

A clause is changed step by step, by a literal more, less or of another sign, while that improves
it; then it is perturbed by a few changes at random, and the search starts again from there. The
best clause of such a walk is added to the network, the weights are learned anew, and the next walk
begins. Generative, clauses are scored by weighted pseudo-likelihood; discriminative, by the
likelihood of one predicate given the others, each atom given all the rest, where the paper samples.

Departures: what a clause would gain is estimated by the score test, not by learning weights for
each; of the changes of a clause, some are drawn and tried. How strong a perturbation is, the
abstracts do not say: it is a setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Struct

from mlnlearn.data.load.data import Data
from mlnlearn.documents import Place
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.canonical import ClauseKey
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted, check_time
from mlnlearn.settings import AtLeast
from mlnlearn.structure.search.moves import ClauseFile
from mlnlearn.structure.search.network import Model
from mlnlearn.structure.search.settings import (
    LanguageSettings,
    RoundNotes,
    SearchRun,
    TargetSettings,
)
from mlnlearn.structure.search.ties import exceeds, ranked


@dataclass(frozen=True, kw_only=True)
class ILS(LanguageSettings[RoundNotes]):
    """Learn clauses by iterated local search, by pseudo-likelihood (ILS; Biba et al. 2008).

    The preset ``"paper"`` tries all changes of a clause in a step, and walks until nothing is found
    any more. How strong a perturbation is and when a walk ends are those of the defaults: they are
    not known of the paper.

    Parameters
    ----------
    tried
        How many changes of a clause, drawn at random, are tried in a step; None for all.
    strength
        By how many changes a clause is perturbed.
    patience
        A walk ends after so many perturbations in a row that led to nothing better.
    failures
        The search ends after so many walks in a row whose clause is not worth adding.
    max_rounds
        Most walks; None for no limit.
    seed
        Of all that is drawn.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> people = [f"P{i}" for i in range(40)]
    >>> facts = {"smokes": [(p,) for p in people[:20]], "cancer": [(p,) for p in people[:16]]}
    >>> db = Database.from_facts(schema, facts, domains={"person": people})
    >>> print(ILS().fit(db).model.rules[-1].formula)
    !cancer(x1) v smokes(x1)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **LanguageSettings.presets["paper"],
            "tried": None,
            "max_rounds": None,
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 4
    tried: Annotated[int, AtLeast(1)] | None = 50
    strength: Annotated[int, AtLeast(1)] = 2
    patience: Annotated[int, AtLeast(0)] = 3
    failures: Annotated[int, AtLeast(1)] = 3
    max_rounds: Annotated[int, AtLeast(0)] | None = 20
    seed: Annotated[int, AtLeast(0)] = 0

    @property
    def most_targets(self) -> int | None:
        """Most literals of scored predicates in a clause; None for any number."""
        return None

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[MLN, RoundNotes]]:
        """Yield the network with the unit clauses alone, and after every walk."""
        with self.started(data, course) as search:
            yield from _LocalSearchRun(self, search).steps()


@dataclass(frozen=True, kw_only=True)
class DiscriminativeILS(TargetSettings, ILS):
    """Learn clauses that predict one predicate from the others (ILS-DSL; Biba et al. 2008)."""

    @property
    def most_targets(self) -> int | None:
        """Most literals of scored predicates in a clause."""
        return None if self.recursive else 1


class _WalkFile(Struct, array_like=True, forbid_unknown_fields=True):
    """A walk, as the journal has it: the clause it found, and the weights of all with it."""

    scored: Place
    literals: ClauseFile
    weights: list[float]


class _LocalSearchRun:
    """One run of ILS."""

    def __init__(self, settings: ILS, search: SearchRun) -> None:
        self.settings = settings
        self.search = search
        self.language = settings.language(search)
        self.targets = {
            number
            for number, predicate in enumerate(search.background.schema.predicates)
            if predicate.name in search.background.targets
        }
        self.model = search.start()
        self.rounds = 0

    def steps(self) -> Iterator[Fitted[MLN, RoundNotes]]:
        """Add the clause of one walk after the other, then prune."""
        journal, failed = self.search.journal, 0
        yield self.fitted(self.model)
        most = self.settings.max_rounds
        while (most is None or self.rounds < most) and failed < self.settings.failures:
            self.search.course.check()
            self.search.course.tell("walks", self.rounds, most)
            self.rounds += 1
            key = f"walk {self.rounds}"
            if key not in journal:
                journal.record(key, self.walked())
            with journal.reading(key, _WalkFile) as walk:
                self.search.scored = walk.scored
                failed = 0 if walk.literals else failed + 1
                if walk.literals:
                    clause = self.language.read_clause(walk.literals)
                    self.model = self.model.extended(clause, np.array(walk.weights))
            yield self.fitted(self.model)
        yield self.fitted(self.search.pruned(self.model))

    def fitted(self, model: Model) -> Fitted[MLN, RoundNotes]:
        """Return a network with what is known of the search."""
        return self.search.fitted(model, RoundNotes, rounds=self.rounds)

    def walked(self) -> list[object]:
        """Walk; return how many were scored so far, the clause to add and the weights with it."""
        rng = np.random.default_rng((self.settings.seed, self.rounds))
        known: dict[ClauseKey, float] = {}
        units = [key for key in self.language.units if self.is_about_target(key)]
        best = self.climbed(self.perturbed(units[rng.integers(len(units))], rng), known, rng)
        waited = 0
        while waited < self.settings.patience:
            found = self.climbed(self.perturbed(best, rng), known, rng)
            waited = 0 if exceeds(known[found], known[best]) else waited + 1
            best = found if waited == 0 else best
        self.search.scored += len(known)
        longer = self.extended(best) if exceeds(known[best], 0.0) else None
        if longer is None:
            return [self.search.scored, [], []]
        return [self.search.scored, best, longer.weights.tolist()]

    def extended(self, key: ClauseKey) -> Model | None:
        """Return the network with a clause more, where it is worth it."""
        try:
            longer = self.model.extended(self.language.clause(key))
        except MemoryLimitError:
            return None
        gain = longer.likelihood - self.model.likelihood
        worth = exceeds(gain, self.search.price * len(key))
        return longer if worth and self.search.accept.generalises(self.model, longer) else None

    def climbed(
        self, key: ClauseKey, known: dict[ClauseKey, float], rng: np.random.Generator
    ) -> ClauseKey:
        """Change a clause while that improves it."""
        score = self.score(key, known)
        while True:
            changes = self.changes(key)
            chosen = rng.permutation(len(changes))[: self.settings.tried]
            tried = [changes[place] for place in np.sort(chosen)]
            ordered = ranked(tried, lambda change: self.score(change, known), lambda k: k)
            if not ordered or not exceeds(known[ordered[0]], score):
                return key
            key, score = ordered[0], known[ordered[0]]

    def perturbed(self, key: ClauseKey, rng: np.random.Generator) -> ClauseKey:
        """Change a clause at random."""
        for _ in range(self.settings.strength):
            changes = self.changes(key)
            if changes:
                key = changes[rng.integers(len(changes))]
        return key

    def changes(self, key: ClauseKey) -> list[ClauseKey]:
        """Return the clauses one change away that hold a target."""
        return [other for other in self.language.neighbours(key) if self.is_about_target(other)]

    def is_about_target(self, key: ClauseKey) -> bool:
        """Tell whether a clause holds a predicate whose likelihood counts, and not too often."""
        held = sum(literal[0] // 2 in self.targets for literal in key)
        most = self.settings.most_targets
        return 1 <= held <= (len(key) if most is None else most)

    def score(self, key: ClauseKey, known: dict[ClauseKey, float]) -> float:
        """Estimate what a clause gains, less its cost; what is known is not estimated again."""
        if key not in known:
            check_time()
            promise = self.model.promise(self.language.clause(key))
            known[key] = promise - self.search.price * len(key)
        return known[key]
