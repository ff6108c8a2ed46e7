"""The page on tables runs, in Python and on the command line, and prints what it says it prints.

Run as a program, ``python tests/test_tables_page.py`` writes what is printed now into the page.
"""

import contextlib
import io
import os
import re
import shlex
import sqlite3
import sys
import tempfile
from pathlib import Path
from unittest import mock

import pytest

from mlnlearn.cli.main import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tables.md"
# A block of Python or of commands, and the block of text that follows it, if one does: its output.
CELL = re.compile(r"```(python|sh)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
# What a run takes is different every time, and another processor rounds in other places.
COSTS = re.compile(r"[\d.,]+ (CPU seconds|MB)")
DECIMAL = re.compile(r"\d+\.\d+")


def printed_by(kind, source, names):
    """Run a cell in the names of those before it; trailing blanks do not count."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if kind == "python":
            exec(compile(source, str(PAGE), "exec"), names)
        for line in source.splitlines() if kind == "sh" else ():
            with mock.patch.object(sys, "argv", shlex.split(line)), contextlib.suppress(SystemExit):
                run()
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().rstrip().splitlines())


def assert_same(found, shown):
    """Texts are the same; numbers with decimals nearly so."""
    found, shown = COSTS.sub("", found), COSTS.sub("", shown)
    assert DECIMAL.sub("0.0", found).split() == DECIMAL.sub("0.0", shown).split()
    numbers = [[float(part) for part in DECIMAL.findall(text)] for text in (found, shown)]
    assert numbers[0] == pytest.approx(numbers[1], abs=2e-3)


def test_every_cell_runs_and_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names = {}
    before = b""
    for kind, source, shown in CELL.findall(PAGE.read_text("utf-8")):
        found = printed_by(kind, source, names)
        assert_same(found, shown)
        file = tmp_path / "shop.sqlite"
        before = before or file.read_bytes()
        assert file.read_bytes() == before  # the data are never changed
    page = (tmp_path / "shop.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert 'class="drawn"' in page  # the trees
    assert page.count("<svg") > 4
    with contextlib.closing(sqlite3.connect("filled.sqlite")) as filled:
        empty = "SELECT count(*) FROM customer WHERE segment IS NULL"
        assert filled.execute(empty).fetchone() == (0,)
        assert filled.execute("PRAGMA foreign_key_check").fetchall() == []
    assert sorted(path.name for path in Path("filled").iterdir()) == [
        "customer.csv", "orders.csv", "product.csv", "schema.sql",
    ]  # fmt: skip


def test_no_cell_is_overlooked():
    text = PAGE.read_text("utf-8")
    found = CELL.findall(text)
    assert len(found) == text.count("```python") + text.count("```sh") > 8
    assert sum(bool(shown) for *_, shown in found) == text.count("```text") > 6


def write_outputs():
    os.environ["COLUMNS"] = "100"
    names = {}

    def renewed(cell):
        shown = printed_by(cell[1], cell[2], names)
        return f"```{cell[1]}\n{cell[2]}```\n" + (f"\n```text\n{shown}```\n" if shown else "")

    text = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(CELL.sub(renewed, text), "utf-8")
        os.chdir(PAGE.parent)


if __name__ == "__main__":
    write_outputs()
