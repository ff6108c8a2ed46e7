"""How the data of ``mlnlearn evaluate`` are cut into folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.options import (
    names,
    option,
)
from mlnlearn.errors import InputError

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.evaluate.folds import Fold

GroupsOption = Annotated[
    str,
    option(
        help="Leave out groups: a label for each database, with commas; or, of one database, the "
        "predicate that gives each entity its group."
    ),
]
EntitiesOption = Annotated[
    str, option(help="Split at random by the constants of these types, with commas.")
]
PartsOption = Annotated[
    int, typer.Option(help="Into so many parts, where entities are split.", min=2)
]
TimeOption = Annotated[
    str,
    option(
        help="Train on the past, test on the future: a type of times, or the predicate that gives "
        "each entity its time."
    ),
]
CutsOption = Annotated[
    str, option(help="With --time: the last times to train on, with commas; a fold each.")
]


@dataclass(frozen=True)
class DataSplit:
    """How the user wants the data to be cut into folds; by default each database is one."""

    groups: str = ""
    entities: str = ""
    parts: int = 5
    time: str = ""
    cuts: str = ""

    @property
    def types(self) -> tuple[str, ...]:
        """The types to split by."""
        return names(self.entities, "--entities")


def make_folds(split: DataSplit, data: ml.Data) -> list[Fold]:
    """Cut the data into folds."""
    chosen = [
        option
        for option, value in (
            ("--groups", split.groups),
            ("--entities", split.entities),
            ("--time", split.time),
        )
        if value
    ]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} are different ways to make folds; choose one")
    if split.cuts and not split.time:
        raise InputError("--cuts are times: name what holds them with --time")
    databases = data.databases
    if split.groups:
        return _by_groups(split.groups, databases)
    if split.time:
        return _by_time(split, databases)
    if split.entities:
        return ml.entity_folds(databases, split.types, split.parts)
    if len(databases) > 1:
        return ml.leave_one_out(databases)
    if data.mapping is not None:
        types = [table.type for table in data.mapping if table.has_objects]
        return ml.entity_folds(databases, types, split.parts)
    raise InputError(
        "--db: at least two databases are needed, one for each fold",
        hint="or split one: --entities, --groups or --time",
    )


def _by_groups(text: str, databases: Sequence[ml.Database]) -> list[Fold]:
    if len(databases) == 1:
        return ml.group_folds(databases[0], text.strip())
    return ml.leave_group_out(databases, [label.strip() for label in text.split(",")])


def _by_time(split: DataSplit, databases: Sequence[ml.Database]) -> list[Fold]:
    if len(databases) > 1:
        raise InputError(f"--time splits one database, but there are {len(databases)}")
    try:
        cuts = [float(part) for part in split.cuts.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--cuts {split.cuts}: expected numbers with commas") from None
    if not cuts:
        raise InputError("--time needs --cuts: the last times to train on, with commas")
    return ml.time_folds(databases[0], split.time, cuts)
