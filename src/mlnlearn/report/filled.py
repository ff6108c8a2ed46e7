"""Empty cells of a table with the values that a model would fill in, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.bayesnet_nodes import ABSENT
from mlnlearn.report.markup import Cell, Markup, TableColumn, table, tag
from mlnlearn.report.sections import section
from mlnlearn.structure.join_bayes.model import JoinBayesModel

MOST_CELLS = 300
"""Cells that a page lists, the surest first."""


def filled_section(model: JoinBayesModel, databases: Sequence[Database]) -> Markup | None:
    """Return a table of empty cells with their most probable values; None where none is empty."""
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    total = 0
    for database in databases:
        for name, found in model.predict(database).items():
            node = found.node
            empty = np.flatnonzero(found.truth >= node.size)
            if not len(empty):
                continue
            total += len(empty)
            log = found.log_probabilities[empty].copy()
            log[:, [place for place, value in enumerate(node.values) if value == ABSENT]] = -np.inf
            best = log.argmax(axis=1)
            sure = np.exp(log[np.arange(len(empty)), best])
            names = _entities(database, node.relationship, node.predicate.types[0], empty)
            for place in np.argsort(-sure, kind="stable")[:MOST_CELLS].tolist():
                row = (
                    Cell(names[place]),
                    Cell(name),
                    Cell(node.values[best[place]]),
                    Cell.of(float(sure[place])),
                )
                rows.append((float(sure[place]), row))
    if not rows:
        return None
    rows.sort(key=lambda item: -item[0])
    shown = [row for _, row in rows[:MOST_CELLS]]
    columns = (
        TableColumn("row", words=True),
        TableColumn("column", words=True),
        TableColumn("value", words=True),
        TableColumn("confidence", hint="Its probability given all cells that are not empty"),
    )
    note = f"{len(shown):,} of {total:,} empty cells, the surest first."
    listed = table("Filled cells", columns, shown, class_="tall cards")
    return section("filled", "Filled cells", tag("p", note, class_="note"), listed)


def _entities(
    database: Database, link: Predicate | None, kind: str, rows: NDArray[np.intp]
) -> list[str]:
    """Return the names of rows: of an entity its own, of a link those of what it joins."""
    if link is None:
        names = database.domains[kind].names
        return [names[row] for row in rows.tolist()]
    chosen = database.facts(link.name)[:, rows]
    return [", ".join(row) for row in database.decode(link.name, chosen)]
