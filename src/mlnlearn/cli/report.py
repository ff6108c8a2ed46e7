"""``mlnlearn report``: a model on one page, to open in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.options import DatabasesOption, ModelOption, MoreArgument, names, read_model
from mlnlearn.cli.show import console
from mlnlearn.cli.sources import load
from mlnlearn.files import write_atomically

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.data.database import Database
    from mlnlearn.model.boosted.model import BoostedModel
    from mlnlearn.model.mln import MLN
    from mlnlearn.structure.join_bayes.model import JoinBayesModel

_TEXT = ".db"


def report(
    model: ModelOption,
    db: DatabasesOption,
    more: MoreArgument = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="Declarations of the databases; by default the model's."),
    ] = None,
    query: Annotated[
        str,
        typer.Option(
            help="Predicates to predict, with commas; by default those that the model is about."
        ),
    ] = "",
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    out: Annotated[Path, typer.Option(help="Write the page here.")] = Path("report.html"),
) -> None:
    """Write a page about a model: rules, drawings, plots, and atoms with explanations."""
    from mlnlearn.report import report as page  # noqa: PLC0415 - loads the evaluation

    found = _read(model)
    databases = _databases(db + (more or []), schema, found.schema)
    write_atomically(out, page(found, databases, names(query, "--query"), title=title))
    console().print(f"written to {out}")


def _read(path: Path) -> MLN | BoostedModel | JoinBayesModel:
    """Read a model; of a Bayes net with rules, the net too."""
    if path.suffix == ".json" and path.is_file():
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            plain = None
        if isinstance(plain, dict) and "net" in plain:
            from mlnlearn.structure.join_bayes.model import JoinBayesModel  # noqa: PLC0415

            return JoinBayesModel.load(path)
    return read_model(path)


def _databases(paths: list[Path], schema: Path | None, declared: ml.Schema) -> list[Database]:
    """Read the data; what is text in Alchemy's language needs declarations, tables bring theirs."""
    if schema is None and all(path.suffix == _TEXT for path in paths):
        return [ml.read_db(path, schema=declared, name=str(path)) for path in paths]
    return load(paths, schema).databases
