"""How fast boosting is, and how much memory it takes: beside BoostSRL, and on growing data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench import boostsrl
from bench.boosting import BESIDE, GROWING, TIMES_FASTER, TIMES_SMALLER, TOGETHER
from bench.result import Result, run_cases
from studies.common import Options, Study, markdown_table, run, run_tasks

STUDY = Study(
    name="boosting_speed",
    title="Speed of boosting",
    about=(
        "CPU seconds of training and peak memory of the process, each case in a process of its own "
        "with kernels compiled before. BoostSRL, the system of the authors of the method, is run "
        f"in between on the same folds with 20 trees; its jar is named by `{boostsrl.JAR}`. Its "
        "times include the start of the Java machine, about one second. Targets: "
        f"{TIMES_FASTER:.0f} times less CPU time than BoostSRL, and {TIMES_SMALLER:.0f} times less "
        "memory. The first row is what no learner can do without: Python, NumPy, and Numba with "
        "one loop loaded."
    ),
    seeds=1,
    minutes=25,
)


@dataclass(frozen=True)
class Case:
    """One case of the benchmark, by name."""

    name: str


def measured(case: Case) -> dict[str, Any]:
    """Run a case in a process of its own."""
    return {"results": [asdict(result) for result in run_cases("bench.boosting", [case.name])]}


def table(cases: Mapping[str, object], options: Options) -> str:
    """Run cases and show what they measured."""
    found = run_tasks(measured, [Case(name) for name in cases], options, "cases")
    rows = []
    for fields in (fields for part in found for fields in part["results"]):
        result = Result(**fields)
        target = "" if result.target is None else f"≤ {_figure(result.target)} {result.unit}"
        missed = "" if result.met else " **missed**"
        rows.append([result.name, f"{_figure(result.value)} {result.unit}{missed}", target])
    return markdown_table(["what", "measured", "target"], rows)


def _figure(value: float) -> str:
    return f"{value:,.{2 if value < 100 else 0}f}"


def sections(options: Options) -> Iterator[str]:
    """Yield the parts of the page."""
    yield f"## Beside BoostSRL\n\n{table(BESIDE, options)}"
    yield f"## Several targets\n\n{table(TOGETHER, options)}"
    yield (
        "## Growing data\n\n"
        "One university, ten steps. By default at most 200,000 examples are drawn, however large "
        "the data: then the number of facts hardly matters. With two examples for each fact, both "
        "grow together: from 10,000 to 100,000 facts, trees and clauses of MLN-BT and MLN-BC take "
        "about ten times as long. That this goes on is not shown: with a million facts and two "
        "million examples a run of the three modes was stopped after eleven minutes of CPU time, "
        "counting candidates. It may be that the counts no longer fit in the 512 MB in which they "
        "are kept; this was not looked into, nor why RDN-B is slower on the smallest data.\n\n"
        f"{table(GROWING, options)}"
    )


if __name__ == "__main__":
    run(STUDY, sections)
