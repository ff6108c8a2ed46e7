"""The learner: settings, and the loop of E-steps and M-steps (algorithm 1 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from mlnlearn.data.database import Database
from mlnlearn.data.identity import journal_of
from mlnlearn.data.load.data import Data
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.files import RulesFile, rules_from_file, rules_to_plain
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, unknown_predicates
from mlnlearn.model.boosted.hidden.network import Kept
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.rules import ClauseList, Step, TargetRules
from mlnlearn.run import Course, Fitted
from mlnlearn.settings import AtLeast
from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN
from mlnlearn.structure.boosting.prior import prior_clauses
from mlnlearn.structure.learner import Learner
from mlnlearn.structure.structural_em.expectation import Worlds, best_world, sampled_worlds
from mlnlearn.structure.structural_em.maximisation import maximised
from mlnlearn.structure.structural_em.notes import EMNotes, Note, NoteFile
from mlnlearn.structure.structural_em.potentials import StackedPotentials

Mode: TypeAlias = Literal["soft", "hard", "closed"]
"""What becomes of unknown atoms: sampled, filled in as is most probable, or false."""


@dataclass(frozen=True, kw_only=True)
class StructuralEM(Learner[BoostedModel, EMNotes]):
    """Learn a boosted model from databases with unknown atoms (SEM and H-SEM).

    Every iteration fills in the unknown atoms under the current model (E-step), then adds a few
    boosting steps that fit the filled-in worlds (M-step), for the targets and for all predicates
    with unknown atoms (Khot, Natarajan, Kersting & Shavlik, StarAI 2012).

    The preset ``"paper"`` weighs worlds by their probability where they have one, and takes steps
    as they are; to be built on a base with a preset of its own.

    Parameters
    ----------
    base
        The boosted learner, with its targets and all of its settings but steps and seed. Where
        unknown atoms of one predicate depend on each other, as whether friends smoke, let that
        predicate be `recursive`.
    initial
        The model to start from; by default every atom of a predicate is as probable as its share of
        true atoms among the known ones.
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
    world_weights
        ``"equal"``: sampled worlds count alike, as samples do; ``"probability"``: each world drawn,
        once, by its probability among those drawn, as algorithm 3 of the paper has it (networks
        with counting semantics only: others give worlds no probability). Then one world mostly
        outweighs all others.
    cautious
        Shorten a boosting step that would lower the likelihood of all targets together.
    seed
        Of all random draws, those of the base among them.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import hide, smokers
    >>> db = hide(smokers(60, rng=1).databases[0], "smokes", 0.4, rng=2)
    >>> base = BoostedMLN(target="cancer", max_leaves=2, recursive=("smokes",))
    >>> learned = StructuralEM(base=base, iterations=3).fit(db)
    >>> [rules.predicate.name for rules in learned.model.targets], learned.model.steps
    (['cancer', 'smokes'], 6)
    >>> learned.notes.iterations[-1].after > learned.notes.iterations[0].before
    True
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "iterations": 10,
            "trees_per_step": 2,
            "world_weights": "probability",
            "cautious": False,
        }
    }

    base: BoostedMLN | BoostedRDN
    initial: BoostedModel | None = None
    mode: Mode = "soft"
    iterations: Annotated[int, AtLeast(0)] = 10
    trees_per_step: Annotated[int, AtLeast(1)] = 2
    worlds: Annotated[int, AtLeast(1)] = 10
    burn_in: Annotated[int, AtLeast(0)] = 20
    thin: Annotated[int, AtLeast(1)] = 5
    world_weights: Literal["equal", "probability"] = "equal"
    cautious: bool = True
    seed: Annotated[int, AtLeast(0)] = 0

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[BoostedModel, EMNotes]]:
        """Yield the model after every iteration.

        Atoms listed as unknown, and unlisted ones of open predicates, are hidden.
        """
        given = data.databases
        if self.mode == "closed":
            yield from self._closed(data, course)
            return
        names = unknown_predicates(given)
        targets = tuple(dict.fromkeys([*self.base.targets, *names]))
        base = replace(self.base, target=targets, seed=self.seed)
        hidden = HiddenAtoms.of(given, names)
        languages = base.languages(hidden.known)
        rules = _initial(base, given, self.initial)
        potentials = None
        if isinstance(base, BoostedMLN):
            potentials = StackedPotentials(hidden, [target.predicate for target in rules])
        path, schema = course.run.checkpoint, given[0].schema
        journal = journal_of(path, self, given, {"first rules": [repr(rules)]})
        notes: list[Note] = []
        kept: Kept = {}
        for iteration in range(self.iterations + 1):
            model = BoostedModel(schema, isinstance(base, BoostedRDN), tuple(rules))
            yield Fitted(model, EMNotes(iterations=tuple(notes)))
            if iteration == self.iterations:
                return
            course.check()
            key = f"iteration {iteration + 1}"
            if key not in journal:
                worlds = self._worlds(rules, hidden, iteration, kept)
                steps = list(zip(*(target.steps for target in rules), strict=True))
                rules, note = maximised(
                    base,
                    languages,
                    worlds,
                    potentials,
                    steps,
                    self.trees_per_step,
                    cautious=self.cautious,
                )
                journal.record(key, [[*map(rules_to_plain, rules)], note.to_plain()])
            else:
                with journal.reading(key, tuple[list[RulesFile], NoteFile]) as (files, plain):
                    rules = _read_rules(files, rules, self.trees_per_step, schema)
                note = Note.from_file(plain)
            notes.append(note)
            course.tell("iterations", iteration + 1, self.iterations)

    def _worlds(
        self, rules: Sequence[TargetRules], hidden: HiddenAtoms, iteration: int, kept: Kept
    ) -> Worlds:
        existential = isinstance(self.base, BoostedRDN)
        seed = [self.seed, iteration]
        if self.mode == "hard":
            return best_world(rules, existential, hidden, self.burn_in, seed, kept)
        drawn = sampled_worlds(
            rules, existential, hidden, self.worlds, self.burn_in, self.thin, seed, kept
        )
        by_probability = self.world_weights == "probability" and not existential
        return drawn.by_probability() if by_probability else drawn

    def _closed(self, data: Data, course: Course) -> Iterator[Fitted[BoostedModel, EMNotes]]:
        steps = self.iterations * self.trees_per_step
        plain = replace(self.base, steps=steps, seed=self.seed)
        filled = tuple(database.closed() for database in data.databases)
        for fitted in plain.learn(Data(filled, data.mapping), course):
            yield Fitted(fitted.model, EMNotes())

    def conflicts(self) -> Iterator[str]:
        """Say which settings do not go together."""
        if self.base.held_out_share:
            yield "base keeps examples aside, and must not (held_out_share=0)"
        if self.mode == "closed" and self.initial is not None:
            yield "initial is a model, and mode 'closed' starts from none"


def _initial(
    base: BoostedMLN | BoostedRDN, databases: Sequence[Database], given: BoostedModel | None
) -> tuple[TargetRules, ...]:
    """Return the model to start from, with as many steps for every target."""
    schema = databases[0].schema
    priors = prior_clauses(base.initial, base.targets)
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


def _read_rules(
    files: Sequence[RulesFile], before: Sequence[TargetRules], more: int, schema: Schema
) -> tuple[TargetRules, ...]:
    """Return the rules that a journal holds, longer by some steps than those before them."""
    rules = tuple(rules_from_file(file, schema) for file in files)
    found = [(target.predicate, len(target.steps)) for target in rules]
    if found != [(target.predicate, len(target.steps) + more) for target in before]:
        raise InputError("the targets, or their steps, are not those of this iteration")
    return rules
