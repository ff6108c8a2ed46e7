"""BoostSRL's dependency networks beside ours: ``python -m studies.boostsrl_quality``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import boostsrl
from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.evaluate.measure import measured
from mlnlearn.evaluate.metrics import scores
from mlnlearn.structure.boosting.learners import BoostedRDN
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.default_tasks import code_of

TREES = 20
SECONDS = 600
METRICS = ("ap", "auc_pr", "cll")
TARGETS = (
    ("uwcse", "advisedBy"),
    ("imdb", "workedUnder"),
    ("imdb", "genre"),
    ("webkb", "courseProf"),
    ("webkb", "courseTA"),
)
SYSTEMS = {"BoostSRL": "BoostSRL, RDN-B", "rdn-b": "ours, RDN-B", "boost": "ours, `boost`"}
OURS = ("rdn-b", "boost")
ALIKE = 0.0005
"""What figures may differ by and be the same to three digits."""
_APART = ("", ", folds below")
STUDY = Study(
    name="boostsrl_quality",
    title="BoostSRL's dependency networks beside ours",
    about=(
        "BoostSRL, the system of the authors of boosting, is run by its jar (which comes with the "
        f"package `srlearn`; `{boostsrl.JAR}` names it), on a Java machine kept to one core. All "
        f"folds are kept aside in turn (one for each seed below). RDN-B of {TREES} trees learns "
        "from all others with its default of two false examples for a true one, any argument "
        "of a literal bound and the others bound or new. It answers all atoms of the target, given "
        "all else, and its probabilities are scored by our metrics. Ours, on the same folds and "
        f"atoms: RDN-B with {TREES} trees, and `boost`, the default learner, both with default "
        "settings. AP is average precision, AUC-PR the area under the interpolated curve, CLL the "
        "mean log-likelihood of atoms; means over folds, ± the standard deviation over them. CPU "
        "seconds are of training a fold, while other programs ran; those of BoostSRL include the "
        "start of the Java machine. Its figures are of one run; an earlier one, on two cores, gave "
        "an AP of 0.300 for the first fold of `advisedBy`. "
        "With two false examples for a true one, its probabilities are those of data where a third "
        "is true, and nothing corrects them."
    ),
    settings={
        "BoostSRL": f"-l -trees {TREES}; -i -testNegPosRatio -1",
        "ours, RDN-B": f"BoostedRDN(target=..., steps={TREES})",
        "ours, `boost`": "RelationalBoost(target=...)",
    },
    seeds=5,
    minutes=30,
)


@dataclass(frozen=True)
class Task:
    """A system on a target, with one fold kept aside, and the code that it depends on, if ours."""

    data: str
    target: str
    system: str
    fold: int
    code: str

    @classmethod
    def of(cls, data: str, target: str, system: str, fold: int) -> Task:
        """Return the task by today's code."""
        return cls(data, target, system, fold, "" if system == "BoostSRL" else code_of("boost"))


def solve(task: Task) -> dict[str, Any]:
    """Learn from the other folds, and score all atoms of the one kept aside."""
    warnings.simplefilter("ignore")
    databases = benchmark(task.data)
    test = databases[task.fold]
    rest = [database for place, database in enumerate(databases) if place != task.fold]
    if task.system == "BoostSRL":
        spent, examples, chances = boostsrl.answer(rest, test, task.target, "rdn-b", TREES, SECONDS)
        found = scores(examples.labels, chances, metrics=METRICS)
        return {"scores": found, "cpu": spent.cpu, "megabytes": spent.megabytes}
    learner: RelationalBoost | BoostedRDN = RelationalBoost(target=task.target)
    if task.system == "rdn-b":
        learner = BoostedRDN(target=task.target, steps=TREES)
    with measured() as cost:
        model = learner.fit(rest).model
    chances = _chances(model, test, task.target)
    examples = positives_and_negatives([test], task.target)
    return {
        "scores": scores(examples.labels, chances, metrics=METRICS),
        "cpu": cost.cpu_seconds,
    }


def _chances(model: Any, test: Database, target: str) -> np.ndarray:
    """Return a model's probabilities of all atoms, in the order of the examples."""
    answers = model.query(test.without_facts([target]), target)
    (table,) = answers.tables
    sizes = [len(domain) for domain in table.domains]
    grid = np.full(sizes, np.nan)
    grid[tuple(table.columns)] = table.probability
    columns = positives_and_negatives([test], target).columns
    return np.asarray(grid[tuple(columns)])


def sections(options: Options) -> Iterator[str]:
    """Yield the table of means, and that of folds."""
    tasks = [
        Task.of(data, target, system, fold)
        for data, target in TARGETS
        for fold in _folds(data, options)
        for system in SYSTEMS
    ]
    found = dict(zip(tasks, run_tasks(solve, tasks, options, STUDY.name), strict=True))
    rows, by_fold, apart, below = [], [], [], []
    for data, target in TARGETS:
        folds = _folds(data, options)
        for system, name in SYSTEMS.items():
            results = [found[Task.of(data, target, system, fold)] for fold in folds]
            cells = [_mean(results, metric) for metric in METRICS]
            cpu = np.mean([result["cpu"] for result in results])
            rows.append([f"{data} {target}", name, *cells, f"{cpu:.1f}"])
        of_folds = [
            {s: found[Task.of(data, target, s, fold)]["scores"] for s in SYSTEMS} for fold in folds
        ]
        for fold, alike in zip(folds, of_folds, strict=True):
            by_fold.append([f"{data} {target}", str(fold + 1), *_cells(alike)])
        apart += [[f"{data} {target}", *row] for row in _apart(of_folds)]
        below += [f"- {data} {target}, {line}" for line in _below(folds, of_folds)]
    yield markdown_table(["target", "system", "AP", "AUC-PR", "CLL", "CPU s"], rows)
    header = ["target", "ours", *(f"{metric}{what}" for metric in ("AP", "CLL") for what in _APART)]
    yield (
        "## Where ours is below\n\nOurs less BoostSRL's on the same fold: mean ± standard "
        f"deviation over folds.\n\n{markdown_table(header, apart)}\n\n"
        f"Below by more than {ALIKE} in {len(below)} places:\n\n" + "\n".join(below)
    )
    names = [name for name in SYSTEMS.values() for _ in range(2)]
    header = [
        f"{kind}, {name}" for kind, name in zip(("AP", "CLL") * len(SYSTEMS), names, strict=True)
    ]
    yield "## By fold\n\n" + markdown_table(["target", "fold kept aside", *header], by_fold)


def _apart(of_folds: list[dict[str, dict[str, float]]]) -> Iterator[list[str]]:
    """Yield what ours are apart from BoostSRL's, and on how many folds they are below."""
    for system in OURS:
        row = [SYSTEMS[system]]
        for metric in ("ap", "cll"):
            gaps = [alike[system][metric] - alike["BoostSRL"][metric] for alike in of_folds]
            spread = f" ± {np.std(gaps, ddof=1):.3f}" if len(gaps) > 1 else ""
            fewer = sum(gap < -ALIKE for gap in gaps)
            row += [f"{np.mean(gaps):+.3f}{spread}", f"{fewer} of {len(gaps)}"]
        yield row


def _below(folds: range, of_folds: list[dict[str, dict[str, float]]]) -> Iterator[str]:
    """Yield the folds on which one of ours is below BoostSRL's."""
    for fold, alike in zip(folds, of_folds, strict=True):
        for system in OURS:
            for metric, name in (("ap", "AP"), ("cll", "CLL")):
                ours, theirs = alike[system][metric], alike["BoostSRL"][metric]
                if ours < theirs - ALIKE:
                    yield f"fold {fold + 1}: {SYSTEMS[system]}, {name} {ours:.3f} for {theirs:.3f}"


def _folds(data: str, options: Options) -> range:
    """Return the folds that are kept aside in turn: as many as there are seeds, or all."""
    return range(min(options.seeds, len(benchmark(data))))


def _cells(alike: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [f"{alike[system][metric]:.3f}" for system in SYSTEMS for metric in ("ap", "cll")]


def _mean(results: list[dict[str, Any]], metric: str) -> str:
    values = [result["scores"][metric] for result in results]
    spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{spread}"


if __name__ == "__main__":
    run(STUDY, sections)
