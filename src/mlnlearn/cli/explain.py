"""``mlnlearn explain``: what pushes an atom up or down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.options import (
    ClosedOption,
    JsonOption,
    MappingOption,
    ModelOption,
    MoreArgument,
    NoDatabasesOption,
    OpenOption,
    OrderOption,
    SchemaOption,
    TablesOption,
    TaskOption,
    TriplesOption,
    names,
    one_database,
    read_model,
)
from mlnlearn.cli.rows import explain_row
from mlnlearn.cli.show import console, heading, print_json, print_table
from mlnlearn.cli.sources import data_for, evidence_for, tables_for
from mlnlearn.cli.triples import explain_triple
from mlnlearn.errors import InputError

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.model.explanation import Explanation
    from mlnlearn.structure.saved import AnyModel


def explain(
    model: ModelOption,
    db: NoDatabasesOption = None,
    atom: Annotated[
        str,
        typer.Option(help='A ground atom, such as "advisedBy(Anna,Bob)".', show_default=False),
    ] = "",
    row: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="Instead of --atom, of a model of tables: the key of a row, or the number of a "
            "row of the --task.",
            show_default=False,
        ),
    ] = "",
    target: Annotated[
        str,
        typer.Option(
            metavar="TABLE.COLUMN",
            help="With --row, of a net of all columns: which column to explain.",
            show_default=False,
        ),
    ] = "",
    more: MoreArgument = None,
    triples: TriplesOption = None,
    order: OrderOption = "",
    triple: Annotated[
        tuple[str, str, str] | None,
        typer.Option(help="With --triples: head, relation and tail.", show_default=False),
    ] = None,
    tables: TablesOption = None,
    task: TaskOption = None,
    schema: SchemaOption = None,
    mapping: MappingOption = None,
    open_predicates: OpenOption = "",
    closed: ClosedOption = "",
    json: JsonOption = False,
) -> None:
    """Show which rules, with how many groundings, make an atom probable or not.

    Of models of rows of tables, show what each thing known of a row adds.
    """
    if triples is not None:
        if triple is None or db or more:
            raise InputError("--triples goes with --triple HEAD RELATION TAIL, and not with --db")
        explain_triple(model, triples, order, triple, json=json)
        return
    if row and tables is not None:
        _explain_row(model, tables, row, target, task, schema, mapping, json=json)
        return
    if row or target or task is not None:
        raise InputError("--row and --task go with --tables, --target and --task with --row")
    if not atom:
        raise InputError(
            "--atom: name a ground atom",
            hint='such as "advisedBy(Anna,Bob)"; or a row of --tables, with --row',
        )
    found, database = _asked(model, (db or []) + (more or []), tables, schema, mapping)
    opened, shut = names(open_predicates, "--open"), names(closed, "--closed")
    _show(ml.explain(found, database, atom, open=opened, closed=shut), json=json)


def _explain_row(
    model: Path,
    tables: str,
    row: str,
    target: str,
    task: Path | None,
    schema: Path | None,
    mapping: Path | None,
    *,
    json: bool,
) -> None:
    """Explain what a model of one column says of a row, or a net of all columns of one of them."""
    learned = ml.load_model(model)
    if isinstance(learned, ml.JoinBayesModel):
        _check_of_net(target, task)
        data = data_for(model, learned, tables, schema, mapping)
        _show(ml.explain_net(learned, data, target, row), json=json)
        return
    if not isinstance(learned, ml.RelationalModel):
        raise InputError("--row: the model is none of rows of tables", hint="give --atom")
    if target:
        raise InputError("--target: the model knows what it predicts", hint="leave it out")
    explain_row(learned, tables, row, task, schema=schema, json=json)


def _check_of_net(target: str, task: Path | None) -> None:
    """Refuse what cannot be asked of a net of all columns."""
    if task is not None:
        raise InputError("--task: the model is not one that learn --task made")
    if not target:
        raise InputError(
            "--target: the model is of all columns",
            hint="name the one to explain, as TABLE.COLUMN; or give --atom in place of --row",
        )


def _asked(
    model: Path,
    paths: list[Path],
    tables: str | None,
    schema: Path | None,
    mapping: Path | None,
) -> tuple[AnyModel, ml.Database]:
    """Read a model and the database that it is asked about."""
    if tables is None:
        return evidence_for(read_model(model), one_database(paths), schema)
    found = ml.load_model(model)
    if paths:
        raise InputError("give the data with --db or with --tables, not both")
    return found, tables_for(model, found, tables, schema, mapping)


def _show(explained: Explanation, *, json: bool) -> None:
    """Print why an atom is probable or not."""
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
    parts = explained.contributions
    if any(part.flips is not None for part in parts):
        rows = [
            (part.rule, "" if part.flips is None else f"{part.flips:+g}", f"{part.log_odds:+.4f}")
            for part in parts
        ]
        print_table(screen, ("rule", "groundings", "log-odds"), rows)
    else:  # of models whose parts are no rules with groundings
        alone = [(part.rule, f"{part.log_odds:+.4f}") for part in parts]
        print_table(screen, ("part", "log-odds"), alone)
    screen.print(f"\n{explained.sentence()}")
