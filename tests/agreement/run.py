"""Running cases: which paths each takes, and what is counted of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from agreement.case import Case
from agreement.compare import Outcome, Path, tried
from agreement.generate import random_case
from agreement.paths import (
    best,
    boosting,
    command_line,
    counts,
    expectations,
    explanations,
    features,
    files,
    flips,
    graphs,
    join_bayes,
    likelihood,
    marginals,
    pseudolikelihood,
    weights,
)
from agreement.problem import Problem

PATHS: tuple[Path, ...] = (
    *counts.PATHS,
    *flips.PATHS,
    *pseudolikelihood.PATHS,
    *marginals.PATHS,
    *best.PATHS,
    *likelihood.PATHS,
    *explanations.PATHS,
    *weights.PATHS,
    *command_line.PATHS,
    *files.PATHS,
    *boosting.PATHS,
    *join_bayes.PATHS,
    *expectations.PATHS,
    *features.PATHS,
    *graphs.PATHS,
)


@dataclass
class Tally:
    """What was found over many models."""

    models: int = 0
    agreed: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    scores: dict[str, list[float]] = field(default_factory=dict)
    differing: list[tuple[int, Outcome]] = field(default_factory=list)

    def add(self, seed: int, outcomes: Iterable[Outcome]) -> None:
        """Count what became of the paths of one model."""
        self.models += 1
        for outcome in outcomes:
            if outcome.kind == "agreed":
                self.agreed[outcome.path] += 1
                self.scores.setdefault(outcome.path, []).extend(outcome.scores)
            elif outcome.kind == "refused":
                self.refused[outcome.path, outcome.detail] += 1
            else:
                self.differing.append((seed, outcome))

    def __iadd__(self, other: Tally) -> Tally:
        self.models += other.models
        self.agreed += other.agreed
        self.refused += other.refused
        self.differing += other.differing
        for path, scores in other.scores.items():
            self.scores.setdefault(path, []).extend(scores)
        return self

    @property
    def comparisons(self) -> int:
        return self.agreed.total() + len(self.differing)

    def refusals(self, path: str) -> int:
        return sum(count for (other, _), count in self.refused.items() if other == path)

    def spread(self, path: str) -> float:
        """Root mean square of a sampler's errors over their reported standard errors."""
        scores = self.scores.get(path)
        return float(np.sqrt(np.mean(np.square(scores)))) if scores else float("nan")


def outcomes(seed: int, paths: Sequence[Path] = PATHS) -> Iterator[Outcome]:
    """Take the paths of one model: all that cost little, a random part of the others."""
    rng = np.random.default_rng([seed, 15])
    problem = Problem(random_case(seed))
    for path in paths:
        if rng.random() < path.share:
            outcome = tried(path, problem)
            if outcome is not None:
                yield outcome


def tally(seeds: Iterable[int], paths: Sequence[Path] = PATHS) -> Tally:
    """Run the models of some seeds."""
    found = Tally()
    for seed in seeds:
        found.add(seed, outcomes(seed, paths))
    return found


def same_fault(case: Case, first: Outcome) -> bool:
    """Whether a path still gives a wrong answer of the same kind."""
    path = next(path for path in PATHS if path.name == first.path)
    outcome = tried(path, Problem(case))
    return outcome is not None and outcome.kind == "differs" and outcome.sort == first.sort
