"""All studies: ``python -m studies`` lists them, ``python -m studies run`` runs the papers' ones.

A study is a module of this package with a `STUDY`, which declares how many minutes it takes, and
whether it is behind the papers' tables; others run where they are named.
Studies run one after the other, each in a process of its own; one that fails stops no other, and
all failures are told at the end. Finished tasks and studies are kept in a folder until everything
that was asked for is done, so that the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from studies.common import RESULTS, Study

HERE = Path(__file__).parent
CACHE = HERE.parent / "build" / "studies"
_FINISHED = "finished"


def all_studies() -> dict[str, Study]:
    """Return the studies by the name of their module, the shortest first.

    Examples
    --------
    >>> all_studies()["lsl_tables"].title
    'Lifted structure learning: test log-likelihoods'
    """
    found = {}
    for module in iter_modules([str(HERE)]):
        if not module.name.startswith("_"):
            study = getattr(import_module(f"studies.{module.name}"), "STUDY", None)
            if isinstance(study, Study):
                found[module.name] = study
    return dict(sorted(found.items(), key=lambda item: (item[1].minutes, item[0])))


def of_papers(studies: dict[str, Study]) -> list[str]:
    """Return the studies behind the papers' tables in their order, those that read others last.

    Examples
    --------
    >>> kinds = {name: Study(name, "", "", of_papers=name != "b") for name in ("a", "b", "c")}
    >>> of_papers(kinds)
    ['a', 'c']
    """
    chosen = [name for name, study in studies.items() if study.of_papers]
    return sorted(chosen, key=lambda name: studies[name].is_last)


def listing(studies: dict[str, Study]) -> str:
    """Return a line for each study: how long it takes, and whether it is run unless named."""
    inside = of_papers(studies)
    width = max(map(len, studies), default=0)
    lines = [
        f"{name:{width}}  {_shown(study.minutes):>8}  {'' if name in inside else 'by name':7}"
        f"  {study.title}"
        for name, study in studies.items()
    ]
    total = sum(studies[name].minutes for name in inside)
    lines.append(f"\n{len(inside)} of {len(studies)} are behind the papers' tables: {total:g} min.")
    return "\n".join(lines)


def _shown(minutes: float) -> str:
    return "unknown" if minutes == float("inf") else f"{minutes:g} min"


def run_studies(names: Iterable[str], jobs: int, out: Path, cache: Path) -> list[str]:
    """Run studies in sequence and return the names of those that failed."""
    failed, names = [], list(names)
    for number, name in enumerate(names, 1):
        kept = cache / name
        if (kept / _FINISHED).exists():
            sys.stderr.write(f"{name}: finished before\n")
            continue
        sys.stderr.write(f"{name}: begins, study {number} of {len(names)}\n")
        started = time.monotonic()
        command = [sys.executable, "-m", f"studies.{name}", "--jobs", str(jobs)]
        command += ["--out", str(out), "--cache", str(kept)]
        code = subprocess.run(command, cwd=HERE.parent, check=False).returncode
        took = f"after {(time.monotonic() - started) / 60:.1f} min"
        if code:
            failed.append(name)
            sys.stderr.write(f"{name}: failed {took}, exit code {code}\n")
        else:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / _FINISHED).touch()
            sys.stderr.write(f"{name}: done {took}\n")
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """List the studies, or run them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=("list", "run"), default="list")
    parser.add_argument("names", nargs="*", help="studies to run; by default those of the papers")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes of a study")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for finished work")
    given = parser.parse_args(arguments)
    studies = all_studies()
    unknown = [name for name in given.names if name not in studies]
    if unknown:
        parser.error(f"no study {', '.join(unknown)}; there are: {', '.join(studies)}")
    if given.what == "list":
        print(listing(studies))  # noqa: T201 - this is a command
        return 0
    names = given.names or of_papers(studies)
    failed = run_studies(names, given.jobs, given.out, given.cache)
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}; the same command goes on from here\n")
        return 1
    for name in names:
        shutil.rmtree(given.cache / name, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
