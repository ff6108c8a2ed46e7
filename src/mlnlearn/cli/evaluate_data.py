"""The data of ``mlnlearn evaluate``: what is read, and how it is cut into folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlnlearn.cli.options import names
from mlnlearn.cli.sources import Sources, banded, load, load_tables
from mlnlearn.errors import InputError

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.data.database import Database
    from mlnlearn.data.load.mapping import Mapping
    from mlnlearn.evaluate.folds import Fold

GroupsOption = Annotated[
    str,
    typer.Option(
        help="Leave out groups: a label for each database, with commas; or, of one database, the "
        "predicate that gives each entity its group.",
        show_default=False,
    ),
]
EntitiesOption = Annotated[
    str,
    typer.Option(
        help="Split at random by the constants of these types, with commas.", show_default=False
    ),
]
PartsOption = Annotated[
    int, typer.Option(help="Into so many parts, where entities are split.", min=2)
]
TimeOption = Annotated[
    str,
    typer.Option(
        help="Train on the past, test on the future: a type of times, or the predicate that gives "
        "each entity its time.",
        show_default=False,
    ),
]
CutsOption = Annotated[
    str,
    typer.Option(
        help="With --time: the last times to train on, with commas; a fold each.",
        show_default=False,
    ),
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


def read(
    paths: list[Path],
    tables: str | None,
    schema: Path | None,
    mapping: Path | None,
    *,
    bands: bool = True,
) -> Sources:
    """Read the databases or the tables; numbers of these are cut into bands unless that is off."""
    if tables is None:
        if not paths:
            raise InputError("--db or --tables: name the data")
        return load(paths, schema, mapping)
    if paths:
        raise InputError("give the data with --db or with --tables, not both")
    found = load_tables(tables, schema, mapping)
    return banded(found) if bands else found


def make_folds(split: DataSplit, sources: Sources) -> list[Fold]:
    """Cut the data into folds."""
    from mlnlearn.evaluate.folds import entity_folds, leave_one_out  # noqa: PLC0415

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
    databases = sources.databases
    if split.groups:
        return _by_groups(split.groups, databases)
    if split.time:
        return _by_time(split, databases)
    if split.entities:
        return entity_folds(databases, split.types, split.parts)
    if len(databases) > 1:
        return leave_one_out(databases)
    if sources.mappings:
        return entity_folds(databases, entity_types(sources.mappings[0]), split.parts)
    raise InputError(
        "--db: at least two databases are needed, one for each fold",
        hint="or split one: --entities, --groups or --time",
    )


def entity_types(mapping: Mapping) -> list[str]:
    """Return the types whose constants are rows of tables.

    Examples
    --------
    >>> from mlnlearn.data.load.declared import declared_mapping
    >>> from mlnlearn.logic.schema import Schema
    >>> entity_types(declared_mapping(Schema.of("age(person,years!)", "owns(person,car)")))
    ['person', 'car']
    """
    return [table.type for table in mapping if table.has_objects]


def _by_groups(text: str, databases: Sequence[Database]) -> list[Fold]:
    from mlnlearn.evaluate.folds import group_folds, leave_group_out  # noqa: PLC0415

    if len(databases) == 1:
        return group_folds(databases[0], text.strip())
    return leave_group_out(databases, [label.strip() for label in text.split(",")])


def _by_time(split: DataSplit, databases: Sequence[Database]) -> list[Fold]:
    from mlnlearn.evaluate.folds import time_folds  # noqa: PLC0415

    if len(databases) > 1:
        raise InputError(f"--time splits one database, but there are {len(databases)}")
    try:
        cuts = [float(part) for part in split.cuts.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--cuts {split.cuts}: expected numbers with commas") from None
    if not cuts:
        raise InputError("--time needs --cuts: the last times to train on, with commas")
    return time_folds(databases[0], split.time, cuts)
