"""Lines of code by subject, and of version 0.1: ``python bench/lines.py OLD NEW FILE.md``.

OLD and NEW are roots of two trees of the project. A line of code is one of `src` that is no
docstring, comment, import or blank.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_FIRST = "what version 0.1 had"
_ADDED = {
    "features along links (`boost`, `auto`), scores on rows kept aside": (
        "structure/relational_boosting/", "model/relational/", "evaluate/auto.py",
        "evaluate/portfolio.py", "evaluate/trials.py", "evaluate/learned.py",
        "evaluate/held_out", "evaluate/leaks.py", "evaluate/row", "evaluate/effects.py",
        "counting/aggregates.py", "counting/relational.py", "counting/examples.py",
        "counting/date_parts.py", "counting/staleness.py", "cli/rows.py", "cli/evaluate_rows.py",
    ),
    "tables as they come: spelling, guessed keys, times, tasks": (
        "data/load/guess.py", "data/load/links.py", "data/load/reading.py",
        "data/load/spelling.py", "data/load/task", "data/load/text_dialect.py",
        "data/load/within.py", "data/load/parquet.py", "data/load/folder.py", "data/bands.py",
        "data/synthetic/messy", "cli/inspect_tables.py", "model/filled.py",
    ),
    "knowledge graphs": (
        "structure/paths/", "model/paths/", "counting/walks.py", "counting/mine_",
        "counting/path_", "counting/evidence_kernels.py", "data/graph.py",
        "data/load/triples.py", "data/triple_view.py", "data/synthetic/planted_graph.py",
        "evaluate/triples.py", "model/ranking.py", "model/triple_answers.py", "cli/triples.py",
        "cli/path_tests.py", "cli/demo_graph.py", "report/graphs.py",
    ),
    "learners of other papers": (
        "structure/bottom_up/", "structure/templates/", "structure/motifs/",
        "structure/lifted_graph/", "structure/local_search/",
    ),
    "engines of SQL, facts left where they lie": (
        "counting/in_place.py", "counting/placed.py", "counting/postgres.py",
        "counting/spark.py", "counting/sql_engine.py", "counting/statement.py",
        "counting/dialect.py", "counting/example_joins.py", "counting/example_sums.py",
        "counting/auto.py", "data/placed.py", "data/load/fact_files.py",
    ),
    "other dialects, reports of all models, comfort": (
        "syntax/dialects.py", "syntax/parts.py", "syntax/definitions.py", "logic/arithmetic.py",
        "data/load/boostsrl.py", "report/filled.py", "report/importance.py",
        "report/markdown.py", "report/net.py", "report/rows.py", "report/schema_diagram.py",
        "model/plots.py", "data/fetch.py", "cli/completion.py", "cli/warm_up.py",
        "cli/demo_shop.py", "cli/project.py", "sklearn/frames.py", "toml.py",
    ),
}  # fmt: skip
_TEXT = """# Lines of code

What `python bench/lines.py OLD NEW docs/results/code_lines.md` counted in `src`: lines that are no
docstring, comment, import or blank. Files are dealt to subjects by a list in the script; what
version 0.1 had are all others, and with them every line by which these grew for the sake of the
rest (columns of numbers and times in `data/`, options of commands). Version 0.1 had {old:,}; the
aim for what it had was 20,000, and it is {verdict}.
What was unified (one store of facts, one fitter, one journal, one driver of learners and one of
samplers) took out some thousands of lines; settings that are checked, inputs that are refused with
place and hint, limits of time and memory, checkpoints in every phase and answers with their
errors, which all learners of version 0.1 have now, put in more.

| subject | files | lines |
|---|---:|---:|
{rows}
"""
AIM = 20_000


def code_lines(text: str) -> int:
    r"""Count the lines of a module that are code.

    Examples
    --------
    >>> code_lines('"Text."\n\nimport os\n\n# a note\nx = 1\n"of x"\n')
    1
    """
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        text_alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text_alone or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        number not in skipped and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )


def counted(root: Path) -> dict[str, int]:
    """Count the lines of all modules of a tree."""
    source = root / "src" / "mlnlearn"
    files = sorted(source.rglob("*.py"))
    return {
        file.relative_to(source).as_posix(): code_lines(file.read_text("utf-8")) for file in files
    }


def by_subject(lines: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield the subjects, how many files each has, and how many lines."""
    left = dict(lines)
    added = []
    for subject, prefixes in _ADDED.items():
        for prefix in prefixes:
            if not any(path.startswith(prefix) for path in left):
                raise ValueError(f"no file, or of another subject: {prefix}")
        own = [path for path in left if path.startswith(prefixes)]
        added.append((subject, len(own), sum(left.pop(path) for path in own)))
    yield _FIRST, len(left), sum(left.values())
    yield from added


def run() -> None:
    """Write the page."""
    old, new, page = (Path(argument).resolve() for argument in sys.argv[1:])
    found = list(by_subject(counted(new)))
    found.append(("in all", sum(files for _, files, _ in found), sum(n for *_, n in found)))
    first = found[0][2]
    verdict = f"{first:,}" + (": met" if first <= AIM else f": **missed** by {first - AIM:,}")
    rows = "\n".join(f"| {subject} | {files} | {lines:,} |" for subject, files, lines in found)
    total = sum(counted(old).values())
    page.write_text(_TEXT.format(old=total, verdict=verdict, rows=rows), encoding="utf-8")


if __name__ == "__main__":
    run()
