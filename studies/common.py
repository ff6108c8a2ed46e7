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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from mlnlearn.evaluate.parallel import Progress, run_all
from mlnlearn.evaluate.results import Results, mean_and_sd
from mlnlearn.files import write_files
from studies.sources import code_digest

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
    trust
        Whether results that other versions of the code left there are taken, too.
    """

    seeds: int
    jobs: int = 1
    out: Path = RESULTS
    cache: Path | None = None
    trust: bool = False


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
        About how long it takes in one process; infinite where nobody knows yet.
    of_papers
        Whether tables of the papers rest on it: ``make studies`` runs these.
    is_last
        Whether it reads what others write, and so comes after them.
    """

    name: str
    title: str
    about: str
    settings: Mapping[str, object] = field(default_factory=dict)
    seeds: int = 5
    minutes: float = math.inf
    of_papers: bool = False
    is_last: bool = False


def settings_of(learners: Mapping[str, Any]) -> dict[str, object]:
    """Return all settings of learners, for a page: by the label of the learner and their name.

    Examples
    --------
    >>> settings_of({"usual": Options(1, jobs=2)})["usual, jobs"]
    2
    """
    return {
        f"{label}, {name}": value
        for label, learner in learners.items()
        for name, value in asdict(learner).items()
    }


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
    write_files({path: page(study, options, parts, took, _digest(sections))})
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
        help="folder that keeps finished tasks, for a run that may be interrupted; those of other "
        "versions of the code are done again",
    )
    parser.add_argument(
        "--trust-cache",
        action="store_true",
        help="take finished tasks of other versions of the code, too; the page says how many",
    )
    found = parser.parse_args(arguments)
    return Options(found.seeds, found.jobs, found.out, found.cache, found.trust_cache)


def page(
    study: Study,
    options: Options,
    sections: Sequence[str],
    took: tuple[float, float],
    code: str,
) -> str:
    """Return the page: title, what it is, the sections, and how the numbers came about.

    Parameters
    ----------
    study
        What it is about.
    options
        What the user set.
    sections
        Its pieces of Markdown.
    took
        Seconds by the clock, and of the processor.
    code
        Digest of the study's module and of all that it imports.
    """
    settings = markdown_table(
        ["setting", "value"], [[name, f"`{value}`"] for name, value in study.settings.items()]
    )
    wall, cpu = took
    facts = [
        f"- Seeds: {', '.join(map(str, range(options.seeds)))}",
        f"- Processes: {options.jobs}",
        f"- Time: {wall:.0f} s, of which {cpu:.0f} s processor time in the main process{_tally()}",
        f"- Machine: {machine()}",
        f"- Code: {code}",
        f"- Again: `python -m studies.{study.name} --seeds {options.seeds} --jobs {options.jobs}`",
    ]
    parts = [f"# {study.title}", study.about, *sections, "## How", "\n".join(facts)]
    if study.settings:
        parts.append(settings)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _tally() -> str:
    """Say how many tasks of this run were done by it, and before it, by which code; their time."""
    counts = Counter(how for how, _ in _HOW)
    texts = [f"{counts[how]} tasks {how}" for how in (_NEW, _SAME, _OTHER) if counts[how]]
    known = [seconds for _, seconds in _HOW if seconds is not None]
    if known:
        texts.append(f"{sum(known):,.0f} CPU s for {len(known)} of these tasks when they were done")
    return f"; {', '.join(texts)}" if texts else ""


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


def bold_best(
    rows: Sequence[Sequence[object]], columns: Iterable[int], group: Callable[[str], str] = str
) -> list[list[object]]:
    """Print the largest figure of each column in bold, whoever's it is, for each group of rows.

    Parameters
    ----------
    rows
        Their first cells are what they are about.
    columns
        Numbers of columns with figures, of which the larger are the better.
    group
        Gives the group of a row from its first cell; by default each is on its own.

    Examples
    --------
    >>> bold_best([["ours", "0.50 ± 0.1"], ["published", "0.61"]], [1], lambda label: "")
    [['ours', '0.50 ± 0.1'], ['published', '**0.61**']]
    """
    found = [list(row) for row in rows]
    for column in columns:
        best: dict[str, float] = {}
        values = [_figure(row[column]) for row in rows]
        for row, value in zip(rows, values, strict=True):
            key = group(str(row[0]))
            best[key] = max(best.get(key, -math.inf), value)
        for row, value in zip(found, values, strict=True):
            if value > -math.inf and value == best[group(str(row[0]))]:
                row[column] = f"**{row[column]}**"
    return found


def data_of(label: str) -> str:
    """Return the data set of a row that begins with it: a group of `bold_best`.

    Examples
    --------
    >>> data_of("imdb: GSLP, published")
    'imdb'
    """
    return label.partition(":")[0]


def _figure(cell: object) -> float:
    """Return the number that a cell begins with; the least where there is none."""
    try:
        return float(str(cell).replace("±", " ").split()[0])
    except (ValueError, IndexError):
        return -math.inf


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

    Where the options name a cache, a task done before by the same code is not done again: each
    result is written there as soon as it is there, under a name made from the function and the
    task, with a digest of the function's module and of all that it imports. A task that has a
    ``code`` of its own says itself which code it rests on.

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
    digest = "" if options.cache is None else _digest(function)
    kept = _Kept(function, options.cache, digest, options.trust)
    stale = sum(kept.is_stale(task) for task in tasks)
    if stale:
        sys.stderr.write(
            f"{label}: {stale} results are of another version of the code, and are made again; "
            "--trust-cache takes them as they are\n"
        )
    found = run_all(kept, tasks, jobs=options.jobs, progress=show_progress(label))
    _HOW.extend((how, seconds) for how, seconds, _ in found)
    return [result for _, _, result in found]


# how each task of this process came about, and how many CPU seconds it took when it was done
_HOW: list[tuple[str, float | None]] = []
_NEW, _SAME, _OTHER = "done now", "done before", "done before by another version of the code"


def _digest(function: Callable[..., object]) -> str:
    return code_digest(Path(inspect.getfile(function)))


@dataclass(frozen=True)
class _Kept(Generic[Task]):
    """A function whose results are kept in files."""

    function: Callable[[Task], dict[str, Any]]
    folder: Path | None
    code: str
    trust: bool

    def __call__(self, task: Task) -> tuple[str, float | None, dict[str, Any]]:
        """Return how a task came about, the CPU seconds that it took, and its result."""
        known, code = self._known(task), self._code(task)
        if known is not None and not self.is_stale(task):
            how = _SAME if known.get("code") == code else _OTHER
            return how, known.get("seconds"), dict(known["result"])
        started = time.process_time()
        result = self.function(task)
        seconds = time.process_time() - started
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            kept = {"task": repr(task), "code": code, "seconds": seconds, "result": result}
            write_files({self._path(self.folder, task): json.dumps(kept)})
        return _NEW, seconds, result

    def is_stale(self, task: Task) -> bool:
        """Tell whether there is a result, but of another version of the code."""
        known = self._known(task)
        return known is not None and not self.trust and known.get("code") != self._code(task)

    def _code(self, task: Task) -> str:
        return str(getattr(task, "code", self.code))

    def _known(self, task: Task) -> dict[str, Any] | None:
        path = None if self.folder is None else self._path(self.folder, task)
        if path is None or not path.is_file():
            return None
        return dict(json.loads(path.read_text(encoding="utf-8")))

    def _path(self, folder: Path, task: Task) -> Path:
        return folder / f"{self._name(task)}.json"

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
