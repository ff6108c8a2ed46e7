"""Adding clauses to a network one by one, and pruning it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.structure.search.journal import Journal
from mlnlearn.structure.search.model import Model
from mlnlearn.structure.search.progress import Deadline

Note = Callable[[str, int, int, float], None]

# a clause that promises less than this share of what it must gain is not tried
_PROMISING = 0.1


def add_in_turn(
    model: Model,
    clauses: Sequence[Clause],
    penalty: float,
    journal: Journal,
    note: Note,
    deadline: Deadline,
    *,
    held_out: bool,
) -> Model:
    """Add each clause that improves the likelihood by more than the penalty on its length.

    Parameters
    ----------
    model
        The network to add to.
    clauses
        The candidates, in the order in which to try them.
    penalty
        What each literal must gain.
    journal
        Where decisions are written down, and read again.
    note
        Called with stage, number of clauses tried, number of all clauses, and likelihood.
    deadline
        When to stop.
    held_out
        Whether the likelihood of held-out databases must improve as well.
    """
    for number, clause in enumerate(clauses, start=1):
        key = f"add {number} {clause}"
        if key not in journal:
            if deadline.passed:
                break
            journal.record(key, _weights_with(model, clause, penalty * len(clause), held_out))
        weights = journal.get(key)
        if weights is not None:
            model = model.extended(clause, np.array(weights))
        note("adding clauses", number, len(clauses), model.likelihood)
    return model


def _weights_with(
    model: Model, clause: Clause, threshold: float, held_out: bool
) -> list[float] | None:
    """Return the weights of a network with one more clause, or None where that is not worth it."""
    if model.promise(clause) < _PROMISING * threshold:
        return None
    try:
        longer = model.extended(clause)
    except MemoryLimitError:
        return None
    if longer.likelihood - model.likelihood <= threshold:
        return None
    if held_out and not generalises(model, longer):
        return None
    weights: list[float] = longer.weights.tolist()
    return weights


def generalises(model: Model, longer: Model) -> bool:
    """Tell whether a larger network predicts held-out databases better, where there are any."""
    if model.held_out is None or longer.held_out is None:
        return True
    return longer.held_out > model.held_out


def prune(model: Model, first: int, mw: float, penalty: float, journal: Journal) -> Model:
    """Remove clauses of small weight, as long as that improves likelihood less penalties.

    Parameters
    ----------
    model
        The network.
    first
        Number of the first formula that may go.
    mw
        Absolute weights below this are small.
    penalty
        What a literal costs.
    journal
        Where results are written down, and read again.
    """
    while True:
        small = [n for n in range(first, len(model.formulas)) if abs(model.weights[n]) < mw]
        if not small:
            return model
        shorter = _without(model, small, journal)
        saved = penalty * sum(_literals(model, number) for number in small)
        if shorter.likelihood + saved <= model.likelihood:
            return model
        model = shorter


def _without(model: Model, numbers: Sequence[int], journal: Journal) -> Model:
    # networks only shrink from here on, so their size tells them apart
    key = f"{len(model.formulas)} without {[str(model.formulas[number]) for number in numbers]}"
    known = journal.get(key)
    shorter = model.without(numbers, None if known is None else np.array(known))
    if known is None:
        journal.record(key, shorter.weights.tolist())
    return shorter


def _literals(model: Model, number: int) -> int:
    return len(list(atoms_of(model.formulas[number])))


def prune_each(model: Model, first: int, penalty: float, journal: Journal) -> Model:
    """Remove clauses one by one, as long as that improves likelihood less penalties.

    The clause of smallest weight is tried first; after each removal the weights are learned anew.
    A literal costs the penalty, but the first one of a clause is free.
    """
    while True:
        order = sorted(range(first, len(model.formulas)), key=lambda n: abs(model.weights[n]))
        for number in order:
            shorter = _without(model, [number], journal)
            if shorter.likelihood + penalty * (_literals(model, number) - 1) > model.likelihood:
                model = shorter
                break
        else:
            return model
