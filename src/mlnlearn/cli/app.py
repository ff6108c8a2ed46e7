"""The commands of the program ``mlnlearn``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Literal

import typer

import mlnlearn as ml
from mlnlearn.cli.convert import convert
from mlnlearn.cli.count import count
from mlnlearn.cli.demo import demo
from mlnlearn.cli.evaluate import evaluate
from mlnlearn.cli.explain import explain
from mlnlearn.cli.infer import infer
from mlnlearn.cli.inspect import inspect
from mlnlearn.cli.learn import learn
from mlnlearn.cli.loglik import loglik
from mlnlearn.cli.options import option
from mlnlearn.cli.plain import PlainCommand, PlainGroup
from mlnlearn.cli.project import FILE, project_options
from mlnlearn.cli.report import report
from mlnlearn.cli.show import QUIET, complain
from mlnlearn.cli.warm_up import warm_up
from mlnlearn.cli.weights import weights
from mlnlearn.syntax.dialects import DIALECT, check_dialect

LogLevel = Literal["debug", "info", "warning", "error"]

app = typer.Typer(
    name="mlnlearn",
    cls=PlainGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog="Example:  mlnlearn demo")(demo)
app.command(epilog="Example:  mlnlearn inspect fold1.db fold2.db --schema schema.mln")(inspect)
app.command(
    epilog='Example:  mlnlearn count "friends(x,y) => smokes(y)" people.db --schema schema.mln'
)(count)
app.command(
    epilog="Example:  mlnlearn learn --learner mln-bt --schema schema.mln --db fold1.db fold2.db "
    "--target advisedBy --out advising.mln"
)(learn)
app.command(
    epilog="Example:  mlnlearn weights --model rules.mln --db fold1.db fold2.db --out learned.mln"
)(weights)
app.command(epilog="Example:  mlnlearn infer --model learned.mln --db test.db --query advisedBy")(
    infer
)
app.command(
    epilog='Example:  mlnlearn explain --model learned.mln --db test.db --atom "smokes(Anna)"'
)(explain)
app.command(
    epilog="Example:  mlnlearn report --model learned.mln --db fold1.db fold2.db --out report.html"
)(report)
app.command(
    epilog="Example:  mlnlearn evaluate --learner mln-bt --learner gslp --schema schema.mln "
    "--db fold1.db fold2.db fold3.db --query advisedBy"
)(evaluate)
app.command(epilog="Example:  mlnlearn convert --tables shop.sqlite --out shop.db")(convert)
app.command(epilog="Example:  mlnlearn loglik --model learned.mln --db test.db")(loglik)


app.command("warm-up", epilog="Example:  mlnlearn warm-up")(warm_up)


for _registered in app.registered_commands:
    _registered.cls = PlainCommand


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
            "rockit, lomrf or pracmln; found out unless given."
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
    DIALECT.set(dialect)
    context.default_map = project_options(getattr(context.command, "commands", {}), Path())
    if context.default_map is not None:
        complain("note", f"options from {FILE}")
