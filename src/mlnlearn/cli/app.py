"""The commands of the program ``mlnlearn``."""

from __future__ import annotations

from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.count import count
from mlnlearn.cli.demo import demo
from mlnlearn.cli.explain import explain
from mlnlearn.cli.infer import infer
from mlnlearn.cli.inspect import inspect
from mlnlearn.cli.weights import weights

app = typer.Typer(
    name="mlnlearn",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog="Example:  mlnlearn demo")(demo)
app.command(epilog="Example:  mlnlearn inspect fold1.db fold2.db --schema schema.mln")(inspect)
app.command(
    epilog='Example:  mlnlearn count "friends(x,y) => smokes(y)" people.db --schema schema.mln'
)(count)
app.command(
    epilog="Example:  mlnlearn weights --model rules.mln --db fold1.db fold2.db --out learned.mln"
)(weights)
app.command(epilog="Example:  mlnlearn infer --model learned.mln --db test.db --query advisedBy")(
    infer
)
app.command(
    epilog='Example:  mlnlearn explain --model learned.mln --db test.db --atom "smokes(Anna)"'
)(explain)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mlnlearn {ml.__version__}")
        raise typer.Exit


@app.callback(epilog="Start with:  mlnlearn demo")
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Learn Markov logic networks from relational data: readable weighted rules."""
