"""What all searches by pseudo-likelihood share: settings, and what a run holds while it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Annotated

from mlnlearn.data.database import Database
from mlnlearn.data.identity import journal_of
from mlnlearn.journal import Journal
from mlnlearn.model.mln import MLN
from mlnlearn.settings import Above, AtLeast, Settings
from mlnlearn.structure.search.growth import Acceptance
from mlnlearn.structure.search.model import Background
from mlnlearn.structure.search.progress import Deadline, Progress, Report
from mlnlearn.structure.search.scoring import is_joint
from mlnlearn.structure.search.workers import Workers, workers


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Settings):
    """Settings of a search by weighted pseudo-likelihood.

    Parameters
    ----------
    min_gain
        What a literal must gain, in units of weighted pseudo-log-likelihood.
    held_out
        With several databases, keep only clauses that also raise the likelihood of databases left
        out of the fit.
    joint
        Keep only clauses that do no harm where all atoms of a predicate are unknown at once. With a
        single database, of which nothing can be held out, they must be of use there as well. This
        takes arrays of all ground atoms. None: where these fit; else a warning says that it is not
        asked. True: data with too many atoms are refused.
    sigma
        Standard deviation of the Gaussian prior on weights.
    initial
        A network to start from: its formulas stay, its weights are learned anew unless locked.
    max_seconds
        Stop looking for clauses after so long; None for no limit. What is found then depends on the
        machine.

    Examples
    --------
    >>> SearchSettings(sigma=0.0)
    Traceback (most recent call last):
    mlnlearn.errors.InputError: SearchSettings: sigma is 0.0, and must be a number, above 0
    """

    min_gain: Annotated[float, AtLeast(0)] = 0.001
    held_out: bool = True
    joint: bool | None = None
    sigma: Annotated[float, Above(0)] = 100.0
    initial: MLN | None = None
    max_seconds: Annotated[float, AtLeast(0)] | None = None

    @contextmanager
    def started(
        self,
        databases: Sequence[Database],
        progress: Report | None,
        checkpoint: str | PathLike[str] | None,
        jobs: int = 1,
    ) -> Iterator[Search]:
        """Provide what a run needs; `jobs` processes score clauses."""
        background = Background.of(databases, self.initial)
        joint = is_joint(self.joint, databases)
        accept = Acceptance(self.min_gain, self.held_out, joint)
        journal = journal_of(checkpoint, self, databases)
        with workers(databases, background, self.sigma, jobs) as found:
            yield Search(background, accept, found, journal, Deadline(self.max_seconds), progress)


@dataclass
class Search:
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
    deadline
        When to stop.
    report
        Who is told of progress, if anybody.
    scored
        How many clauses were scored so far.
    """

    background: Background
    accept: Acceptance
    workers: Workers
    journal: Journal
    deadline: Deadline
    report: Report | None
    scored: int = 0

    def note(self, stage: str, done: int, total: int, likelihood: float) -> None:
        """Report progress."""
        if self.report is not None:
            self.report(Progress(stage, done, total, self.scored, likelihood))
