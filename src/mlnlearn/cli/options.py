"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlnlearn.errors import InputError

ModelOption = Annotated[Path, typer.Option("--model", help="A model: an .mln file.")]
DatabasesOption = Annotated[
    list[Path], typer.Option("--db", help="Databases, one or more after --db.", show_default=False)
]
# Words that follow the first database: `--db fold1.db fold2.db` reads like `--db fold1.db --db …`.
MoreArgument = Annotated[list[Path] | None, typer.Argument(hidden=True)]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]


def names(text: str, option: str) -> tuple[str, ...]:
    """Read a list of names with commas.

    Examples
    --------
    >>> names("smokes, cancer", "--query")
    ('smokes', 'cancer')
    """
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if text.strip() and not found:
        raise InputError(f"{option}: no name in {text!r}")
    return found


def one_database(paths: list[Path]) -> Path:
    """Return the only database of a command that takes one."""
    if len(paths) != 1:
        raise InputError(f"--db: one database is needed, not {len(paths)}")
    return paths[0]
