"""The greedy search: screen all candidates, refit the best, add one, repeat."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mlnlearn.errors import MemoryLimitError
from mlnlearn.lifted.plan import NotLiftable
from mlnlearn.logic.clauses import Clause
from mlnlearn.run import check_time, phase
from mlnlearn.structure.lifted_search.candidates import Shape
from mlnlearn.structure.lifted_search.parts import Candidate, Part, Parts, Trial
from mlnlearn.structure.lifted_search.problem import Problem, score_tests
from mlnlearn.structure.search.crowded import until

# So many lists of refitted candidates without an acceptable one end the search.
_PATIENCE = 3
# Of the time that is left, the shares for screening candidates, and for refitting the best.
_SCREENING, _REFITTING = 0.5, 0.5


@dataclass(frozen=True, slots=True)
class Choice:
    """How candidates are chosen; see the learner's settings."""

    min_gain: float
    refitted: int
    risk: float
    max_candidate_seconds: float | None = None


class ClauseSearch:
    """Finds the next clause to add.

    Parameters
    ----------
    parts
        The network so far.
    shapes
        The candidates.
    choice
        How to choose.
    """

    def __init__(self, parts: Parts, shapes: Sequence[Shape], choice: Choice) -> None:
        self.parts = parts
        self.shapes = shapes
        self.choice = choice
        self.scored: dict[Shape, list[Candidate]] = {}
        self.stale = dict.fromkeys(shapes)
        self.problems: dict[Shape, Problem | None] = {}
        self.tried: set[Clause] = set()
        self.added: set[Clause] = set()
        self.slow: set[Shape] = set()

    def step(self) -> Trial | None:
        """Add the best acceptable clause to the network; None where there is none."""
        for _ in range(_PATIENCE):
            candidates = self._screened()
            if not candidates:
                return None
            is_over = phase(_REFITTING)
            trials: list[Trial] = []
            for candidate in candidates:
                if trials and is_over():
                    break
                trial = self._trial(candidate)
                trials += [] if trial is None else [trial]
            best = self._best_of(trials)
            if best is not None:
                self.added.add(best.candidate.clause)
                self.adopt(self.parts.finished(best))
                return best
            self.tried.update(candidate.clause for candidate in candidates)
        return None

    def adopt(self, part: Part) -> None:
        """Make a refitted component part of the network; what touches it is scored again."""
        self.parts.adopt(part)
        for shape in self.shapes:
            if shape.predicates & part.predicates:
                self.stale[shape] = None
                self.problems.pop(shape, None)
                self.tried.difference_update(shape.clauses)
        self.tried |= self.added

    def _trial(self, candidate: Candidate) -> Trial | None:
        """Refit a candidate, and try it on held-out databases; None where it gains too little."""
        problem = self._problem(candidate.shape)
        if problem is None:
            return None
        with self._timed(candidate.shape):
            trial = self.parts.refit(candidate, problem)
            if self._worth(trial) <= 0.0:
                return None
            if len(self.parts.splits):
                trial = self.parts.validated(trial)
        return None if candidate.shape in self.slow else trial

    def _best_of(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the best of refitted candidates, by held-out likelihood where there is one."""
        worth = {trial: self._worth(trial) for trial in trials}
        best, most = None, 0.0
        for trial in sorted(trials, key=lambda trial: -worth[trial]):
            if worth[trial] <= most:
                break
            if not len(self.parts.splits):
                return trial
            tilted = self.parts.tilted(trial)
            before = self.parts.touched(trial.candidate.shape).tilt
            left = worth[trial] - self.choice.risk * max(0.0, tilted.part.tilt - before)
            if left > most:
                best, most = tilted, left
        return best

    def _worth(self, trial: Trial) -> float:
        """Return what a clause gains, held out or not, less what each literal must add.

        A clause that gains more on held-out databases than on the data it is fitted to happens to
        mend what goes wrong with their domain sizes; that is no reason to prefer it. Nor is a
        clause worth more than it gains where weights fitted to small domains are tested on large
        ones, or the other way round, if its pull changes with these domains.
        """
        gain, once = trial.gain, self.parts.splits.left_out
        if len(trial.held_out):
            gain = min(gain, float(trial.held_out[:once].sum()), *trial.held_out[once:].tolist())
        return gain - self.choice.min_gain * len(trial.candidate.clause)

    def _screened(self) -> list[Candidate]:
        """Return the candidates of largest estimated gain.

        Gains change only where a component did. Those shapes are scored again in the order of the
        gains they had, until enough candidates beat what any other had before. Shapes never scored
        come first.
        """
        is_over = phase(_SCREENING)
        for shape in until(is_over, [s for s in self.stale if s not in self.scored]):
            self._score(shape)
        while True:
            fresh = sorted(
                (
                    candidate
                    for shape in self.shapes  # ties by their order, whatever was scored first
                    if shape in self.scored and shape not in self.stale
                    for candidate in self.scored[shape]
                    if candidate.clause not in self.tried
                ),
                key=lambda candidate: -candidate.gain,
            )[: self.choice.refitted]
            bar = fresh[-1].gain if len(fresh) == self.choice.refitted else 0.0
            known = (shape for shape in self.stale if shape in self.scored)
            waiting = max(known, key=self._last_gain, default=None)
            if waiting is None or is_over() or (bar > 0.0 and self._last_gain(waiting) < bar):
                return fresh
            self._score(waiting)

    def _last_gain(self, shape: Shape) -> float:
        """Return the best gain a shape's clauses last had."""
        return max((c.gain for c in self.scored[shape] if c.clause not in self.tried), default=0.0)

    def _score(self, shape: Shape) -> None:
        """Estimate the gain of every clause of a shape."""
        self.stale.pop(shape, None)
        self.scored[shape] = []
        problem = self._problem(shape)
        if problem is None:
            return
        part, everything = self.parts.touched(shape), self.parts.all
        with self._timed(shape):
            tests = score_tests(problem, part.weights, part.curvature, everything, self.parts.sigma)
        if shape in self.slow:
            return
        for number, (gain, weight) in enumerate(tests):
            if gain >= self.choice.min_gain and shape.clauses[number] not in self.tried:
                self.scored[shape].append(Candidate(shape, number, gain, weight))

    def _problem(self, shape: Shape) -> Problem | None:
        """Compile a shape, or recall it; None where it is not liftable within the limits."""
        if shape not in self.problems:
            try:
                with self._timed(shape):
                    self.problems[shape] = self.parts.problem(shape)
            except (NotLiftable, MemoryLimitError):
                self.problems[shape] = None
        return None if shape in self.slow else self.problems[shape]

    @contextmanager
    def _timed(self, shape: Shape) -> Iterator[None]:
        """Give a shape up for good if what is done for it takes too long."""
        check_time()
        started = time.process_time()
        yield
        limit = self.choice.max_candidate_seconds
        if limit is not None and time.process_time() - started > limit:
            self.slow.add(shape)
            self.scored[shape] = []
