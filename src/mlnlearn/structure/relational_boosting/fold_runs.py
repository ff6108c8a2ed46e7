"""Runs that leave out a fold each: how many steps gain on what they left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mlnlearn.counting.aggregates import Ints
from mlnlearn.errors import InputError
from mlnlearn.journal import Journal
from mlnlearn.model.relational.files import TreesFile, trees_from_file, trees_to_plain
from mlnlearn.run import Course
from mlnlearn.structure.relational_boosting.steps import BoostingRun, mean_deviance

_WORTH = 1e-4  # of the deviance of no tree: what a tree must gain on held-out examples
_LOOK = 20  # steps after which runs that are behind others do not go on


@dataclass(eq=False)
class FoldRuns:
    """Runs without one fold each, which go on together as long as held-out examples gain.

    Attributes
    ----------
    runs, folds
        The runs, and what each left out.
    patience
        How many steps to wait for a better one.
    curve
        The mean deviance of held-out examples after every step, that of no step first.
    steps
        The first step after which nothing was gained that is worth a tree.
    """

    runs: list[BoostingRun]
    folds: list[Ints]
    patience: int
    curve: list[float] = field(init=False)
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.curve = [mean_deviance(self.runs, self.folds)]
        self.steps = 0

    def go(
        self,
        most: int,
        course: Course,
        journal: Journal,
        key: str,
        rival: Sequence[float] | None = None,
    ) -> Iterator[int]:
        """Make steps, and mark the best one; yield the number of each.

        Parameters
        ----------
        most
            Most steps.
        course, journal, key
            Of the run, and what stands before the keys of steps in its journal.
        rival
            The curve of others: runs that are behind them after some steps do not go on.
        """
        for number in range(1, most + 1):
            if number - 1 - self.steps >= self.patience:
                return
            if rival is not None and number > _LOOK and self._is_behind(rival):
                return
            course.check()
            stepped(self.runs, journal, f"{key}fold step {number}")
            self.curve.append(mean_deviance(self.runs, self.folds))
            if self.curve[-1] < self.curve[self.steps] - _WORTH * self.curve[0]:
                self.steps = number
                for run in self.runs:
                    run.mark()
            yield number

    def taken_back(self) -> list[BoostingRun]:
        """Return the runs as they were at the best step."""
        return [run.taken_back() for run in self.runs]

    def _is_behind(self, rival: Sequence[float]) -> bool:
        at = min(len(self.curve), len(rival)) - 1
        return self.curve[at] >= rival[at]


def stepped(runs: Sequence[BoostingRun], journal: Journal, key: str) -> None:
    """Make a step of each run, or take those that the journal has."""
    if key in journal:
        with journal.reading(key, TreesFile) as file:
            trees, _ = trees_from_file(file, runs[0].loss.outputs)
            if len(trees) != len(runs):
                raise InputError(f"{len(runs)} runs have {len(trees)} trees")
            for run, tree in zip(runs, trees, strict=True):
                run.add(tree)
        return
    trees = [run.step() for run in runs]
    if journal.has_file:
        journal.record(key, trees_to_plain(trees))
