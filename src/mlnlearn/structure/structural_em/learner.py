"""The learner: settings, and the loop of E-steps and M-steps (algorithm 1 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Annotated, Literal, TypeAlias

from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.data.identity import journal_of
from mlnlearn.errors import InputError
from mlnlearn.model.boosted.files import rules_from_plain, rules_to_plain
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, unknown_predicates
from mlnlearn.model.boosted.hidden.network import Kept
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.rules import ClauseList, Step, TargetRules
from mlnlearn.settings import AtLeast, Settings
from mlnlearn.structure.boosting.fit import Progress
from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN
from mlnlearn.structure.boosting.prior import prior_clauses
from mlnlearn.structure.structural_em.expectation import Worlds, best_world, sampled_worlds
from mlnlearn.structure.structural_em.maximisation import maximised
from mlnlearn.structure.structural_em.notes import Learned, Note
from mlnlearn.structure.structural_em.potentials import StackedPotentials

Mode: TypeAlias = Literal["soft", "hard", "closed"]
"""What becomes of unknown atoms: sampled, filled in as is most probable, or false."""


@dataclass(frozen=True, kw_only=True)
class StructuralEM(Settings):
    """Learn a boosted model from databases with unknown atoms (SEM and H-SEM).

    Every iteration fills in the unknown atoms under the current model (E-step), then adds a few
    boosting steps that fit the filled-in worlds (M-step), for the targets and for all predicates
    with unknown atoms (Khot, Natarajan, Kersting & Shavlik, StarAI 2012).

    Parameters
    ----------
    base
        The boosted learner, with its targets and all of its settings but steps and seed. Where
        unknown atoms of one predicate depend on each other, as whether friends smoke, let that
        predicate be `recursive`.
    mode
        ``"soft"`` (SEM): several sampled worlds. ``"hard"`` (H-SEM): one most probable world.
        ``"closed"``: no EM; every unknown atom is taken as false.
    iterations
        Rounds of EM.
    trees_per_step
        Boosting steps in every M-step.
    worlds
        Worlds sampled in every soft E-step.
    burn_in
        Sweeps of each of the E-step's two chains before its first world; the search for a most
        probable world takes so many from each start.
    thin
        Sweeps from one world of a chain to the next.
    seed
        Of all random draws, those of the base among them.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import hide, smokers
    >>> db = hide(smokers(60, rng=1).databases[0], "smokes", 0.4, rng=2)
    >>> base = BoostedMLN(target="cancer", max_leaves=2, recursive=("smokes",))
    >>> learned = StructuralEM(base=base, iterations=3).learn(db)
    >>> [rules.predicate.name for rules in learned.model.targets], learned.model.steps
    (['cancer', 'smokes'], 6)
    >>> learned.notes[-1].after > learned.notes[0].before
    True
    """

    base: BoostedMLN | BoostedRDN
    mode: Mode = "soft"
    iterations: Annotated[int, AtLeast(0)] = 10
    trees_per_step: Annotated[int, AtLeast(1)] = 2
    worlds: Annotated[int, AtLeast(1)] = 10
    burn_in: Annotated[int, AtLeast(0)] = 20
    thin: Annotated[int, AtLeast(1)] = 5
    seed: Annotated[int, AtLeast(0)] = 0

    def fit(
        self,
        databases: Database | Sequence[Database],
        *,
        initial: BoostedModel | None = None,
        progress: Progress | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> BoostedModel:
        """Learn from databases; see `learn`, which also tells how it went."""
        learned = self.learn(databases, initial=initial, progress=progress, checkpoint=checkpoint)
        return learned.model

    def learn(
        self,
        databases: Database | Sequence[Database],
        *,
        initial: BoostedModel | None = None,
        progress: Progress | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Learned:
        """Learn from databases.

        Parameters
        ----------
        databases
            One or more. Atoms listed as unknown, and unlisted ones of open predicates, are hidden.
        initial
            The model to start from; by default every atom of a predicate is as probable as its
            share of true atoms among the known ones.
        progress
            Called after every iteration with the number of iterations done and wanted.
        checkpoint
            A file to which every iteration is written; where it exists, the run goes on from
            there, and ends with the same model as a run in one go.
        """
        given = [databases] if isinstance(databases, Database) else list(databases)
        world = Objects(given)
        if self.mode == "closed":
            return self._closed(given, initial, progress, checkpoint)
        names = unknown_predicates(given)
        targets = tuple(dict.fromkeys([*self.base.targets, *names]))
        base = replace(self.base, target=targets, seed=self.seed)
        hidden = HiddenAtoms.of(given, names)
        languages = base.languages(hidden.known)
        rules = _initial(base, given, initial)
        potentials = None
        if isinstance(base, BoostedMLN):
            potentials = StackedPotentials(hidden, [target.predicate for target in rules])
        journal = journal_of(checkpoint, self, given, {"first rules": [repr(rules)]})
        notes: list[Note] = []
        kept: Kept = {}
        for iteration in range(self.iterations):
            key = f"iteration {iteration + 1}"
            if key in journal:
                found, note = journal.get(key)
                rules = tuple(rules_from_plain(target, world.schema) for target in found)
                notes.append(Note(**note))
                continue
            worlds = self._worlds(rules, hidden, iteration, kept)
            steps = list(zip(*(target.steps for target in rules), strict=True))
            rules, note = maximised(base, languages, worlds, potentials, steps, self.trees_per_step)
            notes.append(note)
            journal.record(key, [[*map(rules_to_plain, rules)], asdict(note)])
            if progress is not None:
                progress(iteration + 1, self.iterations)
        model = BoostedModel(world.schema, isinstance(base, BoostedRDN), tuple(rules))
        return Learned(model, tuple(notes))

    def _worlds(
        self, rules: Sequence[TargetRules], hidden: HiddenAtoms, iteration: int, kept: Kept
    ) -> Worlds:
        existential = isinstance(self.base, BoostedRDN)
        seed = [self.seed, iteration]
        if self.mode == "hard":
            return best_world(rules, existential, hidden, self.burn_in, seed, kept)
        return sampled_worlds(
            rules, existential, hidden, self.worlds, self.burn_in, self.thin, seed, kept
        )

    def _closed(
        self,
        databases: Sequence[Database],
        initial: BoostedModel | None,
        progress: Progress | None,
        checkpoint: str | PathLike[str] | None,
    ) -> Learned:
        if initial is not None:
            raise InputError("mode 'closed' takes no initial model", hint="leave it out")
        steps = self.iterations * self.trees_per_step
        plain = replace(self.base, steps=steps, seed=self.seed)
        filled = [database.closed() for database in databases]
        model = plain.fit(filled, progress=progress, checkpoint=checkpoint)
        return Learned(model, ())

    def conflicts(self) -> Iterator[str]:
        """Say which settings do not go together."""
        if self.base.held_out_share:
            yield "base keeps examples aside, and must not (held_out_share=0)"


def _initial(
    base: BoostedMLN | BoostedRDN, databases: Sequence[Database], given: BoostedModel | None
) -> tuple[TargetRules, ...]:
    """Return the model to start from, with as many steps for every target."""
    schema = databases[0].schema
    priors = prior_clauses(base.initial, base.targets, schema)
    start = [
        TargetRules(schema[name], _bias(databases, name), priors.get(name, ClauseList(())))
        for name in base.targets
    ]
    if given is None:
        return tuple(start)
    if given.existential != isinstance(base, BoostedRDN):
        raise InputError(
            "the initial model has other semantics than the base learner",
            hint="start a BoostedRDN from a dependency network, a BoostedMLN from a network",
        )
    known = {rules.predicate.name: rules for rules in given.targets}
    missing = set(known) - set(base.targets)
    if missing:
        raise InputError(
            f"the initial model has rules for {', '.join(sorted(missing))}, which is no target"
            " and has no unknown atoms"
        )
    length = 1 + given.steps
    return tuple(_grown(rules, known.get(rules.predicate.name), length) for rules in start)


def _grown(start: TargetRules, given: TargetRules | None, length: int) -> TargetRules:
    """Return the rules to start from with those given as their first steps."""
    steps: list[Step] = [given.prior, *given.steps] if given is not None else []
    steps += [ClauseList(())] * (length - len(steps))
    bias = start.bias if given is None else given.intercept
    return replace(start, bias=bias, steps=tuple(steps))


def _bias(databases: Sequence[Database], name: str) -> float:
    """Return the log-odds of a known atom; one more of each kind keeps them finite."""
    hidden = HiddenAtoms.of(databases, [name])
    true = sum(database.count(name) for database in databases)
    total = sum(database.ground_atoms(name) for database in databases)
    return math.log((true + 1) / (total - len(hidden) - true + 1))
