"""Adding clauses to a network one by one, and pruning it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.errors import MemoryLimitError
from mlnlearn.journal import Journal
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.run import Course
from mlnlearn.structure.search.network import Model
from mlnlearn.structure.search.ties import exceeds, ranked

# a clause that promises less than this share of what it must gain is not tried
_PROMISING = 0.1
# likelihoods that fall by so little are taken as equal
_SLACK = 1e-3
# atoms may be predicted together worse by this share of what is gained one by one
_JOINT_SHARE = 0.2
# where nothing can be held out, this share of what is gained one by one must be gained together
_SINGLE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a clause must do to be added to a network.

    Attributes
    ----------
    penalty
        What each literal must gain, in units of weighted pseudo-log-likelihood.
    held_out
        Whether the likelihood of held-out databases, where there are any, must rise as well: that
        of all together, and of none may it fall.
    joint
        Whether atoms of a predicate must be predicted together as well as before, or nearly so
        where they are predicted much better one by one. Where something should be held out, but
        there is a single database, they must be predicted better.
    """

    penalty: float
    held_out: bool
    joint: bool

    def generalises(self, model: Model, longer: Model) -> bool:
        """Tell whether a larger network is better beyond the data it was fitted to."""
        gain = longer.likelihood - model.likelihood
        # what is held out costs a fit for each database: it is asked for only where it counts
        before = model.held_out if self.held_out else None
        after = longer.held_out if self.held_out else None
        if before is not None and after is not None:
            gains = after - before
            gain = float(gains.sum())
            if not exceeds(gain, 0.0) or gains.min() <= -_SLACK:
                return False
        if self.joint and model.joint is not None and longer.joint is not None:
            together = longer.joint - model.joint
            if self.held_out and after is None:
                # a single database: what is gained one by one may be the data's own numbers, known
                # again; a clause between different predicates gains the same both ways
                return together > _SINGLE_SHARE * gain
            return together > -max(_SLACK, _JOINT_SHARE * gain)
        return True


def add_in_turn(
    model: Model, clauses: Sequence[Clause], accept: Acceptance, journal: Journal, course: Course
) -> Iterator[Model]:
    """Add each clause that improves the likelihood by more than the penalty on its length.

    Parameters
    ----------
    model
        The network to add to.
    clauses
        The candidates, in the order in which to try them.
    accept
        What a clause must do.
    journal
        Where decisions are written down, and read again.
    course
        Its time, and who is told of progress.

    Yields
    ------
    Model
        The network, larger by a clause each time.
    """
    for number, clause in enumerate(clauses, start=1):
        course.check()
        key = f"add {number} {clause}"
        if key not in journal:
            longer = _improved(model, clause, accept.penalty * len(clause))
            if longer is not None and not accept.generalises(model, longer):
                longer = None
            journal.record(key, None if longer is None else longer.weights.tolist())
        if not journal.is_null(key):
            with journal.reading(key, list[float]) as weights:
                model = model.extended(clause, np.array(weights))
            yield model
        course.tell("adding clauses", number, len(clauses))


def _improved(model: Model, clause: Clause, threshold: float) -> Model | None:
    """Return the network with one more clause, or None where that is not worth it."""
    if model.promise(clause) < _PROMISING * threshold:
        return None
    try:
        longer = model.extended(clause)
    except MemoryLimitError:
        return None
    return longer if exceeds(longer.likelihood - model.likelihood, threshold) else None


def prune(model: Model, first: int, min_weight: float, penalty: float, journal: Journal) -> Model:
    """Remove clauses of small weight, as long as that improves likelihood less penalties.

    Parameters
    ----------
    model
        The network.
    first
        Number of the first formula that may go.
    min_weight
        Absolute weights below this are small.
    penalty
        What a literal costs.
    journal
        Where results are written down, and read again.
    """
    while True:
        small = [n for n in range(first, len(model.formulas)) if abs(model.weights[n]) < min_weight]
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
    if key in journal:
        with journal.reading(key, list[float]) as weights:
            return model.without(numbers, np.array(weights))
    shorter = model.without(numbers)
    journal.record(key, shorter.weights.tolist())
    return shorter


def _literals(model: Model, number: int) -> int:
    return len(list(atoms_of(model.formulas[number])))


def prune_each(model: Model, first: int, accept: Acceptance, journal: Journal) -> Model:
    """Remove clauses one by one that would not be accepted if they came last.

    The clause of smallest weight is tried first; after each removal the weights are learned anew.
    A literal costs the penalty, but the first one of a clause is free.

    Parameters
    ----------
    model
        The network.
    first
        Number of the first formula that may go.
    accept
        What a clause must do.
    journal
        Where results are written down, and read again.
    """
    while True:
        size = dict(enumerate(-np.abs(model.weights[first:]), start=first))
        for number in ranked(size, size.__getitem__, int):
            shorter = _without(model, [number], journal)
            cost = accept.penalty * (_literals(model, number) - 1)
            worth = model.likelihood - shorter.likelihood >= cost
            if not (worth and accept.generalises(shorter, model)):
                model = shorter
                break
        else:
            return model
