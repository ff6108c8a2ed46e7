"""Structural EM: disjunctive and cancer data of the paper, and UW-CSE with hidden attributes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import VARIABLE
from mlnlearn.evaluate.significance import paired_t_test
from studies.common import Options, Study, markdown_table, run, run_tasks
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

# Khot et al. 2012, table 1: CLL by hidden share and number of values; table 2: CLL and AUC-PR.
TABLE_1 = {
    "SEM": {(0.2, 3): -0.050, (0.2, 10): -0.065, (0.4, 3): -0.055, (0.4, 10): -0.078},
    "H-SEM": {(0.2, 3): -0.093, (0.2, 10): -0.108, (0.4, 3): -0.170, (0.4, 10): -0.175},
    "CWA": {(0.2, 3): -0.093, (0.2, 10): -0.108, (0.4, 3): -0.170, (0.4, 10): -0.175},
}
TABLE_2 = {
    "SEM": {0.2: (-0.709, 0.650), 0.4: (-0.693, 0.673)},
    "H-SEM": {0.2: (-1.086, 0.577), 0.4: (-1.266, 0.544)},
    "CWA": {0.2: (-1.232, 0.535), 0.4: (-1.710, 0.521)},
    "Alch": {0.2: (-0.967, 0.591), 0.4: (-0.730, 0.656)},
}

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
    minutes=30,
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
                published = TABLE_1.get(name, {}).get((share, values))
                rows.setdefault(name, [name]).extend(
                    [
                        f"{numbers[:, 0, 0].mean():.3f}",
                        f"{numbers[:, 1, 0].mean():.3f}",
                        "–" if published is None else f"{published:.3f}",
                    ]
                )
            tests.append([label, *_tests(found, 0)])
    yield "## Table 1: disjunctive data\n\n" + markdown_table(header, rows.values())
    yield "SEM against\n\n" + markdown_table(["cell", "complete, CLL", "hidden, CLL"], tests)


def table_2(options: Options) -> Iterator[str]:
    """Compute table 2."""
    rows, tests = [], []
    for share in SHARES:
        found = results(options, "cancer", share)
        for name, numbers in found.items():
            cells = [f"{numbers[:, side, m].mean():.3f}" for side in (0, 1) for m in (0, 1)]
            published = [f"{figure:.3f}" for figure in TABLE_2[name][share]]
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
    yield "## Table 2: cancer data\n\n" + markdown_table(header, rows)
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


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    yield from table_1(options)
    yield from table_2(options)
    yield from again(options)
    yield from uwcse(options)
    yield (
        "With complete tests SEM is better than H-SEM and the closed world in every cell of the "
        "two tables, and with significance in all but one (three values and 20% hidden, p = 0.056 "
        "against H-SEM). On data sets that nothing was chosen on, that holds for all cells of the "
        "disjunctive data and, against the closed world, of the cancer data. Against H-SEM on the "
        "cancer data only the CLL with 40% hidden holds: with 20% hidden the two learn nearly the "
        "same there, and that the tables above tell them apart is chance. The CLL of SEM reaches "
        "the published one of table 1 at 20%, not at 40%; the figures of table 2 are of other data "
        "and easier. Weights of the true rules (Alch) beat boosted ones with complete tests. On "
        "UW-CSE the hidden atoms hardly matter: the closed world loses nothing that could be won "
        "back."
    )
    yield (
        "## What limits it\n\n"
        "Rules for r that do not ask for other atoms of r cannot say that a true s(x) needs some "
        "r(x,y); so sampled worlds have true s(x) without any, and SEM stays short of learning "
        "from complete data. With `recursive=('r',)` it came close (on other data sets, three "
        "values, q 0.3, r 0.4 or 0.05: -0.013 at 20% and -0.032 at 40%, complete data -0.005, "
        "closed world -0.078 and -0.140), but then H-SEM too (-0.025 at 20%), and a run with ten "
        "values takes 19 CPU s. On cancer data with six friends a head, trees of two leaves get "
        "stuck: what fits cancer lowers the likelihood of smoking, steps are shortened to "
        "nothing, and SEM was no better than the closed world at 20% (CLL -0.476 against -0.450; "
        "complete data -0.418), with 1% hidden as with 40%."
    )
    yield (
        "## Cost\n\n"
        "Only what a changed atom touches is recomputed: in the run of `bench/structural_em.py` "
        "(100 people, 40% hidden, ten iterations), soft EM walks 6.9% of the trees per atom drawn, "
        "hard EM 9.0%; the rest is saved. That run takes 1.4 CPU s, hard EM 0.8. A run of table 2 "
        "takes about 1 CPU s."
    )


if __name__ == "__main__":
    run(STUDY, sections)
