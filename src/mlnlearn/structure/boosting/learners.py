"""The learners: settings, and `fit`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples
from mlnlearn.data.identity import journal_of
from mlnlearn.data.load.data import Data, DataLike
from mlnlearn.errors import InputError
from mlnlearn.model.boosted.files import BoostedStepFile, step_to_plain, steps_from_files
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted, Notes, Run, drive
from mlnlearn.settings import Above, AtLeast, Between
from mlnlearn.structure.boosting.axes import AxisRequest, without_axis
from mlnlearn.structure.boosting.class_fit import ClassBoosting
from mlnlearn.structure.boosting.class_regression import ClassAxis
from mlnlearn.structure.boosting.clauses import ClauseSettings
from mlnlearn.structure.boosting.fit import Adds, Boosting, StepSettings
from mlnlearn.structure.boosting.language import BodyLanguage, language_of
from mlnlearn.structure.boosting.pool import Expected, NegativeSampling
from mlnlearn.structure.boosting.prior import prior_clauses
from mlnlearn.structure.boosting.regression import Floats
from mlnlearn.structure.boosting.trees import TreeSettings
from mlnlearn.structure.learner import Learner

# Chosen on folds held out of the training folds of UW-CSE, IMDB and WebKB: a few clauses a step get
# less far than a tree, and need gradients that are better balanced.
_TREE_BALANCE = 20.0
_CLAUSE_BALANCE = 2.0

# What both kinds had as defaults in version 0.1: the paper's, but for the negatives.
_VERSION_0_1: Mapping[str, Any] = {
    "steps": 20,
    "max_leaves": 8,
    "literals_per_node": 2,
    "min_examples": 6,
    "min_examples_of": "side",
    "negatives": "calibrated",
    "balance": None,
    "fraction": 1.0,
    "shrinkage": 1.0,
    "line_search": False,
    "held_out_share": 0.0,
    "axis": "off",
}
_CLAUSES_0_1: Mapping[str, Any] = {"max_literals": 4, "beam": 10, "clauses_per_step": 3}


@dataclass(frozen=True, eq=False)
class Copies:
    """Databases that are given several times, filled in differently.

    Attributes
    ----------
    number
        How many times.
    shares
        How much each copy counts; alike where None.
    cautious
        Whether no step may lower the likelihood of all targets.
    """

    number: int
    shares: Floats | None = None
    cautious: bool = True

    def by_database(self, databases: int) -> Floats | None:
        """Return how much each database counts, all copies of all databases in turn."""
        return None if self.shares is None else np.repeat(self.shares, databases // self.number)


@dataclass(frozen=True, kw_only=True)
class _Boosted(Learner[BoostedModel, Notes]):
    """Settings that boosted networks of both kinds share.

    Presets: ``"paper"`` samples two negatives a positive, starts from the potential -1.8, and may
    split every node of at least six examples; ``"0.1"`` has the defaults of version 0.1, whatever
    the present ones are.

    Parameters
    ----------
    target
        The predicate to learn, or several to learn jointly: targets then stand in each other's
        rules.
    steps
        Gradient steps: so many trees, or lists of clauses, for each target.
    max_leaves
        Most leaves of a tree.
    literals_per_node
        Literals that a test, or one expansion of a clause, may add at once.
    min_examples
        Fewest examples on each side of a test, or under a clause.
    min_examples_of
        ``"side"``: each side of a test must have so many examples; ``"node"``: the node that is to
        be split must, and each side at least one.
    negatives
        ``"calibrated"``: all negatives take part, with less weight, and probabilities hold on the
        full population; ``"paper"``: twice as many negatives as positives, drawn afresh for every
        step (see `mlnlearn.structure.boosting.pool`).
    balance
        Most weight that all negatives have together in calibrated steps, as a multiple of that of
        the positives; by default 20 for trees and 2 for clauses, which predict best so, and
        infinity leaves every example its own weight. With little weight on negatives, weights of
        clauses stay well below those of maximum likelihood, most of all of rules that few examples
        have; to read them as strengths, learn the weights of `BoostedModel.to_mln` anew.
    fraction
        Share of the examples that takes part in a step.
    max_examples
        Negatives are sampled where there are more examples than this; None takes all. Time grows
        with their number, and memory by about a kilobyte for each.
    shrinkage
        Factor by which each step is shortened.
    line_search
        Whether the length of each step is the one that makes the data most probable.
    held_out_share
        Share of the examples kept aside to find the best number of steps.
    patience
        How many steps to wait for a better one on the examples kept aside.
    recursive
        Targets that may stand in the bodies of their own rules, with other atoms than the head.
    bodies
        Predicates that may stand in bodies; by default all.
    modes
        Patterns of literals such as ``friends(+,-)`` that bodies are made of; by default all that
        the types allow (see `mlnlearn.structure.boosting.language`).
    max_constants
        A type of values, such as colours, lends its constants to rules if it has at most this many;
        by default 20, but no more than one for every ten true atoms of the target.
    axis
        Whether a class among the target's arguments is no variable but an axis: leaves and clauses
        then have a value for each of its constants, shrunk towards their mean, and one structure
        holds for all; of a class marked ``!`` exactly one is true. ``"auto"``: where it is marked
        or is of a type of values, has at most 50 constants, and nothing else has its type;
        ``"on"``: for the marked or else the last argument, refused where it cannot be, as where the
        target stands in bodies; ``"off"``.
    initial
        A network to start from, of weighted clauses ``body => target``, which stay as they are.
    seed
        Of all random draws.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {**_VERSION_0_1, "negatives": "paper", "min_examples_of": "node"},
        "0.1": _VERSION_0_1,
    }

    target: str | tuple[str, ...]
    steps: Annotated[int, AtLeast(0)] = 20
    max_leaves: Annotated[int, AtLeast(1)] = 8
    literals_per_node: Literal[1, 2] = 2
    min_examples: Annotated[int, AtLeast(1)] = 6
    min_examples_of: Literal["side", "node"] = "side"
    negatives: Literal["calibrated", "paper"] = "calibrated"
    balance: Annotated[float, Above(0, infinite=True)] | None = None
    fraction: Annotated[float, Between(0, 1, open_low=True)] = 1.0
    max_examples: Annotated[int, AtLeast(1)] | None = 200_000
    shrinkage: Annotated[float, Above(0)] = 1.0
    line_search: bool = False
    held_out_share: Annotated[float, Between(0, 1, open_high=True)] = 0.0
    patience: Annotated[int, AtLeast(1)] = 5
    recursive: tuple[str, ...] = ()
    bodies: tuple[str, ...] | None = None
    modes: tuple[str, ...] = ()
    max_constants: Annotated[int, AtLeast(0)] | None = None
    axis: Literal["auto", "on", "off"] = "auto"
    initial: MLN | None = None
    seed: Annotated[int, AtLeast(0)] = 0

    @property
    def targets(self) -> tuple[str, ...]:
        """The target predicates."""
        return (self.target,) if isinstance(self.target, str) else tuple(self.target)

    def _base(self) -> TreeSettings | ClauseSettings:
        raise NotImplementedError

    def fit(
        self,
        data: DataLike,
        run: Run | None = None,
        *,
        examples: Examples | Sequence[Examples] | None = None,
    ) -> Fitted[BoostedModel, Notes]:
        """Learn a model.

        Parameters
        ----------
        data, run
            As for `Learner.fit`.
        examples
            Atoms of the targets to learn from, at most one set a target; by default all atoms of
            a target, or a sample of them (see `negatives`).
        """
        given = self.data_from(data)
        return drive(run, lambda course: self.learn(given, course, examples))

    def learn(
        self,
        data: Data,
        course: Course,
        examples: Examples | Sequence[Examples] | None = None,
    ) -> Iterator[Fitted[BoostedModel, Notes]]:
        """Yield the model after every gradient step."""
        boosting = self._prepare(data.databases, examples)
        more = {"examples to learn from": _parts(boosting)}
        journal = journal_of(course.run.checkpoint, self, data.databases, more)
        schema = boosting.world.schema
        yield boosting.fitted()
        while not boosting.finished:
            course.check()
            key = f"step {boosting.done + 1}"
            if key in journal:
                with journal.reading(key, list[BoostedStepFile]) as files:
                    targets = [state.predicate for state in boosting.targets]
                    boosting.replay([steps_from_files(files, targets, schema)])
            else:
                boosting.step()
                made = [step_to_plain(state.steps[-1]) for state in boosting.targets]
                journal.record(key, made)
            yield boosting.fitted()
            course.tell("boosting", boosting.done, self.steps)

    def _prepare(
        self, databases: Sequence[Database], examples: Examples | Sequence[Examples] | None
    ) -> Boosting | ClassBoosting:
        world = Objects(databases)
        sets = [examples] if isinstance(examples, Examples) else list(examples or ())
        for part in sets:
            if part.predicate.name not in self.targets:
                raise InputError(f"examples of {part.predicate.name}, which is no target")
        given = {part.predicate.name: part for part in sets}
        languages = self.languages(world)
        axis = self._axis(world, languages)
        if axis is None:
            return self.boosting(world, languages, given)
        (name,) = self.targets
        predicate = world.schema[name]
        return ClassBoosting(
            world,
            predicate,
            axis,
            without_axis(languages[name], predicate.arity - 1),
            given.get(name),
            self._sampling(),
            self._step_settings(),
            self._base(),
            self.seed,
        )

    def _axis(self, world: Objects, languages: Mapping[str, BodyLanguage]) -> ClassAxis | None:
        """Return the axis of the target, if it has one."""
        obstacles = {
            "several targets are learned jointly": len(self.targets) > 1,
            "it may stand in bodies of its own rules": any(
                mode.predicate.name in self.targets
                for language in languages.values()
                for mode in language.modes
            ),
            "negatives are drawn as in the paper": self.negatives == "paper",
            "there are rules to start from": self.initial is not None,
        }
        found = tuple(reason for reason, holds in obstacles.items() if holds)
        bodies = [p.name for p in world.schema.predicates] if self.bodies is None else self.bodies
        return AxisRequest(self.axis, found).axis(world, self.targets[0], bodies)

    def _sampling(self) -> NegativeSampling:
        usual = _TREE_BALANCE if isinstance(self._base(), TreeSettings) else _CLAUSE_BALANCE
        balance = usual if self.balance is None else self.balance
        return NegativeSampling(
            self.negatives, balance, self.fraction, self.held_out_share, self.max_examples
        )

    def _step_settings(self, cautious: bool = False) -> StepSettings:
        return StepSettings(self.steps, self.shrinkage, self.line_search, self.patience, cautious)

    def languages(self, world: Objects) -> dict[str, BodyLanguage]:
        """Return the literals that may be tried, for each target."""
        lookahead = self.literals_per_node > 1
        names = [predicate.name for predicate in world.schema.predicates]
        bodies = names if self.bodies is None else self.bodies
        for name in self.recursive:
            world.schema[name]
        return {
            name: language_of(
                world,
                name,
                bodies,
                self.modes,
                self.max_constants,
                lookahead,
                name in self.recursive,
            )
            for name in self.targets
        }

    def boosting(
        self,
        world: Objects,
        languages: Mapping[str, BodyLanguage],
        examples: Mapping[str, Examples],
        copies: Copies | None = None,
        expected: Mapping[str, Expected] | None = None,
        adds: Adds | None = None,
    ) -> Boosting:
        """Return a run before its first step.

        Where the databases of the world are `copies` of others, filled in differently, an example
        counts for as much less.
        """
        number = 1 if copies is None else copies.number
        base = self._base()
        return Boosting(
            world,
            languages,
            examples,
            prior_clauses(self.initial, self.targets),
            self._sampling(),
            self._step_settings(copies is not None and copies.cautious),
            replace(base, min_examples=number * base.min_examples),
            self.seed,
            expected,
            adds,
            None if copies is None else copies.by_database(len(world.databases)),
        )

    def conflicts(self) -> Iterator[str]:
        """Say which settings do not go together."""
        if not self.targets or len(set(self.targets)) < len(self.targets):
            yield f"target is {self.target!r}, and must name at least one predicate, each once"


@dataclass(frozen=True, kw_only=True)
class BoostedMLN(_Boosted):
    """Learn a Markov logic network by functional gradient boosting (MLN-BT and MLN-BC).

    Every step fits the gradients of the pseudo-log-likelihood, observed minus expected truth, by a
    relational regression tree or by a few Horn clauses, whose values count once a grounding
    (Khot, Natarajan, Kersting & Shavlik, ICDM 2011).

    Parameters
    ----------
    representation
        ``"trees"`` (MLN-BT) or ``"clauses"`` (MLN-BC).
    max_literals
        Most literals of a clause, its head among them.
    beam
        Clauses kept in each step of the search for one.
    clauses_per_step
        Clauses learned in a gradient step.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import university
    >>> areas = university(100, areas=2, rng=0).databases
    >>> learner = BoostedMLN(
    ...     target="advisedBy", representation="clauses", steps=1, clauses_per_step=1)
    >>> for rule, weight in learner.fit(areas).model.rules():
    ...     print(f"{weight:.2f} {rule}")
    -5.63 advisedBy(p1,p2)
    0.32 publication(t1,p1) ^ publication(t1,p2) ^ student(p1) => advisedBy(p1,p2)

    Of a class, leaves have a value for each of its constants (`axis`):

    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> words = {"Folk": ("Banjo", "Slow"), "Jazz": ("Sax", "Slow"), "Rock": ("Guitar", "Loud")}
    >>> kinds = {f"T{n}": ("Folk", "Jazz", "Rock")[n % 3] for n in range(120)}
    >>> facts = {
    ...     "genre": list(kinds.items()),
    ...     "tag": [(track, words[kind][n % 2]) for n, (track, kind) in enumerate(kinds.items())]}
    >>> tracks = Database.from_facts(Schema.of("genre(track,kind!)", "tag(track,word)"), facts)
    >>> print(BoostedMLN(target="genre", steps=1, max_leaves=3).fit(tracks).model.trees())
    genre(t1,k1), tree 1
    tag(t1,Guitar) ?
    ├─ yes Rock +0.6444, Folk -0.3222, Jazz -0.3222
    └─ no  tag(t1,Loud) ?
           ├─ yes Rock +0.6444, Folk -0.3222, Jazz -0.3222
           └─ no  Rock -0.3222, Folk +0.1611, Jazz +0.1611
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: {**settings, **_CLAUSES_0_1} for name, settings in _Boosted.presets.items()
    }

    representation: Literal["trees", "clauses"] = "trees"
    max_literals: Annotated[int, AtLeast(2)] = 4
    beam: Annotated[int, AtLeast(1)] = 10
    clauses_per_step: Annotated[int, AtLeast(1)] = 3

    def _base(self) -> TreeSettings | ClauseSettings:
        if self.representation == "trees":
            return TreeSettings(self.max_leaves, self.min_examples, self.min_examples_of)
        return ClauseSettings(
            self.max_literals - 1, self.beam, self.clauses_per_step, self.min_examples
        )


@dataclass(frozen=True, kw_only=True)
class BoostedRDN(_Boosted):
    """Learn a relational dependency network by functional gradient boosting (RDN-B).

    As `BoostedMLN` with trees, but a test holds or not, however many groundings it has, and a leaf
    adds its mean gradient once (Natarajan, Khot, Kersting, Gutmann & Shavlik, 2012).

    Examples
    --------
    >>> from mlnlearn.data.synthetic import university
    >>> areas = university(100, areas=2, rng=0).databases
    >>> model = BoostedRDN(target="advisedBy", steps=2, max_leaves=2).fit(areas).model
    >>> model.steps, model.existential
    (2, True)
    """

    def _base(self) -> TreeSettings | ClauseSettings:
        return TreeSettings(
            self.max_leaves, self.min_examples, self.min_examples_of, existential=True
        )


def _parts(run: Boosting | ClassBoosting) -> Iterator[bytes]:
    """Yield what tells the examples of a run from others."""
    for state in run.targets:
        for array in (state.pool.rows, state.pool.labels, state.pool.weight):
            yield array.tobytes()
