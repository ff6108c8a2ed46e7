"""Data in which the labels of some rows are not known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import LinkedPlace, Number, Relational
from mlnlearn.data.database import Database, are_among
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.declared import declared_mapping
from mlnlearn.errors import InputError
from mlnlearn.evaluate.row_split import Mask


def withheld(data: Data, view: Relational, examples: RowExamples, rows: Mask) -> Data:
    """Return the data with the labels of some examples made unknown."""
    home = examples.home
    name = next((name for name, found in view.places.items() if found == home), None)
    if name is None:
        raise InputError(
            f"{home.row_set}.{home.column} is part of what names a row, so none can be kept aside",
            hint="name it as the target of tables_data, or read the table as events: "
            'kind = "event" in a mapping',
        )
    if isinstance(getattr(data.databases[0].true, "place", None), LinkedPlace):
        from mlnlearn.counting.placed_view import without_labels  # noqa: PLC0415 - loads SQL

        hidden = without_labels(data.databases[0], data.tables, examples, rows)
        return replace(data, databases=(hidden,))
    databases = []
    for number, database in enumerate(data.databases):
        chosen = rows & (examples.base.part == number)
        keys = keys_of(data, database, view, examples, number)[:, chosen]
        databases.append(_without(database, name, keys))
    return replace(data, databases=tuple(databases))


def keys_of(
    data: Data, database: Database, view: Relational, examples: RowExamples, number: int
) -> NDArray[np.int32]:
    """Return the arguments of each example but the label, as codes of one database."""
    base = examples.base
    objects: list[tuple[Codes, str]]
    if examples.home.row_set in view.types.values():
        every = np.arange(base.rows, dtype=np.int32)
        objects = [(every, examples.home.row_set)]
    else:
        mapping = data.mapping or declared_mapping(database.schema)
        keys = [column.name for column in mapping[examples.home.row_set].keys]
        columns = [base.columns[name] for name in keys]
        objects = [(c.codes, getattr(c, "to", "")) for c in columns if not isinstance(c, Number)]
    found = []
    for codes, to in objects:
        first = int(np.searchsorted(view[to].part, number)) if to else 0
        found.append(codes - first)
    return np.array(found, np.int32)


def _without(database: Database, name: str, keys: NDArray[np.int32]) -> Database:
    """Return a database in which atoms, or the values of cells, are not known."""
    predicate = database.schema[name]
    sizes = [database.size(kind) for kind in predicate.types[: len(keys)]]

    def other(facts: NDArray[np.int32]) -> NDArray[np.int32]:
        return facts[:, ~are_among(facts[: len(keys)], keys, sizes)]

    whole = len(keys) == predicate.arity
    unknown = (
        database.unknown
        if not whole
        else {
            **database.unknown,
            name: np.concatenate([database.unknown_facts(name), keys], axis=1),
        }
    )
    cells = (
        database.cells
        if whole
        else {
            **database.cells,
            name: np.concatenate([database.empty_cells(name), keys], axis=1),
        }
    )
    return Database.from_codes(
        database.schema,
        database.domains,
        {**database.true, name: other(database.facts(name))},
        {**database.false, name: other(database.false_facts(name))},
        unknown,
        open=database.open,
        name=database.name,
        cells=cells,
    )
