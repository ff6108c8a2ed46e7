"""The page of a model of path rules: rules by relation, and how well triples are ranked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.ranking import Ranking
from mlnlearn.report.markup import Cell, Markup, TableColumn, table, tag
from mlnlearn.report.page import whole_page
from mlnlearn.report.plots import Axis, Look, Series, plot
from mlnlearn.report.sections import section

_MOST_RULES = 10  # of a relation
_MOST_RELATIONS = 60
_FARTHEST = 50  # rank that the curve goes to
RANKING_METRICS = {
    "mrr": "MRR",
    "hits_at_1": "Hits@1",
    "hits_at_3": "Hits@3",
    "hits_at_10": "Hits@10",
}
"""What a ranking is told by, in words."""


def graph_report(model: PathModel, ranking: Ranking | None = None, *, title: str = "") -> str:
    """Return a page on path rules, and on a ranking by them.

    Parameters
    ----------
    model
        The rules.
    ranking
        Ranks of triples that the model was not learned from.
    title
        Of the page.

    Examples
    --------
    >>> from mlnlearn.data.load.triples import from_triples
    >>> from mlnlearn.structure.paths.learner import Paths
    >>> rows = [("a", "r", "b"), ("b", "s", "a"), ("c", "r", "d"), ("d", "s", "c")]
    >>> page = graph_report(Paths(aggregation="noisy-or").fit(from_triples(rows)).model)
    >>> "r(X,Y) &lt;= s(Y,X)" in page
    True
    """
    closed, constants = len(model.closed), len(model.constants)
    tiles = [
        ("relations", f"{len(model.relations):,}"),
        ("triples", f"{int(model.facts.sum()):,}"),
        ("rules along paths", f"{closed:,}"),
        ("rules with constants", f"{constants:,}"),
    ]
    sections = [("rules", "Rules", _rules(model))]
    note = "No triples were ranked: give test triples to see how well the rules do."
    if ranking is not None and len(ranking):
        tiles += [(name, f"{ranking.metrics()[key]:.3f}") for key, name in RANKING_METRICS.items()]
        sections.insert(0, ("ranking", "Ranking", _ranking(ranking)))
        note = (
            f"{len(ranking):,} questions were asked: for the tail and for the head of each test "
            "triple. Other known answers are left out of the ranks; among equal scores, the mean "
            f"rank counts. {ranking.unknown:,} answers are unknown to the model and rank last."
        )
    heading = title or "Rules of a knowledge graph"
    return whole_page(heading, "rules along paths", tiles, sections, note)


def _rules(model: PathModel) -> Markup:
    columns = (
        TableColumn("relation", words=True),
        TableColumn("rule", words=True),
        TableColumn("support", hint="Known triples that the rule finds"),
        TableColumn("body", hint="Pairs, or entities, that its body holds of"),
        TableColumn("confidence", hint="Support over body"),
        TableColumn("PCA", hint="Confidence among pairs whose first entity has the relation"),
        TableColumn("coverage", hint="Share of the relation's triples that the rule finds"),
        TableColumn("weight", hint="What the rule adds to the score of a tail"),
    )
    order = np.argsort(-model.facts, kind="stable")[:_MOST_RELATIONS]
    rows = [row for code in order.tolist() for row in _rows(model, model.relations[code])]
    shown = f"The {_MOST_RULES} surest rules of each relation"
    more = len(model.relations) - len(order)
    note = f"{shown}; {more:,} relations with fewer triples are not shown." if more else f"{shown}."
    whole = table("Rules by relation", columns, rows, class_="tall cards")
    return section("rules", "Rules", tag("p", note, class_="note"), whole)


def _rows(model: PathModel, relation: str) -> Iterator[tuple[Cell, ...]]:
    for rule in islice(model.rules(relation), _MOST_RULES):
        yield (
            Cell(relation, relation),
            Cell(str(rule), str(rule)),
            Cell.of(rule.support, 0),
            Cell.of(rule.body, 0),
            Cell.of(rule.confidence),
            Cell.of(rule.pca_confidence),
            Cell.of(rule.head_coverage),
            Cell.of(rule.weight_tail),
        )


def _ranking(ranking: Ranking) -> Markup:
    columns = (
        TableColumn("relation", words=True),
        TableColumn("asked for", words=True),
        TableColumn("questions"),
        *(TableColumn(name) for name in RANKING_METRICS.values()),
        TableColumn("mean rank"),
    )
    rows, best = [], []
    parts = ranking.by_relation()
    for name in sorted(parts, key=lambda name: -parts[name]["queries"]):
        best.append((name, float(parts[name]["mrr"])))
        for side in ("head", "tail"):
            if side in parts[name]:
                rows.append(_side(ranking, name, side))
    whole = table("Ranking by relation and side", columns, rows, class_="tall")
    pictures = tag("div", _curve(ranking), class_="plots")
    bars = tag("ul", *(_bar(name, mrr) for name, mrr in best[:_MOST_RELATIONS]), class_="bars")
    note = tag("p", "MRR by relation, those with most questions first.", class_="note")
    return section("ranking", "Ranking", pictures, note, bars, whole)


def _side(ranking: Ranking, relation: str, side: str) -> tuple[Cell, ...]:
    code = list(ranking.names).index(relation)
    part = ranking.at((ranking.relations == code) & (ranking.sides == (side == "head")))
    return (
        Cell(relation, relation),
        Cell(f"{side}s", side),
        Cell.of(len(part), 0),
        *(Cell.of(part.metrics()[key]) for key in RANKING_METRICS),
        Cell.of(part.mean_rank, 1),
    )


def _bar(name: str, share: float) -> Markup:
    filled = tag("i", style=f"width:{100 * share:.1f}%")
    return tag("li", tag("span", name), tag("span", filled, class_="bar"), tag("b", f"{share:.3f}"))


def _curve(ranking: Ranking) -> Markup:
    """Draw the share of answers among the first k, heads and tails apart."""
    ks = list(range(1, _FARTHEST + 1))
    lines = []
    looks: tuple[tuple[str, Look], ...] = (("tails", "main"), ("heads", "second"))
    for label, look in looks:
        part = ranking.at(ranking.sides == (label == "heads"))
        if len(part):
            lines.append(Series.of(label, ks, [part.hits(k) for k in ks], look))
    return plot(
        "Right answers among the first k",
        Axis("k", (0.0, 10.0, 20.0, 30.0, 40.0, 50.0)),
        Axis("share of questions"),
        lines,
        "Hits@k of all questions, by what was asked for.",
    )
