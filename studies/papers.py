"""All tables of the five papers, ours beside each figure: ``python -m studies.papers``.

Nothing is learned here. The published figures are those of ``published.txt``; ours are read from
the pages that the other studies have written, so that each stands where it was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.common import Options, Study, markdown_table, run
from studies.page_tables import NoPageError, Place, look_up
from studies.paper_places import place_of
from studies.published import NOTHING, PAPERS, PublishedTable, figure, tables
from studies.sources import code_digest

STUDY = Study(
    name="papers",
    title="The papers' tables in full",
    about=(
        "Every figure of the tables of the five papers, once: ours, and in brackets the published "
        "one. Ours are read from the pages named at the end of each row, which say how they came "
        "about; where there is none, the row says why. A figure is *reached* where ours, rounded "
        "to the digits that are printed, is at least the published one (of times: at most); the "
        "better of the two is bold. "
        "Numbers of parameters and tallies of wins, losses and ties are shown and not judged. "
        "Times are processor seconds of ours beside the wall-clock times of other machines. "
        "Tables that describe data have no figures to reach."
    ),
    seeds=1,
    minutes=0.1,
    of_papers=True,
    is_last=True,
)
_HERE = Path(__file__).parent
_TIMES = ("time", "hours", "seconds")
_UNJUDGED = ("parameters", "wins")


def is_judged(table: PublishedTable) -> bool:
    """Tell whether the figures of a table are better the larger they are, or the smaller."""
    return not any(word in table.about for word in _UNJUDGED)


def is_time(table: PublishedTable, column: str) -> bool:
    """Tell whether a column is of times, of which the smaller are better."""
    return any(word in f"{table.about}, {column}" for word in _TIMES)


def seconds_of(table: PublishedTable, column: str, text: str) -> float:
    """Return a published time in seconds.

    Examples
    --------
    >>> table = tables()["khot2011", "II"]
    >>> seconds_of(table, "time", table.cell("Motif-S", "time"))
    6480.0
    """
    in_hours = text.endswith("h") or "hours" in f"{table.about}, {column}"
    return figure(text) * (3600.0 if in_hours else 1.0)


def is_reached(table: PublishedTable, column: str, published: str, ours: str) -> bool:
    """Tell whether ours is at least as good, to the digits printed."""
    if is_time(table, column):
        return figure(ours) <= seconds_of(table, column, published)
    digits = len(published.replace("±", " ").split()[0].partition(".")[2])
    return round(figure(ours), digits) >= figure(published)


def bold_better(table: PublishedTable, column: str, texts: Sequence[str]) -> list[str]:
    """Print ours or the published figure in bold, whichever is better; both where they are equal.

    Examples
    --------
    >>> bold_better(tables()["khot2011", "II"], "time", ["8.4 s", "1.8 h"])
    ['**8.4 s**', '1.8 h']
    >>> bold_better(tables()["khot2011", "IV"], "CLL, genre", ["-0.30", "-0.20 ± 0.09"])
    ['-0.30', '**-0.20 ± 0.09**']
    """
    ours, published = figure(texts[0]), figure(texts[1])
    if is_time(table, column):
        ours, published = -ours, -seconds_of(table, column, texts[1])
    best = max(ours, published)
    values = zip(texts, (ours, published), strict=True)
    return [f"**{text}**" if value == best else text for text, value in values]


def sections(options: Options) -> Iterator[str]:
    """Compute the page: a summary, then every table."""
    folder = options.out
    summary, parts = [], []
    for paper, title in PAPERS.items():
        parts.append(f"## {title}")
        for table in (one for one in tables().values() if one.paper == paper):
            text, counts = table_section(table, folder)
            parts.append(text)
            name = f"{title.partition(',')[0]} … {title.partition('(')[2].partition(')')[0]}"
            summary.append([f"{name}, table {table.number}", *counts])
    totals = [sum(int(row[column]) for row in summary) for column in range(1, 5)]
    summary.append(["all", *map(str, totals)])
    header = ["table", "published figures", "with ours", "judged", "reached"]
    yield f"## Summary\n\n{markdown_table(header, summary)}"
    yield absent_systems()
    yield from parts
    yield f"## How the pages came about\n\n{made_table(folder)}"


def absent_systems() -> str:
    """Say which systems of that time no table has, though papers name them."""
    names = {name for table in tables().values() for name in (*table.rows, *table.columns)}
    there = {name for name in _NAMED if any(name.lower() in one.lower() for one in names)}
    missing = [f"{name} ({paper})" for name, paper in _NAMED.items() if name not in there]
    return (
        f"No row or column of these tables is of {' or '.join(missing)}. The former are no part of "
        "the library, as no figure needs them; iterated local search is (`ils`, `ils-dsl`)."
    )


_NAMED = {
    "Aleph": "clauses of Aleph with weights, Huynh and Mooney 2008",
    "ILS": "Biba et al. 2008",
}


@dataclass(frozen=True)
class Making:
    """What a page says of how it was made.

    Attributes
    ----------
    cpu
        Seconds of the processor: those of the run that wrote the page or, where tasks were done
        before it, those that its tasks took when they were done.
    wall
        Seconds by the clock of the run that wrote the page.
    kept
        How many tasks came from a cache of another version of the code.
    code
        Digest of the sources it rests on.
    software
        Version and date.
    """

    cpu: float
    wall: float
    kept: int
    code: str
    software: str


def making_of(text: str) -> Making:
    r"""Read off a page how it was made.

    Examples
    --------
    >>> page = (
    ...     "- Time: 4 s, of which 2 s processor time in the main process; 9 tasks done before by "
    ...     "another version of the code, 1,300 CPU s for 9 of these tasks when they were done\n"
    ...     "- Machine: 2 cores; Python 3.11.7, mlnlearn 0.2.0, numpy 2.4.6; 2026-11-18\n"
    ...     "- Code: 0123\n"
    ... )
    >>> making_of(page)
    Making(cpu=1300.0, wall=4.0, kept=9, code='0123', software='mlnlearn 0.2.0, 2026-11-18')
    """
    time, machine = _line(text, "Time"), _line(text, "Machine")
    *_, software, date = machine.split("; ")
    version = next((x for x in software.split(", ") if x.startswith("mlnlearn")), "")
    return Making(
        cpu=max(_number(r"([\d,]+) CPU s for", time), _number(r"([\d,]+) s processor", time)),
        wall=_number(r"^([\d,]+) s", time),
        kept=int(_number(r"([\d,]+) tasks done before by another version", time)),
        code=_line(text, "Code"),
        software=f"{version}, {date}",
    )


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    return float(found.group(1).replace(",", "")) if found else 0.0


def pages_read() -> list[str]:
    """Return the names of the pages that figures are read from, each once."""
    places = (place_of(t, row, column) for t in tables().values() for row, column, _ in t.figures())
    return list(dict.fromkeys(place.page for place in places if isinstance(place, Place)))


def made_table(folder: Path) -> str:
    """Return what the pages that figures were read from say of their time and code."""
    paths = [path for name in pages_read() if (path := folder / f"{name}.md").is_file()]
    made = {path.stem: making_of(path.read_text(encoding="utf-8")) for path in paths}
    older = [name for name, one in made.items() if one.code != code_digest(_HERE / f"{name}.py")]
    rows = [
        [
            f"[{name}]({name}.md)",
            f"{one.cpu:,.0f}",
            f"{one.wall:,.0f}",
            "another version" if name in older else "this version",
            str(one.kept),
            one.software,
        ]
        for name, one in made.items()
    ]
    cpu, wall = sum(one.cpu for one in made.values()), sum(one.wall for one in made.values())
    rows.append(["all", f"{cpu:,.0f}", f"{wall:,.0f}", "", "", ""])
    kept = [name for name, one in made.items() if one.kept]
    text = (
        "`make studies` computes all of it from nothing, one study after the other, says which of "
        "how many tasks are done, and goes on where it was stopped. These pages took "
        f"{cpu / 60:.0f} CPU minutes, and {wall / 60:.0f} by the clock in the runs that wrote them"
    )
    if older or kept:
        text += (
            ", as far as they know, and are not all of one version of the code. Of another version "
            f"than this page, be it a word of theirs: {', '.join(older) or 'none'}. With tasks "
            f"from a cache of another version: {', '.join(kept) or 'none'}."
        )
    else:
        text += ", all by one version of the code."
    header = ["page", "CPU s", "s by the clock", "code", "tasks of another version", "software"]
    return f"{text}\n\n{markdown_table(header, rows)}"


def _line(text: str, what: str) -> str:
    """Return what a page says of its making; nothing where it says none of it."""
    start = f"- {what}: "
    return next((line[len(start) :] for line in text.splitlines() if line.startswith(start)), "")


def our_figure(place: Place | str, folder: Path) -> tuple[str | None, str]:
    """Return our figure where there is one, and what is to be known of it, or why there is none."""
    if isinstance(place, str):
        return None, place
    try:
        return look_up(folder, place), place.note
    except NoPageError as error:
        return None, str(error)


def table_section(table: PublishedTable, folder: Path) -> tuple[str, list[str]]:
    """Return a table with ours beside each figure, and the counts of its figures."""
    rows = []
    known = judged = reached = 0
    for row, cells in table.rows.items():
        shown, where, reasons = [], dict[str, None](), dict[str, None]()
        for column, published in zip(table.columns, cells, strict=True):
            if published == NOTHING:
                shown.append(NOTHING)
                continue
            place = place_of(table, row, column)
            ours, reason = our_figure(place, folder)
            if reason:
                reasons[reason] = None
            if ours is None or isinstance(place, str):
                shown.append(f"{NOTHING} ({published})")
                continue
            where[f"[{place.page}]({place.page}.md)"] = None
            known += 1
            texts = [f"{ours}{place.unit}", published]
            if is_judged(table):
                judged += 1
                reached += is_reached(table, column, published, ours)
                texts = bold_better(table, column, texts)
            shown.append(f"{texts[0]} ({texts[1]})")
        rows.append([row, *shown, "; ".join([*where, *reasons])])
    text = markdown_table(["", *table.columns, "where, and why not"], rows)
    total = len(table.figures())
    verdict = f"{known} of {total} figures have one of ours"
    verdict += f", {reached} of {judged} are reached." if judged else "."
    about = f"### Table {table.number}: {table.about}"
    return f"{about}\n\n{text}\n\n{verdict}", [str(n) for n in (total, known, judged, reached)]


if __name__ == "__main__":
    run(STUDY, sections)
