"""The commands of the program, loaded when they are used: a start pays for one of them alone."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from mlnlearn.cli.plain import PlainCommand, PlainGroup


@dataclass(frozen=True)
class CommandEntry:
    """A command that may not be loaded yet.

    Attributes
    ----------
    about
        What it does: the first line of its function's docstring.
    example
        A command line.
    """

    about: str
    example: str

    def load(self, name: str) -> Any:
        """Import the function, which is named as the command, from the module of that name."""
        called = name.replace("-", "_")
        function = getattr(import_module(f"mlnlearn.cli.{called}"), called)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name, cls=PlainCommand, epilog=f"Example:  {self.example}")(function)
        return get_command(alone)

    def listed(self, name: str) -> Any:
        """Return what a list of commands needs to know."""
        return PlainCommand(name=name, help=self.about)


COMMANDS = {
    "demo": CommandEntry(
        "Make up data by known rules, learn the rules again, and write a page about them.",
        "mlnlearn demo",
    ),
    "inspect": CommandEntry(
        "Show types, predicates, sizes and regularities of databases, and how tables become such.",
        "mlnlearn inspect fold1.db fold2.db --schema schema.mln",
    ),
    "count": CommandEntry(
        "Count the true groundings of a formula, over all databases together.",
        'mlnlearn count "friends(x,y) => smokes(y)" people.db --schema schema.mln',
    ),
    "learn": CommandEntry(
        "Learn rules and their weights from databases or tables.",
        "mlnlearn learn --learner mln-bt --schema schema.mln --db fold1.db fold2.db "
        "--target advisedBy --out advising.mln",
    ),
    "weights": CommandEntry(
        "Learn the weights of the rules in a model from databases.",
        "mlnlearn weights --model rules.mln --db fold1.db fold2.db --out learned.mln",
    ),
    "infer": CommandEntry(
        "Give the probability of every unknown atom of some predicates.",
        "mlnlearn infer --model learned.mln --db test.db --query advisedBy",
    ),
    "explain": CommandEntry(
        "Show which rules, with how many groundings, make an atom probable or not.",
        'mlnlearn explain --model learned.mln --db test.db --atom "smokes(Anna)"',
    ),
    "report": CommandEntry(
        "Write a page about a model: rules, drawings, plots, and atoms with explanations.",
        "mlnlearn report --model learned.mln --db fold1.db fold2.db --out report.html",
    ),
    "evaluate": CommandEntry(
        "Train on some of the data, predict the rest, and so on for every fold in turn.",
        "mlnlearn evaluate --learner mln-bt --learner gslp --schema schema.mln "
        "--db fold1.db fold2.db fold3.db --query advisedBy",
    ),
    "convert": CommandEntry(
        "Write data as facts and declarations: .db and .mln; or rules of another system as ours.",
        "mlnlearn convert --tables shop.sqlite --out shop.db",
    ),
    "loglik": CommandEntry(
        "Give the exact log-likelihood of a database under a model.",
        "mlnlearn loglik --model learned.mln --db test.db",
    ),
    "warm-up": CommandEntry(
        "Compile the kernels, once for all later runs of this installation.", "mlnlearn warm-up"
    ),
}


class _Late(MutableMapping[str, Any]):
    """Commands by name, each loaded when it is asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = dict.fromkeys(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if self._loaded[name] is None:
            self._loaded[name] = COMMANDS[name].load(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaded

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


class LateGroup(PlainGroup):
    """The program: it knows its commands by name, and what each does in a line."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Late()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, without loading the commands that it lists."""
        known = self.commands
        self.commands = {name: entry.listed(name) for name, entry in COMMANDS.items()}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = known
