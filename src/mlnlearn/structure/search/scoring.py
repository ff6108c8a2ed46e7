"""The choice of how to count."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.structure.search.clause_scorer import ClauseScorer
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid import MOST_CELLS, Grid
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.model import Background, Scorer
from mlnlearn.structure.search.row_model import Counts


def scorer(databases: Sequence[Database], background: Background, sigma: float) -> Scorer:
    """Return a scorer: on a grid where all ground atoms fit, else by the sparse engine.

    Both give the same numbers up to rounding; the grid is faster by an order of magnitude where it
    fits, and alone can tell how well atoms are predicted together.

    Parameters
    ----------
    databases
        The training data.
    background
        What every network holds.
    sigma
        Standard deviation of the Gaussian prior on weights.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> data = [Database.from_facts(schema, {"smokes": [("Anna",)]}, domains={"person": ["Bob"]})]
    >>> round(scorer(data, Background.of(data, None), 100.0).start().likelihood, 4)
    -0.6931
    """
    for database in databases:
        if database.has_unknown:
            raise InputError(
                f"{database.name or 'a database'} has unknown atoms",
                hint="take them as false with Database.closed()",
            )
    engine = MemoryEngine(databases)
    fits = Grid.cells_of(engine) <= MOST_CELLS
    counts: Counts = (GridCounts if fits else EngineCounts)(engine, background)
    return ClauseScorer(counts, background, sigma)


def require_grid(databases: Sequence[Database]) -> None:
    """Refuse data too large for what only arrays of all ground atoms can tell.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> data = [Database.from_facts(Schema.of("p(t)"), {"p": [("A",)]})]
    >>> require_grid(data)
    """
    sizes = {
        predicate.name: len(databases)
        * math.prod(max(database.size(kind) for database in databases) for kind in predicate.types)
        for predicate in databases[0].schema.predicates
    }
    name, cells = max(sizes.items(), key=lambda item: item[1], default=("", 0))
    if cells > MOST_CELLS:
        raise MemoryLimitError(
            f"joint=True takes an array of all ground atoms of each predicate; {name} has "
            f"{cells:,} of them, and at most {MOST_CELLS:,} are built",
            hint="learn with joint=False, or from fewer or smaller databases",
        )
