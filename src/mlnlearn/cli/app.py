"""The commands of the program ``mlnlearn``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Literal

import typer

import mlnlearn as ml
from mlnlearn.cli.commands import LateGroup
from mlnlearn.cli.completion import offered
from mlnlearn.cli.options import option
from mlnlearn.cli.project import FILE, project_options
from mlnlearn.cli.show import QUIET, complain
from mlnlearn.dialect import DIALECT, DIALECTS, check_dialect

LogLevel = Literal["debug", "info", "warning", "error"]

app = typer.Typer(
    name="mlnlearn",
    cls=LateGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mlnlearn {ml.__version__}")
        raise typer.Exit


@app.callback(epilog="Start with:  mlnlearn demo")
def _program(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Neither notes nor progress; warnings stay.")
    ] = False,
    log_level: Annotated[
        LogLevel | None, option(help="Log what the library does, to standard error.")
    ] = None,
    dialect: Annotated[
        str | None,
        option(
            help="Of any command: the system that .mln files were written for: alchemy, tuffy, "
            "rockit, lomrf or pracmln; found out unless given.",
            autocompletion=offered(DIALECTS),
        ),
    ] = None,
) -> None:
    """Learn Markov logic networks from relational data: readable weighted rules.

    Options of a project may stand in a file mlnlearn.toml in the current folder.
    """
    if log_level is not None:
        logging.basicConfig(
            level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
        )
    QUIET.set(quiet)
    check_dialect(dialect)
    before = DIALECT.set(dialect)
    context.call_on_close(lambda: DIALECT.reset(before))  # until the command is over
    context.default_map = project_options(getattr(context.command, "commands", {}), Path())
    if context.default_map is not None:
        complain("note", f"options from {FILE}")
