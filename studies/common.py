"""What all studies share: options, settings, seeds, the machine, and the page they write.

A study is a module with a `Study` and a function that yields the sections of its page; `run` does
the rest: it reads the options, takes the time, and writes ``docs/results/<name>.md``.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from mlnlearn.evaluate.parallel import Progress
from mlnlearn.evaluate.results import Results, mean_and_sd
from mlnlearn.files import write_atomically

RESULTS = Path(__file__).parent.parent / "docs" / "results"
_VERSIONS = ("mlnlearn", "numpy", "scipy", "numba")


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
    """

    seeds: int
    jobs: int = 1
    out: Path = RESULTS


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
    """

    name: str
    title: str
    about: str
    settings: Mapping[str, object] = field(default_factory=dict)
    seeds: int = 5


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
    parts = list(sections(options))
    took = (time.perf_counter() - start, time.process_time() - busy)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{study.name}.md"
    write_atomically(path, page(study, options, parts, took))
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
    found = parser.parse_args(arguments)
    return Options(found.seeds, found.jobs, found.out)


def page(study: Study, options: Options, sections: Sequence[str], took: tuple[float, float]) -> str:
    """Return the page: title, what it is, the sections, and how the numbers came about."""
    settings = markdown_table(
        ["setting", "value"], [[name, f"`{value}`"] for name, value in study.settings.items()]
    )
    wall, cpu = took
    facts = [
        f"- Seeds: {', '.join(map(str, range(options.seeds)))}",
        f"- Processes: {options.jobs}",
        f"- Time: {wall:.0f} s, of which {cpu:.0f} s processor time in the main process",
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


def show_progress(label: str) -> Progress:
    """Return a progress callback that writes to the terminal."""

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"{label}: {done} of {total}\n")

    return show
