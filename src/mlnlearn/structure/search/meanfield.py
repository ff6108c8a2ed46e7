"""How well a network predicts all atoms of a predicate together, by mean field on a grid.

Pseudo-likelihood shows an atom the truth of all others. Where a clause holds a predicate twice, its
weight may be right for that and yet, once all atoms of the predicate are unknown, drive them all to
true or to false. Mean field tells such networks apart at the cost of a few counts: every unknown
atom has a probability, and each is set, in turn and all at once, to what its clauses would give it
if the others were true to that degree. What it arrives at may depend on where it starts, as with a
sampler that does not mix: it is started from what is known, and from all atoms true, and judged by
the worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.grid import GridFlips
from mlnlearn.logic.clauses import Clause
from mlnlearn.structure.search.weighted_grid import WeightedGrid

Floats = NDArray[np.float64]

_STEPS = 40
_TOLERANCE = 1e-3
# a step whose change is more than this share of the last one's does not lead on
_PROGRESS = 0.7
_SMALLEST_RATE = 0.05
# probabilities are kept this far from 0 and 1: what is certain and wrong has a finite cost
_MARGIN = 1e-6


@dataclass(frozen=True, slots=True)
class Coupling:
    """A clause that holds the unknown predicate twice or more, with its weight in each database."""

    clause: Clause
    weights: Floats


def together(
    grid: WeightedGrid, predicate: str, given: Floats, couplings: Sequence[Coupling], start: Floats
) -> Floats:
    """Return the probability of each atom of a predicate when none of them is known.

    Parameters
    ----------
    grid
        The data; the predicate's own truth values are not looked at.
    predicate
        The unknown predicate.
    given
        The log-odds of each atom by what is known, an array like the predicate's.
    couplings
        The clauses between the predicate's own atoms.
    start
        The log-odds to start from.

    Examples
    --------
    Of two exclusive atoms, each is true half of the time; without the clause, nearly always.

    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.atoms import Literal
    >>> from mlnlearn.logic.clauses import clause
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("is(person,gender)", "same(gender,gender)")
    >>> facts = {"is": [("Anna", "F")], "same": [("F", "F"), ("M", "M")]}
    >>> grid = WeightedGrid(MemoryEngine([Database.from_facts(schema, facts)]))
    >>> one, other = (~Literal(schema["is"]("x", value)) for value in "vw")
    >>> rule = clause(one, other, schema["same"]("v", "w"))
    >>> given = np.full((1, 1, 2), 3.0)
    >>> found = together(grid, "is", given, [Coupling(rule, np.array([3.0]))], given)
    >>> found.round(1).tolist()
    [[[0.5, 0.5]]]
    """
    flipped = grid.stack.schema[predicate]
    belief = grid.probability(predicate, start)
    rate, before = 1.0, np.inf
    condensed = [grid.condensed(grid.coded(each.clause), predicate) for each in couplings]
    for _ in range(_STEPS):
        odds = given
        for coupling, (dense, literals) in zip(couplings, condensed, strict=True):
            flips = dense.believing(predicate, belief).flips(literals, flipped)
            by_database = coupling.weights.reshape(-1, *(1 for _ in given.shape[1:]))
            odds = odds + by_database * grid.spread(flips, len(given.shape) - 1)
        new = grid.probability(predicate, odds)
        change = float(np.abs(new - belief).max(initial=0.0))
        if change < _TOLERANCE:
            break
        # smaller steps where they do not lead on: atoms that exclude each other would else go up
        # and down together
        if change > _PROGRESS * before:
            rate = max(0.5 * rate, _SMALLEST_RATE)
        belief = belief + rate * (new - belief)
        before = change
    return belief


def joint_score(
    grid: WeightedGrid,
    predicate: str,
    given: Iterable[tuple[GridFlips, Floats]],
    couplings: Sequence[Coupling],
) -> float:
    """Return the weighted log-probability of a predicate's atoms when none of them is known.

    Parameters
    ----------
    grid
        The data, and the weights of the atoms.
    predicate
        The unknown predicate.
    given
        Flip counts of the formulas that hold it once, and their weight in each database.
    couplings
        The clauses between the predicate's own atoms.
    """
    shape = grid.true[predicate].shape
    odds = np.zeros(shape)
    for flips, weights in given:
        by_database = weights.reshape(-1, *(1 for _ in shape[1:]))
        odds += by_database * grid.spread(flips, len(shape) - 1)
    found = []
    for start in (odds, np.full_like(odds, np.inf)):
        belief = together(grid, predicate, odds, couplings, start)
        sure = np.clip(belief, _MARGIN, 1.0 - _MARGIN)
        found.append(grid.log_score(predicate, sure))
    return min(found)
