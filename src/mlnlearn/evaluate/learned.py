"""One call from data to a model with its scores: `learn`.

What the command line does, too: some rows are kept aside, a model learned from the others is scored
on them, and then one is learned from all rows.
"""

from __future__ import annotations

import warnings
from collections import abc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlnlearn.counting.table_place import left_in_place
from mlnlearn.data.load.data import Data, DataLike, as_data
from mlnlearn.data.load.task_data import TaskData, relationship_of, tables_data
from mlnlearn.errors import DataWarning, InputError
from mlnlearn.evaluate.auto import Auto, AutoNotes
from mlnlearn.evaluate.held_out import HeldOut, held_out_scores
from mlnlearn.evaluate.leaks import future_leaks
from mlnlearn.evaluate.net_rows import explain_net, net_rows
from mlnlearn.evaluate.portfolio import member
from mlnlearn.evaluate.row_reasons import RowReasons, explain_rows
from mlnlearn.evaluate.rows import RowAnswers, predict_rows
from mlnlearn.model.answers import Answers
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.explanation import Explanation
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.model.shown import ShownRule
from mlnlearn.notebook import Shown, ShownTable
from mlnlearn.run import Notes, Run
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from mlnlearn.structure.saved import load_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RULES = 20


@dataclass(frozen=True, eq=False, repr=False)
class ScoredModel(Shown):
    """A model, what it was learned for, and its scores on rows that were kept aside.

    Attributes
    ----------
    target
        What it predicts.
    model
        The model itself: its methods are those of its kind.
    notes
        How the learning went.
    held_out
        Scores of a model learned without some of the rows, on these rows; None where there were too
        few of them.
    """

    target: str
    model: Any
    notes: Notes
    held_out: HeldOut | None

    @property
    def scores(self) -> dict[str, tuple[float, float]]:
        """Of each metric, the score on rows kept aside, and that of the base rate."""
        if self.held_out is None:
            return {}
        base = self.held_out.baseline
        return {name: (score, base[name]) for name, score in self.held_out.scores.items()}

    def rules(self, max_rules: int = _RULES) -> list[ShownRule]:
        """Return the rules as sentences; those of a net of all columns that speak of the target.

        Parameters
        ----------
        max_rules
            Most rules.
        """
        return rules_of(self.model, self.target, max_rules)

    def query(self, data: DataLike, *, only_empty: bool = False) -> RowAnswers | Answers:
        """Answer for rows of a table, or for atoms of a database.

        Parameters
        ----------
        data
            Data of the same kind as those that were learned from.
        only_empty
            Of tables: whether to answer only for rows whose value is not known.
        """
        read = self._read(data)
        if isinstance(self.model, RelationalModel) and self.model.mapping is not None:
            rows = predict_rows(self.model, read.data, only_empty=only_empty)
            return rows.in_order_of(read.keys_of(self.model.row_set))
        if isinstance(self.model, JoinBayesModel) and read.data.mapping is not None:
            return net_rows(self.model, read, self.target, only_empty=only_empty)
        answers: Answers = self.model.query(self._single(read.data), self.target)
        return answers

    def explain(self, data: DataLike, name: str) -> RowReasons | Explanation:
        """Say why of one answer, as contributions that add up.

        Parameters
        ----------
        data
            As for `query`.
        name
            The key of a row of the table, or an atom of a database such as ``smokes(Anna)``. A net
            of all columns takes both. Of a row it explains an atom: that of the most probable value
            of the target, or of its flag, and as `query` does, with no row's value known. An atom
            that is named is explained given all else that is known.
        """
        found = self._read(data).data
        if isinstance(self.model, RelationalModel) and self.model.mapping is not None:
            return next(explain_rows(self.model, found, [name]))
        database = self._single(found)
        if isinstance(self.model, JoinBayesModel):
            return explain_net(self.model, found, self.target, name)
        reasons: Explanation = self.model.explain(database, name)
        return reasons

    def plot_rules(self, most: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the weights of the strongest rules as bars; needs the extra ``mlnlearn[plot]``.

        Parameters
        ----------
        most
            How many rules.
        ax
            Where to draw; a new figure by default.
        """
        drawn: Axes = self.model.plot_rules(most, ax)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the model, which `load` reads again."""
        self.model.save(path)

    @classmethod
    def load(cls, path: str | Path, target: str = "") -> ScoredModel:
        """Read a model that `save` wrote, to be asked as before; scores are not in the file.

        Parameters
        ----------
        path
            Where it is.
        target
            What is asked for, where the model says more than that: a net of all columns, say.

        Examples
        --------
        >>> import tempfile
        >>> from mlnlearn.data.synthetic import smokers
        >>> found = learn(smokers(60, rng=1).databases, "cancer", learner="mln-bc")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(f"{folder}/cancer.mln")
        ...     again = ScoredModel.load(f"{folder}/cancer.mln")
        >>> again.target, again.rules() == found.rules()
        ('cancer', True)
        """
        model = load_model(path)
        own = _target_of(model)
        if not (target or own):
            raise InputError(
                f"{path}: a {type(model).__name__} is of no one target",
                hint='name what you ask for: ScoredModel.load(path, "customer.churned")',
            )
        return cls(target or own, model, Notes(), None)

    def summary(self) -> str:
        """Say in a few words what it is."""
        scores = ", ".join(
            f"{name} {score:.3f} ({base:.3f} by the base rate)"
            for name, (score, base) in self.scores.items()
        )
        aside = f"; on {self.held_out.rows:,} rows kept aside {scores}" if self.held_out else ""
        number = len(self.rules())
        return f"{self.target} by {number} rule{'s' * (number != 1)}{aside}"

    def table(self) -> ShownTable:
        """Return the rules."""
        rules = enumerate(self.rules(), start=1)
        return ("", "rule"), ((str(number), rule.sentence) for number, rule in rules)

    def __str__(self) -> str:
        rules = enumerate(self.rules(), start=1)
        lines = [f"{number}. {rule.sentence}" for number, rule in rules]
        return "\n".join([*lines, self.summary()])

    def _read(self, data: DataLike) -> TaskData:
        """Read tables as those were read that the model was learned from."""
        mapping = getattr(self.model, "mapping", None)
        if isinstance(data, str | Path) and (left := left_in_place(data, mapping=mapping)):
            return TaskData(left, None)
        if mapping is not None and isinstance(data, abc.Mapping | str | Path):
            return tables_data(data, mapping=mapping)
        return TaskData(as_data(data), None)

    def _single(self, data: Data) -> Any:
        if len(data.databases) != 1:
            raise InputError(f"{len(data.databases)} databases", hint="ask about one at a time")
        return data.databases[0]


def _target_of(model: Any) -> str:
    """Return what a model predicts; nothing where that is more than one thing."""
    if isinstance(model, RelationalModel):
        of_table = model.mapping is not None and model.column is not None
        return f"{model.row_set}.{model.column}" if of_table else model.target
    if isinstance(model, BoostedModel) and len(model.targets) == 1:
        return model.targets[0].predicate.name
    return ""


def learn(
    data: DataLike, target: str = "", *, learner: Any = None, run: Run | None = None
) -> ScoredModel:
    """Learn to predict a target: rules as sentences, and scores on rows that were kept aside.

    Parameters
    ----------
    data
        Tables, data frames by name, a path or an address of either, databases; see `as_data`.
    target
        What to predict: ``TABLE.COLUMN``, a column, or a predicate.
    learner
        Any learner of one target, or its name on the command line; by default `Auto`, which
        chooses one.
    run
        Limits of the run: of its time, half goes to the scores.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import smokers
    >>> found = learn(smokers(200, rng=1).databases, "cancer")
    >>> list(found.scores)
    ['auc_roc', 'auc_pr', 'accuracy', 'cll']
    >>> len(found.query(smokers(50, rng=2).databases[0]))
    50
    """
    given = _read(data, target)
    learner = _of_one_target(learner, given, target)
    for leak in future_leaks(given, learner.target):
        warnings.warn(str(leak), DataWarning, stacklevel=2)
    held_out, chosen, limited = scored_learner(learner, given, run or Run())
    fitted = chosen.fit(given, limited)
    return ScoredModel(learner.target, fitted.model, fitted.notes, held_out)


def _of_one_target(learner: Any, data: Data, target: str) -> Any:
    """Return the learner that was given, named or meant."""
    if learner is None:
        return Auto(target=target)
    name = learner if isinstance(learner, str) else type(learner).__name__
    learner = member(learner, data, target, seed=0) if isinstance(learner, str) else learner
    if not getattr(learner, "target", ""):
        raise InputError(
            f"{name} does not learn one target",
            hint="fit it as it is, learner.fit(data), or name one such as 'boost' or 'mln-bt'",
        )
    return learner


def scored_learner(learner: Any, data: Data, run: Run) -> tuple[HeldOut | None, Any, Run]:
    """Score a learner on rows kept aside; return it as it is to learn from all, and its run.

    `Auto` keeps the choice that it made without the rows kept aside.

    Parameters
    ----------
    learner
        Of one target.
    data
        What it is to learn from.
    run
        Limits of both: each has half of the time.
    """
    share = None if run.max_seconds is None else run.max_seconds / 2
    held_out = held_out_scores(learner, data, Run(max_seconds=share))
    choice = None if held_out is None else held_out.notes
    if isinstance(choice, AutoNotes):
        learner = learner.only(choice.chosen)
    return held_out, learner, replace(run, max_seconds=share)


def rules_of(model: Any, target: str, most: int) -> list[ShownRule]:
    """Return rules to be shown; those of a model of predicates as they are written.

    Parameters
    ----------
    model
        Any model with rules.
    target
        What rules of a net of all columns must speak of.
    most
        Most rules.
    """
    if isinstance(model, RelationalModel):
        return model.shown_rules(most)
    if isinstance(model, JoinBayesModel):
        return model.sentences(most, target)
    rules = list(model.rules())[:most]
    return [ShownRule(text, text, None, None, None, weight) for text, weight in rules]


def _read(data: DataLike, target: str) -> Data:
    """Read data for a target: a table of links whose key it is part of is read as events."""
    left = left_in_place(data) if isinstance(data, str | Path) else None
    found = left or as_data(data)
    mapping = found.mapping
    if isinstance(data, str | Path) and not left and mapping and relationship_of(mapping, target):
        return tables_data(data, target=target).data
    return found
