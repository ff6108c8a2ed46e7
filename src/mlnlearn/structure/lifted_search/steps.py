"""Steps of the search, written down so that a killed run goes on to the same result.

What the next step depends on is the components' weights, and which candidates were scored how and
tried in which order. All of it is written down after every step; compiled plans are made again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlnlearn.journal import Journal
from mlnlearn.logic.clauses import Clause
from mlnlearn.structure.lifted_search.candidates import Shape
from mlnlearn.structure.lifted_search.parts import Candidate, Part, Trial
from mlnlearn.structure.lifted_search.search import ClauseSearch

Json = Any

_ARRAYS = ("weights", "curvature", "folds", "held_out")
_NUMBERS = ("objective", "likelihood", "tilt")


@dataclass(frozen=True, slots=True)
class AddedClause:
    """A clause that was added, for progress reports.

    Attributes
    ----------
    clause
        The clause.
    gain
        What it adds to the penalised log-likelihood of the training databases.
    held_out
        What it adds to their log-likelihood when each is left out of the fit in turn; None where
        that was not asked for.
    """

    clause: Clause
    gain: float
    held_out: float | None


def next_step(search: ClauseSearch, journal: Journal, number: int) -> AddedClause | None:
    """Add the best clause to the network, or the one that was written down; None at the end."""
    key = f"step {number}"
    if key not in journal:
        trial = search.step()
        journal.record(key, None if trial is None else _written(search, trial))
        return None if trial is None else _step(search, trial.candidate.clause, journal.get(key))
    record = journal.get(key)
    return None if record is None else _taken_up(search, record)


def _step(search: ClauseSearch, clause: Clause, record: Json) -> AddedClause:
    held_out = float(sum(record["gains"])) if len(search.parts.folds) else None
    return AddedClause(clause, record["gain"], held_out)


def _written(search: ClauseSearch, trial: Trial) -> Json:
    """Return what a step did and what is to be known for the next."""
    numbers = {shape: number for number, shape in enumerate(search.shapes)}
    part = search.parts.touched(trial.candidate.shape)
    return {
        "shape": numbers[trial.candidate.shape],
        "clause": trial.candidate.number,
        "gain": trial.gain,
        "gains": trial.held_out.tolist(),
        "part": {name: getattr(part, name).tolist() for name in _ARRAYS}
        | {name: getattr(part, name) for name in _NUMBERS},
        "scored": [
            [numbers[shape], [[c.number, c.gain, c.weight] for c in candidates]]
            for shape, candidates in search.scored.items()
        ],
        "stale": [numbers[shape] for shape in search.stale],
        "slow": sorted(numbers[shape] for shape in search.slow),
        "tried": [
            [numbers[shape], place]
            for shape in search.shapes
            for place, clause in enumerate(shape.clauses)
            if clause in search.tried
        ],
    }


def _taken_up(search: ClauseSearch, record: Json) -> AddedClause:
    """Bring the search to where a step had left it."""
    shapes = search.shapes
    shape = shapes[record["shape"]]
    clause = shape.clauses[record["clause"]]
    search.added.add(clause)
    search.adopt(_part(search, shape, clause, record["part"]))
    search.scored = {
        shapes[number]: [Candidate(shapes[number], *values) for values in candidates]
        for number, candidates in record["scored"]
    }
    search.stale = {shapes[number]: None for number in record["stale"]}
    search.slow = {shapes[number] for number in record["slow"]}
    search.tried = {shapes[number].clauses[place] for number, place in record["tried"]}
    return _step(search, clause, record)


def _part(search: ClauseSearch, shape: Shape, clause: Clause, values: Json) -> Part:
    """Return the component that a clause was added to, with the weights it had then."""
    before = search.parts.touched(shape)
    formulas = (*before.formulas, clause.formula)
    known: dict[str, Any] = {name: values[name] for name in _NUMBERS}
    known |= {name: np.array(values[name], np.float64) for name in _ARRAYS}
    known["folds"] = known["folds"].reshape(len(search.parts.folds), len(formulas))
    return replace(before, formulas=formulas, **known)
