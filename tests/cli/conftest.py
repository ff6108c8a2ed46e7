"""The program, run in the process of the tests."""

import sys

import pytest

from mlnlearn.cli import progress
from mlnlearn.cli.main import run


@pytest.fixture
def program(monkeypatch, capsys):
    """Run the program in this process; returns exit code, standard output and standard error."""

    # on a busy machine a run may last long enough to say how far it is
    monkeypatch.setattr(progress, "_SECONDS", float("inf"))

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mlnlearn", *arguments])
        with pytest.raises(SystemExit) as stop:
            run()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call
