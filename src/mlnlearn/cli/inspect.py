"""``mlnlearn inspect``: what is in the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import mlnlearn as ml
from mlnlearn.cli.inspect_tables import print_reading, reading_as_json
from mlnlearn.cli.options import (
    FILES,
    ForceOption,
    JsonOption,
    MappingOption,
    SchemaOption,
    TablesOption,
    TimeColumnOption,
    UntilOption,
    cut_off,
    option,
)
from mlnlearn.cli.outputs import check
from mlnlearn.cli.show import (
    MOST_REMARKS,
    complain,
    console,
    heading,
    print_json,
    print_table,
    share,
    spread,
)
from mlnlearn.cli.sources import load_each
from mlnlearn.errors import InputError
from mlnlearn.files import MAPPING_MARK, write_files
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema

if TYPE_CHECKING:  # loading NumPy can wait until the command runs
    from mlnlearn.data.profile import DatabaseProfile, Profile


def inspect(
    files: Annotated[list[Path] | None, FILES] = None,
    schema: SchemaOption = None,
    tables: TablesOption = None,
    until: UntilOption = None,
    time_column: TimeColumnOption = None,
    mapping: MappingOption = None,
    write_mapping: Annotated[
        Path | None, option(help="Write how tables were read (TOML), to change it.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="All remarks; of tables, types and predicates too.")
    ] = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Show types, predicates, sizes and regularities of databases, and how tables become such."""
    cut = cut_off(until, time_column)
    check([write_mapping], force=force, data=files or [], tables=tables, others=[schema, mapping])
    if (tables is None) == (not files):
        raise typer.BadParameter("name files, or one source of tables with --tables")
    if tables is not None:
        sources = [ml.tables_data(tables, ddl=schema, mapping=mapping, cut_off=cut).data]
    elif cut is not None:
        raise InputError("--until: give the data with --tables")
    else:
        sources = load_each(files or [], schema, mapping)
    readings = [(data.mapping, data.databases[0]) for data in sources if data.mapping is not None]
    databases = [database for data in sources for database in data.databases]
    if write_mapping is not None:
        if not readings:
            raise InputError("--write-mapping: there are no tables")
        write_files({write_mapping: f"{MAPPING_MARK}{readings[0][0]}\n"})
    if tables is not None and not verbose and not json:
        print_reading(*readings[0])
        if write_mapping is not None:
            console().print(f"\nwritten to {write_mapping}; change it, and use it with --mapping")
        return
    groups: dict[tuple[Predicate, ...], list[ml.Database]] = {}
    for database in databases:
        groups.setdefault(database.schema.predicates, []).append(database)
    profiles = [ml.profile(group) for group in groups.values()]
    remarks = [warning for found in profiles for warning in found.warnings]
    for warning in remarks if verbose else remarks[:MOST_REMARKS]:
        complain("warning", warning)
    if len(remarks) > MOST_REMARKS and not verbose:
        complain("note", f"{len(remarks) - MOST_REMARKS} more remarks with --verbose")
    if json:
        by_name = {one.name: one for found in profiles for one in found.databases}
        plain = {"databases": [_as_json(one.name, by_name[one.name]) for one in databases]}
        if tables is not None:
            plain["mapping"] = [found.as_dict() for found, _ in readings]
            plain["columns"] = reading_as_json(readings[0][0])
        print_json(plain)
        return
    out = console()
    for found, group in zip(profiles, groups.values(), strict=True):
        print_profile(out, found, group[0].schema)
    for reading in readings:
        out.print(heading("How the tables were read (see --write-mapping and --mapping)"))
        print_reading(*reading)


def _as_json(file: str, sizes: DatabaseProfile) -> dict[str, object]:
    return {
        "file": file,
        "true_atoms": sizes.true_atoms,
        "constants": dict(sizes.constants),
        "ground_atoms": sizes.ground_atoms,
        "predicates": dict(sizes.predicates),
    }


def print_profile(out: Console, found: Profile, schema: Schema) -> None:
    """Print the tables of one schema: databases, types, predicates."""
    sizes = found.databases
    rows = [
        (
            one.name,
            f"{sum(one.constants.values()):,}",
            f"{one.true_atoms:,}",
            f"{one.ground_atoms:,}",
            share(one.true_atoms, one.ground_atoms),
        )
        for one in sizes
    ]
    print_table(out, ("Database", "constants", "true atoms", "possible", "share"), rows)
    out.print()
    title = "constants" if len(sizes) == 1 else "constants a database"
    types = [(kind, spread([one.constants[kind] for one in sizes])) for kind in schema.types]
    print_table(out, ("Type", title), types)
    out.print()
    predicates = [_predicate_row(predicate, found, schema) for predicate in schema.predicates]
    titles = ("Predicate", "true", "possible", "share", "found")
    print_table(out, titles, predicates, words=(0, 4))
    out.print()


def _predicate_row(predicate: Predicate, found: Profile, schema: Schema) -> Sequence[str]:
    true = sum(one.predicates[predicate.name] for one in found.databases)
    possible = sum(
        math.prod(one.constants[kind] for kind in predicate.types) for one in found.databases
    )
    return (
        schema.declaration(predicate.name),
        f"{true:,}",
        f"{possible:,}",
        share(true, possible),
        ", ".join(_regularities(predicate, found)),
    )


def _regularities(predicate: Predicate, found: Profile) -> list[str]:
    relations = {
        "identity only": found.identity,
        "symmetric": found.symmetric,
        "reflexive": found.reflexive,
        "irreflexive": found.irreflexive,
    }
    words = [word for word, names in relations.items() if predicate.name in names]
    for label, places in (("exactly", found.exactly_one), ("at most", found.at_most_one)):
        for item in places:
            if item.predicate == predicate:
                kind = predicate.types[item.place]
                again = predicate.types.count(kind) > 1
                words.append(f"{label} 1 {kind}" + (f" (place {item.place + 1})" if again else ""))
    return words
