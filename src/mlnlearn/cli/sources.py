"""Files named on the command line become data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import mlnlearn as ml
from mlnlearn.cli.show import complain
from mlnlearn.errors import InputError
from mlnlearn.files import MAPPING_MARK, write_files


def load_each(paths: Sequence[Path], schema: Path | None, mapping: Path | None) -> list[ml.Data]:
    """Read all files, and say which declarations were found beside them."""
    found = ml.read_data(paths, schema, mapping)
    for declarations in dict.fromkeys(data.declarations for data in found):
        if declarations is not None:
            complain("note", f"declarations from {declarations}")
    return found


def load(paths: Sequence[Path], schema: Path | None, mapping: Path | None = None) -> ml.Data:
    """Read all files as databases of one schema."""
    return ml.as_data(load_each(paths, schema, mapping))


def read(
    paths: Sequence[Path], tables: str | None, schema: Path | None, mapping: Path | None = None
) -> ml.Data:
    """Read what ``--db`` or ``--tables`` names: one of them; tables of facts stay in place."""
    if tables is None:
        if not paths:
            raise InputError("--db: name one or more databases", hint="or tables, with --tables")
        return load(paths, schema, mapping)
    if paths:
        raise InputError("give the data with --db or with --tables, not both")
    declared = ml.declarations_of(tables, schema)
    if declared is not None and mapping is None:
        return ml.Data((ml.facts_in_place(tables, declared),), declarations=declared)
    return ml.tables_data(tables, ddl=schema, mapping=mapping).data


def evidence_for(
    model: ml.MLN | ml.BoostedModel | ml.RelationalModel, path: Path, schema: Path | None
) -> tuple[ml.MLN | ml.BoostedModel | ml.RelationalModel, ml.Database]:
    """Read what is given to a question; a network gets a rule for each atom of soft evidence."""
    declared = model.schema if schema is None else ml.read_mln(schema).schema
    if not isinstance(model, ml.MLN):
        return model, ml.read_db(path, schema=declared, name=str(path))
    given = ml.read_evidence(path, declared)
    return replace(model, rules=(*model.rules, *given.rules)), given.database


def mapping_beside(model: Path) -> Path:
    """Return the file beside a model that says how tables are read, where the model cannot."""
    return model.with_suffix(".toml")


def keep_mapping(path: Path, model: Any, data: ml.Data) -> None:
    """Write beside a model how its tables were read, unless the model says so itself."""
    if data.mapping is not None and getattr(model, "mapping", None) is None:
        text = f"{MAPPING_MARK}{data.mapping.without_limits()}\n"
        write_files({mapping_beside(path): text})


def tables_for(
    path: Path, model: Any, tables: str, schema: Path | None, mapping: Path | None = None
) -> ml.Database:
    """Read tables as the database that a model is asked about, see `data_for`."""
    return data_for(path, model, tables, schema, mapping).databases[0]


def data_for(
    path: Path, model: Any, tables: str, schema: Path | None, mapping: Path | None = None
) -> ml.Data:
    """Read tables as those were read that a model was learned from, where that is known.

    It is where the model says so, or a mapping beside it does; or where one is given.
    """
    own: ml.Mapping | None = getattr(model, "mapping", None)
    beside = mapping_beside(path)
    known = beside if own is None and beside.is_file() else own and own.without_limits()
    declared = ml.declarations_of(tables, schema)
    if declared is not None and mapping is None and known is None:
        return ml.Data((ml.facts_in_place(tables, declared),))
    return ml.tables_data(tables, ddl=schema, mapping=mapping or known).data


def background_of(folders: Sequence[Path]) -> ml.BoostSRLData | None:
    """Return what the first of the folders of BoostSRL says beside its facts."""
    return ml.read_boostsrl(folders[0]) if folders else None


def with_background(learner: Any, background: ml.BoostSRLData | None, chosen: Sequence[str]) -> Any:
    """Return a learner with the modes and settings of a background, but for those chosen."""
    if background is None:
        return learner
    taken = {text.partition("=")[0].strip() for text in chosen}
    given = {"modes": background.modes, **background.settings}
    known = {item.name for item in fields(learner)}
    return replace(learner, **{k: v for k, v in given.items() if k in known and k not in taken})
