"""``mlnlearn explain``: what pushes an atom up or down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.inspect import JsonOption
from mlnlearn.cli.options import (
    DatabasesOption,
    ModelOption,
    MoreArgument,
    one_database,
    read_model,
)
from mlnlearn.cli.show import console, heading, print_json, print_table

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.data.database import Database
    from mlnlearn.model.boosted.model import BoostedModel

# A rule, its groundings (those that the atom makes true less those it makes false), its log-odds.
Part = tuple[str, float | None, float]


def explain(
    model: ModelOption,
    db: DatabasesOption,
    atom: Annotated[str, typer.Option(help='A ground atom, such as "advisedBy(Anna,Bob)".')],
    more: MoreArgument = None,
    json: JsonOption = False,
) -> None:
    """Show which rules, with how many groundings, make an atom probable or not."""
    found = read_model(model)
    path = one_database(db + (more or []))
    database = ml.read_db(path, schema=found.schema, name=str(path))
    sentence = ""
    parts: list[Part]
    if isinstance(found, ml.MLN):
        explained = ml.explain(found, database, atom)
        name, log_odds, sentence = str(explained.atom), explained.log_odds, explained.sentence()
        parts = [(str(c.rule.formula), c.flips, c.log_odds) for c in explained.contributions]
        probability = explained.probability
    else:
        name, probability, log_odds, parts = _explain_boosted(found, database, atom)
    if json:
        print_json(
            {
                "atom": name,
                "probability": probability,
                "log_odds": log_odds,
                "contributions": [
                    {"rule": rule, "groundings": count, "log_odds": value}
                    for rule, count, value in parts
                ],
            }
        )
        return
    screen = console()
    screen.print(heading(f"{name}: probability {probability:.4f}"))
    rows = [
        (rule, "" if count is None else f"{count:+g}", f"{value:+.4f}")
        for rule, count, value in parts
    ]
    print_table(screen, ("rule", "groundings", "log-odds"), rows)
    if sentence:
        screen.print(f"\n{sentence}")


def _explain_boosted(
    model: BoostedModel, database: Database, text: str
) -> tuple[str, float, float, list[Part]]:
    """Return the atom, its probability and log-odds, and the rules that add up to them."""
    from scipy.special import expit  # noqa: PLC0415 - loaded with the model anyway

    parts: list[Part] = [
        (reason.rule, reason.count, reason.contribution) for reason in model.explain(database, text)
    ]
    log_odds = sum(value for _, _, value in parts)
    return (
        str(ml.parse_formula(text, model.schema).formula),
        float(expit(log_odds)),
        log_odds,
        parts,
    )
