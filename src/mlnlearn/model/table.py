"""Rules as a table: weight, support in data, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from mlnlearn.counting.count import groundings, true_groundings
from mlnlearn.counting.query import Engine
from mlnlearn.logic.formulas import Rule
from mlnlearn.model.sentence import sentence


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule with what the data say about it; counts are over all databases."""

    rule: str
    weight: float | None
    hard: bool
    sentence: str
    true_groundings: int | None = None
    groundings: int | None = None


def rule_table(rules: Sequence[Rule], engine: Engine | None = None) -> tuple[RuleRow, ...]:
    """Return the rules, strongest first; with data, also how often each holds.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> rule_table([Rule(Predicate("smokes", ("person",))("x"), 0.5)])[0].sentence
    'x is smokes (likely).'
    """
    rows = []
    for rule in rules:
        true = total = None
        if engine is not None:
            true, total = (
                sum(true_groundings(engine, rule.formula)),
                sum(groundings(engine, rule.formula)),
            )
        rows.append(RuleRow(str(rule.formula), rule.weight, rule.hard, sentence(rule), true, total))
    return tuple(sorted(rows, key=lambda row: (not row.hard, -abs(row.weight or 0.0))))


def html_table(rows: Iterable[RuleRow]) -> str:
    """Return a rule table as HTML.

    Examples
    --------
    >>> html_table(())
    '<table><thead><tr><th>weight</th><th>rule</th><th>meaning</th></tr></thead><tbody></tbody></table>'
    """
    listed = list(rows)
    counted = any(row.groundings is not None for row in listed)
    heads = ["weight", "rule", *(["true", "of"] if counted else []), "meaning"]
    lines = []
    for row in listed:
        weight = "always" if row.hard else "" if row.weight is None else f"{row.weight:.3f}"
        cells = [weight, f"<code>{escape(row.rule)}</code>"]
        if counted:
            cells += [f"{row.true_groundings:,}", f"{row.groundings:,}"]
        cells.append(escape(row.sentence))
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
