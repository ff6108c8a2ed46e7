"""The page on knowledge graphs runs, and prints what it says it prints.

Run as a program, ``python tests/test_graphs_page.py`` writes what is printed now into the page.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from unittest import mock

import duckdb
import pytest

from mlnlearn.cli.main import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "graphs.md"
CELL = re.compile(r"```(python|sh)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def printed_by(kind, source, names):
    """Run a cell in the names of those before it; commands find the page's triples in files."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if kind == "python":
            exec(compile(source, str(PAGE), "exec"), names)
            return out.getvalue()
        split = names["split"]
        graph = split.train
        for name, codes in (("train", graph.triples), ("valid", split.valid), ("test", split.test)):
            lines = [
                f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}\n"
                for h, r, t in codes.T.tolist()
            ]
            Path(f"{name}.tsv").write_text("".join(lines))
        duckdb.sql("COPY (FROM read_csv('train.tsv', header=false)) TO 'train.parquet'")
        for line in source.splitlines():
            with mock.patch.object(sys, "argv", shlex.split(line)):
                with pytest.raises(SystemExit) as stop:
                    run()
                assert not stop.value.code, line
    return ""


def test_every_cell_runs_and_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, source, shown in CELL.findall(PAGE.read_text("utf-8")):
        assert printed_by(kind, source, names) == shown


def rewrite():
    """Write what the cells print now into the page."""
    names = {}

    def with_output(cell):
        kind, source, shown = cell.groups()
        found = printed_by(kind, source, names)
        return cell[0] if shown is None else f"```{kind}\n{source}```\n\n```text\n{found}```\n"

    text = CELL.sub(with_output, PAGE.read_text("utf-8"))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rewrite()
