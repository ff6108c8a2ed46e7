"""Sub-databases by random entities, for cross-validation on tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.structure.join_bayes.layout import NetLayout


def entity_folds(
    database: Database, mapping: Mapping, folds: int, rng: np.random.Generator
) -> list[Database]:
    """Deal the entities of every table out at random; links stay where all their entities are.

    The protocol of Khosravi et al.: each part is a database of its own. Values of attributes keep
    their whole domain in every part.

    Examples
    --------
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.data.load.build import build_database
    >>> from mlnlearn.data.load.tables import Table
    >>> people = {"id": Column.of(["Anna", "Bob", "Carl"]), "sex": Column.of(["f", "m", "m"])}
    >>> database, mapping = build_database([Table("person", people, ("id",))])
    >>> parts = entity_folds(database, mapping, 2, np.random.default_rng(0))
    >>> [part.size("person") for part in parts]
    [2, 1]
    """
    entities = sorted(set(NetLayout.of([database], mapping).types.values()))
    fold_of = {kind: rng.permutation(database.size(kind)) % folds for kind in entities}
    return [_part(database, fold_of, number) for number in range(folds)]


def _part(database: Database, fold_of: dict[str, NDArray[np.int64]], number: int) -> Database:
    domains = dict(database.domains)
    renumber: dict[str, NDArray[np.int64]] = {}
    for kind, folds in fold_of.items():
        mine = folds == number
        domains[kind] = database.domains[kind].at(np.flatnonzero(mine))
        renumber[kind] = np.where(mine, np.cumsum(mine) - 1, -1)

    def restricted(facts: Columns, name: str) -> Columns:
        types = database.schema[name].types[: len(facts)]  # empty cells lack the value
        columns = [
            renumber[kind][column] if kind in renumber else column
            for column, kind in zip(facts, types, strict=True)
        ]
        kept = np.logical_and.reduce([column >= 0 for column in columns])
        return np.stack([column[kept] for column in columns]).astype(np.int32)

    true, false, unknown, cells = (
        {name: restricted(facts, name) for name, facts in tables.items()}
        for tables in (database.true, database.false, database.unknown, database.cells)
    )
    return replace(
        database,
        domains=domains,
        true=true,
        false=false,
        unknown=unknown,
        name=f"{database.name}/{number + 1}",
        cells=cells,
    )
