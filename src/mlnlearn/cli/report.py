"""``mlnlearn report``: a model on one page, to open in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.options import (
    ForceOption,
    MappingOption,
    ModelOption,
    MoreArgument,
    NoDatabasesOption,
    OrderOption,
    TablesOption,
    TaskOption,
    TestOption,
    TriplesOption,
    ValidOption,
    names,
    option,
)
from mlnlearn.cli.outputs import check
from mlnlearn.cli.rows import report_rows, rows_data
from mlnlearn.cli.show import console
from mlnlearn.cli.sources import load, tables_for
from mlnlearn.cli.triples import triples_page
from mlnlearn.errors import InputError
from mlnlearn.files import write_files

_TEXT = ".db"


def report(
    model: ModelOption,
    db: NoDatabasesOption = None,
    more: MoreArgument = None,
    tables: TablesOption = None,
    task: TaskOption = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="Declarations of the databases; by default the model's."),
    ] = None,
    mapping: MappingOption = None,
    triples: TriplesOption = None,
    valid: ValidOption = None,
    test: TestOption = None,
    order: OrderOption = "",
    query: Annotated[
        str,
        typer.Option(
            help="Predicates to predict, with commas; by default those that the model is about."
        ),
    ] = "",
    trained_on: Annotated[
        list[Path] | None,
        option(
            help="Databases that the model was learned from, one after each --trained-on: the page "
            "then says whether its scores are those of held-out data."
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    out: Annotated[
        Path,
        typer.Option(help="Write the page here; a name that ends in .md gets a short text."),
    ] = Path("report.html"),
    force: ForceOption = False,
) -> None:
    """Write a page about a model: rules, drawings, plots, and atoms with explanations."""
    paths = (db or []) + (more or [])
    others = [schema, mapping, task, triples, valid, test]
    check([out], force=force, data=paths, tables=tables, model=model, others=others)
    found = ml.load_model(model)
    if isinstance(found, ml.PathModel):
        if paths or tables:
            raise InputError("of path rules, give the data with --triples")
        files, markdown = (triples, valid, test), out.suffix == ".md"
        write_files({out: triples_page(found, files, order, title, markdown=markdown)})
        console().print(f"written to {out}")
        return
    if any(file is not None for file in (triples, valid, test)):
        raise InputError("--triples, --valid and --test go with a model of the learner paths")
    if (tables is None) == (not paths):
        raise InputError("give the data with --db or with --tables")
    if isinstance(found, ml.RelationalModel):
        if query:
            raise InputError("--query: the model knows what it predicts", hint="leave it out")
        if trained_on:
            raise InputError(
                "--trained-on is for models of predicates",
                hint="learn prints rules and held-out scores",
            )
        data = (
            _rows(found, paths, schema)
            if tables is None
            else rows_data(found, tables, task, schema).data
        )
        report_rows(found, data, out, title)
        console().print(f"written to {out}")
        return
    if task is not None:
        raise InputError("--task: the model is not one that learn --task made")
    databases = (
        _databases(paths, schema, found.schema)
        if tables is None
        else [tables_for(model, found, tables, schema, mapping)]
    )
    wanted = names(query, "--query")
    if out.suffix == ".md":
        text = ml.markdown_report(found, databases, wanted, title=title)
    else:
        learned_from = _databases(trained_on, schema, found.schema) if trained_on else None
        text = ml.report_page(found, databases, wanted, trained_on=learned_from, title=title)
    write_files({out: text})
    console().print(f"written to {out}")


def _rows(model: ml.RelationalModel, paths: list[Path], schema: Path | None) -> ml.Data:
    return ml.Data(tuple(_databases(paths, schema, model.schema)), model.mapping)


def _databases(
    paths: list[Path], schema: Path | None, declared: ml.Schema
) -> Sequence[ml.Database]:
    """Read the data; what is text in Alchemy's language needs declarations, tables bring theirs."""
    if schema is None and all(path.suffix == _TEXT for path in paths):
        return [ml.read_db(path, schema=declared, name=str(path)) for path in paths]
    return load(paths, schema).databases
