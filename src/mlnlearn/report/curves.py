"""The curves of a report: precision and recall, ROC, calibration, and learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.evaluate.ask import Marginals
from mlnlearn.evaluate.predictions import Predictions, predict_examples
from mlnlearn.evaluate.probability import calibration_bins
from mlnlearn.evaluate.ranking import OperatingPoints, operating_points
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.drawing import Passing
from mlnlearn.model.boosted.evaluate import routes, step_values
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.rules import Tree
from mlnlearn.report.markup import Markup, number
from mlnlearn.report.plots import Axis, Look, Series, plot
from mlnlearn.report.views import examples_of

_POINTS = 200
_MOST_TRUNCATIONS = 6


def by_database(predictions: Predictions, count: int) -> list[Predictions]:
    """Return the predictions of each database.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> two = np.array([0, 1], np.int32)
    >>> found = Predictions(Predicate("a", ("t",)), two, two[None], two / 2, two > 0, two + 1.0)
    >>> [len(part) for part in by_database(found, 3)]
    [1, 1, 0]
    """
    return [predictions.take(predictions.database == number) for number in range(count)]


def _points(predictions: Predictions) -> OperatingPoints:
    return operating_points(predictions.label, predictions.probability, predictions.weight)


def precision_recall(label: str, predictions: Predictions, look: Look) -> Series:
    """Return the curve whose area is AUC-PR: interpolated as Davis & Goadrich do."""
    points = _points(predictions)
    if not points.positives:
        return Series.of(label, [], [], look)
    recall = np.linspace(0.0, 1.0, _POINTS + 1)
    recall[0] = 1e-9
    return Series.of(label, recall, points.interpolated(recall), look)


def roc(label: str, predictions: Predictions, look: Look) -> Series:
    """Return the ROC curve."""
    points = _points(predictions)
    rows = np.unique(np.linspace(0, len(points.thresholds) - 1, 2 * _POINTS).astype(int))
    if not points.positives or not points.negatives:
        return Series.of(label, [], [], look)
    # A threshold more or less makes no visible difference, except where the curve bends most:
    # the sharpest thresholds are the first ones.
    rows = np.unique(np.concatenate([np.arange(min(_POINTS, len(points.thresholds))), rows]))
    across = np.concatenate([[0.0], points.fall_out[rows]])
    return Series.of(label, across, np.concatenate([[0.0], points.recall[rows]]), look)


def calibration(label: str, predictions: Predictions, look: Look) -> Series:
    """Return observed frequency against predicted probability, in ten bins."""
    bins = calibration_bins(predictions.label, predictions.probability, predictions.weight)
    notes = tuple(
        f"predicted {predicted:.3f}, observed {observed:.3f}, {weight:,.0f} atoms"
        for predicted, observed, weight in zip(
            bins.predicted, bins.observed, bins.weights, strict=True
        )
    )
    return Series(label, np.stack([bins.predicted, bins.observed]), look, notes)


def performance_plots(
    predictions: Predictions, parts: Sequence[Predictions], held_out: Predictions | None
) -> list[Markup]:
    """Return the plots of precision and recall, ROC, and calibration.

    Parameters
    ----------
    predictions
        Those of all databases.
    parts
        Those of each database.
    held_out
        Pooled predictions of a cross-validation, if there are any.
    """
    several = len(parts) > 1
    sets: list[tuple[str, Predictions, Look]] = [
        ("all databases" if several else "this database", predictions, "main")
    ]
    if held_out is not None:
        sets.append(("cross-validation", held_out, "second"))
    single: list[tuple[str, Predictions, Look]] = (
        [("each database", part, "faint") for part in parts] if several else []
    )
    found = predictions.scores(["auc_pr", "auc_roc", "calibration_error"])
    rate = float(np.average(predictions.label, weights=predictions.weight))
    chance = Series.of("base rate", [0, 1], [rate, rate], "reference")
    even = Series.of("chance", [0, 1], [0, 1], "reference")
    perfect = Series.of("perfect", [0, 1], [0, 1], "reference")
    everything = sets + single
    return [
        plot(
            "Precision and recall",
            Axis("recall"),
            Axis("precision"),
            [*(precision_recall(*entry) for entry in everything), chance],
            f"Area {number(found['auc_pr'])}; a random order would have {number(rate)}.",
        ),
        plot(
            "ROC",
            Axis("false positive rate"),
            Axis("true positive rate"),
            [*(roc(*entry) for entry in everything), even],
            f"Area {number(found['auc_roc'])}; a random order would have 0.500.",
        ),
        plot(
            "Calibration",
            Axis("predicted probability"),
            Axis("observed frequency"),
            [*(calibration(*entry) for entry in sets), perfect],
            f"Mean gap {number(found['calibration_error'], 4)} over ten bins.",
        ),
    ]


def learning_curve(
    model: BoostedModel,
    databases: Sequence[Database],
    predictions: Predictions,
    others: Sequence[str] = (),
) -> list[tuple[int, Predictions]]:
    """Return the predictions of the model after some of its first steps, and after all.

    The steps of a single target are added up one by one. A joint model, or one of a predicate with
    ``!``, is cut short at a few places, and asked each time the question that the predictions after
    all steps answer.

    Parameters
    ----------
    model, databases
        The model, and the data it is judged by.
    predictions
        Those of the whole model: the end of the curve.
    others
        Predicates that were predicted along with that of the predictions.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import Leaf, TargetRules, Tree
    >>> schema = Schema.of("rich(person)")
    >>> db = Database.from_facts(schema, {"rich": [("Anna",)]})
    >>> rules = TargetRules(schema["rich"], 0.0, steps=(Tree(Leaf(1.0)), Tree(Leaf(-1.0))))
    >>> model = BoostedModel(schema, False, (rules,))
    >>> whole = predict_examples(model, [db], examples_of([db], "rich"))
    >>> found = learning_curve(model, [db], whole)
    >>> [(steps, part.probability.round(2).tolist()) for steps, part in found]
    [(0, [0.5]), (1, [0.73]), (2, [0.5])]
    """
    name = predictions.predicate.name
    if model.is_joint or databases[0].schema.exclusive(name):
        asked = Marginals(hide=tuple(others))
        examples = examples_of(databases, name)
        chosen = np.unique(np.linspace(0, model.steps, _MOST_TRUNCATIONS).round().astype(int))
        before = [
            (step, predict_examples(model.truncated(step), databases, examples, asked))
            for step in chosen[:-1].tolist()
        ]
        return [*before, (model.steps, predictions)]
    world, rules = Objects(databases), model.rules_of(name)
    rows = world.numbered(rules.predicate, predictions.database, predictions.columns)
    by_rules = step_values(rules.prior, world, rows, model.existential)
    found = []
    for step, learned in enumerate(rules.steps):
        chances = expit(rules.first(step).intercept + by_rules)
        found.append((step, replace(predictions, probability=chances)))
        by_rules += step_values(learned, world, rows, model.existential)
    return [*found, (len(rules.steps), predictions)]


def passing_by(
    tree: Tree, databases: Sequence[Database], predictions: Predictions | None
) -> list[Passing]:
    """Return the predicted atoms that come by each node of a tree; nothing without predictions.

    Examples
    --------
    >>> from mlnlearn.counting.pattern import Pattern
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import Leaf, Split, TargetRules
    >>> schema = Schema.of("rich(person)", "happy(person)")
    >>> facts = {"rich": [("Anna",), ("Bob",)], "happy": [("Anna",)]}
    >>> db = Database.from_facts(schema, facts, domains={"person": ["Anna", "Bob", "Carl"]})
    >>> tree = Tree(Split((Pattern(schema["rich"], (0,)),), Leaf(0.5), Leaf(-1.0)))
    >>> model = BoostedModel(schema, False, (TargetRules(schema["happy"], 0.0, steps=(tree,)),))
    >>> found = predict_examples(model, [db], examples_of([db], "happy"))
    >>> list(map(str, passing_by(tree, [db], found)))
    ['1 of 3 true', '1 of 2 true', '0 of 1 true']
    """
    if predictions is None or not len(predictions):
        return []
    world = Objects(databases)
    rows = world.numbered(predictions.predicate, predictions.database, predictions.columns)
    true = predictions.weight * predictions.label
    return [
        Passing(float(true[stop.reached].sum()), float(predictions.weight[stop.reached].sum()))
        for stop in routes(tree.root, world, rows)
    ]


def learning_plots(curve: Sequence[tuple[int, Predictions]], databases: int) -> list[Markup]:
    """Return AUC-PR and CLL against the number of boosting steps."""
    steps = [step for step, _ in curve]
    across = Axis.around("boosting steps", steps, whole=True)
    plots = []
    for metric, title in (("auc_pr", "AUC-PR"), ("cll", "CLL")):
        whole = [part.scores([metric])[metric] for _, part in curve]
        lines = [Series.of("all databases", steps, whole)]
        if databases > 1:
            split = [by_database(part, databases) for _, part in curve]
            for place in range(databases):
                values = [parts[place].scores([metric])[metric] for parts in split]
                lines.append(Series.of("each database", steps, values, "faint"))
        heights = np.concatenate([line.points[1] for line in lines])
        down = Axis("AUC-PR") if metric == "auc_pr" else Axis.around("CLL", heights)
        note = f"{number(whole[0])} before the first step, {number(whole[-1])} after the last."
        plots.append(plot(title, across, down, lines, note))
    return plots
