"""Structural EM: disjunctive and cancer data of the paper, and UW-CSE with hidden attributes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import VARIABLE, benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.data.synthetic import disjunctive, hide, smokers
from mlnlearn.data.synthetic.truth import Synthetic
from mlnlearn.evaluate.ask import Conditionals, Marginals
from mlnlearn.evaluate.metrics import scores
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.evaluate.significance import paired_t_test
from mlnlearn.model.boosted.gibbs import GibbsSettings
from mlnlearn.model.boosted.hidden.marginals import sampled_marginals
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.mln import MLN
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from mlnlearn.structure.structural_em import Mode, StructuralEM
from mlnlearn.weights.em import learn_em
from studies.common import Options, Study, markdown_table, run, run_tasks

Floats = NDArray[np.float64]
Scores = dict[str, Floats]  # by learner: training sets x (complete, hidden) x (CLL, AUC-PR)

MODES: dict[str, Mode] = {"SEM": "soft", "H-SEM": "hard", "CWA": "closed"}
COPIES = 10
SHARES = (0.2, 0.4)
DISJUNCTIVE = {"objects": 100, "q": 0.3, "r_given_q": 0.4, "r_otherwise": 0.05}
CANCER = {
    "people": 100,
    "stress": 0.3,
    "mean_degree": 5.0,
    "smokes": (-0.8, 2.0, 0.3),
    "cancer": (-4.0, 2.0, 1.5),
}
RDN = BoostedRDN(target="s", most_constants=0, line_search=True)
BT = BoostedMLN(target="cancer", leaves=2, recursive=("smokes",))
UWCSE = BoostedRDN(target="advisedBy")
UWCSE_HIDDEN = ("student", "professor", "advisedBy")
UWCSE_SHARES = (0.1, 0.2, 0.3, 0.4)
UWCSE_WORLDS = 4

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
        "sides). On other generated data sets, the weights of the cancer data were chosen so that "
        "boosting learns them where nothing is hidden, and settings of the base learners by the "
        "CLL of SEM: three settings of the base for table 1, about ten for table 2 (leaves, step "
        "length, recursion, clauses, worlds), two sets of weights for the cancer data. Before the "
        "run, one training set of one cell of each table and one fold of UW-CSE had been tried, "
        "to see that it works; after that, trees for cancer went from three leaves to two, as the "
        "rule above says."
    ),
    settings={
        "disjunctive": DISJUNCTIVE,
        "cancer": CANCER,
        "base, table 1": "BoostedRDN(most_constants=0, line_search=True)",
        "base, table 2": "BoostedMLN(leaves=2, recursive=('smokes',))",
        "base, UW-CSE": "BoostedRDN()",
        "EM": "10 iterations, 2 steps each, 10 worlds (UW-CSE: 4)",
    },
    seeds=1,
    minutes=60,
)


@dataclass(frozen=True)
class Task:
    """One training set: of which data, with how much hidden; a number of values or a fold."""

    data: str
    share: float
    number: int
    values: int = 0


def generated(task: Task) -> tuple[Synthetic, str, str, dict[str, StructuralEM]]:
    """Return the data, the target, the predicate to hide, and the learners."""
    if task.data == "cancer":
        base: BoostedMLN | BoostedRDN = BT
        made = smokers(**CANCER, rng=0, copies=COPIES)  # type: ignore[arg-type]
        target, hidden = "cancer", "smokes"
    else:
        base = RDN
        settings = DISJUNCTIVE | {"values": task.values}
        made = disjunctive(**settings, rng=0, copies=COPIES)  # type: ignore[arg-type]
        target, hidden = "s", "r"
    learners = {name: StructuralEM(base=base, mode=mode) for name, mode in MODES.items()}
    return made, target, hidden, learners


def measure(task: Task) -> dict[str, list[list[float]]]:
    """Learn from one data set and test on the others, with every learner."""
    made, target, name, learners = generated(task)
    whole = list(made.databases)
    hidden = [hide(db, name, task.share, rng=place) for place, db in enumerate(whole)]
    train = hidden.pop(task.number)
    del whole[task.number]
    examples = [positives_and_negatives([db], target) for db in whole]
    found: dict[str, list[list[float]]] = {}
    for label, learner in learners.items():
        model = learner.fit(train)
        complete = [model.probabilities(db, e) for db, e in zip(whole, examples, strict=True)]
        given = [db.closed() for db in hidden] if learner.mode == "closed" else hidden
        sums = _summed_out(model, given, examples)
        found[label] = [_scored(complete, examples), _scored(sums, examples)]
    if task.data == "cancer":
        rules = MLN(train.schema, tuple(replace(rule, weight=None) for rule in made.rules))
        mln = learn_em(rules, [train], mode="hard").mln
        pairs = list(zip(whole, hidden, examples, strict=True))
        complete = [predict_examples(mln, [w], e, Conditionals()).probability for w, _, e in pairs]
        sums = [predict_examples(mln, [h], e, Marginals()).probability for _, h, e in pairs]
        found["Alch"] = [_scored(complete, examples), _scored(sums, examples)]
    return found


def _summed_out(
    model: BoostedModel, databases: Sequence[Database], examples: Sequence[Examples]
) -> list[Floats]:
    """Ask for all atoms of a target at once, summing over what is unknown."""
    name = examples[0].predicate.name
    settings = GibbsSettings(samples=500)
    found = sampled_marginals(model.targets, model.existential, databases, [name], settings)
    answers = []
    for parts, wanted in zip(found, examples, strict=True):
        part = next(part for part in parts if part.predicate.name == name)
        # targets have one argument here, and their atoms come in order
        answers.append(part.probabilities[wanted.columns[0]])
    return answers


def _scored(probabilities: Sequence[Floats], examples: Sequence[Examples]) -> list[float]:
    """Return the mean CLL and AUC-PR over test sets."""
    each = [
        scores(e.labels, p, metrics=["cll", "auc_pr"])
        for e, p in zip(examples, probabilities, strict=True)
    ]
    return [float(np.mean([one[metric] for one in each])) for metric in ("cll", "auc_pr")]


def results(options: Options, data: str, share: float, values: int = 0) -> Scores:
    """Return the scores of every learner, of models learned from each data set."""
    tasks = [Task(data, share, number, values) for number in range(COPIES)]
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
            tests.append([label, against(found, 0, 0), against(found, 1, 0)])
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
            sides = [against(found, side, metric) for side in (0, 1)]
            tests.append([f"{share:.0%}, {label}", *sides])
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


def uwcse_fold(task: Task) -> dict[str, list[float]]:
    """Learn from four folds with hidden atoms, and predict advisedBy in the fifth, complete."""
    folds = benchmark("uwcse", schema="schema_khot.mln")
    train = [
        hide(fold, UWCSE_HIDDEN, task.share, rng=place)
        for place, fold in enumerate(folds)
        if place != task.number
    ]
    test = folds[task.number]
    examples = positives_and_negatives([test], "advisedBy")
    found = {}
    for name, mode in MODES.items():
        model = StructuralEM(base=UWCSE, mode=mode, worlds=UWCSE_WORLDS).fit(train)
        found[name] = _scored([model.probabilities(test, examples)], [examples])
    return found


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
    yield from uwcse(options)
    yield (
        "That SEM is better with significance in every cell, as published, is not reproduced. With "
        "ten values it is. With three values and 40% hidden SEM is better for most training sets, "
        "but one run ends in a bad optimum and takes the significance with it; with 20% hidden, "
        "hard EM is better here than in the paper, where it never made a hidden atom true. On the "
        "cancer data SEM is ahead in CLL where 40% is hidden and the tests are complete; weights "
        "of the true rules (Alch) are better than boosted trees there. On UW-CSE the hidden atoms "
        "hardly matter: the closed world loses nothing that could be won back."
    )


if __name__ == "__main__":
    run(STUDY, sections)
