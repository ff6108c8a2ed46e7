"""A run of a learner: its budget, who is told of it, where it is written down, what it returns.

A learner is a generator of steps: after each, it yields the best model so far. `drive` is the loop
of all learners. `Course.tell` reports how far it is; `Course.check` ends a run whose time is over,
and the model of the last step is then the result.

Work deep inside, which knows nothing of learners (a join, a fit of weights), calls `check_time`: it
ends the run that is under way, if there is one. Nothing else goes that way: what is computed
depends on arguments alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Annotated, Any, Generic, TypeVar

from mlnlearn.errors import InputError, MlnError
from mlnlearn.resources import DEFAULT_MEMORY, Resources, counting_with
from mlnlearn.settings import AtLeast, Settings

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is.

    Attributes
    ----------
    stage
        What is being done, such as "measuring clauses of 3 literals".
    done, total
        How far the stage is; a total of None where nobody knows.
    """

    stage: str
    done: int
    total: int | None = None


@dataclass(frozen=True, kw_only=True)
class Run(Settings):
    """How a learner is to be run: what does not change what it would learn in the end.

    Parameters
    ----------
    max_seconds
        Stop after so long, with the best model so far; None for no limit. What is learned then
        depends on the machine.
    workers
        Processes, or threads, that share the work, where a learner can share it; the result is the
        same.
    progress
        Called now and then with a `Progress`.
    checkpoint
        A file for intermediate results; a run that was stopped or killed goes on from there, and
        ends with the same model as a run in one go.
    engine
        What counts: ``auto``, ``memory``, ``duckdb``, ``spark`` or one of another package; by
        default the one in use (see `mlnlearn.counting_with`).
    memory
        Bytes that counting may take beside the data, or text such as ``"2GB"``; by default those in
        use.
    master
        The address of the server, for engines that count on one, such as ``sc://host:15002``; by
        default the one in use.
    clock
        Tells the time, in seconds.

    Examples
    --------
    >>> Run(max_seconds=-1)
    Traceback (most recent call last):
    mlnlearn.errors.InputError: Run: max_seconds is -1, and must be a number, at least 0; or none
    """

    max_seconds: Annotated[float, AtLeast(0)] | None = None
    workers: Annotated[int, AtLeast(1)] = 1
    progress: Callable[[Progress], None] | None = None
    checkpoint: str | PathLike[str] | None = None
    engine: str | None = None
    memory: int | str | None = None
    master: str | None = None
    clock: Callable[[], float] = time.monotonic

    def conflicts(self) -> Iterator[str]:
        """Say where the engine or its memory make no sense."""
        try:
            Resources(self.engine or "auto", DEFAULT_MEMORY if self.memory is None else self.memory)
        except InputError as error:
            yield str(error)


class OutOfTimeError(MlnError):
    """The time of a run was over before there was any model."""


class Course:
    """A run under way.

    Examples
    --------
    >>> seconds = iter(range(10))
    >>> course = Course(Run(max_seconds=2, clock=lambda: next(seconds)))
    >>> course.check()
    >>> course.check()
    Traceback (most recent call last):
    mlnlearn.run.OutOfTimeError: the 2 seconds of the run are over
    """

    def __init__(self, run: Run | None = None) -> None:
        self.run = run or Run()
        self.cut = False  # whether a phase ended before it had tried everything
        self._start = self.run.clock()

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return self.run.clock() - self._start

    def tell(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Report where the run is."""
        if self.run.progress is not None:
            self.run.progress(Progress(stage, done, total))

    def check(self) -> None:
        """End the run where its time is over."""
        if self.run.max_seconds is not None:
            self.now()

    def now(self) -> float:
        """Return the time since the run began; end the run where its time is over."""
        limit, seconds = self.run.max_seconds, self.seconds
        if limit is not None and seconds >= limit:
            raise OutOfTimeError(f"the {limit:g} seconds of the run are over")
        return seconds

    def is_past(self, end: float) -> bool:
        """Tell whether a phase is over, and note that; end the run where its time is over."""
        over = self.now() >= end
        self.cut |= over
        return over


_UNDER_WAY: ContextVar[Course | None] = ContextVar("_UNDER_WAY", default=None)


def check_time() -> None:
    """End the run that is under way where its time is over; do nothing outside of runs."""
    course = _UNDER_WAY.get()
    if course is not None:
        course.check()


def workers_of_run() -> int:
    """Return how many share the work of the run that is under way; outside of runs one."""
    course = _UNDER_WAY.get()
    return 1 if course is None else course.run.workers


def is_cut() -> bool:
    """Tell whether a phase of the run under way ended early: the rest depends on the clock."""
    course = _UNDER_WAY.get()
    return course is not None and course.cut


def never() -> bool:
    """Tell that a phase goes on, as all do where time has no limit."""
    return False


def phase(share: float) -> Callable[[], bool]:
    """Return what tells whether a share is over of the time that the run under way has left now.

    A search whose first phase took all of the time would have nothing to show; it is over sooner,
    with what it found, and the notes of the run say so. Without a limit, or outside of runs, no
    phase is ever over.

    Examples
    --------
    >>> def learn(course):
    ...     is_over = phase(0.5)
    ...     tried = [number for number in range(100) if not is_over()]
    ...     yield Fitted(len(tried), Notes())
    >>> seconds = iter(range(1000))
    >>> fitted = drive(Run(max_seconds=200, clock=lambda: next(seconds)), learn)
    >>> fitted.model, fitted.notes.stopped
    (99, 'the 200 seconds of the run were too few to try everything')
    """
    course = _UNDER_WAY.get()
    limit = None if course is None else course.run.max_seconds
    if course is None or limit is None:
        return never
    now = course.now()
    return partial(course.is_past, now + share * (limit - now))


@dataclass(frozen=True, kw_only=True)
class Notes:
    """How a run went; learners add what is theirs.

    Attributes
    ----------
    seconds
        Time that it took.
    stopped
        Why it ended early; empty where it ran to its end.
    """

    seconds: float = 0.0
    stopped: str = ""


Model = TypeVar("Model")
OwnNotes = TypeVar("OwnNotes", bound=Notes)


@dataclass(frozen=True)
class Fitted(Generic[Model, OwnNotes]):
    """What learners return: the model, and how the run went.

    Parameters
    ----------
    model
        The model that was learned.
    notes
        How the run went: scores, seconds, what was left out.
    """

    model: Model
    notes: OwnNotes

    def __repr__(self) -> str:
        notes = self.notes
        ended = f", stopped: {notes.stopped}" if notes.stopped else ""
        return f"Fitted({type(self.model).__name__} in {notes.seconds:.1f} seconds{ended})"


def model_of(found: object) -> Any:
    """Return the model of what a learner returned: of a `Fitted`, or the thing itself.

    Examples
    --------
    >>> model_of(Fitted("rules", Notes())), model_of("rules")
    ('rules', 'rules')
    """
    return found.model if isinstance(found, Fitted) else found


def drive(
    run: Run | None, learn: Callable[[Course], Iterator[Fitted[Model, OwnNotes]]]
) -> Fitted[Model, OwnNotes]:
    """Run a learner to its end, or until its time is over.

    Examples
    --------
    >>> def learn(course):
    ...     for number in range(5):
    ...         course.check()
    ...         yield Fitted(f"model {number}", Notes())
    >>> drive(None, learn).model
    'model 4'
    >>> hours = iter(range(9))
    >>> stopped = drive(Run(max_seconds=3, clock=lambda: next(hours)), learn)
    >>> stopped.model, stopped.notes.stopped
    ('model 1', 'the 3 seconds of the run are over')
    """
    course = Course(run)
    best: Fitted[Model, OwnNotes] | None = None
    stopped = ""
    outer = _UNDER_WAY.set(course)
    try:
        with counting_with(course.run.engine, course.run.memory, course.run.master):
            for fitted in learn(course):
                best = fitted
    except OutOfTimeError as over:
        if best is None:
            raise OutOfTimeError(
                f"{over}, and there is no model yet", hint="give it more time: max_seconds"
            ) from None
        stopped = str(over)
    else:
        if course.cut:
            limit = course.run.max_seconds
            stopped = f"the {limit:g} seconds of the run were too few to try everything"
    finally:
        _UNDER_WAY.reset(outer)
    if best is None:
        raise MlnError("the learner made no model")
    notes = replace(best.notes, seconds=course.seconds, stopped=stopped)
    _LOG.info("learned in %.3f s%s", notes.seconds, f": {stopped}" if stopped else "")
    return Fitted(best.model, notes)
