"""A report in few words of Markdown, as a comment on a change wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlnlearn.counting.engines import open_engine
from mlnlearn.data.database import Database
from mlnlearn.model.domains import with_constants_of
from mlnlearn.report.markup import number
from mlnlearn.report.rules import RankedRule, ranked_rules, written_out
from mlnlearn.report.sections import metric_titles
from mlnlearn.report.views import NetworkView, view_of

_METRICS = ("auc_pr", "auc_roc", "cll", "brier")
_SHOWN = 20


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
        found_rules = ranked_rules(rules, open_engine(given), _SHOWN)
        lines += ["", f"### Rules, {len(found_rules)} of {len(rules):,}, the strongest first", ""]
        lines += _table(("weight", "rule", "share", "base", "support"), map(_rule_row, found_rules))
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
    marks = ["---" if title in ("predicate", "rule") else "---:" for title in titles]
    lines = [f"| {' | '.join(titles)} |", f"|{'|'.join(marks)}|"]
    for row in rows:
        cells = [cell.replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
