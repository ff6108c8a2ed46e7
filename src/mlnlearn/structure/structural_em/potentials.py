"""What steps add to the log-odds of target atoms, in all worlds at once.

The worlds of one E-step, and those of the next, differ in few atoms only. So a step is made ground
once, with all target atoms as if unknown; from world to world only what the atoms that changed
touch is recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.bindings import is_true
from mlnlearn.counting.objects import Objects
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, Mask
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.rules import Step, TargetRules
from mlnlearn.structure.structural_em.expectation import Worlds, in_one_copy


class StackedPotentials:
    """Ground steps under counting semantics, and the worlds they are evaluated in.

    Parameters
    ----------
    hidden
        The unknown atoms.
    targets
        All targets; atoms of predicates without rules are in no potential.
    """

    def __init__(self, hidden: HiddenAtoms, targets: Sequence[Predicate]) -> None:
        self.targets = targets
        names = [predicate.name for predicate in targets]
        # learning takes the values of a block as atoms on their own
        self.atoms = HiddenAtoms.of(hidden.databases, names, asked=names, exclusive=False)
        known = [is_true(hidden.known, p, self.atoms.rows[p]) for p in self.atoms.columns]
        self._known: Mask = np.concatenate(known)
        nothing = np.empty(0, np.int64)
        places = [self.atoms.numbers(p, hidden.rows[p]) for p in hidden.columns]
        self._places = np.concatenate([nothing, *places])
        self._ground: dict[tuple[Predicate, Step], Sampler] = {}

    def adds(
        self, worlds: Worlds, stack: Objects
    ) -> Callable[[Predicate, Step], Callable[[Predicate, Codes], Floats]]:
        """Return what steps add to the log-odds of atoms of the stacked worlds."""
        truth = np.tile(self._known, (len(worlds), 1))
        truth[:, self._places] = worlds.truth

        def of_step(head: Predicate, step: Step) -> Callable[[Predicate, Codes], Floats]:
            ground = self._sampler(head, step)
            odds = np.empty(truth.shape)
            for number, world in enumerate(truth):
                ground.assign(world)
                odds[number] = ground.log_odds()

            def of_atoms(predicate: Predicate, rows: Codes) -> Floats:
                world, here = in_one_copy(stack, self.atoms.known, predicate, rows)
                found: Floats = odds[world, self.atoms.numbers(predicate, here)]
                return found

            return of_atoms

        return of_step

    def _sampler(self, head: Predicate, step: Step) -> Sampler:
        """Return the ground rules of one step, made on first use."""
        key = head, step
        if key not in self._ground:
            rules = [
                TargetRules(predicate, 0.0, steps=(step,) if predicate == head else ())
                for predicate in self.targets
            ]
            network = GroundNetwork.of(rules, False, self.atoms)
            self._ground[key] = Sampler(network, np.random.default_rng(0))
        return self._ground[key]
