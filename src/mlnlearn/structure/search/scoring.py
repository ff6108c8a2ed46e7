"""The choice of how to count."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.grid import MOST_CELLS, Grid
from mlnlearn.data.database import Database
from mlnlearn.errors import DataWarning, InputError, MemoryLimitError
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.clause_scorer import ClauseScorer
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid_counts import GridCounts

# So many cells cost as much as the engine's bookkeeping of a clause, and as its joins of a fact.
_CELLS, _CELLS_OF_FACT = 2_000_000, 20


def scorer(databases: Sequence[Database], background: Background, sigma: float) -> ClauseScorer:
    """Return a scorer: on arrays of all ground atoms or by the sparse engine, whichever costs less.

    Both give the same numbers up to rounding. Arrays cost what there are ground atoms, and must
    fit; the engine costs what there are facts, and a few milliseconds a clause.

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
    engine = open_engine(databases)
    cells = Grid.cells_of(engine.stack).values()
    facts = sum(database.true_atoms for database in databases)
    if max(cells) <= MOST_CELLS and sum(cells) <= _CELLS + _CELLS_OF_FACT * facts:
        return ClauseScorer(GridCounts(engine, background), background, sigma)
    return ClauseScorer(EngineCounts.of(engine.stack, background), background, sigma)


def is_joint(joint: bool | None, databases: Sequence[Database]) -> bool:
    """Decide whether to ask how well atoms are predicted together, which takes arrays of them all.

    Parameters
    ----------
    joint
        True to insist, False for no, None for: where the arrays fit. Where they do not, a
        `DataWarning` says so, or a `MemoryLimitError` refuses.
    databases
        The training data.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> data = [Database.from_facts(Schema.of("p(t)"), {"p": [("A",)]})]
    >>> is_joint(None, data), is_joint(False, data)
    (True, False)
    """
    if joint is False:
        return False
    sizes = {
        predicate.name: len(databases)
        * math.prod(max(database.size(kind) for database in databases) for kind in predicate.types)
        for predicate in databases[0].schema.predicates
    }
    name, cells = max(sizes.items(), key=lambda item: item[1], default=("", 0))
    if cells <= MOST_CELLS:
        return True
    reason = (
        f"takes an array of all ground atoms of each predicate; {name} has {cells:,} of them, and "
        f"at most {MOST_CELLS:,} are built"
    )
    if joint:
        raise MemoryLimitError(
            f"joint=True {reason}",
            hint="learn with joint=False, or from fewer or smaller databases",
        )
    warnings.warn(
        f"clauses are not asked how well they predict all atoms of a predicate together: that "
        f"{reason}; joint=False says that this is meant",
        DataWarning,
        stacklevel=2,
    )
    return False
