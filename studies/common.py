"""What all studies share: options, settings, seeds, the machine, and the page they write.

A study is a module with a `Study` and a function that yields the sections of its page; `run` does
the rest: it reads the options, takes the time, and writes ``docs/results/<name>.md``. Work that is
cut into tasks and done by `run_tasks` survives an interruption where a folder is given for it.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from mlnlearn.evaluate.parallel import Progress, run_all
from mlnlearn.evaluate.results import Results, mean_and_sd
from mlnlearn.files import write_files

RESULTS = Path(__file__).parent.parent / "docs" / "results"
_VERSIONS = ("mlnlearn", "numpy", "scipy", "numba")
_INTERRUPTED = 130

Task = TypeVar("Task")


@dataclass(frozen=True)
class Options:
    """What the user of a study may set.

    Attributes
    ----------
    seeds
        How many seeds: 0, 1, ….
    jobs
        Number of processes.
    out
        Folder to write to.
    cache
        Folder that keeps the results of finished tasks, if any.
    """

    seeds: int
    jobs: int = 1
    out: Path = RESULTS
    cache: Path | None = None


@dataclass(frozen=True)
class Study:
    """What a study is about.

    Attributes
    ----------
    name
        Of the page's file.
    title
        Of the page.
    about
        Which table of which paper, and how this run differs from it.
    settings
        Everything that was chosen, by name.
    seeds
        How many seeds, unless the user says otherwise.
    minutes
        About how long it takes in one process; infinite where nobody knows yet. ``make studies``
        runs those that fit into an hour together.
    """

    name: str
    title: str
    about: str
    settings: Mapping[str, object] = field(default_factory=dict)
    seeds: int = 5
    minutes: float = math.inf


def run(
    study: Study,
    sections: Callable[[Options], Iterable[str]],
    arguments: Sequence[str] | None = None,
) -> Path:
    """Run a study with the options of the command line, and write its page.

    Parameters
    ----------
    study
        What it is about.
    sections
        Computes the page's sections, each a piece of Markdown.
    arguments
        The command line; by default that of the process.

    Returns
    -------
    Where the page is.
    """
    options = read_options(study, arguments)
    start, busy = time.perf_counter(), time.process_time()
    try:
        parts = list(sections(options))
    except KeyboardInterrupt:
        kept = "nothing was kept" if options.cache is None else f"kept in {options.cache}"
        sys.stderr.write(f"interrupted; finished tasks: {kept}\n")
        raise SystemExit(_INTERRUPTED) from None
    took = (time.perf_counter() - start, time.process_time() - busy)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{study.name}.md"
    write_files({path: page(study, options, parts, took)})
    sys.stderr.write(f"wrote {path}\n")
    return path


def read_options(study: Study, arguments: Sequence[str] | None = None) -> Options:
    """Read the options that all studies have."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.{study.name}", description=study.title
    )
    parser.add_argument("--seeds", type=int, default=study.seeds, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    parser.add_argument(
        "--cache",
        type=Path,
        help="folder that keeps finished tasks, for a run that may be interrupted; "
        "empty it when the learners have changed",
    )
    found = parser.parse_args(arguments)
    return Options(found.seeds, found.jobs, found.out, found.cache)


def page(study: Study, options: Options, sections: Sequence[str], took: tuple[float, float]) -> str:
    """Return the page: title, what it is, the sections, and how the numbers came about."""
    settings = markdown_table(
        ["setting", "value"], [[name, f"`{value}`"] for name, value in study.settings.items()]
    )
    wall, cpu = took
    cached = "" if options.cache is None else "; tasks done before came from a cache"
    facts = [
        f"- Seeds: {', '.join(map(str, range(options.seeds)))}",
        f"- Processes: {options.jobs}",
        f"- Time: {wall:.0f} s, of which {cpu:.0f} s processor time in the main process{cached}",
        f"- Machine: {machine()}",
        f"- Again: `python -m studies.{study.name} --seeds {options.seeds} --jobs {options.jobs}`",
    ]
    parts = [f"# {study.title}", study.about, *sections, "## How", "\n".join(facts)]
    if study.settings:
        parts.append(settings)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def machine() -> str:
    """Describe the machine and the software in a line.

    Examples
    --------
    >>> "Python" in machine()
    True
    """
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = f"{len(models)} cores, {models[0]}" if models else platform.machine()
    software = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    today = datetime.now(tz=UTC).date().isoformat()
    return f"{cores}; Python {platform.python_version()}, {software}; {today}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are figures.

    Examples
    --------
    >>> print(markdown_table(["learner", "AUC-PR"], [["MLN-BT", "0.94 ± 0.06"]]))
    | learner | AUC-PR |
    |---|---:|
    | MLN-BT | 0.94 ± 0.06 |
    """
    rule = "---|" + "---:|" * (len(header) - 1)
    lines = [f"| {' | '.join(header)} |", f"|{rule}"]
    for row in rows:
        cells = [str(cell).replace("|", "\\|") for cell in row]
        if len(cells) != len(header):
            raise ValueError(f"a row of {len(cells)} cells under {len(header)} headers: {cells}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def comparison_table(
    results: Sequence[Results],
    metrics: Mapping[str, str],
    published: Mapping[str, Mapping[str, str]],
) -> str:
    """Return ours beside the published numbers, a row for each learner.

    Parameters
    ----------
    results
        Ours.
    metrics
        The metrics to show, with their headers.
    published
        By learner and metric, what the paper prints; learners that we did not run are shown too.
    """
    header = ["learner", *(f"{name}, {who}" for name in metrics.values() for who in _WHO)]
    ours = {found.learner: found for found in results}
    rows = []
    for learner in dict.fromkeys([*ours, *published]):
        row = [learner]
        for metric in metrics:
            found = ours.get(learner)
            row.append(mean_and_sd(found.mean[metric], found.sd[metric]) if found else "–")
            row.append(published.get(learner, {}).get(metric, "–"))
        rows.append(row)
    return markdown_table(header, rows)


_WHO = ("ours", "published")


def run_tasks(
    function: Callable[[Task], dict[str, Any]],
    tasks: Sequence[Task],
    options: Options,
    label: str,
) -> list[dict[str, Any]]:
    """Apply a function to tasks in the processes there are, showing progress.

    Where the options name a cache, a task done before is not done again: each result is written
    there as soon as it is there, under a name made from the function and the task.

    Parameters
    ----------
    function
        Returns what JSON can hold; it follows from the task alone.
    tasks
        Dataclasses with plain values.
    options
        Those of the study.
    label
        Stands before the progress.

    Examples
    --------
    >>> def square(options):
    ...     return {"square": options.seeds**2}
    >>> run_tasks(square, [Options(2), Options(3)], Options(1), "squares")
    [{'square': 4}, {'square': 9}]
    """
    kept = function if options.cache is None else _Kept(function, options.cache)
    return run_all(kept, tasks, jobs=options.jobs, progress=show_progress(label))


@dataclass(frozen=True)
class _Kept(Generic[Task]):
    """A function whose results are kept in files."""

    function: Callable[[Task], dict[str, Any]]
    folder: Path

    def __call__(self, task: Task) -> dict[str, Any]:
        path = self.folder / f"{self._name(task)}.json"
        if path.is_file():
            return dict(json.loads(path.read_text(encoding="utf-8"))["result"])
        result = self.function(task)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_files({path: json.dumps({"task": repr(task), "result": result})})
        return result

    def _name(self, task: Task) -> str:
        settings = asdict(task)  # type: ignore[call-overload]
        module = Path(inspect.getfile(self.function)).stem  # run with -m, it is called __main__
        what = [module, self.function.__qualname__, settings]
        return hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()[:32]


def show_progress(label: str) -> Progress:
    """Return a progress callback that writes to the terminal."""

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"{label}: {done} of {total}\n")

    return show
