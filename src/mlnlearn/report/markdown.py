"""A report in few words of Markdown, as a comment on a change wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from mlnlearn.data.database import Database
from mlnlearn.evaluate.held_out import HeldOut
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.ranking import Ranking
from mlnlearn.model.shown import ShownRule
from mlnlearn.report.graphs import RANKING_METRICS
from mlnlearn.report.markup import number
from mlnlearn.report.rows import held_out_note
from mlnlearn.report.rules import RankedRule, counting_engine, ranked_rules, written_out
from mlnlearn.report.sections import metric_titles
from mlnlearn.report.views import NetworkView, view_of

_METRICS = ("auc_pr", "auc_roc", "cll", "brier")
_SHOWN = 20
_WORDS = ("predicate", "relation", "rule", "score")


def markdown_report(
    model: object,
    databases: Database | Sequence[Database],
    query: str | Sequence[str] | None = None,
    *,
    title: str = "",
) -> str:
    """Return scores and the strongest rules as Markdown.

    Parameters
    ----------
    model, databases, query, title
        As for `mlnlearn.report.report`.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import smokers
    >>> from mlnlearn.model.mln import MLN
    >>> made = smokers(30, rng=0)
    >>> text = markdown_report(MLN(made.schema, made.rules), made.databases, "cancer")
    >>> print(text.splitlines()[0])
    ## cancer
    """
    given = [databases] if isinstance(databases, Database) else list(databases)
    view = view_of(model)
    if isinstance(view, NetworkView):
        given = list(with_constants_of(view.mln, given))
    names = (query,) if isinstance(query, str) else tuple(query or view.queries())
    rows = []
    for name in names:
        found = view.predictions(given, name, [other for other in names if other != name])
        scores = found.scores(_METRICS) if len(found) else {}
        rows.append((name, *(number(scores.get(metric)) for metric in _METRICS)))
    lines = [f"## {title or ', '.join(names)}", "", f"{view.kind}.", ""]
    lines += _table(("predicate", *metric_titles(_METRICS)), rows)
    network = view.network()
    if network is not None:
        rules = written_out(network, given).rules
        found_rules = ranked_rules(rules, counting_engine(given), _SHOWN)
        lines += ["", f"### Rules, {len(found_rules)} of {len(rules):,}, the strongest first", ""]
        lines += _table(("weight", "rule", "share", "base", "support"), map(_rule_row, found_rules))
    return "\n".join(lines) + "\n"


def rows_markdown(
    target: str, rules: Sequence[ShownRule], held_out: HeldOut | None, *, title: str = ""
) -> str:
    """Return scores and the first rules for a column as Markdown.

    Parameters
    ----------
    target, rules, held_out, title
        As for `rows_report`.

    Examples
    --------
    >>> rule = ShownRule("by=courier", "of orders by courier 34% are returned", 0.34, 0.1, 9, 1.3)
    >>> print(rows_markdown("orders.returned", [rule], None).splitlines()[-1])
    | of orders by courier 34% are returned | 0.340 | 0.100 | 9 | 1.300 |
    """
    lines = [f"## {title or target}", "", held_out_note(held_out), ""]
    if held_out is not None:
        scores = [(name, number(score), number(base)) for name, score, base in held_out.in_words()]
        lines += [*_table(("score", "model", "base rate"), scores), ""]
    lines += [f"### Rules, {min(len(rules), _SHOWN)} of {len(rules):,}", ""]
    rows = [
        (
            rule.sentence,
            number(rule.share),
            number(rule.base),
            "" if rule.support is None else f"{rule.support:,}",
            number(rule.weight),
        )
        for rule in rules[:_SHOWN]
    ]
    lines += _table(("rule", "share", "base", "rows", "weight"), rows)
    return "\n".join(lines) + "\n"


def graph_markdown(model: PathModel, ranking: Ranking | None = None, *, title: str = "") -> str:
    """Return how triples rank, and the first path rules, as Markdown.

    Parameters
    ----------
    model, ranking, title
        As for `graph_report`.

    Examples
    --------
    >>> from mlnlearn.data.load.triples import from_triples
    >>> from mlnlearn.structure.paths.learner import Paths
    >>> rows = [("a", "r", "b"), ("b", "s", "a"), ("c", "r", "d"), ("d", "s", "c")]
    >>> text = graph_markdown(Paths(aggregation="noisy-or").fit(from_triples(rows)).model)
    >>> print(text.splitlines()[6])
    | r(X,Y) <= s(Y,X) | 2 | 2 | 1.000 |
    """
    count = len(model.closed) + len(model.constants)
    lines = [f"## {title or 'Rules of a knowledge graph'}", ""]
    if ranking is not None and len(ranking):
        parts = sorted(ranking.by_relation().items(), key=lambda part: -part[1]["queries"])
        rows = [
            (name, *(number(float(one[key])) for key in RANKING_METRICS))
            for name, one in [("all", ranking.metrics()), *parts]
        ]
        lines += [*_table(("relation", *RANKING_METRICS.values()), rows), ""]
    first = list(islice(model.rules(), _SHOWN))
    lines += [f"### Rules, {len(first)} of {count:,}", ""]
    cells = [
        (str(one), f"{one.support:,}", f"{one.body:,}", number(one.confidence)) for one in first
    ]
    lines += _table(("rule", "support", "body", "confidence"), cells)
    return "\n".join(lines) + "\n"


def _rule_row(found: RankedRule) -> tuple[str, ...]:
    rule = found.rule
    weight = "always" if rule.hard else number(rule.weight)
    support = "" if found.support is None else f"{found.support:,}"
    text = f"`{rule.formula}`"
    return weight, text, number(found.precision), number(found.base, 4), support


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Return a table; a sign that would end a cell is written so that it does not.

    Examples
    --------
    >>> _table(("rule", "b"), [("x|y", "1")])
    ['| rule | b |', '|---|---:|', '| x\\|y | 1 |']
    """
    marks = ["---" if title in _WORDS else "---:" for title in titles]
    lines = [f"| {' | '.join(titles)} |", f"|{'|'.join(marks)}|"]
    for row in rows:
        cells = [cell.replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
