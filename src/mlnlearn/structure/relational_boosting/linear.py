"""A linear part: many simple tests weighted together, each a little, by penalised likelihood.

Trees find what depends on few features, one after the other. Where many features say a little each,
weights of all of them at once say more. The tests are those of single features: cuts at quantiles,
single names, whether something is known; each becomes a tree of one test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.model.relational.features import Both
from mlnlearn.model.relational.trees import LARGEST, FeatureNode, Test
from mlnlearn.run import check_time
from mlnlearn.structure.relational_boosting.cells import MISSING
from mlnlearn.structure.relational_boosting.feature_table import Opened
from mlnlearn.structure.relational_boosting.histograms import Binned, picked
from mlnlearn.structure.relational_boosting.losses import Loss
from mlnlearn.structure.relational_boosting.step_kernels import add_values
from mlnlearn.structure.relational_boosting.steps import NOTHING, BinTest, BoostingRun

_PENALTIES = (25.0, 2.5, 0.25)
_FEW_EXAMPLES = 200  # too few to tell whether weights need not be shrunk
_CUTS = 4
_NAMES, _PAIRS = 12, 254
_MOST_TESTS = 400
_MOST_CELLS = 4_000_000
_STEPS = 40
_AT_ONCE = 32  # tests whose bins are looked up together
_ROWS_AT_ONCE = 50_000
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TestDesign:
    """Tests of features.

    Attributes
    ----------
    tests
        The tests.
    columns
        Of each test, the bins of all examples.
    passing
        Of each test, which bins pass.
    """

    tests: tuple[Test, ...]
    columns: list[NDArray[np.uint8]]
    passing: NDArray[np.bool_]

    @classmethod
    def of(cls, binned: Binned, tests: Sequence[tuple[Test, BinTest]]) -> TestDesign:
        """Return the design of some tests."""
        columns, passing = [], np.zeros((len(tests), 256), np.bool_)
        for at, (_, of_bins) in enumerate(tests):
            column, passing[at] = binned.column(of_bins)
            columns.append(column)
        return cls(tuple(test for test, _ in tests), columns, passing)

    def of_rows(self, rows: Ints) -> Singles:
        """Return 1 where a row passes a test, else 0; a column a test."""
        found: Singles = np.empty((len(rows), len(self.tests)), np.float32)
        for first in range(0, len(self.tests), _AT_ONCE):
            last = first + _AT_ONCE
            bins = np.array([column[rows] for column in self.columns[first:last]])
            _pass(found[:, first:last], bins, self.passing[first:last])
        return found


@dataclass(frozen=True, eq=False)
class TestWeights:
    """Weights of tests.

    Attributes
    ----------
    start
        The scores where no test passes.
    weights
        A row a test, a column an output.
    """

    start: Floats
    weights: Floats

    def scores(self, passing: Singles) -> Floats:
        """Return the scores of rows by the tests that each passes, see `TestDesign.of_rows`."""
        return np.asarray(self.start + passing @ self.weights)

    def scaled(self, by: float) -> TestWeights:
        """Return the weights multiplied."""
        return TestWeights(self.start, by * self.weights)

    def add_to(self, run: BoostingRun, design: TestDesign) -> None:
        """Add the trees to a run, and what they give to the scores of all examples."""
        run.trees += self.trees(design)
        given = np.where(design.passing[:, :, None], self.weights[:, None], 0.0)
        for column, values in zip(design.columns, given, strict=True):
            add_values(run.scores, values, column)

    def trees(self, design: TestDesign) -> list[FeatureNode]:
        """Return a tree of one test for each weight that is not nothing."""
        nothing = FeatureNode((0.0,) * self.weights.shape[1])
        return [
            FeatureNode(nothing.values, test, FeatureNode(tuple(weights.tolist())), nothing)
            for test, weights in zip(design.tests, self.weights, strict=True)
            if np.any(weights)
        ]


def penalties(examples: int) -> tuple[float, ...]:
    """Return how much weights may be shrunk, in examples, the most first."""
    return _PENALTIES if examples >= _FEW_EXAMPLES else _PENALTIES[:-1]


def design_of(run: BoostingRun) -> TestDesign:
    """Return the tests of single features that tell most of the labels of a run's examples."""
    rows, gradients, curvatures = run.drawn_slopes(0)
    least = run.settings.size.min_examples
    slopes = np.concatenate([gradients, curvatures, np.ones((len(rows), 1))], axis=1)
    whole = slopes.sum(axis=0)
    dense = run.table.binned.dense
    bins = picked(run.table.binned.bins, np.arange(dense), rows)
    tests: list[tuple[Test, BinTest]] = []
    passed: list[Floats] = []
    for test, of_bins, sums in _tests(run, rows, bins, slopes):
        if least <= sums[-1] <= len(rows) - least:
            tests.append((test, of_bins))
            passed.append(sums)
    sums = np.array(passed).reshape(len(tests), slopes.shape[1])
    # tests that say the same gain the same, but for round-off
    gains = np.array([float(f"{gain:.10g}") for gain in _gains(sums) + _gains(whole - sums)])
    outputs = run.loss.outputs
    most = int(min(_MOST_TESTS, max(_MOST_CELLS / (len(rows) * outputs), 20)))
    chosen: dict[bytes, tuple[Test, BinTest]] = {}
    for number in np.argsort(-gains, kind="stable"):
        if len(chosen) == most:
            break
        feature, passing = tests[number][1]
        if feature < dense:
            own = passing[bins[feature]]
        else:
            own = run.table.binned.has(feature - dense)[rows]
        key = np.packbits(own if own[0] else ~own).tobytes()
        chosen.setdefault(key, tests[number])
    return TestDesign.of(run.table.binned, list(chosen.values()))


def _gains(sums: Floats) -> Floats:
    """Return what examples gain by a value of their own, by sums of slopes, row by row."""
    outputs = sums.shape[1] // 2
    return np.asarray((sums[:, :outputs] ** 2 / (sums[:, outputs:-1] + 1.0)).sum(axis=1))


def _tests(
    run: BoostingRun, rows: Ints, bins: NDArray[np.uint8], slopes: Floats
) -> Iterator[tuple[Test, BinTest, Floats]]:
    """Yield the tests of single features, each with the sums of slopes of the rows that pass it.

    Parameters
    ----------
    run
        The run.
    rows, bins, slopes
        The rows, their bins (a row a feature), and their slopes.
    """
    table = run.table
    for place, opened in enumerate(table.opened):
        check_time()
        if run.usable[place]:
            sums: Floats = _sums_by_bin(bins[place], slopes)
            for test in _tests_of(opened, sums[:, -1].astype(np.int64)):
                passing = opened.binning.passing(test)
                yield test, (place, passing), sums[passing].sum(axis=0)
    indptr, indices = table.binned.indptr, table.binned.indices
    ones = np.ones(len(indices))
    columns = csr_array((ones, indices, indptr), (len(indptr) - 1, len(table.columns)))
    by_column = np.asarray(columns[rows].T @ slopes)
    usable = run.usable[len(table.opened) :]
    for place in np.flatnonzero(usable).tolist():
        of_bins = len(table.opened) + place, NOTHING
        yield Test(table.columns[place], 0.5), of_bins, by_column[place]


def _tests_of(opened: Opened, counts: Ints) -> Iterator[Test]:
    """Yield the tests of a feature in bins, by how many examples are in each."""
    if counts[MISSING]:
        yield Test(opened.feature, LARGEST, (), True)
    names = opened.binning.names
    if names is not None:
        most = _PAIRS if isinstance(opened.feature, Both) else _NAMES
        order = np.argsort(-counts[: len(names)], kind="stable")[:most]
        for code in order.tolist():
            yield Test(opened.feature, None, (names[code],), False)
    else:
        for edge in _edges(opened, counts):
            yield Test(opened.feature, edge, (), False)


def _edges(opened: Opened, counts: Ints) -> list[float]:
    """Return a few of the edges of bins, so that about as many examples lie between any two."""
    edges = opened.binning.edges
    if len(edges) <= _CUTS:
        return [float(edge) for edge in edges]
    below = np.cumsum(counts[: len(edges) + 1])[:-1]
    goals = np.linspace(0, counts[: len(edges) + 1].sum(), _CUTS + 2)[1:-1]
    chosen = np.unique(np.minimum(np.searchsorted(below, goals), len(edges) - 1))
    return [float(edges[at]) for at in chosen]


def fit_linear(
    run: BoostingRun, design: TestDesign, penalties: tuple[float, ...]
) -> list[TestWeights]:
    """Return weights fitted to a run's examples, for each of some penalties, the largest first.

    All weights are shrunk alike, however many examples pass their tests: those of a few, such as a
    friend by name, go less far than those of many, and there are many of the former.
    """
    rows, factor = run.drawn(0)
    passing = design.of_rows(rows)
    mean = passing.mean(axis=0)
    label, weight = run.label[rows], run.weight[rows] * factor
    fit = _Fit(passing - mean, label, weight, run.loss)
    flat = np.concatenate([run.start[None], np.zeros((len(design.tests), run.loss.outputs))])
    found = []
    for penalty in penalties:
        check_time()
        flat = fit.best(flat, penalty)
        weights = flat[1:]
        found.append(TestWeights(flat[0] - mean.astype(np.float64) @ weights, weights))
    return found


@dataclass(frozen=True, eq=False)
class LinearFolds:
    """Linear parts of runs that leave out a fold each.

    Attributes
    ----------
    designs, weights
        The tests of each run, chosen without what it left out, and their weights.
    scores
        What each run's weights give to what it left out.
    penalty
        How much weights were shrunk: as was best on what was left out.
    """

    designs: list[TestDesign]
    weights: list[TestWeights]
    scores: list[Floats]
    penalty: float


def linear_folds(runs: Sequence[BoostingRun], folds: Sequence[Ints], examples: int) -> LinearFolds:
    """Fit the linear parts of runs, under the penalty that is best on what they left out.

    Parameters
    ----------
    runs, folds
        The runs, and what each left out.
    examples
        How many examples there are.
    """
    designs = [design_of(run.afresh()) for run in runs]
    tried = penalties(examples)
    found = [fit_linear(run, design, tried) for run, design in zip(runs, designs, strict=True)]
    scores = []
    for fits, design, fold in zip(found, designs, folds, strict=True):
        scores.append(_scores(fits, design, fold))
    losses = np.zeros(len(tried))
    for run, fold, own in zip(runs, folds, scores, strict=True):
        label, weight = run.label[fold], run.weight[fold]
        losses += [weight.sum() * run.loss.deviance(one, label, weight) for one in own]
    at = int(np.argmin(losses))
    return LinearFolds(
        designs, [fits[at] for fits in found], [own[at] for own in scores], tried[at]
    )


def _scores(fits: Sequence[TestWeights], design: TestDesign, rows: Ints) -> list[Floats]:
    """Return the scores of rows by several weights of tests, some rows after others."""
    parts = []
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        passing = design.of_rows(rows[first : first + _ROWS_AT_ONCE])
        parts.append([one.scores(passing) for one in fits])
    return [np.concatenate(own) for own in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class _Fit:
    """Penalised deviance of weights of centred tests."""

    design: Singles
    label: Floats
    weight: Floats
    loss: Loss

    def best(self, start: Floats, penalty: float) -> Floats:
        """Return the best weights, the constant first."""
        total = float(self.weight.sum())

        def value(flat: Floats) -> tuple[float, Floats]:
            weights = flat.reshape(start.shape)
            scores = weights[0] + self.design @ weights[1:].astype(np.float32)
            slopes, _ = self.loss.slopes(scores, self.label, self.weight)
            prior = 0.5 * penalty / total * float((weights[1:] ** 2).sum())
            gradient = np.empty(start.shape)
            gradient[0] = -slopes.sum(axis=0) / total
            gradient[1:] = -(self.design.T @ slopes.astype(np.float32)) / total
            gradient[1:] += penalty / total * weights[1:]
            return self.loss.deviance(scores, self.label, self.weight) + prior, gradient.ravel()

        options = {"maxiter": _STEPS}
        found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        best: Floats = found.x.reshape(start.shape)
        return best


@njit(cache=True)
def _sums_by_bin(bins, slopes):  # type: ignore[no-untyped-def]
    """Return the sums of slopes of rows by their bins."""
    found = np.zeros((256, slopes.shape[1]))
    for row in range(len(bins)):
        for column in range(slopes.shape[1]):
            found[bins[row], column] += slopes[row, column]
    return found


@njit(cache=True)
def _pass(found, bins, passing):  # type: ignore[no-untyped-def]
    """Put 1 where a row passes a test, else 0."""
    for row in range(bins.shape[1]):
        for test in range(len(bins)):
            found[row, test] = 1.0 if passing[test, bins[test, row]] else 0.0
