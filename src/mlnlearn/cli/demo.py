"""``mlnlearn demo``: data made up by known rules, and what learners find in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mlnlearn.cli.options import ForceOption, option
from mlnlearn.cli.outputs import check
from mlnlearn.cli.show import console, heading, print_table, rules_heading
from mlnlearn.files import write_files

_SHOWN = 6


class DemoKind(StrEnum):
    """What is made up."""

    shop = "shop"
    university = "university"
    graph = "graph"


@dataclass(frozen=True)
class DemoResult:
    """What a demonstration ends with.

    Attributes
    ----------
    sentences
        The rules, the most telling first.
    rules
        How many there are.
    tested
        What the scores were computed on.
    scores
        By name of the score: that of each contender, by its name.
    page
        The page about it.
    """

    sentences: Sequence[str]
    rules: int
    tested: str
    scores: Mapping[str, Mapping[str, str]]
    page: str


Demo = Callable[[Console, "Path | None"], DemoResult]


def demo(
    kind: Annotated[
        DemoKind,
        typer.Argument(
            help="Tables of a shop, facts about a university, or a knowledge graph of families."
        ),
    ] = DemoKind.shop,
    report: Annotated[Path, typer.Option(help="Write the page here.")] = Path("demo.html"),
    data: Annotated[
        Path | None,
        option(help="Keep the data, too: as an SQLite file (shop), or in a new folder."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Make up data by known rules, learn the rules again, and write a page about them."""
    check([report, data], force=force)
    started = time.perf_counter()
    out = console()
    shown = _demo(kind)(out, data)
    out.print()
    more = f", the first {_SHOWN}" if shown.rules > _SHOWN else ""
    out.print(rules_heading(shown.rules, f" found{more}"))
    for number, sentence in enumerate(shown.sentences[:_SHOWN], start=1):
        out.print(f"{number:3d}. {sentence}", markup=False)
    out.print()
    out.print(heading(shown.tested))
    contenders = list(next(iter(shown.scores.values())))
    rows = [(name, *values.values()) for name, values in shown.scores.items()]
    print_table(out, ("score", *contenders), rows)
    write_files({report: shown.page})
    kept = f"; the data: {data}" if data else ""
    seconds = time.perf_counter() - started
    out.print(f"\nDone in {seconds:.1f} s. To look at: {report}{kept}")


def _demo(kind: DemoKind) -> Demo:
    """Load one demonstration; the others need not be."""
    if kind is DemoKind.shop:
        from mlnlearn.cli.demo_shop import shop  # noqa: PLC0415

        return shop
    if kind is DemoKind.university:
        from mlnlearn.cli.demo_university import university  # noqa: PLC0415

        return university
    from mlnlearn.cli.demo_graph import graph  # noqa: PLC0415

    return graph
