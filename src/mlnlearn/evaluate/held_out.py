"""Scores on rows that a learner did not see: a share of the examples is kept aside.

Where rows have times, the latest are kept aside; of several databases, whole ones; else rows are
drawn at random, alike from every class. Beside each score stands that of a *baseline* which knows
how often each class occurs, or the median of the numbers, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import Number, Place, Relational, relational
from mlnlearn.data.bands import banded_like
from mlnlearn.data.database import Database, are_among
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.declared import declared_mapping
from mlnlearn.data.load.reading import OTHER
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import MARGINALS, atom_probabilities
from mlnlearn.evaluate.probability import cll
from mlnlearn.evaluate.ranking import Floats, auc_pr, auc_roc
from mlnlearn.evaluate.rows import SECONDS_OF_A_DAY, is_time, row_answers
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.run import Notes, Run

Mask = NDArray[np.bool_]

SplitBy = Literal["auto", "time", "random"]
"""How rows are kept aside: the latest, or any."""
_LEAST = 1e-6
_MOST_EXAMPLES = 200_000
FEWEST = 20
"""With fewer examples of known label than this, none are kept aside."""


NAMES = {
    "auc_roc": "area under the ROC curve",
    "auc_pr": "area under the precision-recall curve",
    "accuracy": "accuracy",
    "cll": "mean log-likelihood",
    "mae": "mean absolute error",
}
"""Scores of rows, in words."""


@dataclass(frozen=True, eq=False)
class HeldOutSplit:
    """Which examples are kept aside.

    Attributes
    ----------
    test
        Those kept aside.
    how
        How they were chosen, in words.
    """

    test: Mask
    how: str

    def training(self, examples: RowExamples) -> RowExamples:
        """Return the examples with the labels of those kept aside hidden."""
        return replace(examples, label=np.where(self.test, np.nan, examples.label))


def split_examples(
    examples: RowExamples,
    *,
    share: float = 0.2,
    seed: int = 0,
    by: SplitBy = "auto",
    times: Floats | None = None,
) -> HeldOutSplit | None:
    """Choose examples to be kept aside; None where there are too few of them.

    Parameters
    ----------
    examples
        Rows with labels.
    share
        The share that is kept aside.
    seed
        Of the draw.
    by
        ``"time"`` keeps the latest rows aside, ``"random"`` any; by default the latest where
        questions have moments.
    times
        When rows are from, where they have no moments.
    """
    known = np.flatnonzero(examples.known)
    if len(known) < FEWEST:
        return None
    test = np.zeros(len(examples.label), np.bool_)
    parts = np.unique(examples.base.part[known])
    times = times if by == "time" and examples.base.times is None else examples.base.times
    if by == "time" and (times is None or not len(np.unique(times[known])) > 1):
        raise InputError(
            f"{examples.home.row_set} has no times to split by",
            hint="split at random, or say in a mapping which column is the time",
        )
    if len(parts) > 1:
        number = max(1, round(share * len(parts)))
        chosen = parts[-number:]
        test[known[np.isin(examples.base.part[known], chosen)]] = True
        how = f"{number} of {len(parts)} databases"
    elif by != "random" and times is not None and len(np.unique(times[known])) > 1:
        limit = np.nanquantile(times[known], 1 - share, method="higher")
        test[known[times[known] >= limit]] = True
        how = f"the latest {test.sum() / len(known):.0%} of the rows"
    else:
        rng = np.random.default_rng(seed)
        groups = examples.label[known] if examples.classes else np.zeros(len(known))
        for value in np.unique(groups):
            rows = known[groups == value]
            test[rng.choice(rows, round(share * len(rows)), replace=False)] = True
        how = f"{share:.0%} of the rows, drawn at random"
    both = 0 < test.sum() < len(known)
    return HeldOutSplit(test, how) if both else None


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
        keys = _keys(data, given, view, examples, number)[:, rows][:, part == number]
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


def withheld(data: Data, view: Relational, examples: RowExamples, rows: Mask) -> Data:
    """Return the data with the labels of some examples made unknown."""
    home = examples.home
    name = next((name for name, found in view.places.items() if found == home), None)
    if name is None:
        raise InputError(
            f"{home.row_set}.{home.column} is part of what names a row, so none can be kept aside",
            hint="name it as the target of tables_data, or read the table as events: "
            'kind = "event" in a mapping',
        )
    databases = []
    for number, database in enumerate(data.databases):
        chosen = rows & (examples.base.part == number)
        keys = _keys(data, database, view, examples, number)[:, chosen]
        databases.append(_without(database, name, keys))
    return replace(data, databases=tuple(databases))


def _keys(
    data: Data, database: Database, view: Relational, examples: RowExamples, number: int
) -> NDArray[np.int32]:
    """Return the arguments of each example but the label, as codes of one database."""
    base = examples.base
    objects: list[tuple[Codes, str]]
    if examples.home.row_set in view.types.values():
        every = np.arange(base.rows, dtype=np.int32)
        objects = [(every, examples.home.row_set)]
    else:
        mapping = data.mapping or declared_mapping(database.schema)
        keys = [column.name for column in mapping[examples.home.row_set].keys]
        columns = [base.columns[name] for name in keys]
        objects = [(c.codes, getattr(c, "to", "")) for c in columns if not isinstance(c, Number)]
    found = []
    for codes, to in objects:
        first = int(np.searchsorted(view[to].part, number)) if to else 0
        found.append(codes - first)
    return np.array(found, np.int32)


def _without(database: Database, name: str, keys: NDArray[np.int32]) -> Database:
    """Return a database in which atoms, or the values of cells, are not known."""
    predicate = database.schema[name]
    sizes = [database.size(kind) for kind in predicate.types[: len(keys)]]

    def other(facts: NDArray[np.int32]) -> NDArray[np.int32]:
        return facts[:, ~are_among(facts[: len(keys)], keys, sizes)]

    whole = len(keys) == predicate.arity
    unknown = (
        database.unknown
        if not whole
        else {
            **database.unknown,
            name: np.concatenate([database.unknown_facts(name), keys], axis=1),
        }
    )
    cells = (
        database.cells
        if whole
        else {
            **database.cells,
            name: np.concatenate([database.empty_cells(name), keys], axis=1),
        }
    )
    return Database.from_codes(
        database.schema,
        database.domains,
        {**database.true, name: other(database.facts(name))},
        {**database.false, name: other(database.false_facts(name))},
        unknown,
        open=database.open,
        name=database.name,
        cells=cells,
    )
