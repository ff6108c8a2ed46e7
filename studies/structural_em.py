"""Structural EM: disjunctive and cancer data of the paper, and UW-CSE with hidden attributes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import VARIABLE
from mlnlearn.evaluate.significance import paired_t_test
from studies.common import Options, Study, bold_best, markdown_table, run, run_tasks
from studies.page_tables import tables_of
from studies.published import tables
from studies.structural_em_runs import (
    CANCER,
    COPIES,
    DISJUNCTIVE,
    MODES,
    SAMPLING,
    Task,
    measure,
    uwcse_fold,
)

Floats = NDArray[np.float64]
Scores = dict[str, Floats]  # by learner: training sets x (complete, hidden) x (CLL, AUC-PR)

SHARES = (0.2, 0.4)
UWCSE_SHARES = (0.1, 0.2, 0.3, 0.4)
# seeds of collections of data sets that no choice was made on
FURTHER = (1, 2)

STUDY = Study(
    name="structural_em",
    title="Structural EM for hidden data",
    about=(
        "Tables 1 and 2 of Khot, Natarajan, Kersting and Shavlik (2012), and UW-CSE. Ten data sets "
        "are generated and a share of the atoms of one predicate is hidden; a model is learned "
        "from each and tested on the other nine. The paper gives no parameters of its generators; "
        "ours are below, so that only the order of the learners compares with the published "
        "figures. Nor does it say whether the test data have hidden atoms. That all learners have "
        "the same AUC-PR in table 1 can only be where they have none: *complete* is this "
        "reading. Under *hidden*, the same share of the test data is hidden too: models that know "
        "how to sum over it do, the closed world takes it as false. A model's score is its mean "
        "over nine test sets; differences are tested over the ten models (paired t-test, two "
        "sides). The probabilities of the generators and the base of table 2 were chosen on other "
        "generated data sets (seeds 1000 and 1001, the same tests), for a clear gap between "
        "learning from complete data and from the closed world, and between SEM and the others: "
        "three sets of probabilities for the disjunctive data, about thirty sets of weights for "
        "the cancer data, half of them with EM, and ten settings of the base. The disjunctive data "
        "are such that r(x,y) is more likely false than true even where s(x) is true, which is "
        "what the paper says of its own. An earlier choice (q 0.3, r 0.4 or 0.05; cancer weights "
        "-4, 2, 1.5 at five friends, trees of two leaves) had been run on data sets of the same "
        "seed: with complete tests, SEM was then better than both others with significance for ten "
        "values and for the CLL of cancer at 40%, and in no other cell."
    ),
    settings={
        "disjunctive": DISJUNCTIVE,
        "cancer": CANCER,
        "base, table 1": "BoostedRDN(max_constants=0, line_search=True)",
        "base, table 2": (
            "BoostedMLN(representation='clauses', line_search=True, recursive=('smokes',))"
        ),
        "base, UW-CSE": "BoostedRDN()",
        "EM": "10 iterations, 2 steps each, 10 worlds (UW-CSE: 4)",
        "hidden atoms of tests": f"exactly where they are few, else {SAMPLING}",
    },
    seeds=1,
    minutes=16,
    of_papers=True,
)


def results(
    options: Options,
    data: str,
    share: float,
    values: int = 0,
    collections: Sequence[int] = (0,),
) -> Scores:
    """Return the scores of every learner, of models learned from each data set."""
    tasks = [
        Task(data, share, number, values, collection)
        for collection in collections
        for number in range(COPIES)
    ]
    found = run_tasks(measure, tasks, options, f"{data}, {share:.0%} hidden")
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def against(found: Scores, side: int, metric: int) -> str:
    """Tell how SEM does against the others."""
    parts = []
    for other in ("H-SEM", "CWA"):
        ours, theirs = found["SEM"][:, side, metric], found[other][:, side, metric]
        gap, better = float((ours - theirs).mean()), int((ours > theirs).sum())
        p = paired_t_test(ours, theirs)
        parts.append(f"{other}: {gap:+.3f}, better {better} of {len(ours)}, p = {p:.2g}")
    return "; ".join(parts)


def table_1(options: Options) -> Iterator[str]:
    """Compute table 1."""
    rows: dict[str, list[str]] = {}
    tests = []
    header = ["CLL"]
    for share in SHARES:
        for values in (3, 10):
            found = results(options, "disjunctive", share, values)
            label = f"{share:.0%}, {values} values"
            header += [f"{label}: complete", "hidden", "published"]
            for name, numbers in found.items():
                rows.setdefault(name, [name]).extend(
                    [
                        f"{numbers[:, 0, 0].mean():.3f}",
                        f"{numbers[:, 1, 0].mean():.3f}",
                        tables()["khot2012", "1"].cell(name, label),
                    ]
                )
            tests.append([label, *_tests(found, 0)])
    yield "## Table 1: disjunctive data\n\n" + markdown_table(
        header, bold_best(list(rows.values()), range(1, len(header)), lambda _: "")
    )
    yield "SEM against\n\n" + markdown_table(["cell", "complete, CLL", "hidden, CLL"], tests)


def table_2(options: Options) -> Iterator[str]:
    """Compute table 2."""
    rows, tests = [], []
    for share in SHARES:
        found = results(options, "cancer", share)
        for name, numbers in found.items():
            cells = [f"{numbers[:, side, m].mean():.3f}" for side in (0, 1) for m in (0, 1)]
            known = tables()["khot2012", "2"]
            published = [known.cell(name, f"{metric}, {share:.0%}") for metric in _METRICS]
            rows.append([f"{share:.0%}", name, *cells, *published])
        for metric, label in enumerate(("CLL", "AUC-PR")):
            tests.append([f"{share:.0%}, {label}", *_tests(found, metric)])
    header = [
        "hidden",
        "learner",
        "complete: CLL",
        "AUC-PR",
        "hidden: CLL",
        "AUC-PR",
        "published: CLL",
        "AUC-PR",
    ]
    yield "## Table 2: cancer data\n\n" + markdown_table(header, bold_best(rows, range(2, 8)))
    yield "SEM against\n\n" + markdown_table(["cell", "complete", "hidden"], tests)


def again(options: Options) -> Iterator[str]:
    """Repeat both tables on data sets that have not been looked at."""
    rows = []
    for share in SHARES:
        for values in (3, 10):
            found = results(options, "disjunctive", share, values, FURTHER)
            rows.append([f"disjunctive, {share:.0%}, {values} values, CLL", *_tests(found, 0)])
    for share in SHARES:
        found = results(options, "cancer", share, collections=FURTHER)
        for metric, label in enumerate(("CLL", "AUC-PR")):
            rows.append([f"cancer, {share:.0%}, {label}", *_tests(found, metric)])
    yield (
        "## Both tables again\n\nThe same settings on two further collections of ten data sets "
        "each, generated when everything else was fixed: 20 models, SEM against\n\n"
        + markdown_table(["cell", "complete", "hidden"], rows)
    )


def _tests(found: Scores, metric: int) -> list[str]:
    return [against(found, side, metric) for side in (0, 1)]


def uwcse(options: Options) -> Iterator[str]:
    """Compare on real data."""
    if VARIABLE not in os.environ:
        yield f"UW-CSE was left out: {VARIABLE} names no data folder."
        return
    tasks = [Task("uwcse", share, fold) for share in UWCSE_SHARES for fold in range(5)]
    scored = run_tasks(uwcse_fold, tasks, options, "uwcse")
    found = {(task.share, task.number): one for task, one in zip(tasks, scored, strict=True)}
    rows = []
    for share in UWCSE_SHARES:
        each = {name: np.array([found[share, fold][name] for fold in range(5)]) for name in MODES}
        for name, numbers in each.items():
            gaps = [paired_t_test(each["SEM"][:, m], numbers[:, m]) for m in (0, 1)]
            shown = [f"{gap:.2g}" if name != "SEM" else "–" for gap in gaps]
            cll, area = numbers.mean(axis=0)
            rows.append([f"{share:.0%}", name, f"{cll:.4f}", f"{area:.3f}", *shown])
    header = ["hidden", "learner", "CLL", "AUC-PR", "p of SEM's CLL", "p of SEM's AUC-PR"]
    yield (
        "## UW-CSE\n\nA share of `student`, `professor` and `advisedBy` is hidden at random in the "
        "training folds; `advisedBy` is predicted in the fifth fold, which is complete, from all "
        "other predicates (five folds; p-values of paired t-tests against SEM).\n\n"
        + markdown_table(header, rows)
    )


def verdict(cells: Sequence[Sequence[str]], where: str) -> str:
    """Say in how many cells SEM is better than each of the others, and with significance.

    Parameters
    ----------
    cells
        What the cell is, and how SEM does there against the others, as `against` says it.
    where
        What the cells are of.

    Examples
    --------
    >>> text = "H-SEM: +0.014, better 8 of 10, p = 0.056; CWA: +0.2, better 9 of 10, p = 1e-05"
    >>> rows = [["20%", text]]
    >>> print(verdict(rows, "complete tests"))
    - complete tests: SEM is better than H-SEM in 1 of 1 cells, with p < 0.05 in 0 (not in 20%); \
better than CWA in 1 of 1, with p < 0.05 in 1.
    """
    found: dict[str, list[tuple[str, float, float]]] = {}
    for name, text in cells:
        for part in text.split("; "):
            match = _AGAINST.fullmatch(part)
            if match is None:
                raise ValueError(f"not a comparison: {part}")
            other, gap, p = match.groups()
            found.setdefault(other, []).append((name, float(gap), float(p)))
    parts: list[str] = []
    for other, each in found.items():
        better = [name for name, gap, _ in each if gap > 0]
        sure = [name for name, gap, p in each if gap > 0 and p < _SIGNIFICANT]
        unsure = [name for name, _, _ in each if name not in sure]
        said = f" (not in {'; '.join(unsure)})" if unsure else ""
        parts.append(
            f"better than {other} in {len(better)} of {len(each)}{' cells' if not parts else ''}, "
            f"with p < {_SIGNIFICANT} in {len(sure)}{said}"
        )
    return f"- {where}: SEM is {'; '.join(parts)}."


_METRICS = ("CLL", "AUC-PR")
_SIGNIFICANT = 0.05
_AGAINST = re.compile(r"([\w-]+): ([+-][\d.]+), better \d+ of \d+, p = ([\d.e+-]+)")


def verdicts(tables_text: str, again_text: str) -> str:
    """Return what follows from the comparisons of the two tables, and of the data sets again."""
    lines = []
    for where, text in (("the two tables", tables_text), ("data sets again", again_text)):
        for side, title in ((1, "complete tests"), (2, "hidden tests")):
            rows = [
                [row[0], row[side]]
                for table in tables_of(text)
                if table.header[0] == "cell"
                for row in table.rows
            ]
            lines.append(verdict(rows, f"{where}, {title}"))
    return "## What follows\n\n" + "\n".join(lines)


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    first = [*table_1(options), *table_2(options)]
    second = list(again(options))
    yield from first
    yield from second
    yield from uwcse(options)
    yield verdicts("\n\n".join(first), "\n\n".join(second))
    yield (
        "Nothing was chosen on the data sets of the second table: where it and the first two "
        "disagree, believe the second. The generators are ours, and easier than the paper's in "
        "table 2."
    )
    yield (
        "## What limits it\n\n"
        "Rules for r that do not ask for other atoms of r cannot say that a true s(x) needs some "
        "r(x,y); so sampled worlds have true s(x) without any, and SEM stays short of learning "
        "from complete data. The page on recursion lets them ask."
    )


if __name__ == "__main__":
    run(STUDY, sections)
