"""The parts of a report: rules, drawings, performance."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.data.database import Database
from mlnlearn.evaluate.metrics import METRICS
from mlnlearn.evaluate.predictions import ATTRIBUTE_METRICS, Predictions
from mlnlearn.evaluate.results import Results
from mlnlearn.model.boosted.drawing import tree_svg
from mlnlearn.model.boosted.rules import Leaf, Tree
from mlnlearn.model.boosted.text import Naming
from mlnlearn.report.curves import (
    by_database,
    learning_curve,
    learning_plots,
    passing_by,
    performance_plots,
)
from mlnlearn.report.family_trees import MOST_LEAVES, family_key, family_svg
from mlnlearn.report.markup import Cell, Markup, TableColumn, join, number, table, tag
from mlnlearn.report.net import net_parts
from mlnlearn.report.rules import RankedRule, counting_engine, ranked_rules, written_out
from mlnlearn.report.views import BayesView, BoostedView, View
from mlnlearn.structure.join_bayes.model import JoinBayesModel

MOST_RULES = 1000
"""Rules beyond this number, the weakest, are left out."""

_NAMES = {
    "auc_pr": "AUC-PR",
    "ap": "AP",
    "auc_roc": "AUC-ROC",
    "cll": "CLL",
    "brier": "Brier",
    "calibration_error": "cal. error",
    "accuracy": "accuracy",
    "attribute_cll": "attribute CLL",
    "train_cpu_seconds": "train s",
    "test_cpu_seconds": "test s",
}
_HINTS = {
    "auc_pr": "Area under the interpolated precision-recall curve",
    "ap": "Average precision",
    "auc_roc": "Area under the ROC curve",
    "cll": "Mean log-probability of what is the case",
    "brier": "Mean squared difference of probability and truth",
    "calibration_error": "Mean gap of probability and frequency over ten bins",
}


def metric_titles(metrics: Sequence[str]) -> list[str]:
    """Return what scores are called on a page."""
    return [_NAMES.get(name, name) for name in metrics]


def section(identity: str, title: str, *content: str | None) -> Markup:
    """Return a section that the navigation can point to.

    Examples
    --------
    >>> text = section("rules", "Rules", tag("p", "none"))
    >>> text.removeprefix('<section id="rules" aria-labelledby="rules-title">')
    '<h2 id="rules-title">Rules</h2><p>none</p></section>'
    """
    heading = tag("h2", title, id=f"{identity}-title")
    return tag("section", heading, *content, id=identity, aria_labelledby=f"{identity}-title")


def rules_section(view: View, databases: Sequence[Database]) -> Markup:
    """Return the rules, the strongest first."""
    network = view.network()
    if network is None:
        note = "A joint dependency network has no rules of a single network; see its trees."
        return section("rules", "Rules", tag("p", note))
    rules = written_out(network, databases).rules
    found = ranked_rules(rules, counting_engine(databases), MOST_RULES)
    left_out = f" The {MOST_RULES} strongest of {len(rules):,} are shown."
    note = (
        "By target, the strongest first. A positive weight makes worlds in which the rule holds "
        "more probable. Share is how often the head holds where the body does, base how often it "
        "holds at all; support counts the groundings in which both hold."
        + (left_out if len(rules) > len(found) else "")
    )
    columns = (
        TableColumn("weight", hint="Log-odds for each grounding"),
        TableColumn("rule", words=True),
        TableColumn("support", hint="Groundings in which body and head hold"),
        TableColumn("share", hint="P(head | body), by counting"),
        TableColumn("base", hint="P(head), by counting"),
        TableColumn("true", hint="True groundings"),
        TableColumn("of", hint="All groundings"),
    )
    groups: dict[str, list[RankedRule]] = {}
    for rule in found:
        groups.setdefault(rule.target, []).append(rule)
    parts = []
    for target, members in groups.items():
        listed = table(f"Rules for {target}", columns, map(_rule_row, members), class_="tall cards")
        heading = tag("h3", f"{target}: {len(members):,}") if len(groups) > 1 else None
        parts.append(tag("div", heading, listed, class_="group"))
    return section(
        "rules", "Rules", tag("p", note, class_="note"), filter_box("rules", "word …"), *parts
    )


def filter_box(identity: str, placeholder: str) -> Markup:
    """Return a box that hides the rows of a section in which its words do not stand."""
    return tag(
        "div",
        tag(
            "label",
            "Filter ",
            tag("input", type="search", placeholder=placeholder, data_filter=identity),
        ),
        tag("output", "", aria_live="polite"),
        class_="controls",
    )


def _rule_row(found: RankedRule) -> tuple[Cell, ...]:
    rule = found.rule
    text = str(rule.formula)
    weight = Cell("always", 1e300) if rule.hard else Cell.of(rule.weight)
    said = tag("span", found.sentence, class_="said")
    return (
        weight,
        Cell(join([tag("code", text), said]), text),
        _count(found.support),
        Cell.of(found.precision),
        Cell.of(found.base, 4),
        _count(found.true),
        _count(found.groundings),
    )


def _count(value: int | None) -> Cell:
    return Cell.of(None if value is None else float(value), 0)


def drawings_section(
    view: View, databases: Sequence[Database] = (), predictions: Sequence[Predictions] = ()
) -> Markup | None:
    """Return the trees of a boosted model, or the graph and trees of a Bayes net; else None.

    Nodes of boosted trees show how many of the predicted atoms that come by are true.
    """
    if isinstance(view, BayesView):
        return section("drawing", "Bayes net", *net_parts(view.model), *_families(view.model))
    if not isinstance(view, BoostedView):
        return None
    parts: list[Markup] = []
    lone = 0
    for rules in view.model.targets:
        naming = Naming(rules.predicate)
        judged = next((p for p in predictions if p.predicate == rules.predicate), None)
        trees = [(k, s) for k, s in enumerate(rules.steps, 1) if isinstance(s, Tree)]
        for place, tree in trees:
            if isinstance(tree.root, Leaf):
                lone += 1
                continue
            label = f"{naming.head}, tree {place}"
            picture = tree_svg(tree, naming, label, passing_by(tree, databases, judged))
            drawn = tag("div", picture, class_="scroll", tabindex=0)
            parts.append(
                tag("details", tag("summary", label), drawn, open=not parts, class_="drawn")
            )
    if parts and predictions:
        note = "Bars show how many of the atoms that come by a node are true."
        parts.insert(0, tag("p", note, class_="note"))
    if lone:
        said = "1 tree of a single leaf is" if lone == 1 else f"{lone} trees of a single leaf are"
        parts.append(tag("p", f"{said} left out.", class_="note"))
    return section("drawing", "Trees", *parts) if parts else None


def _families(model: JoinBayesModel) -> list[Markup]:
    """Return the tree or the conditional table of every node, with what its rules ask to hold."""
    parts = []
    for family in model.families:
        if len(family.leaves) < 2:  # without parents there is nothing to draw
            continue
        links = ", ".join(str(relationship.link) for relationship in family.given)
        label = f"{family.child}{' where ' + links if links else ''}: {len(family.leaves):,} leaves"
        if len(family.leaves) > MOST_LEAVES:
            parts.append(tag("p", f"{label}, too many to draw", class_="note"))
            continue
        drawn = tag("div", family_svg(family), class_="scroll", tabindex=0)
        content = (tag("summary", label), family_key(family), drawn)
        parts.append(tag("details", *content, open=not parts, class_="drawn"))
    return parts


def overview_section(
    view: View, databases: Sequence[Database], predictions: Sequence[Predictions]
) -> Markup:
    """Return the scores of several predicates, each over all databases."""
    schema = databases[0].schema
    places = [view.values(found.predicate, schema) for found in predictions]
    metrics = (*METRICS, *(ATTRIBUTE_METRICS if any(places) else ()))
    columns = (
        TableColumn("predicate", words=True),
        TableColumn("true"),
        TableColumn("false"),
        *_titled(metrics),
    )
    rows = [
        _fold_row(found.predicate.name, found, metrics, values)
        for found, values in zip(predictions, places, strict=True)
    ]
    return section("overview", "All predicates", table("Scores by predicate", columns, rows))


def performance_section(
    view: View,
    databases: Sequence[Database],
    predictions: Predictions,
    others: Sequence[str],
    results: Sequence[Results],
) -> Markup:
    """Return plots and tables of how well the model predicts one predicate, along with others."""
    name = predictions.predicate.name
    title = f"Performance: {name}"
    if not len(predictions):
        return section(f"performance-{name}", title, tag("p", "The data have no such atoms."))
    parts = by_database(predictions, len(databases))
    mine = [found.of(name) for found in results if name in found.query]
    kept = [
        found.pooled()[name]
        for found in mine
        if all(fold.predictions is not None for fold in found.folds)
    ]
    places = view.values(predictions.predicate, databases[0].schema)
    content: list[Markup | None] = [
        tag(
            "div",
            *performance_plots(predictions, parts, kept[0] if kept else None),
            class_="plots",
        )
    ]
    if isinstance(view, BoostedView) and view.model.steps:
        curve = learning_curve(view.model, databases, predictions, others)
        content += [
            tag("h3", "Learning curve"),
            tag("div", *learning_plots(curve, len(databases)), class_="plots"),
        ]
    content += [
        tag("h3", "Databases"),
        _fold_table(databases, predictions, parts, places),
        *(_results_table(found) for found in mine),
    ]
    return section(f"performance-{name}", title, *content)


def _fold_table(
    databases: Sequence[Database],
    predictions: Predictions,
    parts: Sequence[Predictions],
    places: Sequence[int],
) -> Markup:
    metrics = (*METRICS, *(ATTRIBUTE_METRICS if places else ()))
    columns = (
        TableColumn("database", words=True),
        TableColumn("true"),
        TableColumn("false"),
        *_titled(metrics),
    )
    rows = []
    for place, (database, part) in enumerate(zip(databases, parts, strict=True), start=1):
        label = database.name or f"database {place}"
        rows.append(_fold_row(label, part, metrics, places))
    foot = [_fold_row("all together", predictions, metrics, places)] if len(parts) > 1 else []
    return table(f"Scores of {predictions.predicate.name} by database", columns, rows, foot)


def _titled(metrics: Sequence[str]) -> list[TableColumn]:
    return [TableColumn(_NAMES.get(name, name), hint=_HINTS.get(name)) for name in metrics]


def _fold_row(
    label: str, part: Predictions, metrics: Sequence[str], places: Sequence[int]
) -> list[Cell]:
    known = [name for name in metrics if places or name not in ATTRIBUTE_METRICS]
    found = part.scores(known, places) if len(part) else {}
    true = float(part.weight[part.label].sum())
    return [
        Cell(label),
        Cell.of(true, 0),
        Cell.of(float(part.weight.sum()) - true, 0),
        *(Cell.of(found.get(name)) for name in metrics),
    ]


def _results_table(found: Results) -> Markup:
    names = (*found.metrics, "train_cpu_seconds", "test_cpu_seconds")
    columns = (TableColumn("fold", words=True), TableColumn("seed"), *_titled(names))
    rows = [
        [
            Cell(f"{fold.fold}: {fold.name}" if fold.name else f"{fold.fold}"),
            Cell.of(float(fold.seed), 0),
            *(Cell.of(fold.scores.get(name, getattr(fold, name, None))) for name in names),
        ]
        for fold in found.folds
    ]
    caption = f"Cross-validation of {found.learner}"
    foot = [
        [Cell(label), Cell(""), *(Cell.of(values[name]) for name in names)]
        for label, values in (("mean", found.mean), ("sd", found.sd))
    ]
    return join([tag("h3", caption), table(caption, columns, rows, foot)])


def headline(predictions: Sequence[Predictions]) -> list[tuple[str, str]]:
    """Return the scores that stand at the top of the page."""
    if len(predictions) != 1:
        return []
    found = predictions[0].scores(["auc_pr", "auc_roc", "cll"])
    return [(_NAMES[name], number(value)) for name, value in found.items()]
