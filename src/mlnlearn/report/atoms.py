"""Atoms to search in a report, with their probabilities and explanations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.evaluate.predictions import Predictions
from mlnlearn.logic.atoms import Atom, Constant
from mlnlearn.model.explanation import Contribution
from mlnlearn.report.markup import Cell, Markup, TableColumn, json_script, number, table, tag
from mlnlearn.report.reasons import Reasons
from mlnlearn.report.sections import section
from mlnlearn.report.views import View

MOST_ATOMS = 500
"""Atoms that a page holds."""
_MISSED = 5


def worth_showing(predictions: Predictions, most: int) -> Predictions:
    """Return the most probable atoms; one in five places goes to true atoms that rank below.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> code = np.arange(10, dtype=np.int32)
    >>> found = Predictions(Predicate("a", ("t",)), code * 0, code[None], code / 10, code < 1,
    ...                     code + 1.0)
    >>> worth_showing(found, 5).columns[0].tolist()
    [9, 8, 7, 6, 0]
    """
    order = np.argsort(-predictions.probability, kind="stable")
    if len(order) <= most:
        return predictions.take(order)
    below = order[most - most // _MISSED :]
    missed = below[predictions.label[below]][: most // _MISSED]
    return predictions.take(np.concatenate([order[: most - len(missed)], missed]))


def atoms_section(
    view: View, databases: Sequence[Database], predictions: Sequence[Predictions]
) -> Markup:
    """Return a table of atoms with a search box, and the data of their explanations."""
    share = MOST_ATOMS // max(len(predictions), 1)
    rows: list[tuple[Cell, ...]] = []
    entries: list[dict[str, Any]] = []
    rules: dict[str, int] = {}
    for found in predictions:
        chosen = worth_showing(found, share)
        for place, reasons in enumerate(view.reasons(databases, chosen)):
            rows.append(_row(databases, chosen, place, len(entries)))
            entries.append(_entry(reasons, rules))
    total = sum(len(found) for found in predictions)
    note = (
        f"{len(rows):,} of {total:,} atoms: the most probable ones, and true ones that rank below. "
        "Open an atom to see which rules speak for and against it."
    )
    columns = (
        TableColumn("atom", words=True),
        TableColumn("probability"),
        TableColumn("truth", words=True),
        TableColumn("database", words=True),
    )
    choices = (("", "true and false"), ("true", "true only"), ("false", "false only"))
    explained = explained_table("Atoms with their probability", columns, rows, choices)
    data = json_script("atom-data", {"rules": list(rules), "atoms": entries})
    return section("atoms", "Atoms", tag("p", note, class_="note"), *explained, data)


def explained_table(
    caption: str,
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Cell]],
    choices: Sequence[tuple[str, str]],
) -> tuple[Markup, Markup]:
    """Return a table whose rows open to say why, and what searches it.

    Its first column holds the buttons of `opener`, its third what can be chosen among.
    """
    shown = table(caption, columns, rows, class_="tall atoms", identity="atom-table")
    return _controls(choices), shown


def opener(text: str, identity: int) -> Cell:
    """Return a button that opens an explanation, by its number in the page's data."""
    button = tag(
        "button", text, type="button", class_="atom", aria_expanded="false", data_atom=identity
    )
    return Cell(button, text)


def _controls(choices: Sequence[tuple[str, str]]) -> Markup:
    options = [tag("option", text, value=value) for value, text in choices]
    return tag(
        "div",
        tag(
            "label", "Search ", tag("input", type="search", id="atom-search", placeholder="name …")
        ),
        tag("label", "Show ", tag("select", *options, id="atom-truth")),
        tag("output", "", id="atom-count", for_="atom-search atom-truth", aria_live="polite"),
        class_="controls",
    )


def _row(
    databases: Sequence[Database], atoms: Predictions, place: int, identity: int
) -> tuple[Cell, ...]:
    number_of = int(atoms.database[place])
    database = databases[number_of]
    [names] = database.decode(atoms.predicate.name, atoms.columns[:, [place]])
    text = str(Atom(atoms.predicate, tuple(map(Constant, names))))
    return (
        opener(text, identity),
        Cell.of(float(atoms.probability[place]), 4),
        Cell("true" if atoms.label[place] else "false"),
        Cell(database.name or f"database {number_of + 1}"),
    )


def _entry(reasons: Reasons, rules: dict[str, int]) -> dict[str, Any]:
    """Return an explanation as the page's script wants it; rules are listed once for all atoms."""
    given = reasons.probability
    total = number(reasons.total, signed=True)
    if reasons.is_choice:
        said = f"Together {total}, to be compared with the sums of the other values."
    elif given is None:
        said = "Hard rules contradict each other here."
    else:
        said = f"Log-odds {total}, probability {number(given, 4)}, given all other facts."
    return {"said": said, "parts": plain_parts(reasons.parts, rules)}


def plain_parts(parts: Sequence[Contribution], rules: dict[str, int]) -> list[list[Any]]:
    """Return what is added up as the page's script wants it, rules by their numbers."""
    return [_plain(part, rules) for part in parts]


def _plain(part: Contribution, rules: dict[str, int]) -> list[Any]:
    rule = rules.setdefault(part.rule, len(rules))
    value = part.log_odds
    shown = number(value, signed=True)
    # JSON knows no infinity; a bar of full length stands for it
    return [rule, part.flips, round(value, 6) if math.isfinite(value) else None, shown]
