"""The learner: settings, and `fit`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from mlnlearn.counting.aggregates import Floats
from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import FLAGS, Relational, relational
from mlnlearn.counting.staleness import with_stale_copies
from mlnlearn.data.identity import journal_of
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.within import seconds_in
from mlnlearn.errors import InputError
from mlnlearn.journal import Journal
from mlnlearn.model.relational.atoms import without_place
from mlnlearn.model.relational.evaluate import Evaluator
from mlnlearn.model.relational.features import AnyFeature
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.model.relational.own import OwnEvaluator, has_own_facts, holds, reads_own
from mlnlearn.model.relational.rules import RuleList
from mlnlearn.model.relational.trees import FeatureNode
from mlnlearn.run import Course, Fitted, Notes
from mlnlearn.settings import Above, AtLeast, Between
from mlnlearn.structure.learner import Learner
from mlnlearn.structure.relational_boosting.blend import blend, trees_alone
from mlnlearn.structure.relational_boosting.collective import gains_together
from mlnlearn.structure.relational_boosting.distil import DistilSettings, distil, rule_bodies
from mlnlearn.structure.relational_boosting.feature_search import FeatureSearch, OpenSettings
from mlnlearn.structure.relational_boosting.feature_table import FeatureTable
from mlnlearn.structure.relational_boosting.fold_runs import FoldRuns, stepped
from mlnlearn.structure.relational_boosting.folds import Strata, dealt_folds, held_out
from mlnlearn.structure.relational_boosting.grow import GrowSettings
from mlnlearn.structure.relational_boosting.linear import (
    TestDesign,
    TestWeights,
    design_of,
    fit_linear,
    linear_folds,
)
from mlnlearn.structure.relational_boosting.losses import Loss, fences, telling_examples
from mlnlearn.structure.relational_boosting.name_axis import NamedExamples, named_examples
from mlnlearn.structure.relational_boosting.short_lists import chosen_settings
from mlnlearn.structure.relational_boosting.steps import BoostingRun, TreeStepSettings, strata_of

_WORTH_OWN = 0.005  # of the deviance of no tree: what labels of other rows must gain
_MOST_CELLS = 3_000_000  # of sums by bin and name, which each leaf of a growing tree has
_LEAVES = ((300, 4), (1500, 6), (3000, 12), (np.inf, 31))  # of a tree, by how many examples
_LEAVES_IN_TIME = ((300, 4), (1500, 6), (10_000, 8), (50_000, 16), (np.inf, 31))  # times change


@dataclass(frozen=True, kw_only=True)
class BoostNotes(Notes):
    """How a run of boosting went.

    Attributes
    ----------
    curve
        The mean deviance of held-out examples after every step, that of no step first.
    steps
        The number of steps that was best.
    by_trees, by_tests, penalty
        What the values of all trees, and the weights of tests of single features, were multiplied
        by, and how much the latter were shrunk: chosen on held-out examples.
    features
        How many features were opened.
    caution
        Whether trees doubt small gains (1) or trust them (0), by what held-out examples said.
    axis
        What leaves have a value for each name of, by what held-out examples said; else empty.
    """

    curve: tuple[float, ...] = ()
    steps: int = 0
    by_trees: float = 1.0
    by_tests: float = 0.0
    penalty: float = 0.0
    features: int = 0
    caution: float = 1.0
    axis: str = ""


@dataclass(frozen=True, kw_only=True)
class RelationalBoost(Learner[RelationalModel, BoostNotes]):
    """Learn to predict a column or a relation by boosted trees over features along links.

    Features are read by following links from an example: values of rows that it links to, and
    counts, means, latest values and so on of rows that link to it, up to three links away. Trees
    are grown on histograms of gradients; the number of trees is the one that predicts held-out
    examples best, and they are then learned from all examples. Tests of single features, weighted
    together by penalised likelihood, are added as far as held-out examples say.

    Parameters
    ----------
    target
        What to predict: ``TABLE.COLUMN``, a column, or a predicate.
    steps
        Most trees.
    patience
        How many trees to wait for a better one on held-out examples.
    rate
        How far a step goes.
    max_leaves
        Most leaves of a tree; by default, by the number of examples.
    min_examples
        Fewest examples of a leaf; by default, by the number of examples.
    ridge
        How much values of leaves are shrunk, in examples.
    share
        Share of the features that each tree may use.
    max_rows
        Most examples that a tree is grown on: where there are more, each tree has a sample.
    max_links
        Most links of a feature; one more to a table of a few rows, which is as good as a value.
    max_features
        Most features that trees choose from.
    max_candidates
        Most features that are looked at to find these.
    max_examples
        Of a relation with more possible rows than this, those that do not exist are sampled.
    until
        Whether rows at the very time of an example count, not only those before it.
    own_facts
        Whether labels of other rows may be read, of one database without times.
    lag
        How long before a question facts may end, such as ``4y``: of examples with moments, each is
        learned from twice, once with facts that end up to so long before. Empty where the data
        always go on until the moment of a question.
    max_rules
        Most rules of the short list that the trees are distilled into; 0 for no list.
    seed
        Of all random draws.
    """

    reads_numbers: ClassVar[bool] = True

    target: str
    steps: Annotated[int, AtLeast(0)] = 500
    patience: Annotated[int, AtLeast(1)] = 25
    rate: Annotated[float, Above(0)] = 0.1
    max_leaves: Annotated[int, AtLeast(2)] | None = None
    min_examples: Annotated[int, AtLeast(1)] | None = None
    ridge: Annotated[float, Above(0)] = 1.0
    share: Annotated[float, Between(0, 1, open_low=True)] = 0.5
    max_rows: Annotated[int, AtLeast(100)] = 10_000
    max_links: Annotated[int, AtLeast(0)] = 3
    max_features: Annotated[int, AtLeast(1)] = 250
    max_candidates: Annotated[int, AtLeast(1)] = 3000
    max_examples: Annotated[int, AtLeast(1)] = 200_000
    until: bool = False
    own_facts: bool = True
    lag: str = ""
    max_rules: Annotated[int, AtLeast(0)] = 20
    seed: Annotated[int, AtLeast(0)] = 0

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[RelationalModel, BoostNotes]]:
        """Yield the best model so far after every step."""
        view = relational(data.databases, data.mapping)
        place = find_place(view, self.target)
        examples = examples_of(view, place, max_examples=self.max_examples, seed=self.seed)
        journal = journal_of(course.run.checkpoint, self, data.databases)
        start = _empty_model(data, view, examples)
        own = self.own_facts and len(data.databases) == 1 and examples.base.times is None
        if not (own and has_own_facts(view, place)):
            view = without_place(view, place)
        elif place.column is not None:
            view = view.with_row_set(view[place.row_set].without_parts(place.column))
        model, notes = start, BoostNotes()
        exclusive = place.column is None and data.databases[0].schema.exclusive(start.target)
        named = None if exclusive else named_examples(view, examples)
        for fitted in self.learn_examples(view, examples, course, journal, named):
            model, notes = start.with_trees_of(fitted.model), fitted.notes
            yield Fitted(model, notes)
        if model.alone is not None and gains_together(model, view, examples, self.seed):
            yield Fitted(replace(model, collective=True), notes)

    def learn_examples(
        self,
        view: Relational,
        examples: RowExamples,
        course: Course,
        journal: Journal | None = None,
        named: NamedExamples | None = None,
    ) -> Iterator[Fitted[RelationalModel, BoostNotes]]:
        """Learn from examples of any kind.

        Where the view holds what is to be predicted, features may read it of other rows, and a
        model that does not is learned as well, for data in which it is not known.

        Parameters
        ----------
        view, examples
            The data, and what is to be predicted.
        course, journal
            Of the run.
        named
            Names of the examples that leaves may have a value for each of.
        """
        if self.lag:
            longest = seconds_in(self.lag)
            if examples.base.times is None:
                raise InputError("lag: only examples with moments can be asked about too late")
            examples = with_stale_copies(examples, longest, self.seed)
            view = view.with_row_set(examples.base)
        run = _Learning(self, view, examples, named)
        yield run.fitted(())
        table, kept = run.open(), journal or Journal()
        run.notes = replace(run.notes, features=len(table.features))
        yield from run.choose(run.without_own(table), course, kept)
        if run.named is not None and run.by_name is not None:
            table = run.by_name
            run.notes = replace(run.notes, features=len(table.features))
        plain = run.without_own(table)
        if plain is table:
            yield from run.refit(plain, course, kept)
            return
        other = _Learning(self, view, examples, notes=run.notes)
        other.settings, other.strata, other.tries_bold = run.settings, run.strata, False
        other.rival = run.notes.curve or None
        other.named = run.named
        for fitted in other.choose(table, course, kept, "own facts, "):
            yield Fitted(replace(fitted.model, alone=run.fitted(run.best).model), fitted.notes)
        curve = run.notes.curve
        gain = run.held_out_deviance - other.held_out_deviance
        if not curve or gain <= _WORTH_OWN * curve[0]:
            yield from run.refit(plain, course, kept)
            return
        run.judges_lists = False
        yield from run.refit(plain, course, kept)
        alone = run.last.model
        for fitted in other.refit(table, course, kept, "own facts, "):
            yield Fitted(replace(fitted.model, alone=alone), fitted.notes)


class _Learning:
    """A run: which examples, what they lose, and how far it is."""

    def __init__(
        self,
        learner: RelationalBoost,
        view: Relational,
        examples: RowExamples,
        tries_named: NamedExamples | None = None,
        notes: BoostNotes | None = None,
    ) -> None:
        self.learner, self.view, self.examples = learner, view, examples
        self.tries_named = tries_named
        self.named: NamedExamples | None = None
        self.by_name: FeatureTable | None = None  # features opened for leaves with values by name
        self.rows = np.flatnonzero(examples.known)
        if not len(self.rows):
            raise InputError(f"{learner.target}: no example has a label to learn from")
        self.folds = [
            fold
            for fold in held_out(examples, self.rows, learner.seed)
            if 0 < len(fold) < len(self.rows)
        ]
        self.loss = _loss(examples)
        label = examples.label
        self.scale = 1.0
        self.kept: float | None = None
        classes = tuple(examples.classes)
        self.distilling = DistilSettings(learner.max_rules, learner.ridge, learner.seed, classes)
        self.held_out_deviance = np.inf
        self.tries_bold = True
        self.judges_lists = True  # a model that stands in for another needs no best list
        self.runs: list[BoostingRun] = []
        self.rival: Sequence[float] | None = None  # the curve of runs that these must not be behind
        self.strata: dict[int, Strata] = {}
        if self.loss.kind == "squares":
            label = np.clip(label, *fences(label[self.rows]))
            self.scale = float(np.std(label[self.rows])) or 1.0
        self.label: Floats = np.where(examples.known, label / self.scale, 0.0)
        self.settings = self._settings()
        self.best: tuple[FeatureNode, ...] = ()
        self.notes = BoostNotes(features=0 if notes is None else notes.features)
        self.last = self.fitted(())

    def reads_own(self, feature: AnyFeature) -> bool:
        """Whether a feature reads labels of other rows, which the data may not tell."""
        home = self.examples.home
        return holds(self.view, home) and reads_own(feature, home)

    def _settings(self) -> TreeStepSettings:
        """Return the settings of steps, those not given by the number of examples."""
        learner = self.learner
        number = telling_examples(self.loss, self.label[self.rows])
        sizes = _LEAVES if self.examples.base.times is None else _LEAVES_IN_TIME
        leaves = next(leaves for most, leaves in sizes if number <= most)
        least = int(min(max(number / 200, 3), 20))
        size = GrowSettings(
            learner.max_leaves or leaves, learner.min_examples or least, learner.ridge
        )
        longer = self.examples.home.column is None
        return TreeStepSettings(
            learner.rate, learner.share, learner.max_rows, size, learner.seed, longer
        )

    def open(self, named: NamedExamples | None = None) -> FeatureTable:
        """Open features: those that tell of labels, or of those of some names, too."""
        learner, examples = self.learner, self.examples
        start = self.loss.start(self.label[self.rows], examples.weight[self.rows])
        scores = np.repeat(start[None], len(self.label), axis=0)
        weight = np.where(examples.known, examples.weight, 0.0)
        gradients, curvatures = self.loss.slopes(scores, self.label, weight)
        if named is not None:
            gradients = named.mixtures(gradients, learner.seed)
            curvatures = np.repeat(curvatures, gradients.shape[1], axis=1)
        timed = examples.base.times is not None
        search = FeatureSearch(
            self._evaluator(timed),
            examples.base,
            gradients,
            curvatures,
            self.folds,
            OpenSettings(
                learner.max_links,
                learner.max_candidates,
                learner.max_features,
                self.settings.size.min_examples,
                learner.seed,
                examples.home.column is None,
                self.loss.outputs == 1,
            ),
        )
        return search.table()

    def without_own(self, table: FeatureTable) -> FeatureTable:
        """Return the features that read no labels of other rows; the table itself if all are so."""
        return table.without([self.reads_own(feature) for feature in table.features])

    def _evaluator(self, timed: bool) -> Evaluator:
        """Return what evaluates features; where the view holds labels, it hides each row's own."""
        home = self.examples.home
        if not holds(self.view, home):
            return Evaluator(self.view, timed, self.learner.until)
        folds = dealt_folds(self.examples, self.rows, self.learner.seed)
        return OwnEvaluator(self.view, timed, self.learner.until, home=home, folds=folds)

    def choose(
        self, table: FeatureTable, course: Course, journal: Journal, key: str = ""
    ) -> Iterator[Fitted[RelationalModel, BoostNotes]]:
        """Find the number of steps that is best on held-out examples."""
        if not self.folds:  # a single example: nothing can be held out, and nothing learned of it
            return
        best = self._fold_runs(table)
        for number in best.go(self.learner.steps, course, journal, key, self.rival):
            self._took(best)
            yield self.fitted(self.best, best.runs[0].start)
            course.tell("finding the number of trees", number, self.learner.steps)
        found = [best, *self._challengers(best, table, course, journal, key)]
        with threadpool_limits(limits=1):  # sums that do not depend on the number of threads
            self.runs = self._blend(found)

    def _challengers(
        self, best: FoldRuns, table: FeatureTable, course: Course, journal: Journal, key: str
    ) -> Iterator[FoldRuns]:
        """Make runs that are taken in place of the first ones if held-out examples gain clearly."""
        tried: list[tuple[str, str, FeatureTable, float, NamedExamples | None]] = []
        if self.tries_bold and best.steps:
            tried.append(("bold", "trees that trust small gains", table, 0.0, None))
        if self.tries_named is not None:
            self.by_name = self.open(self.tries_named)
            own = self.without_own(self.by_name)
            of_names = "leaves with a value for each name"
            for name, caution in (("names", 1.0), ("bold names", 0.0)):
                if _fits(self.tries_named, own):
                    tried.append((name, of_names, own, caution, self.tries_named))
        for name, said, used, caution, named in tried:
            runs = self._fold_runs(used, caution, named)
            for number in runs.go(
                self.learner.steps, course, journal, f"{key}{name}, ", best.curve
            ):
                course.tell(f"trying {said}", number, self.learner.steps)
            yield runs

    def _fold_runs(
        self,
        table: FeatureTable,
        caution: float | None = None,
        named: NamedExamples | None = None,
    ) -> FoldRuns:
        settings = self.settings if caution is None else self.settings.with_caution(caution)
        numbers = range(1, 1 + len(self.folds))
        runs = [self._boosting(table, number, settings, named) for number in numbers]
        return FoldRuns(runs, self.folds, self.learner.patience)

    def _took(self, found: FoldRuns) -> None:
        """Note how far runs are, and the trees of the first as the best so far."""
        self.settings, self.named = found.runs[0].settings, found.runs[0].named
        steps, caution = found.steps, self.settings.size.caution
        axis = "" if self.named is None else str(self.named.axis.feature)
        curve = tuple(found.curve)
        self.notes = replace(self.notes, curve=curve, steps=steps, caution=caution, axis=axis)
        self.best = tuple(found.runs[0].trees[:steps])

    def _blend(self, found: list[FoldRuns]) -> list[BoostingRun]:
        """Find how much trees and tests of single features count; return the runs of both.

        Of several runs, the first ones are taken unless others are clearly better.
        """
        backs = [runs.taken_back() for runs in found]
        times = self.examples.base.times
        late = times is not None and len(np.unique(times[self.rows])) > 1
        if late and self.loss.kind != "squares":
            # one span of time is too little to tell how sure to be of those that come after it,
            # but not to tell whether there is a gain at all
            linear = None
            blends = [trees_alone(runs[0], self.folds[0]) for runs in backs]
        else:
            linear = linear_folds(backs[0], self.folds, len(self.rows))
            blends = [blend(runs, self.folds, linear.scores) for runs in backs]
        chosen = 0
        for number in range(1, len(blends)):
            by_itself = found[number].runs[0].named is not None
            if blends[number].beats(blends[chosen], by_itself):
                chosen = number
        by, runs = blends[chosen], backs[chosen]
        self._took(found[chosen])
        self.held_out_deviance = by.deviance
        self.notes = replace(self.notes, by_trees=by.by_trees, by_tests=by.by_tests)
        if linear is None:
            return [run.blended(by.by_trees, run.start) for run in runs]
        self.notes = replace(self.notes, penalty=linear.penalty)
        parts = zip(runs, linear.designs, linear.weights, strict=True)
        return [self._blended(run, design, weights) for run, design, weights in parts]

    def _refitted(self, run: BoostingRun) -> BoostingRun:
        """Return a run of all examples with its linear part."""
        if not self.notes.by_tests or not self.notes.penalty:
            return run.blended(self.notes.by_trees, run.start)
        design = design_of(run.afresh())
        (linear,) = fit_linear(run, design, (self.notes.penalty,))
        return self._blended(run, design, linear)

    def _blended(self, run: BoostingRun, design: TestDesign, linear: TestWeights) -> BoostingRun:
        """Return a run with its trees and a linear part, as they count."""
        by_trees, by_tests = self.notes.by_trees, self.notes.by_tests
        if not by_tests:
            return run.blended(by_trees, run.start)
        found = run.blended(by_trees, run.start + by_tests * (linear.start - run.start))
        linear.scaled(by_tests).add_to(found, design)
        return found

    def refit(
        self, table: FeatureTable, course: Course, journal: Journal, key: str = ""
    ) -> Iterator[Fitted[RelationalModel, BoostNotes]]:
        """Learn from all examples."""
        run = self._boosting(table, 0)
        steps = self.notes.steps if self.notes.by_trees else 0  # what does not count is not grown
        for number in range(steps):
            course.check()
            stepped([run], journal, f"{key}step {number + 1}")
            course.tell("boosting", number + 1, steps)
        with threadpool_limits(limits=1):
            run = self._refitted(run)
        start = run.start + self._shift(run)
        self.last = self.fitted(tuple(run.trees), start)
        yield self.last
        if not self.learner.max_rules:  # no list is wanted, nor how it would best be fitted
            return
        if self.runs and self.judges_lists:
            self.distilling, self.kept = chosen_settings(self.runs, self.folds, self.distilling)
        bodies = rule_bodies(run, self.learner.seed)
        told = self.examples.label / self.scale
        listed = replace(distil(run, self.distilling, bodies, told), kept=self.kept)
        self.last = self.fitted(tuple(run.trees), start, listed)
        yield self.last

    def _shift(self, run: BoostingRun) -> float:
        """Return what numbers are answered higher by: half of them are more, half are less.

        Errors are counted by their size, and of numbers of which a few are large, the mean is more
        than most.
        """
        if self.loss.kind != "squares":
            return 0.0
        return float(np.median(run.label[run.rows] - run.scores[run.rows, 0]))

    def _boosting(
        self,
        table: FeatureTable,
        number: int,
        settings: TreeStepSettings | None = None,
        named: NamedExamples | None = None,
    ) -> BoostingRun:
        """Return a run of some examples: the first of all, the others without a fold."""
        settings, named = settings or self.settings, named or self.named
        usable, known = table.usable[number], table.of_run(number)
        weight, strata = self.examples.weight, self._strata(number)
        label, loss = self.label, self.loss
        return BoostingRun(known, loss, label, weight, strata, settings, usable, named)

    def _strata(self, number: int) -> Strata:
        """Return what the samples of a run are drawn of: the same for all runs of its examples."""
        if number not in self.strata:
            rows = np.setdiff1d(self.rows, self.folds[number - 1]) if number else self.rows
            most = self.learner.max_rows
            self.strata[number] = strata_of(self.loss, self.label, rows, most)
        return self.strata[number]

    def fitted(
        self,
        trees: tuple[FeatureNode, ...],
        start: Floats | None = None,
        listed: RuleList | None = None,
    ) -> Fitted[RelationalModel, BoostNotes]:
        """Return a model of some trees."""
        if start is None:
            start = self.loss.start(self.label[self.rows], self.examples.weight[self.rows])
        model = RelationalModel(
            self.learner.target,
            self.loss.kind,
            tuple(self.examples.classes),
            tuple((self.scale * start).tolist()),
            trees if self.scale == 1.0 else tuple(tree.scaled(self.scale) for tree in trees),
            self.examples.base.times is not None,
            self.learner.until,
            lagged=bool(self.learner.lag),
            listed=None if listed is None else _scaled_list(listed, self.scale),
        )
        return Fitted(model, self.notes)


def _empty_model(data: Data, view: Relational, examples: RowExamples) -> RelationalModel:
    """Return a model that says nothing yet but what it is about."""
    home = examples.home
    name = next(
        (n for n, p in view.places.items() if (p.row_set, p.column) == (home.row_set, home.column)),
        f"{home.row_set}.{home.column}",
    )
    return RelationalModel(
        name,
        "logistic",
        FLAGS,
        (0.0,),
        (),
        schema=data.databases[0].schema,
        mapping=data.mapping,
        row_set=home.row_set,
        column=home.column,
    )


def _fits(named: NamedExamples, table: FeatureTable) -> bool:
    """Whether sums by name, of which each leaf of a tree keeps its own, fit into memory."""
    return int(table.binned.starts[-1]) * (2 * named.number + 1) <= _MOST_CELLS


def _loss(examples: RowExamples) -> Loss:
    if not examples.classes:
        return Loss("squares", 1)
    if len(examples.classes) == 2:
        return Loss("logistic", 1)
    return Loss("classes", len(examples.classes))


def _scaled_list(listed: RuleList, by: float) -> RuleList:
    if by == 1.0:
        return listed
    rules = tuple(
        replace(
            rule,
            weights=tuple(by * weight for weight in rule.weights),
            share=by * rule.share,
            base=by * rule.base,
        )
        for rule in listed.rules
    )
    return replace(listed, start=tuple(by * value for value in listed.start), rules=rules)
