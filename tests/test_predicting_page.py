"""The page on predicting runs, and the planted cause stands first."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path
from unittest import mock

from mlnlearn.cli.main import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "predicting.md"
CELL = re.compile(r"```(python|sh)\n(.*?)```\n", re.DOTALL)


def printed_by(kind, source, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if kind == "python":
            exec(compile(source, str(PAGE), "exec"), names)
        for line in source.splitlines() if kind == "sh" else ():
            with mock.patch.object(sys, "argv", shlex.split(line)), contextlib.suppress(SystemExit):
                run()
    return out.getvalue()


def test_every_cell_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    names = {}
    found = [printed_by(kind, text, names) for kind, text in CELL.findall(PAGE.read_text("utf-8"))]
    assert found[0] == "customers with three orders or more leave\n"
    rules = found[1].splitlines()
    assert re.fullmatch(r"\d+ rules?", rules[0])
    assert "orders by customer" in rules[1]
    page = (tmp_path / "churn.html").read_text("utf-8")
    assert "kept aside" in page
    assert "area under the ROC curve" in page
    assert found[2].startswith("boost ")
    assert "mean absolute error" in found[3]
    answers = (tmp_path / "answers.csv").read_text().splitlines()
    assert answers[0].startswith("customer,as of,")
    assert answers[0].endswith("prediction")
    assert len(answers) == 3
    assert all(0 < float(line.rpartition(",")[2]) < 1000 for line in answers[1:])
