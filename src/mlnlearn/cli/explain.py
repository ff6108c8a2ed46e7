"""``mlnlearn explain``: what pushes an atom up or down."""

from __future__ import annotations

from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.inspect import JsonOption
from mlnlearn.cli.options import DatabasesOption, ModelOption, MoreArgument, one_database
from mlnlearn.cli.show import console, heading, print_json, print_table


def explain(
    model: ModelOption,
    db: DatabasesOption,
    atom: Annotated[str, typer.Option(help='A ground atom, such as "advisedBy(Anna,Bob)".')],
    more: MoreArgument = None,
    json: JsonOption = False,
) -> None:
    """Show which rules, with how many groundings, make an atom probable or not."""
    mln = ml.MLN.read(model)
    path = one_database(db + (more or []))
    found = ml.explain(mln, ml.read_db(path, schema=mln.schema, name=str(path)), atom)
    if json:
        contributions = [
            {"rule": str(c.rule.formula), "groundings": c.flips, "log_odds": c.log_odds}
            for c in found.contributions
        ]
        print_json(
            {
                "atom": str(found.atom),
                "probability": found.probability,
                "log_odds": found.log_odds,
                "contributions": contributions,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{found.atom}: probability {found.probability:.4f}"))
    rows = [(str(c.rule), f"{c.flips:+g}", f"{c.log_odds:+.4f}") for c in found.contributions]
    print_table(screen, ("rule", "groundings", "log-odds"), rows)
    screen.print(f"\n{found.sentence()}")
