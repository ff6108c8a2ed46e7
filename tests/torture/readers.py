"""What reads the inputs of the fuzzers; each checks what it can of an answer, too."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any

import typer

import mlnlearn as ml
from mlnlearn.cli.main import run
from mlnlearn.cli.settings import parse_settings
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.cutoff import CutOff
from mlnlearn.data.load.ddl import read_ddl
from mlnlearn.data.load.sql import read_sql
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.urls import is_url, read_url, shown_address
from mlnlearn.errors import MlnError, without_secrets
from mlnlearn.registry import LEARNERS
from mlnlearn.syntax import parse_formula, parse_mln, read_mln, write_mln
from torture import scratch
from torture.texts import SECRET

_MOST_SHOWN = 3000
_SCHEMA = parse_mln(
    "smokes(person)\nfriends(person,person)\nage(person,years!)\nRain()\nperson motherOf(person)"
).schema
_PERSON = Table(
    "person",
    {"id": Column.of(["Anna", "Bob"]), "age": Column.of([3, 4]), "boss": Column.of(["Bob", None])},
    ("id",),
    (ForeignKey(("boss",), "person"),),
)
_PET = Table(
    "pet",
    {"id": Column.of(["Rex"]), "owner": Column.of(["Anna"]), "kind": Column.of(["dog"])},
    ("id",),
    (ForeignKey(("owner",), "person"),),
)


def rules(text: str) -> None:
    """Read rules; what is written of them reads as the same."""
    file = parse_mln(text, "no/such/folder/fuzz.mln")
    with contextlib.suppress(MlnError):  # not all that can be read can be written
        written = write_mln(file)
        assert parse_mln(written) == file, "written and read again, the rules differ"


def rules_file(data: bytes) -> None:
    """Read a file of rules."""
    with scratch.folder({"a.mln": data}) as folder:
        read_mln(folder / "a.mln")


def facts(text: str) -> None:
    """Read facts; what is written of them reads as the same number of them."""
    database = ml.parse_db(text, _SCHEMA)
    assert database.true_atoms >= 0


def formula(text: str) -> None:
    """Read a formula; printed, it reads as the same."""
    rule = parse_formula(text, _SCHEMA)
    assert parse_formula(str(rule), _SCHEMA) == rule, "printed and read again, the formula differs"


def tables(files: dict[str, str]) -> None:
    """Read a folder of tables."""
    with scratch.folder(
        {name: text.encode("utf-8", "replace") for name, text in files.items()}
    ) as folder:
        build_database(ml.read_tables(folder), None, "fuzz")


def triples(text: str) -> None:
    """Read triples."""
    with scratch.folder({"t.csv": text.encode("utf-8", "replace")}) as folder:
        ml.triples_from_csv(folder / "t.csv")


def definitions(text: str) -> None:
    """Read definitions, which a bracket tells from the name of a file."""
    read_ddl(f"{text} -- (")


def sqlite(data: bytes) -> None:
    """Read an SQLite file."""
    with scratch.folder({"a.sqlite": data}) as folder:
        ml.from_sql(folder / "a.sqlite")


def mapping(text: str) -> None:
    """Build a database with a changed mapping."""
    build_database([_PERSON, _PET], f"{text}\n#=", "fuzz")


def address(text: str) -> None:
    """Read an address, without connecting; what is shown of it tells no password."""
    assert SECRET not in without_secrets(text), "a password is told"
    assert SECRET not in shown_address(text), "a password is shown"
    if is_url(text):
        found = read_url(text)
        assert SECRET not in repr(found), "a password is printed"
    else:
        read_sql(text)


def moment(text: str) -> None:
    """Read a cut-off in time."""
    CutOff(text)


def setting(given: tuple[str, str]) -> None:
    """Read a setting, and make the learner with it."""
    learner, text = given
    entry = LEARNERS[learner]
    found = parse_settings([text], {learner: entry})[learner]
    target: dict[str, Any] = {"target": "smokes"} if entry.has("target") else {}
    if not entry.has("base"):
        entry.load()(**(found | dict(entry.fixed) | target))


def command(arguments: tuple[str, ...]) -> None:
    """Run a command where there is a small database."""
    files = {
        "a.db": b"smokes(Anna)\nfriends(Anna,Bob)\n",
        "schema.mln": b"smokes(person)\nfriends(person,person)\n1 smokes(x)\n",
        "kg.tsv": b"Anna\tknows\tBob\nBob\tknows\tCarl\n",
    }
    with scratch.folder(files) as folder, contextlib.chdir(folder):
        os.mkdir("t")
        Path("t/person.csv").write_text("id,age\nAnna,3\nBob,4\n")
        code, said = _run(arguments)
        if code in (130, 143):  # it is we who are to stop
            raise KeyboardInterrupt
        assert code in (0, 1, 2), f"exit code {code}"
        assert "Traceback" not in said, "a traceback"
        assert code == 0 or len(said) < _MOST_SHOWN, f"{len(said):,} letters are said"
        assert Path("a.db").read_bytes() == files["a.db"], "an input is changed"


@cache
def _app() -> None:
    """Let the program make its command line once: it is the same each time."""
    typer.main.get_command = cache(typer.main.get_command)


def _run(arguments: tuple[str, ...]) -> tuple[object, str]:
    _app()
    before = sys.argv, sys.unraisablehook
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    sys.argv = ["mlnlearn", *arguments]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            run()
    except SystemExit as stop:
        return stop.code, said.getvalue()
    finally:
        sys.argv, sys.unraisablehook = before
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return None, said.getvalue()
