"""Tables and texts that the studies of Khot et al. (2011) share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from studies.best import bold_beside
from studies.common import markdown_table
from studies.khot2011 import LEARNERS, METRICS, TEST_SETS, VARIANTS, Key
from studies.published import tables


@dataclass(frozen=True, eq=False)
class Grid:
    """Scores of one learner: by fold and seed.

    Attributes
    ----------
    values
        By test set and metric, an array of folds times seeds.
    seconds
        CPU seconds of a training run, the mean.
    """

    values: Mapping[tuple[str, str], np.ndarray[Any, np.dtype[np.float64]]]
    seconds: float

    def text(self, test_set: str, metric: str) -> str:
        """Return the mean and its standard deviation over seeds.

        Examples
        --------
        >>> Grid({("all", "cll"): np.array([[-1.0, -2.0], [-1.0, -2.0]])}, 1.0).text("all", "cll")
        '-1.500 ± 0.707'
        """
        by_seed = self.values[test_set, metric].mean(axis=0)
        spread = f" ± {by_seed.std(ddof=1):.3f}" if len(by_seed) > 1 else ""
        return f"{by_seed.mean():.3f}{spread}"

    def by_fold(self, test_set: str, metric: str) -> list[str]:
        """Return the mean over seeds for each fold, and the standard deviation over folds."""
        means = self.values[test_set, metric].mean(axis=1)
        return [*(f"{value:.3f}" for value in means), f"{means.std(ddof=1):.3f}"]


def grid(results: Sequence[Sequence[Mapping[str, Any]]], cut: int = 20) -> Grid:
    """Arrange the results of one learner, by fold and seed, after so many steps."""
    values = {
        (test_set, metric): np.array(
            [[r["scores"][str(cut)][test_set][metric] for r in row] for row in results]
        )
        for test_set in TEST_SETS
        for metric in METRICS
    }
    return Grid(values, float(np.mean([[r["train_cpu_seconds"] for r in row] for row in results])))


Published: TypeAlias = Mapping[str, Mapping[Literal["all", "2x"], tuple[str, str]]]
"""By learner and test set, AUC-PR and CLL as the paper prints them."""


def published_of(number: str, columns: Mapping[str, tuple[str, str]]) -> Published:
    """Return what a table of the paper has of boosting.

    Parameters
    ----------
    number
        Of the table.
    columns
        For each test set, the names of its columns of AUC-PR and CLL.

    Examples
    --------
    >>> published_of("IV", {"all": ("AUC-PR, genre", "CLL, genre")})["RDN-B"]["all"]
    ('0.91 ± 0.12', '-0.25 ± 0.22')
    """
    known = tables()["khot2011", number]
    return {
        name: {
            test_set: (known.cell(name, auc), known.cell(name, cll))  # type: ignore[misc]
            for test_set, (auc, cll) in columns.items()
        }
        for name in LEARNERS
        if name in known.rows
    }


def label(key: Key) -> str:
    """Name a learner and its variant in a table.

    Examples
    --------
    >>> label(("MLN-BT", "paper"))
    "MLN-BT, the paper's negatives"
    """
    learner, variant = key
    return f"{learner}{VARIANTS[variant]}"


def all_table(
    found: Mapping[Key, Grid], published: Published, boostsrl: Mapping[str, tuple[str, str]]
) -> str:
    """Return the scores on all negatives, beside those published and BoostSRL's."""
    header = ["learner", "AUC-PR", "published", "BoostSRL", "AP", "CLL", "published", "BoostSRL"]
    rows = []
    for key, scored in found.items():
        paper = published.get(key[0], {}).get("all", ("–", "–"))
        java = boostsrl.get(key[0], ("–", "–"))
        auc, ap, cll = (scored.text("all", metric) for metric in METRICS)
        rows.append([label(key), auc, paper[0], java[0], ap, cll, paper[1], java[1]])
    return markdown_table(header, bold_beside(rows, [(1, 2, 3), (5, 6, 7)]))


def sampled_table(found: Mapping[Key, Grid], published: Published) -> str:
    """Return the scores on twice the negatives, beside those published."""
    header = ["learner", "AUC-PR", "published", "AP", "CLL, shifted", "CLL as it is", "published"]
    rows = []
    for key, scored in found.items():
        paper = published.get(key[0], {}).get("2x", ("–", "–"))
        auc, ap, shifted = (scored.text("2x shifted", metric) for metric in METRICS)
        as_is = scored.text("2x", "cll")
        rows.append([label(key), auc, paper[0], ap, shifted, as_is, paper[1]])
    return markdown_table(header, bold_beside(rows, [(1, 2), (4, 5, 6)]))


def fold_table(found: Mapping[Key, Grid], test_set: str, metric: str) -> str:
    """Return the means over seeds of each fold, and their spread."""
    rows = [[label(key), *scored.by_fold(test_set, metric)] for key, scored in found.items()]
    folds = [f"fold {number + 1}" for number in range(len(rows[0]) - 2)]
    return markdown_table(["learner", *folds, "sd over folds"], rows)


def choice_table(found: Mapping[Key, Sequence[Sequence[Mapping[str, Any]]]]) -> str:
    """Return the settings that were chosen for each fold."""
    rows = []
    for (learner, variant), results in found.items():
        if variant == "chosen":
            chosen = [row[0]["settings"] for row in results]
            rows.append([learner, *(f"{c['balance']:g}, {c['shrinkage']:g}" for c in chosen)])
    folds = [f"fold {number + 1}" for number in range(len(rows[0]) - 1)]
    return markdown_table(["balance, shrinkage", *folds], rows)


SHIFTED = (
    "A calibrated model answers for the full population; `shifted` adds the logarithm of "
    "(negatives in training / twice the positives in training) to its log-odds, which makes it a "
    "model of a world with two negatives to a positive, as the paper's negatives do by themselves."
)
ABOUT = (
    "Each fold is predicted by models of the others; 20 steps, 8 leaves. Our figures are means "
    "over folds, ± the standard deviation of that mean over seeds; published ± are over folds. "
    "AUC-PR is interpolated, AP is not. BoostSRL is the program of the paper's authors, 20 trees, "
    "run on the same data; its figures are on all negatives. Calibrated learning of one target "
    "draws nothing at random, so that seeds only matter for the negatives sampled in tests. In "
    "rows `chosen`, the weight of negatives and the length of steps were chosen for each fold on "
    "its training folds alone. The best of ours and others' in a row is bold."
)


def question_sections(
    found: Mapping[Key, Sequence[Sequence[Mapping[str, Any]]]],
    published: Published,
    boostsrl: Mapping[str, tuple[str, str]],
    judged: Sequence[str] = ("all", "2x"),
) -> Iterator[str]:
    """Yield the tables of one question; published figures are judged on some of the test sets."""
    final = {key: grid(results) for key, results in found.items()}
    yield f"### All negatives\n\n{all_table(final, published, boostsrl)}"
    yield f"### Twice the negatives\n\n{sampled_table(final, published)}"
    known = {
        name: {kind: own for kind, own in figures.items() if kind in judged}
        for name, figures in published.items()
    }
    yield verdict(final, known)
    yield f"### AUC-PR by fold, all negatives\n\n{fold_table(final, 'all', 'auc_pr')}"
    yield f"### CLL by fold, all negatives\n\n{fold_table(final, 'all', 'cll')}"
    if any(variant == "chosen" for _, variant in found):
        yield f"### What was chosen\n\n{choice_table(found)}"


def verdict(found: Mapping[Key, Grid], published: Published) -> str:
    """Say which published figures each variant does not reach, to the digits printed.

    Every figure is counted once for a variant; no variant borrows from another.

    Examples
    --------
    >>> values = {(kind, metric): np.full((2, 1), 0.5) for kind in TEST_SETS for metric in METRICS}
    >>> known = {"MLN-BT": {"all": ("0.50 ± 0.10", "0.61 ± 0.00")}}
    >>> print(verdict({("MLN-BT", "calibrated"): Grid(values, 1.0)}, known))
    Published figures reached:
    <BLANKLINE>
    - default settings: 1 of 2; not reached: MLN-BT, all negatives, CLL
    """
    lines = []
    for variant, suffix in VARIANTS.items():
        own = {learner: scored for (learner, one), scored in found.items() if one == variant}
        reached = [
            (f"{learner}, {_TEST_SETS[test_set]}, {title}", is_reached)
            for learner, scored in own.items()
            for test_set, figures in published.get(learner, {}).items()
            for title, is_reached in _reached(scored, test_set, figures)
        ]
        missed = [name for name, is_reached in reached if not is_reached]
        if reached:
            text = f"- {suffix.lstrip(', ') or 'default settings'}: "
            text += f"{len(reached) - len(missed)} of {len(reached)}"
            lines.append(text + (f"; not reached: {'; '.join(missed)}" if missed else ""))
    return "Published figures reached:\n\n" + "\n".join(lines)


_TEST_SETS = {"all": "all negatives", "2x": "twice the negatives"}


def _reached(scored: Grid, test_set: str, figures: tuple[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield each metric's name, and whether its published figure is reached."""
    kind = "2x shifted" if test_set == "2x" else "all"
    for metric, title, figure in zip(("auc_pr", "cll"), ("AUC-PR", "CLL"), figures, strict=True):
        printed = figure.split()[0]
        digits = len(printed.partition(".")[2])
        yield title, round(float(scored.values[kind, metric].mean()), digits) >= float(printed)
