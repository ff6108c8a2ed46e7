"""Rows: derivatives are those of the value; both ways to maximise find the same weights."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlnlearn.errors import InputError
from mlnlearn.weights.objective import GaussianPrior
from mlnlearn.weights.optimize import Curvature, maximise
from mlnlearn.weights.rows import RowBlocks, RowLikelihood, Rows

PRIOR = GaussianPrior(5.0)


def random_rows(rng, blocks, sparse, databases=None):
    """Rows of three of five features; with blocks, choices that share rows."""
    counts = rng.integers(-2, 3, (6, 3)).astype(np.float64)
    shape = () if databases is None else (databases,)
    features = np.sort(rng.choice(5, 3, replace=False))
    matrix = csr_array(counts) if sparse else counts
    if not blocks:
        true = rng.random((6, *shape))
        return Rows(features, matrix, true, true + rng.random((6, *shape)))
    members, starts = np.array([0, 1, 2, 2, 3, 5, 4]), np.array([0, 3, 5, 6])
    total = rng.random((4, *shape))
    true = np.zeros((6, *shape))
    true[[1, 3, 5, 4]] = total
    return Rows(features, matrix, true, total, RowBlocks(members, starts))


def plain(rows, weights):
    """The log-likelihood, written out."""
    scores = np.asarray(rows.counts @ weights[rows.features])
    if rows.blocks is None:
        false = rows.total - rows.true
        return -(rows.true @ np.log1p(np.exp(-scores)) + false @ np.log1p(np.exp(scores)))
    found = rows.true @ scores
    for total, members in zip(
        rows.total, np.split(rows.blocks.members, rows.blocks.starts[1:]), strict=True
    ):
        found -= total * np.log(np.exp(scores[members]).sum())
    return found


def differences(function, point, step=1e-6):
    return np.array(
        [
            (function(point + step * way) - function(point - step * way)) / (2.0 * step)
            for way in np.eye(len(point))
        ]
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
def test_derivatives_are_those_of_the_value(blocks, sparse):
    rng = np.random.default_rng([1, blocks, sparse])
    rows = random_rows(rng, blocks, sparse)
    whole = RowLikelihood([rows, random_rows(rng, not blocks, sparse)])
    weights = rng.normal(size=5)
    assert rows.value(weights) == pytest.approx(plain(rows, weights))
    value, gradient = whole(weights)
    assert value == pytest.approx(whole.value(weights))
    np.testing.assert_allclose(gradient, differences(whole.value, weights), atol=1e-7)
    slope, hessian = whole.derivatives(weights)
    np.testing.assert_allclose(slope, gradient, atol=1e-12)
    np.testing.assert_allclose(-hessian, differences(lambda w: whole(w)[1], weights), atol=1e-7)


@pytest.mark.parametrize("blocks", [False, True])
def test_databases_and_features_can_be_left_out(blocks):
    rng = np.random.default_rng([2, blocks])
    rows = random_rows(rng, blocks, sparse=False, databases=3)
    weights = rng.normal(size=5)
    apart = [rows.weighed(np.arange(3) == number).value(weights) for number in range(3)]
    assert rows.weighed(np.ones(3)).value(weights) == pytest.approx(sum(apart))
    dropped = rows.features[1]
    place = np.arange(5) - (np.arange(5) > dropped)
    place[dropped] = -1
    fewer = rows.only(place).weighed(np.ones(3))
    expected = rows.weighed(np.ones(3)).value(np.where(np.arange(5) == dropped, 0.0, weights))
    assert fewer.value(np.delete(weights, dropped)) == pytest.approx(expected)


def test_scores_of_any_size_have_a_value():
    rows = Rows(np.array([0]), np.ones((1, 1)), np.array([1.0]), np.array([2.0]))
    assert rows.value(np.array([1e4])) == -1e4
    choice = RowBlocks(np.array([0, 1]), np.array([0]))
    counts = np.array([[0.0], [1.0]])
    rows = Rows(np.array([0]), counts, np.array([1.0, 0.0]), np.array([1.0]), choice)
    assert rows.value(np.array([1e4])) == -1e4


@pytest.mark.parametrize("seed", range(3))
def test_newton_and_lbfgs_find_the_same_weights(seed):
    rng = np.random.default_rng([3, seed])
    rows = RowLikelihood([random_rows(rng, blocks, sparse=False) for blocks in (False, True)])
    locked, start = np.arange(5) == 2, rng.normal(size=5)
    newton = maximise(rows, start, prior=PRIOR, locked=locked)
    # a function of value and gradient alone has no curvature to go by
    lbfgs = maximise(rows.__call__, start, prior=PRIOR, locked=locked, tolerance=1e-14)
    assert newton.weights[2] == start[2]
    assert newton.converged
    assert newton.iterations < 30
    np.testing.assert_allclose(newton.weights, lbfgs.weights, atol=1e-4)
    assert newton.value >= lbfgs.value - 1e-12


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_curvature_that_is_no_number_is_refused_and_a_singular_one_ends(wrong):
    class Flat:
        """An objective of a given Hessian."""

        def __init__(self, hessian):
            self.hessian = np.array(hessian)

        def derivatives(self, _):
            return np.zeros(2), self.hessian

    weights, free = np.zeros(2), np.zeros(2, bool)
    with pytest.raises(InputError, match="curvature of the objective is no finite number"):
        Curvature.at(Flat([[1.0, wrong], [wrong, 1.0]]), weights, PRIOR, free)
    found = Curvature.at(Flat([[0.0, 1.0], [1.0, 0.0]]), weights, PRIOR, free)
    assert np.isfinite(found.solved(np.ones(2))).all()


def test_weights_beyond_all_numbers_are_refused():
    rows = RowLikelihood([random_rows(np.random.default_rng(0), blocks=False, sparse=False)])
    with pytest.raises(InputError, match="no finite number"):
        maximise(rows, np.full(5, 1e308), prior=PRIOR)
