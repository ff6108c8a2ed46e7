"""What all learners of rules are: settings, and a generator of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Generic

from mlnlearn.data.load.data import Data, DataLike, as_data
from mlnlearn.run import Course, Fitted, Model, OwnNotes, Run, drive
from mlnlearn.settings import Settings


class Learner(Settings, ABC, Generic[Model, OwnNotes]):
    """Base of learners: frozen dataclasses of settings that say how a step is made.

    See ``docs/extending.md`` for one of thirty lines.
    """

    reads_numbers: ClassVar[bool] = False
    """Whether it reads numbers as such; any other is given data with numbers cut into bands."""

    def data_from(self, given: DataLike) -> Data:
        """Return the data in the form in which this learner reads them."""
        data = as_data(given)
        return data if self.reads_numbers else data.banded()

    @abstractmethod
    def learn(self, data: Data, course: Course) -> Iterator[Fitted[Model, OwnNotes]]:
        """Learn, and yield the best model so far after every step.

        Parameters
        ----------
        data
            The databases, of one schema.
        course
            The run under way: `Course.check` before every step ends a run whose time is over,
            `Course.tell` says how far it is.
        """

    def fit(self, data: DataLike, run: Run | None = None) -> Fitted[Model, OwnNotes]:
        """Learn a model.

        Parameters
        ----------
        data
            A database or several, tables, data frames by name, a path or an address; see `as_data`.
        run
            Its limits, where it is written down, and who is told of progress.

        Returns
        -------
        Fitted
            The ``model``, and ``notes`` on how it went.
        """
        given = self.data_from(data)
        return drive(run, lambda course: self.learn(given, course))
