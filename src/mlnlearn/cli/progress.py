"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import mlnlearn as ml
from mlnlearn.cli.main import was_stopped
from mlnlearn.cli.show import complain, is_quiet

_SECONDS = 10.0
"""Time between two lines where there is no terminal."""


class Reporter:
    """Takes what learners and cross-validation report, in any of their forms.

    Called with how much is done of how much; with an object that has ``stage``, ``done`` and
    ``total`` (None where nobody knows); or with one that has a ``clause``.
    """

    def __init__(self, title: str) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
        )
        self._bar = Progress(
            *columns,
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal or is_quiet(),
        )
        self._console = console
        self._task = self._bar.add_task(title, total=None, count="")
        self._title = title
        self._clauses = 0
        self._spoke = time.monotonic()

    def __enter__(self) -> Reporter:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, what: object, total: int | None = None) -> None:
        """Show where the work is."""
        match what:
            case int(done):
                self._show(self._title, done, total)
            case object(stage=str(stage), done=int(done), total=int(number) | (None as number)):
                self._show(stage, done, number)
            case object(clause=clause):
                self._clauses += 1
                self._show(f"{self._title}: {clause}", self._clauses, None)

    def _show(self, text: str, done: int, total: int | None) -> None:
        count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        if self._console.is_terminal:
            self._bar.update(self._task, description=text, completed=done, total=total, count=count)
        elif time.monotonic() - self._spoke >= _SECONDS and not is_quiet():
            self._spoke = time.monotonic()
            self._console.print(f"{text}: {count}", markup=False, soft_wrap=True)


@contextmanager
def resumable(run: ml.Run) -> Iterator[None]:
    """Say how to go on where learning, or writing what was learned, is interrupted."""
    try:
        yield
    except BaseException as error:
        if not was_stopped(error):
            raise
        if run.checkpoint is not None and Path(run.checkpoint).exists():
            complain("note", f"stopped; run the same command again to go on from {run.checkpoint}")
        else:
            complain("note", "stopped; nothing was kept")
        raise


def fit(name: str, learner: Any, data: Any, run: ml.Run) -> ml.Fitted[Any, Any]:
    """Run the learner, showing how far it is."""
    with Reporter(name) as report:
        fitted: ml.Fitted[Any, Any] = learner.fit(data, replace(run, progress=report))
    if fitted.notes.stopped:
        complain("note", f"{fitted.notes.stopped}; the model is the best so far")
    for remark in getattr(fitted.notes, "remarks", ()):  # what was left out to keep within limits
        complain("note", remark)
    return fitted
