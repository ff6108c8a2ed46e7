"""``mlnlearn convert``: tables, or any other data, as Alchemy's files; rules of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.options import (
    ForceOption,
    MappingOption,
    SchemaOption,
    TablesOption,
)
from mlnlearn.cli.outputs import check
from mlnlearn.cli.show import console
from mlnlearn.cli.sources import read
from mlnlearn.errors import InputError
from mlnlearn.files import write_files


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
        _convert_rules(files, out, force)
        return
    if bool(files) == (tables is not None):
        raise InputError("name the data: files, or --tables")
    if out.suffix != ".db":
        raise InputError(f"--out {out}: expected a file that ends in .db")
    declarations = out.with_suffix(".mln")
    check(
        [out, declarations], force=force, data=files or [], tables=tables, others=[schema, mapping]
    )
    data = read(files or [], tables, schema, mapping)
    if not numbers:  # each would be a constant of its own
        data = data.banded()
    if len(data.databases) > 1:
        raise InputError(
            f"the files make {len(data.databases)} databases", hint="convert them one by one"
        )
    [database] = data.databases
    ml.write_db(database, out, declarations)
    console().print(f"{database.true_atoms:,} facts in {out}, declarations in {declarations}")


def _convert_rules(files: list[Path], out: Path, force: bool) -> None:
    """Write one file of rules as it was understood."""
    if len(files) > 1:
        raise InputError("name one .mln file", hint="convert them one by one")
    if out.suffix != ".mln":
        raise InputError("name the file to write: --out FILE.mln")
    check([out], force=force, model=files[0])
    file = ml.read_mln(files[0])
    write_files({out: ml.MLN(file.schema, file.rules).file_text()})
    console().print(f"{len(file.rules):,} rules in {out}")
