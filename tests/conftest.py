"""Makes the modules beside this file importable from every test; the program as a fixture."""

import signal
import sys

import pytest

from mlnlearn.cli import progress
from mlnlearn.cli.main import run
from servers import postgres_server, spark_server


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server."""
    with postgres_server() as address:
        yield address


@pytest.fixture(scope="session")
def spark_master():
    """The address of a server of Spark Connect: Sail, unless another is named."""
    with spark_server() as address:
        yield address


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

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    yield call
    for number, handler in handlers.items():
        signal.signal(number, handler)
