"""Paired tests: against scipy's own two-sample form, enumeration, and plain counting."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from mlnlearn.errors import InputError
from mlnlearn.evaluate.results import FoldResult, Results
from mlnlearn.evaluate.significance import (
    Tally,
    compare,
    paired_t_test,
    wilcoxon,
    wins_losses_ties,
)

A = [0.61, 0.70, 0.55, 0.80, 0.66]
B = [0.50, 0.72, 0.41, 0.75, 0.60]


def test_t_test():
    assert paired_t_test(A, B) == pytest.approx(stats.ttest_rel(A, B).pvalue)
    assert paired_t_test(A, B) == paired_t_test(B, A)
    assert paired_t_test(A, A) == 1.0
    assert paired_t_test([1, 2], [0, 1]) == 0.0
    assert np.isnan(paired_t_test([1], [0]))
    assert paired_t_test([*A, np.nan], [*B, 0.5]) == paired_t_test(A, B)


def test_wilcoxon_by_enumeration():
    """Under no difference every sign pattern is equally likely."""
    gaps = np.array(A) - np.array(B)
    ranks = stats.rankdata(np.abs(gaps))
    observed = min(ranks[gaps > 0].sum(), ranks[gaps < 0].sum())
    sums = [ranks[list(signs)].sum() for signs in product([False, True], repeat=5)]
    assert wilcoxon(A, B) == pytest.approx(2 * np.mean(np.array(sums) <= observed))
    assert wilcoxon(A, A) == 1.0
    assert wilcoxon([*A, 1.0], [*B, 1.0]) == wilcoxon(A, B)
    assert np.isnan(wilcoxon([], []))


def test_wins_losses_ties():
    assert wins_losses_ties(A, B) == Tally(4, 1, 0)
    assert wins_losses_ties(A, B, tolerance=0.055) == Tally(3, 0, 2)
    assert wins_losses_ties([1, np.nan], [1, 0]) == Tally(0, 0, 1)
    with pytest.raises(InputError, match="come in pairs"):
        wins_losses_ties([1, 2], [1])


def test_differences_equal_up_to_round_off_are_ties():
    """0.2 - 0.1 and 0.3 - 0.2 differ in their last bits; so do 0.1 + 0.2 and 0.3."""
    first, second = [0.2, 0.3, 0.6, 0.1 + 0.2, 0.5], [0.1, 0.2, 0.7, 0.3, 0.2]
    whole = [2, 3, 6, 3, 5], [1, 2, 7, 3, 2]
    assert len({a - b for a, b in zip(first, second, strict=True)}) == 5
    assert wilcoxon(first, second) == wilcoxon(*whole)
    assert wilcoxon([0.1 + 0.2], [0.3]) == 1.0
    assert wins_losses_ties(first, second) == wins_losses_ties(*whole) == Tally(3, 1, 1)
    assert paired_t_test([0.2, 0.3, 0.7], [0.1, 0.2, 0.6]) == 0.0
    assert wins_losses_ties([0.5 + 1e-9], [0.5]) == Tally(1, 0, 0)


def made(name, values, metric="ap", seeds=1):
    return Results(
        name,
        ("p",),
        tuple(
            FoldResult(fold, "", seed, "p", {metric: value + seed - (seeds - 1) / 2}, 0, 0, 0, 1, 1)
            for fold, value in enumerate(values)
            for seed in range(seeds)
        ),
    )


def test_learners_are_compared_over_folds():
    found = compare(made("A", A), made("B", B, seeds=2), "ap")
    assert (found.first, found.second, found.metric) == ("A", "B", "ap")
    assert found.difference == pytest.approx(np.mean(A) - np.mean(B))
    assert found.t_test == pytest.approx(paired_t_test(A, B))
    assert found.wilcoxon == pytest.approx(wilcoxon(A, B))
    assert found.tally == Tally(4, 1, 0)


def test_smaller_errors_win():
    found = compare(made("A", A, "brier"), made("B", B, "brier"), "brier")
    assert found.tally == Tally(1, 4, 0)


def test_different_folds_are_refused():
    with pytest.raises(InputError, match="not run on the same folds"):
        compare(made("A", A), made("B", B[:3]), "ap")
    with pytest.raises(InputError, match="no metric 'cll'; there are: ap"):
        compare(made("A", A), made("B", B), "cll")
