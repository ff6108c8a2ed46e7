"""The choice of how to count."""

from __future__ import annotations

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
    if arrays_pay(databases):
        return ClauseScorer(GridCounts(engine, background), background, sigma)
    return ClauseScorer(EngineCounts.of(engine.stack, background), background, sigma)


def arrays_pay(databases: Sequence[Database]) -> bool:
    """Say whether arrays of all ground atoms fit, and cost less than counting facts.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> arrays_pay([Database.from_facts(Schema.of("p(t)"), {"p": [("A",)]})])
    True
    """
    cells = Grid.cells_of(databases).values()
    facts = sum(database.true_atoms for database in databases)
    return max(cells) <= MOST_CELLS and sum(cells) <= _CELLS + _CELLS_OF_FACT * facts


def is_joint(joint: bool | None, databases: Sequence[Database]) -> bool:
    """Decide whether to ask how well atoms are predicted together, which takes arrays of them all.

    Parameters
    ----------
    joint
        True to insist, False for no, None for: where arrays pay. Where they do not, a `DataWarning`
        says so; where they do not fit, a `MemoryLimitError` refuses to insist.
    databases
        The training data.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> data = [Database.from_facts(Schema.of("p(t)"), {"p": [("A",)]})]
    >>> is_joint(None, data), is_joint(False, data)
    (True, False)
    """
    if joint is False or (joint is None and arrays_pay(databases)):
        return joint is None
    name, cells = max(Grid.cells_of(databases).items(), key=lambda item: item[1])
    reason = f"takes an array of all ground atoms of each predicate; {name} has {cells:,} of them"
    if joint is None:
        warnings.warn(
            f"clauses are not asked how well they predict all atoms of a predicate together: that "
            f"{reason}; joint=False says that this is meant, joint=True asks where arrays fit",
            DataWarning,
            stacklevel=2,
        )
        return False
    if cells > MOST_CELLS:
        raise MemoryLimitError(
            f"joint=True {reason}, and at most {MOST_CELLS:,} are built",
            hint="learn with joint=False, or from fewer or smaller databases",
        )
    return True
