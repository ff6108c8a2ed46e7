"""What all searches by pseudo-likelihood share: settings, and what a run holds while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Struct

from mlnlearn.data.identity import journal_of
from mlnlearn.data.load.data import Data
from mlnlearn.journal import Journal
from mlnlearn.logic.clauses import Clause
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted, Notes, OwnNotes
from mlnlearn.settings import Above, AtLeast
from mlnlearn.structure.learner import Learner
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.growth import Acceptance, prune_each
from mlnlearn.structure.search.moves import Language
from mlnlearn.structure.search.network import Alone, Model
from mlnlearn.structure.search.scoring import is_joint
from mlnlearn.structure.search.workers import Workers, workers


class _AloneFile(Struct, array_like=True, forbid_unknown_fields=True):
    """What a clause gains, as the journal has it."""

    weight: float
    gain: float
    held_out: float | None


@dataclass(frozen=True, kw_only=True)
class SearchNotes(Notes):
    """How a search went.

    Attributes
    ----------
    likelihood
        Weighted pseudo-log-likelihood of the network on the training data.
    scored
        How many times a clause was scored.
    """

    likelihood: float
    scored: int


@dataclass(frozen=True, kw_only=True)
class RoundNotes(SearchNotes):
    """How a search in rounds went.

    Attributes
    ----------
    rounds
        How many rounds, or walks, there were.
    """

    rounds: int


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Learner[MLN, OwnNotes]):
    """Settings of a search by weighted pseudo-likelihood.

    Parameters
    ----------
    min_gain
        What a literal must gain, in units of weighted pseudo-log-likelihood; of learners for one
        target, as a share of the log-loss that its unit clause leaves.
    held_out
        With several databases, keep only clauses that also raise the likelihood of databases left
        out of the fit.
    joint
        Keep only clauses that do no harm where all atoms of a predicate are unknown at once. With a
        single database, of which nothing can be held out, they must be of use there as well. This
        takes arrays of all ground atoms. None: where these are small; else a warning says that it
        is not asked. True: in any case; data whose arrays do not fit are refused.
    sigma
        Standard deviation of the Gaussian prior on weights.
    initial
        A network to start from: its formulas stay, its weights are learned anew unless locked.
    max_literals
        Most literals of a clause.
    """

    min_gain: Annotated[float, AtLeast(0)] = 0.001
    held_out: bool = True
    joint: bool | None = None
    sigma: Annotated[float, Above(0)] = 100.0
    initial: MLN | None = None
    max_literals: Annotated[int, AtLeast(1)] = 4

    @property
    def scored_predicates(self) -> tuple[str, ...] | None:
        """The predicates whose likelihood counts, given the others; None for all."""
        return None

    @property
    def has_reflexive_units(self) -> bool:
        """Whether a network has unit clauses with one variable at two places."""
        return True

    @property
    def added_gain(self) -> float:
        """What each literal of a clause must gain for it to be added."""
        return self.min_gain

    @contextmanager
    def started(self, data: Data, course: Course) -> Iterator[SearchRun]:
        """Provide what a run needs."""
        databases, run = data.databases, course.run
        background = Background.of(
            databases, self.initial, self.scored_predicates, reflexive=self.has_reflexive_units
        )
        joint = is_joint(self.joint, databases)
        journal = journal_of(run.checkpoint, self, databases)
        with workers(databases, background, self.sigma, run.workers) as found:
            # The atoms of a rare predicate have little to gain on the average: by itself, it would
            # never pay a price that is made for the sum over all predicates.
            alone = self.scored_predicates is not None
            unit = -found.scorer.start().likelihood if alone else 1.0
            accept = Acceptance(self.added_gain * unit, self.held_out, joint)
            yield SearchRun(background, accept, found, journal, course, self.min_gain * unit)


@dataclass(frozen=True, kw_only=True)
class LanguageSettings(SearchSettings[OwnNotes]):
    """Settings of a search among all clauses of a language.

    Unlike in other searches, `held_out` and `joint` are off, as in the papers; what the presets
    ``"paper"`` of such searches have in common stands here.

    Parameters
    ----------
    max_variables
        Most variables of a clause.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"min_gain": 0.01, "held_out": False, "joint": False, "sigma": 100.0}
    }

    min_gain: Annotated[float, AtLeast(0)] = 0.01
    held_out: bool = False
    joint: bool | None = False
    max_variables: Annotated[int, AtLeast(1)] = 4

    def language(self, search: SearchRun) -> Language:
        """Return the clauses of the data's predicates that are within the limits."""
        predicates = search.background.schema.predicates
        return Language(predicates, self.max_literals, self.max_variables)


@dataclass(frozen=True, kw_only=True)
class TargetSettings:
    """Settings of a search for clauses that predict one predicate from the others.

    Parameters
    ----------
    target
        The predicate to learn rules for; the others are taken as known.
    recursive
        Whether a clause may hold the target more than once. Clauses are chosen by how probable each
        atom is given all others; only where they hold the target once is that how probable all are
        together, when none of them is known.
    """

    target: str
    recursive: bool = False

    @property
    def scored_predicates(self) -> tuple[str, ...]:
        """The target alone."""
        return (self.target,)


@dataclass
class SearchRun:
    """A run of a search.

    Attributes
    ----------
    background
        What every network holds.
    accept
        What a clause must do to be added.
    workers
        Score clauses.
    journal
        Where results are written down, and read again.
    course
        Its time, and who is told of progress.
    price
        What a literal must gain, in units of weighted pseudo-log-likelihood.
    scored
        How many clauses were scored so far.
    """

    background: Background
    accept: Acceptance
    workers: Workers
    journal: Journal
    course: Course
    price: float
    scored: int = 0

    def alone(self, clauses: Sequence[Clause]) -> list[Alone | None]:
        """Score clauses beside the unit clauses, from the journal where they are known."""
        keys = [f"alone {clause}" for clause in clauses]
        new = [c for c, key in zip(clauses, keys, strict=True) if key not in self.journal]
        fresh = self.workers.alone(new)
        self.journal.record_all(
            [
                (f"alone {c}", None if a is None else [a.weight, a.gain, a.held_out])
                for c, a in zip(new, fresh, strict=True)
            ]
        )
        self.scored += len(clauses)
        return [None if self.journal.is_null(key) else self._known(key) for key in keys]

    def start(self) -> Model:
        """Return the network that every search starts from."""
        return self.workers.scorer.start()

    def pruned(self, model: Model) -> Model:
        """Return a network without the clauses that would not be accepted if they came last."""
        return prune_each(model, len(self.background.soft), self.accept, self.journal)

    def fitted(
        self, model: Model, notes: Callable[..., OwnNotes], **details: object
    ) -> Fitted[MLN, OwnNotes]:
        """Return a network with what is known of the search."""
        known = notes(likelihood=model.likelihood, scored=self.scored, **details)
        return Fitted(self.background.network(model.formulas, model.weights), known)

    def _known(self, key: str) -> Alone:
        kept = self.journal.read(key, _AloneFile)
        return Alone(kept.weight, kept.gain, kept.held_out)
