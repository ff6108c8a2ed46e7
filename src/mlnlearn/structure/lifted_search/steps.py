"""Steps of the search, written down so that a killed run goes on to the same result.

What the next step depends on is the components' weights, and which candidates were scored how and
tried in which order. All of it is written down after every step; compiled plans are made again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import Struct

from mlnlearn.documents import Place
from mlnlearn.errors import InputError
from mlnlearn.journal import Journal
from mlnlearn.logic.clauses import Clause
from mlnlearn.structure.lifted_search.candidates import Shape
from mlnlearn.structure.lifted_search.parts import Candidate, Part, Trial
from mlnlearn.structure.lifted_search.search import ClauseSearch
from mlnlearn.weights.objective import Floats

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


class ComponentFile(Struct, forbid_unknown_fields=True):
    """A component of the network, as the journal has it."""

    weights: list[float]
    curvature: list[list[float]]
    folds: list[list[float]]
    held_out: list[float]
    objective: float
    likelihood: float
    tilt: float


class LiftedStepFile(Struct, forbid_unknown_fields=True):
    """A step, as the journal has it; shapes, and their clauses, by number."""

    shape: Place
    clause: Place
    gain: float
    gains: list[float]
    part: ComponentFile
    scored: list[tuple[Place, list[tuple[Place, float, float]]]]
    stale: list[Place]
    slow: list[Place]
    tried: list[tuple[Place, Place]]


def next_step(search: ClauseSearch, journal: Journal, number: int) -> AddedClause | None:
    """Add the best clause to the network, or the one that was written down; None at the end."""
    key = f"step {number}"
    if key not in journal:
        trial = search.step()
        journal.record(key, None if trial is None else _written(search, trial))
        if trial is None:
            return None
        return _step(search, trial.candidate.clause, trial.gain, trial.held_out.tolist())
    if journal.is_null(key):
        return None
    with journal.reading(key, LiftedStepFile) as file:
        return _taken_up(search, file)


def _step(search: ClauseSearch, clause: Clause, gain: float, gains: list[float]) -> AddedClause:
    splits = search.parts.splits
    return AddedClause(clause, gain, float(sum(gains[: splits.left_out])) if len(splits) else None)


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


def _taken_up(search: ClauseSearch, file: LiftedStepFile) -> AddedClause:
    """Bring the search to where a step had left it."""
    _check_numbers(search, file)
    shapes = search.shapes
    shape = shapes[file.shape]
    clause = shape.clauses[file.clause]
    part = _part(search, shape, clause, file.part)
    search.added.add(clause)
    search.adopt(part)
    search.scored = {
        shapes[number]: [Candidate(shapes[number], *values) for values in candidates]
        for number, candidates in file.scored
    }
    search.stale = {shapes[number]: None for number in file.stale}
    search.slow = {shapes[number] for number in file.slow}
    search.tried = {shapes[number].clauses[place] for number, place in file.tried}
    return _step(search, clause, file.gain, file.gains)


def _check_numbers(search: ClauseSearch, file: LiftedStepFile) -> None:
    """Refuse numbers of shapes, and of clauses of shapes, that there are not."""
    shapes = [*file.stale, *file.slow, *(number for number, _ in file.scored)]
    clauses = [(file.shape, file.clause), *file.tried]
    clauses += [(shape, place) for shape, scored in file.scored for place, *_ in scored]
    sizes = dict(enumerate(len(shape.clauses) for shape in search.shapes))
    if not sizes.keys() >= set(shapes):
        raise InputError(f"{max(shapes)} is the number of no shape")
    for shape, place in clauses:
        if place >= sizes.get(shape, 0):
            raise InputError(f"shape {shape} has no clause {place}")


def _part(search: ClauseSearch, shape: Shape, clause: Clause, file: ComponentFile) -> Part:
    """Return the component that a clause was added to, with the weights it had then."""
    before = search.parts.touched(shape)
    formulas = (*before.formulas, clause.formula)
    size, folds = len(formulas), len(search.parts.splits)
    shapes = {"weights": (size,), "curvature": (size, size), "folds": (folds, size)}
    known: dict[str, Any] = {name: getattr(file, name) for name in _NUMBERS}
    for name, wanted in (shapes | {"held_out": before.held_out.shape}).items():
        known[name] = _array(name, getattr(file, name), wanted)
    return replace(before, formulas=formulas, **known)


def _array(name: str, values: list[Any], shape: tuple[int, ...]) -> Floats:
    """Return numbers of a file as an array of a shape."""
    rows = values if len(shape) > 1 else [values]
    if len(rows) != (shape[0] if len(shape) > 1 else 1) or any(len(r) != shape[-1] for r in rows):
        raise InputError(f"part.{name}: expected {' x '.join(map(str, shape))} numbers")
    return np.array(values, np.float64).reshape(shape)
