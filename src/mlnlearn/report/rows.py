"""The page of a model of rows: rules as sentences, and scores on rows that were kept aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.evaluate.effects import NumberEffect
from mlnlearn.evaluate.held_out import HeldOut
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.evaluate.row_reasons import RowReasons
from mlnlearn.model.explanation import Contribution
from mlnlearn.model.shown import ShownRule
from mlnlearn.report.atoms import explained_table, opener, plain_parts
from mlnlearn.report.importance import importance_bars
from mlnlearn.report.markup import Cell, Markup, TableColumn, json_script, number, table, tag
from mlnlearn.report.page import whole_page
from mlnlearn.report.plots import Axis, Series, plot
from mlnlearn.report.schema_diagram import data_section
from mlnlearn.report.sections import filter_box, section

_REASONS = 12
_FEW = 20
_MOST_CHOICES = 30
_LONGEST_TITLE = 40
_OF_FEATURES = (
    "What the mean log-likelihood of a row loses when the values of a feature are dealt to other "
    "rows at random."
)


def rows_report(
    target: str,
    rules: Sequence[ShownRule],
    held_out: HeldOut | None,
    curve: Sequence[float] = (),
    *,
    title: str = "",
    reasons: Sequence[RowReasons] = (),
    effects: Sequence[NumberEffect] = (),
    importances: Mapping[str, float] | None = None,
    databases: Sequence[Database] = (),
) -> str:
    """Return a page on a model that predicts a column or a relation.

    Parameters
    ----------
    target
        What is predicted.
    rules
        The rules that say most.
    held_out
        Scores on rows that were kept aside; None where there were too few.
    curve
        The deviance of held-out rows after every step of learning.
    title
        Of the page.
    reasons
        Rows with what is said of them, and why.
    effects
        How answers follow numbers.
    importances
        What the answers rest on: see `row_importances`.
    databases
        The data: the page shows their schema, and what is missing in them.

    Examples
    --------
    >>> rule = ShownRule("by=courier", "of orders by courier 34% are returned", 0.34, 0.1, 9, 1.3)
    >>> page = rows_report("orders.returned", [rule], None)
    >>> "of orders by courier 34% are returned" in page
    True
    """
    sections = [("rules", "Rules", _rules(rules))]
    tiles = [("rules", f"{len(rules):,}")]
    if held_out is not None:
        sections.append(("scores", "Scores", _scores(held_out)))
        tiles += [(name, number(score)) for name, score, _ in held_out.in_words()]
    if importances:
        bars = importance_bars(dict(importances), _OF_FEATURES)
        shown = section("importance", "What it rests on", bars)
        sections.append(("importance", "Importance", shown))
    if effects:
        sections.append(("effects", "Effects", _effects(effects)))
    if len(curve) > 1:
        sections.append(("learning", "Learning", _curve(curve)))
    if reasons:
        sections.append(("rows", "Rows", _reasons(reasons)))
    if databases:
        sections.append(("data", "Data", data_section(databases)))
    heading = title or f"What is said about {target}"
    return whole_page(
        heading, "boosted features along links", tiles, sections, held_out_note(held_out)
    )


def held_out_note(held_out: HeldOut | None) -> str:
    """Say of which rows scores are."""
    if held_out is None:
        return "There were too few rows to keep some aside, so nothing was scored."
    if not held_out.how:
        return (
            f"Scores are those of the {held_out.rows:,} rows shown here; for rows that the model "
            "was learned from they are training scores."
        )
    return f"Scores are those of {held_out.rows:,} rows that were kept aside: {held_out.how}."


def _reasons(reasons: Sequence[RowReasons]) -> Markup:
    """Return rows to search, each of which opens to a waterfall."""
    rules: dict[str, int] = {}
    entries: list[dict[str, object]] = []
    rows: list[tuple[Cell, ...]] = []
    for one in reasons:
        chance = Cell("", "") if one.probability is None else Cell.of(one.probability)
        rows.append((opener(one.row, len(rows)), chance, Cell(one.answer, one.answer)))
        entries.append({"said": _said(one), "parts": plain_parts(_largest(one), rules)})
    columns = (
        TableColumn("row", words=True),
        TableColumn("probability"),
        TableColumn("answer", words=True),
    )
    answers = sorted({one.answer for one in reasons})
    choices = [("", "all answers"), *((answer, answer) for answer in answers[:_MOST_CHOICES])]
    note = (
        f"{len(rows):,} rows with what the model says of them. Open a row to see what speaks for "
        "and against it."
    )
    shown = explained_table("Rows with their answers", columns, rows, choices)
    data = json_script("atom-data", {"rules": list(rules), "atoms": entries})
    return section("rows", "Rows", tag("p", note, class_="note"), *shown, data)


def _said(one: RowReasons) -> str:
    total = number(sum(part.log_odds for part in one.contributions), signed=True)
    rather = f" rather than {one.against}" if one.against else ""
    return f"{one.answer}{rather}: together {total} ({one.unit})."


def _largest(one: RowReasons) -> list[Contribution]:
    """Return what says most, and the rest in one."""
    first, rest = one.contributions[:_REASONS], one.contributions[_REASONS:]
    if not rest:
        return list(first)
    together = sum(part.log_odds for part in rest)
    return [*first, Contribution(f"{len(rest)} more together", None, together)]


def _rules(rules: Sequence[ShownRule]) -> Markup:
    columns = (
        TableColumn("rule", words=True),
        TableColumn("share", hint="Among rows that the condition holds of (of a number, the mean)"),
        TableColumn("base", hint="Among all rows"),
        TableColumn("rows", hint="That the condition holds of"),
        TableColumn("weight", hint="Log-odds in the model of these rules"),
    )
    rows = [
        (
            Cell(rule.sentence, rule.sentence),
            Cell.of(rule.share),
            Cell.of(rule.base),
            Cell.of(rule.support, 0),
            Cell.of(rule.weight),
        )
        for rule in rules
    ]
    many = len(rows) > _FEW
    found = table("Rules", columns, rows, class_="tall cards" if many else "cards")
    return section("rules", "Rules", filter_box("rules", "word …") if many else None, found)


def _scores(held_out: HeldOut) -> Markup:
    columns = (TableColumn("score", words=True), TableColumn("model"), TableColumn("base rate"))
    rows = [
        (Cell(name, name), Cell.of(score), Cell.of(baseline))
        for name, score, baseline in held_out.in_words()
    ]
    return section("scores", "Scores", table("Scores on rows kept aside", columns, rows))


def _effects(effects: Sequence[NumberEffect]) -> Markup:
    note = (
        "What the model says if a number changes and all else stays as it is, on average over rows."
    )
    together = np.concatenate([effect.answers for effect in effects])
    plots = [
        plot(
            effect.feature,
            Axis.around(_short(effect.feature), effect.values),
            Axis.around(_short(effect.of), together),
            [Series.of(effect.feature, *_steps(effect))],
        )
        for effect in effects
    ]
    drawn = tag("div", *plots, class_="plots")
    return section("effects", "Effects of numbers", tag("p", note, class_="note"), drawn)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def _steps(effect: NumberEffect) -> tuple[Floats, Floats]:
    """Return the curve as steps: trees say the same up to a threshold."""
    across = np.repeat(effect.values, 2)
    middles = (effect.values[1:] + effect.values[:-1]) / 2
    across[1:-1] = np.repeat(middles, 2)
    return across, np.repeat(effect.answers, 2)


def _curve(curve: Sequence[float]) -> Markup:
    steps = list(range(len(curve)))
    line = Series.of("held-out rows", steps, list(curve))
    drawn = plot(
        "Learning",
        Axis.around("trees", steps, whole=True),
        Axis.around("deviance", list(curve)),
        [line],
        "Lower is better; the number of trees with the lowest value was taken.",
    )
    return section("learning", "Learning", drawn)
