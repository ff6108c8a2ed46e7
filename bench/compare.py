"""Two versions side by side, in one run: ``python -m bench.compare OLD NEW FILE.md [case …]``.

OLD and NEW are roots of two trees of the project, each with its own ``bench`` and ``src``. Every
case is run by both in turn, as often as ``MLNLEARN_BENCH_TIMES`` says; of times the least counts,
of memory the most. Cases are named ``module:case``, as the module's ``CASES`` are.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from bench.__main__ import machine
from bench.result import Result

CASES = (
    "boosting:uwcse_mln-bt",
    "boosting:uwcse_mln-bc",
    "boosting:uwcse_rdn-b",
    "boosting:cora",
    "structure:gslp_imdb",
    "structure:gslp_uwcse",
    "structure:msl_uwcse",
    "flips:uwcse",
    "flips:cora",
    "flips:university",
)
TIMES = int(os.environ.get("MLNLEARN_BENCH_TIMES", "3"))
SLOWER = 1.1
_TEXT = """# Speed, before and after

What `python -m bench.compare OLD NEW docs/results/speed_compared.md` wrote ({machine}): every case
run {times}× by version 0.1 and by this one in turn, each in a process of its own; of times the
least, of memory the most. Ratios above {slower} are marked; a small minus WPLL is good.

| what | 0.1 | now | ratio |
|---|---:|---:|---:|
{rows}
"""


def run_case(root: Path, module: str, case: str) -> dict[str, Result]:
    """Run a case of one of the trees; return its figures by name, notes in brackets left out."""
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", case],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
    )
    found = [Result(**fields) for fields in json.loads(done.stdout)]
    return {re.sub(r" \(BoostSRL .*?\)", "", result.name): result for result in found}


def figures(runs: list[dict[str, Result]]) -> dict[str, tuple[float, str]]:
    """Return the least time and the most memory of some runs, by name."""
    return {
        name: ((max if one.unit == "MB" else min)(run[name].value for run in runs), one.unit)
        for name, one in runs[0].items()
    }


def rows(old: Path, new: Path, module: str, case: str) -> list[str]:
    """Run one case by both, and write what is measured by both as rows of a table."""
    runs: dict[Path, list[dict[str, Result]]] = {old: [], new: []}
    for _ in range(TIMES):
        for root, found in runs.items():
            found.append(run_case(root, module, case))
    before, after = map(figures, runs.values())
    written = []
    for name in (name for name in before if name in after):
        (was, unit), (now, _) = before[name], after[name]
        ratio = now / was if was else float(now > 0)
        mark = "**" if ratio > SLOWER else ""
        written.append(
            f"| {name} | {was:,.2f} {unit} | {now:,.2f} {unit} | {mark}{ratio:.2f}{mark} |"
        )
    return written


def write_page() -> None:
    """Run all cases, print the rows as they come, and write the page."""
    old, new, page = (Path(argument).resolve() for argument in sys.argv[1:4])
    written: list[str] = []
    for name in sys.argv[4:] or CASES:
        module, _, case = name.partition(":")
        written += rows(old, new, module, case)
        print("\n".join(written[-5:]), flush=True)
        text = _TEXT.format(machine=machine(), times=TIMES, slower=SLOWER, rows="\n".join(written))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_page()
