"""Scores on rows that a learner did not see: a share of the examples is kept aside.

Beside each score stands that of a *baseline* which knows
how often each class occurs, or the median of the numbers, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import Number, Place, Relational, relational
from mlnlearn.data.bands import banded_like
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.reading import OTHER
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import MARGINALS, atom_probabilities
from mlnlearn.evaluate.held_out_data import keys_of, withheld
from mlnlearn.evaluate.probability import cll
from mlnlearn.evaluate.ranking import Floats, auc_pr, auc_roc
from mlnlearn.evaluate.row_split import HeldOutSplit, Mask, SplitBy, split_examples
from mlnlearn.evaluate.rows import SECONDS_OF_A_DAY, is_time, row_answers
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.run import Notes, Run

_LEAST = 1e-6
_MOST_EXAMPLES = 200_000


NAMES = {
    "auc_roc": "area under the ROC curve",
    "auc_pr": "area under the precision-recall curve",
    "accuracy": "accuracy",
    "cll": "mean log-likelihood",
    "mae": "mean absolute error",
}
"""Scores of rows, in words."""


def row_scores(
    probabilities: Floats, label: Floats, classes: int, weights: Floats | None = None
) -> dict[str, float]:
    """Return the scores of predictions: one row an example, one column a class (or the number).

    Examples
    --------
    >>> sure = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> {name: round(s, 3) for name, s in row_scores(sure, np.array([0.0, 1.0]), 2).items()}
    {'auc_roc': 1.0, 'auc_pr': 1.0, 'accuracy': 1.0, 'cll': -0.164}
    """
    if not classes:
        errors = np.abs(probabilities[:, 0] - label)
        return {"mae": float(np.average(errors, weights=weights))}
    true = label.astype(np.int64)
    ones = np.ones(len(label)) if weights is None else weights
    right = np.argmax(probabilities, axis=1) == true
    accuracy = float(np.average(right, weights=ones))
    if classes == 2:
        chance = np.clip(probabilities[:, 1], _LEAST, 1 - _LEAST)
        ranked = {"auc_roc": auc_roc(true, chance, ones), "auc_pr": auc_pr(true, chance, ones)}
        return {**ranked, "accuracy": accuracy, "cll": cll(true, chance, ones)}
    chosen = np.clip(probabilities[np.arange(len(true)), true], _LEAST, 1.0)
    return {"accuracy": accuracy, "cll": float(np.average(np.log(chosen), weights=ones))}


def baseline(examples: RowExamples, split: HeldOutSplit) -> Floats:
    """Return the predictions of the shares of classes, or the median, for those kept aside."""
    seen = examples.known & ~split.test
    label, weight = examples.label[seen], examples.weight[seen]
    number = max(int(split.test.sum()), 1)
    if not examples.classes:
        return np.full((number, 1), np.median(label))
    counts = np.bincount(label.astype(np.int64), weight, len(examples.classes))
    # one example more of each class: a class may not occur among those seen
    return np.tile((counts + 1.0) / (counts + 1.0).sum(), (number, 1))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores on examples that were kept aside, beside those of the baseline.

    Attributes
    ----------
    scores, baseline
        By metric.
    rows
        How many examples were kept aside.
    how
        How they were chosen, in words.
    notes
        How the learning went.
    days
        Whether errors are counted in days, of moments.
    """

    scores: dict[str, float]
    baseline: dict[str, float]
    rows: int
    how: str
    notes: Notes | None = None
    days: bool = False

    def in_words(self) -> list[tuple[str, float, float]]:
        """Return the name of each score in words, the score, and that of the baseline."""
        unit = " in days" if self.days else ""
        return [
            (NAMES[name] + unit, score, self.baseline[name]) for name, score in self.scores.items()
        ]


def held_out_scores(
    learner: Any,
    data: Data,
    run: Run | None = None,
    *,
    share: float = 0.2,
    seed: int = 0,
    by: SplitBy = "auto",
    target: str = "",
) -> HeldOut | None:
    """Keep some examples aside, learn from the others, and score the answers for those.

    Parameters
    ----------
    learner
        Of a single ``target``.
    data
        What the learner is to learn from later.
    run
        Limits of the run.
    share, seed, by
        As for `split_examples`.
    target
        What is predicted, of learners that do not say so themselves.

    Returns
    -------
    HeldOut or None
        None where there are too few examples.
    """
    view = relational(data.databases, data.mapping)
    place = find_place(view, target or learner.target)
    examples = examples_of(view, place, max_examples=_MOST_EXAMPLES, seed=seed)
    times = view[place.row_set].times if place.row_set in view.row_sets else None
    split = split_examples(examples, share=share, seed=seed, by=by, times=times)
    if split is None:
        return None
    hidden = withheld(data, view, examples, split.test)
    fitted = unlisted(learner).fit(hidden, run)
    own = getattr(fitted.model, "classes", ())
    if OTHER in own and OTHER in examples.classes:  # which are frequent, it knows of what it saw
        examples = examples_of(view, place, classes=own)
    found = answers_for(fitted.model, hidden, view, examples, split.test)
    label, weight = examples.label[split.test], examples.weight[split.test]
    classes = len(examples.classes)
    days = is_time(view, place)
    unit = SECONDS_OF_A_DAY if days else 1.0
    return HeldOut(
        row_scores(found / unit, label / unit, classes, weight),
        row_scores(baseline(examples, split) / unit, label / unit, classes, weight),
        int(split.test.sum()),
        split.how,
        fitted.notes,
        days,
    )


def unlisted(learner: Any) -> Any:
    """Return a learner that makes no short list of rules, which answers do not depend on."""
    return replace(learner, max_rules=0) if getattr(learner, "max_rules", 0) else learner


def predicate_of(data: Data, target: str) -> str:
    """Return the predicate that a column of tables became, for learners that know no numbers.

    Parameters
    ----------
    data
        Tables.
    target
        ``table.column``, or the column alone where only one table has it.

    Examples
    --------
    >>> import polars as pl
    >>> from mlnlearn.data.load.data import as_data
    >>> rows = {"name": ["Anna", "Bob", "Carl"] * 9, "ill": ["yes", "no", "no"] * 9}
    >>> predicate_of(as_data({"visit": pl.DataFrame(rows)}), "visit.ill")
    'ill'
    """
    view = relational(data.databases, data.mapping)
    place = find_place(view, target)
    if isinstance(view[place.row_set].columns.get(place.column or ""), Number):
        raise InputError(
            f"{target} is a number, which only boost and auto predict",
            hint="a mapping may cut it into bands",
        )
    return next(name for name, found in view.places.items() if found == place)


def seen_scores(model: RelationalModel, data: Data) -> HeldOut | None:
    """Score a model's answers for all rows whose label is known; None where none is.

    Beside them stand the scores of the rows' own shares of classes, or median.

    Parameters
    ----------
    model
        A model of rows.
    data
        The data, labels with them.
    """
    view = relational(data.databases, data.mapping)
    place = Place(model.row_set, model.column)
    examples = examples_of(view, place, max_examples=_MOST_EXAMPLES, classes=model.classes)
    chosen = examples.known
    if not chosen.any():
        return None
    found = row_answers(model, view, examples.base)[chosen]
    label, weight = examples.label[chosen], examples.weight[chosen]
    classes = len(model.classes)
    alone = baseline(examples, HeldOutSplit(np.zeros(len(chosen), np.bool_), ""))
    base = np.tile(alone[:1], (len(label), 1))
    days = is_time(view, place)
    unit = SECONDS_OF_A_DAY if days else 1.0
    return HeldOut(
        row_scores(found / unit, label / unit, classes, weight),
        row_scores(base / unit, label / unit, classes, weight),
        int(chosen.sum()),
        "",
        days=days,
    )


def answers_for(
    model: object, data: Data, view: Relational, examples: RowExamples, rows: Mask
) -> Floats:
    """Return what a model says of some examples: the chance of each class, or the number.

    Parameters
    ----------
    model
        Any model of the examples' predicate or column.
    data
        What the model may know: the labels of those asked for are hidden in it.
    view, examples
        The data with all labels, and their examples.
    rows
        Which examples are asked for.
    """
    if isinstance(model, RelationalModel):
        seen = relational(data.databases, data.mapping)
        if examples.home.column is None:  # only what is asked for is hidden from itself
            return row_answers(model, seen, examples.base.taken(np.flatnonzero(rows)))
        found = row_answers(model, seen, examples.base)[rows]
        return _by_class(found, model.classes, examples.classes)
    return _atom_answers(model, data, view, examples, rows)


def _by_class(found: Floats, own: Sequence[str], classes: Sequence[str]) -> Floats:
    """Return the chances of classes, of which a model may know others; those it does not: none.

    What it says for classes that are not asked for is for ``other``, where that is one of them.
    """
    if not classes or tuple(own) == tuple(classes):
        return found
    places = {name: place for place, name in enumerate(own)}
    padded = np.append(found, np.zeros((len(found), 1)), axis=1)
    chances = np.asarray(padded[:, [places.get(name, -1) for name in classes]])
    if OTHER in classes:
        rest = [place for name, place in places.items() if name not in classes]
        chances[:, list(classes).index(OTHER)] += found[:, rest].sum(axis=1)
    return chances


def _atom_answers(
    model: object, data: Data, view: Relational, examples: RowExamples, rows: Mask
) -> Floats:
    """Return what a model of predicates says of rows, by way of the atoms that they stand for."""
    name = next(name for name, found in view.places.items() if found == examples.home)
    found = np.zeros((int(rows.sum()), len(examples.classes)))
    part = examples.base.part[rows]
    schema = getattr(model, "schema", None)
    rest: list[int] = []  # the place of what is none of the classes, and no constant either
    for number, given in enumerate(data.databases):
        keys = keys_of(data, given, view, examples, number)[:, rows][:, part == number]
        (database,) = (given,) if schema is None else banded_like(schema, [given])
        predicate = database.schema[name]
        if len(keys) == predicate.arity:
            chance = atom_probabilities(model, database, name, keys, MARGINALS)
            found[part == number] = np.stack([1 - chance, chance], axis=1)
            continue
        for place, value in enumerate(examples.classes):
            code = database.domains[predicate.types[-1]].code(value)
            if code >= 0:
                atoms = np.vstack([keys, np.full(keys.shape[1], code, np.int32)])
                chance = atom_probabilities(model, database, name, atoms, MARGINALS)
                found[part == number, place] = chance
            elif value == OTHER:
                rest.append(place)
    if rest:
        found[:, rest[0]] = np.maximum(1.0 - found.sum(axis=1), 0.0)
    return found
