"""The default learner beside a propositional peer: ``python -m studies.default_quality``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies import default_data
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.default_data import DATA, targets_of
from studies.default_tasks import Task, code_of, solve

SYSTEMS = ("auto", "boosting", "logistic")
PEERS = ("boosting", "logistic")
SETS = (*DATA, "f1")
NEAR = 0.03
STUDY = Study(
    name="default_quality",
    title="The default learner beside a propositional peer",
    about=(
        "What a data scientist would do by hand: aggregates of one and two links, known labels of "
        "neighbours, and for pairs how often they meet, in one table; then gradient boosting and "
        "logistic regression (`studies/propositional.py`). Beside it `boost`, which `auto` gives "
        "columns and single databases to and tries first on the others, with default settings. "
        "The same examples for all: of several databases one is kept aside, "
        "by turns; of one database a fifth of the rows, drawn at random; of the racing data, the "
        "validation file. AP is average precision over atoms, CLL the mean log-likelihood of rows; "
        "of numbers, minus the mean absolute error stands in both places. The peer of a target is "
        "the one of the two with the better mean AP. ± is the standard error of the difference, "
        "over seeds. Targets with fewer than 15 true atoms or more than two million possible ones "
        "are left out, and of generated databases what was not planted; of each data set, the "
        f"{default_data.MOST_TARGETS} with most true atoms are taken."
    ),
    settings={"ours": "RelationalBoost(target=...)"},
    seeds=5,
)


def sections(options: Options) -> Iterator[str]:
    """Yield the verdict, the table of all targets, and what short lists of rules keep."""
    targets = [(name, target) for name in SETS for target in targets_of(name)]
    tasks = [
        Task(name, target, seed, system, code_of(system))
        for name, target in targets
        for seed in range(options.seeds)
        for system in SYSTEMS
    ]
    found = dict(zip(tasks, run_tasks(solve, tasks, options, STUDY.name), strict=True))
    rows, verdicts = [], []
    for name, target in targets:
        by_system = {
            system: [
                found[Task(name, target, seed, system, code_of(system))]
                for seed in range(options.seeds)
            ]
            for system in SYSTEMS
        }
        row, verdict = compared(by_system)
        rows.append([f"{name} {target}", *row])
        verdicts.append(verdict)
    yield _verdict(verdicts)
    header = ["target", "AP", "AP, peer", "difference", "CLL", "CLL, peer", "difference"]
    yield markdown_table([*header, "CPU s", "CPU s, peer"], rows)
    kept = [[name, f"{share:.0%}"] for name, share in _kept(found, targets, options.seeds)]
    yield (
        "## Short lists\n\nHow much of the gain in CLL over the base rate the lists of at most 20 "
        "rules keep on what was kept aside, all targets together.\n\n"
        + markdown_table(["data", "kept"], kept)
    )


@dataclass(frozen=True)
class Verdict:
    """How ours fares on a target: the differences, and whether they are within the error."""

    ap: float
    ap_fine: bool
    cll_fine: bool


def compared(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[list[str], Verdict]:
    """Return the cells of a target, and how ours fares."""
    values = {
        system: np.array([_pair(one["scores"]) for one in results])
        for system, results in found.items()
    }
    peer = max(PEERS, key=lambda system: float(values[system][:, 0].mean()))
    ours = next(system for system in found if system not in PEERS)
    cells, fine, means = [], [], []
    for place in range(2):
        mine, theirs = values[ours][:, place], values[peer][:, place]
        gap = mine - theirs
        error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else 0.0
        cells += [f"{mine.mean():.3f}", f"{theirs.mean():.3f}", f"{gap.mean():+.3f} ± {error:.3f}"]
        fine.append(bool(gap.mean() >= -error))
        means.append(float(gap.mean()))
    cpu = [float(np.mean([one["cpu"] for one in found[system]])) for system in (ours, peer)]
    return [*cells, *(f"{seconds:.1f}" for seconds in cpu)], Verdict(means[0], *fine)


def _pair(found: Mapping[str, float]) -> tuple[float, float]:
    if "mae" in found:
        return -found["mae"], -found["mae"]
    return found["ap"], found["cll"]


def _verdict(verdicts: Sequence[Verdict]) -> str:
    number = len(verdicts)
    ap = sum(one.ap_fine for one in verdicts)
    cll = sum(one.cll_fine for one in verdicts)
    both = sum(one.ap_fine and one.cll_fine for one in verdicts)
    below = sum(one.ap < -NEAR for one in verdicts)
    return (
        f"Of {number} targets, AP is at least the peer's within one standard error on {ap} "
        f"({ap / number:.0%}), CLL on {cll} ({cll / number:.0%}), both on {both} "
        f"({both / number:.0%}); AP is more than {NEAR} below on {below}."
    )


def _kept(
    found: Mapping[Task, Mapping[str, Any]], targets: Sequence[tuple[str, str]], seeds: int
) -> Iterator[tuple[str, float]]:
    for name in SETS:
        gained = whole = 0.0
        for data, target in targets:
            for seed in range(seeds) if data == name else ():
                one = found[Task(data, target, seed, SYSTEMS[0], code_of(SYSTEMS[0]))]
                if "list" in one:
                    base = _pair(one["base"])[1]
                    gained += _pair(one["list"])[1] - base
                    whole += _pair(one["scores"])[1] - base
        if whole > 0:
            yield name, gained / whole


if __name__ == "__main__":
    run(STUDY, sections)
