"""The tutorial runs, and prints what it says it prints.

Run as a program, ``python tests/test_tutorial.py`` writes what is printed now into the tutorial.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

TUTORIAL = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
# A block of Python, and the block of text that follows it, if one does: its output.
CELL = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def printed_by(source, names):
    """Run a cell in the names of those before it; trailing blanks do not count."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, str(TUTORIAL), "exec"), names)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().rstrip().splitlines())


def test_every_cell_runs_and_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for source, shown in CELL.findall(TUTORIAL.read_text("utf-8")):
        assert printed_by(source, names) == shown, source
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "Cross-validation of BoostedMLN" in page


def test_no_cell_is_overlooked():
    text = TUTORIAL.read_text("utf-8")
    found = CELL.findall(text)
    assert len(found) == text.count("```python") > 8
    assert sum(bool(shown) for _, shown in found) == text.count("```text") > 6


def write_outputs():
    names = {}

    def renewed(cell):
        shown = printed_by(cell[1], names)
        return f"```python\n{cell[1]}```\n" + (f"\n```text\n{shown}```\n" if shown else "")

    text = TUTORIAL.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        TUTORIAL.write_text(CELL.sub(renewed, text), "utf-8")
        os.chdir(TUTORIAL.parent)


if __name__ == "__main__":
    write_outputs()
