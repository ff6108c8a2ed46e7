"""The M-step: a few steps of boosting over all worlds at once.

An example is an atom in one of the worlds, with the groundings it has there. Its gradient is what
it is minus what the model expects (eqs. 2 and 3); where it is unknown, *what it is* is its
probability given the rest of that world, so that its gradient is zero under the model that the
worlds were drawn from, as eq. 2 has it. All worlds weigh the same, being samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from mlnlearn.model.boosted.rules import Step, TargetRules
from mlnlearn.structure.boosting.language import BodyLanguage
from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN, Copies
from mlnlearn.structure.structural_em.expectation import Worlds
from mlnlearn.structure.structural_em.notes import Note
from mlnlearn.structure.structural_em.potentials import StackedPotentials


def maximised(
    base: BoostedMLN | BoostedRDN,
    languages: Mapping[str, BodyLanguage],
    worlds: Worlds,
    potentials: StackedPotentials | None,
    steps: Sequence[Sequence[Step]],
    number: int,
    *,
    cautious: bool = True,
) -> tuple[tuple[TargetRules, ...], Note]:
    """Add a few steps to a model.

    Parameters
    ----------
    base
        How to boost, with all targets.
    languages
        What may be tried, by target; found on the data as given, since worlds repeat them.
    worlds
        From the E-step.
    potentials
        What is known of the steps there are (counting semantics).
    steps
        Those there are: for each round, one a target.
    number
        Rounds to add.
    cautious
        Whether steps are shortened that would lower the likelihood of all targets.

    Returns
    -------
    The rules of all targets, and how it went.
    """
    stack = worlds.stacked()
    expected = {name: partial(worlds.expected, stack, stack.schema[name]) for name in languages}
    adds = None if potentials is None else potentials.adds(worlds, stack)
    copies = Copies(len(worlds), worlds.shares, cautious)
    run = base.boosting(stack, languages, {}, copies, expected, adds)
    run.replay(steps)

    def value() -> float:
        return sum(state.expected_log_likelihood() for state in run.targets) / len(worlds)

    before = value()
    for _ in range(number):
        run.step()
    share = float(worlds.truth.mean()) if worlds.truth.size else 0.0
    return run.rules(), Note(before, value(), worlds.r_hat, share, worlds.saved)
