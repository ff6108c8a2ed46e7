"""What packages on the side offer: the page on it runs, and bad packages are told of."""

import contextlib
import io
import math
import re
import shlex
import sys
from pathlib import Path

import pytest

import mlnlearn as ml
from mlnlearn.cli.main import run
from mlnlearn.registry import ENGINES, LEARNERS, METHODS, READERS, Registry

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extending.md"
CELL = re.compile(r"```(python|sh|toml)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
POINTS = re.compile(r"^\[project\.entry-points\.\"(.*)\"\]$", re.MULTILINE)
READER = """
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import Table

def read(address):
    return [Table("person", {"id": Column.of(["Anna", address])}, ("id",))]
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install modules and entry points in a folder; returns a function that does so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(files, points):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        folder = tmp_path / "side-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: side\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(points)
        forget()
        return tmp_path

    yield install
    forget()


def forget():
    """Look for entry points anew."""
    for registry in (LEARNERS, METHODS, READERS, ENGINES):
        registry.__dict__.pop("_entries", None)


def program(monkeypatch, line):
    out = io.StringIO()
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as stop:
        run()
    return stop.value.code, out.getvalue()


def cells():
    """The cells of the page: files by name, code with what it prints, commands, entry points."""
    files, code, commands, points = {}, [], [], ""
    for kind, source, shown in CELL.findall(PAGE.read_text("utf-8")):
        if kind == "toml":
            points = POINTS.sub(r"[\1]", source).replace('"', "")
        elif kind == "sh":
            commands += source.splitlines()
        elif source.startswith("# "):
            files[source.split()[1]] = source
        else:
            code.append((source, shown))
    return files, code, commands, points


def test_the_page_runs_and_prints_what_it_says(package, monkeypatch):
    files, code, commands, points = cells()
    folder = package(files, points)
    for source, shown in code:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, str(PAGE), "exec"), {})
        assert out.getvalue() == shown
    (folder / "people.mln").write_text("smokes(person)\nfriends(person,person)\n")
    (folder / "people.db").write_text("smokes(Anna)\nfriends(Anna,Bob)\nfriends(Bob,Carl)\n")
    for command in commands:
        assert program(monkeypatch, command)[0] == 0
    learned = ml.MLN.read(folder / "model.mln")
    expected = [math.log(3 / 4), math.log(4 / 9)]
    assert [rule.weight for rule in learned.rules] == pytest.approx(expected, abs=1e-5)
    code, out = program(monkeypatch, "mlnlearn learn --learner popular --settings")
    assert code == 0
    assert "True atoms, and as many false ones" in out


def test_mean_field_of_the_page_is_exact_without_couplings_and_near_it_with_weak_ones(package):
    files, _, _, points = cells()
    package(files, points)
    schema = ml.Schema.of("smokes(person)", "friends(person,person)")
    names = [("Anna", "Bob"), ("Bob", "Carl"), ("Carl", "Anna")]
    database = ml.Database.from_facts(schema, {"friends": names})
    for text, tolerance in (
        ("0.7 smokes(x)", 1e-9),
        ("0.7 smokes(x)\n0.3 friends(x,y) ^ smokes(x) => smokes(y)", 0.02),
    ):
        mln = ml.MLN.parse(f"{schema}\n{text}")
        exact = ml.query(mln, database, "smokes", method="exact", open=["smokes"])
        found = ml.query(mln, database, "smokes", method="mean-field", open=["smokes"])
        assert {c.method for c in found.components} == {"mean-field"}
        for one, other in zip(exact, found, strict=True):
            assert one.atom == other.atom
            assert other.probability == pytest.approx(one.probability, abs=tolerance)


def test_a_reader_is_asked_by_scheme_and_by_ending(package):
    folder = package({"letters.py": READER}, "[mlnlearn.readers]\nletters = letters:read\n")
    [table] = ml.read_tables("letters://here")
    assert table.columns["id"].names == ("Anna", "letters://here")
    (folder / "people.letters").write_text("")
    [table] = ml.read_tables(folder / "people.letters")
    assert str(table.columns["id"].names[1]).endswith("people.letters")


def test_what_does_not_load_is_an_error_with_its_home(package):
    package({}, "[mlnlearn.learners]\nlost = nowhere:Lost\n")
    assert "lost" in LEARNERS
    with pytest.raises(ml.InputError, match="lost cannot be loaded from nowhere:Lost"):
        LEARNERS["lost"].load()


def test_a_name_that_is_taken_stays_as_it_is(package):
    package({}, "[mlnlearn.learners]\ngslp = nowhere:Other\n")
    with pytest.warns(ml.DataWarning, match="there is a learner 'gslp' already"):
        assert LEARNERS["gslp"].load() is ml.GSLP


def test_a_method_that_returns_something_else_is_refused(package):
    text = "import numpy as np\ndef bad(network, sampling):\n    return np.full(1, np.nan)\n"
    package({"bad.py": text}, "[mlnlearn.methods]\nbad = bad:bad\n")
    mln = ml.MLN.parse("smokes(person)\n1 smokes(x)")
    database = ml.Database.from_facts(mln.schema, {}, domains={"person": ["Anna", "Bob"]})
    with pytest.raises(ml.MlnError, match="the method bad must return 4 probabilities"):
        ml.query(mln, database, "smokes", method="bad", open=["smokes"])
    with pytest.raises(ml.InputError, match="no method 'worse'"):
        ml.query(mln, database, "smokes", method="worse", open=["smokes"])


def test_a_registry_without_packages_has_its_own_names():
    assert list(Registry("no.such.group", "thing")) == []
    assert len(LEARNERS) == len(set(LEARNERS))
