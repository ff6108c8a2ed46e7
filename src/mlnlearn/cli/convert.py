"""``mlnlearn convert``: tables, or any other data, as Alchemy's files; rules of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.inspect import MappingOption, SchemaOption
from mlnlearn.cli.options import TablesOption
from mlnlearn.cli.outputs import ForceOption, check
from mlnlearn.cli.show import console
from mlnlearn.cli.sources import banded, load, load_tables
from mlnlearn.errors import InputError
from mlnlearn.files import FACTS_MARK, write_files


def convert(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Data files that make one database, or one .mln file of another system.",
            show_default=False,
        ),
    ] = None,
    tables: TablesOption = None,
    schema: SchemaOption = None,
    mapping: MappingOption = None,
    numbers: Annotated[
        bool,
        typer.Option("--numbers", help="Keep numbers and days; by default they are cut in bands."),
    ] = False,
    dialect: Annotated[
        str | None,
        typer.Option(
            help="The system that an .mln file was written for: alchemy, tuffy, rockit, lomrf or "
            "pracmln; found out unless given.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="The .db file to write; declarations go beside it, in .mln. Of rules, the .mln."
        ),
    ] = Path("data.db"),
    force: ForceOption = False,
) -> None:
    """Write data as facts and declarations: .db and .mln; or rules of another system as ours."""
    if files and any(file.name.endswith((".mln", ".mln.gz")) for file in files):
        _convert_rules(files, dialect, out, force)
        return
    if dialect is not None:
        raise InputError("--dialect is for rules: name an .mln file")
    if bool(files) == (tables is not None):
        raise InputError("name the data: files, or --tables")
    if out.suffix != ".db":
        raise InputError(f"--out {out}: expected a file that ends in .db")
    declarations = out.with_suffix(".mln")
    check(
        [out, declarations], force=force, data=files or [], tables=tables, others=[schema, mapping]
    )
    from mlnlearn.data.write import db_text  # noqa: PLC0415 - loads NumPy

    sources = load_tables(tables, schema, mapping) if tables else load(files or [], schema, mapping)
    if not numbers:  # each would be a constant of its own
        sources = banded(sources)
    if len(sources.databases) > 1:
        raise InputError(
            f"the files make {len(sources.databases)} databases", hint="convert them one by one"
        )
    [database] = sources.databases
    facts = FACTS_MARK + db_text(database)
    write_files({out: facts, declarations: ml.MLN(database.schema).file_text()})
    console().print(f"{database.true_atoms:,} facts in {out}, declarations in {declarations}")


def _convert_rules(files: list[Path], dialect: str | None, out: Path, force: bool) -> None:
    """Write one file of rules as it was understood."""
    if len(files) > 1:
        raise InputError("name one .mln file", hint="convert them one by one")
    if out.suffix != ".mln":
        raise InputError("name the file to write: --out FILE.mln")
    check([out], force=force, model=files[0])
    file = ml.read_mln(files[0], dialect)
    write_files({out: ml.MLN(file.schema, file.rules).file_text()})
    console().print(f"{len(file.rules):,} rules in {out}")
