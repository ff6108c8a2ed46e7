"""``mlnlearn explain``: what pushes an atom up or down."""

from __future__ import annotations

from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.inspect import JsonOption
from mlnlearn.cli.options import (
    ClosedOption,
    DatabasesOption,
    ModelOption,
    MoreArgument,
    OpenOption,
    names,
    one_database,
    read_model,
)
from mlnlearn.cli.show import console, heading, print_json, print_table


def explain(
    model: ModelOption,
    db: DatabasesOption,
    atom: Annotated[str, typer.Option(help='A ground atom, such as "advisedBy(Anna,Bob)".')],
    more: MoreArgument = None,
    open_predicates: OpenOption = "",
    closed: ClosedOption = "",
    json: JsonOption = False,
) -> None:
    """Show which rules, with how many groundings, make an atom probable or not."""
    found = read_model(model)
    path = one_database(db + (more or []))
    database = ml.read_db(path, schema=found.schema, name=str(path))
    opened, shut = names(open_predicates, "--open"), names(closed, "--closed")
    explained = ml.explain(found, database, atom, open=opened, closed=shut)
    if json:
        print_json(
            {
                "atom": str(explained.atom),
                "probability": explained.probability,
                "log_odds": explained.log_odds,
                "against": str(explained.against) if explained.against else None,
                "assumed": explained.assumed,
                "contributions": [
                    {"rule": part.rule, "groundings": part.flips, "log_odds": part.log_odds}
                    for part in explained.contributions
                ],
            }
        )
        return
    screen = console()
    screen.print(heading(f"{explained.atom}: probability {explained.probability:.4f}"))
    rows = [
        (part.rule, "" if part.flips is None else f"{part.flips:+g}", f"{part.log_odds:+.4f}")
        for part in explained.contributions
    ]
    print_table(screen, ("rule", "groundings", "log-odds"), rows)
    screen.print(f"\n{explained.sentence()}")
