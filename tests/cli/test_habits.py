"""What people expect of any program: completion, a project file, quiet runs, logs, pipes."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import mlnlearn as ml
from mlnlearn.cli.commands import COMMANDS
from mlnlearn.errors import InputError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.mln").write_text("smokes(person)\nfriends(person,person)\n1 smokes(x)\n")
    (tmp_path / "people.db").write_text("smokes(Anna)\nfriends(Anna,Bob)\n")
    (tmp_path / "schema.mln").write_text("smokes(person)\nfriends(person,person)\n")
    return tmp_path


def test_flags_are_plain_in_the_help(program):
    for arguments in (["--help"], ["report", "--help"]):
        code, out, _ = program(*arguments)
        assert code == 0
        assert "--help" in out
        assert "<bool>" not in out


def test_a_project_file_gives_options(people, program):
    (people / "mlnlearn.toml").write_text(
        'db = ["people.db"]\nseed = 3\n[infer]\nmodel = "rules.mln"\nquery = "friends"\n'
        'open = "smokes"\n'
    )
    code, out, err = program("infer")
    assert (code, err) == (0, "note: options from mlnlearn.toml\n")
    assert "friends(Bob,Anna)" in out
    code, out, _ = program("infer", "--query", "smokes")  # the command line is stronger
    assert code == 0
    assert "smokes(Bob)" in out
    assert "friends" not in out


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("[lern]\nseed = 1\n", ["no such command: lern", "did you mean 'learn'?"]),
        ("[learn]\nsede = 1\n", ["no such option of learn: sede", "did you mean 'seed'?"]),
        ("sede = 1\n", ["no such option: sede"]),
        ("seed = 1979-05-27\n", ["is no value"]),
        ("seed = \n", ["not TOML"]),
    ],
)
def test_what_is_wrong_with_a_project_file_is_said(people, program, text, messages):
    (people / "mlnlearn.toml").write_text(text)
    code, _, err = program("inspect", "people.db")
    assert code == 1
    assert "mlnlearn.toml" in err
    for message in messages:
        assert message in err


def test_quiet_runs_have_no_notes(people, program):
    code, _, err = program("inspect", "people.db")
    assert (code, err) == (0, "note: declarations from schema.mln\n")
    code, _, err = program("inspect", "people.db", "--quiet")
    assert (code, err) == (0, "")


def test_the_library_logs_what_it_does(people, caplog):
    mln = ml.MLN.read("rules.mln")
    with caplog.at_level("INFO", logger="mlnlearn"):
        database = ml.read_db("people.db", schema="schema.mln")
        ml.query(mln, database, ["smokes"])
    assert "read people.db: 2 true atoms" in caplog.text
    assert "1 unknown values in 1 independent parts" in caplog.text


def test_tables_are_not_wrapped_in_a_pipe(people, program, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    name = "A" + "very" * 40
    (people / "people.db").write_text(f"smokes({name})\n")
    code, out, _ = program(
        "infer", "--model", "rules.mln", "--db", "people.db", "--query", "friends"
    )
    assert code == 0
    assert f"friends({name},{name})" in out


def test_names_that_are_nearly_right(people, program):
    database = ml.read_db("people.db", schema="schema.mln")
    with pytest.raises(InputError, match="did you mean 'smokes'"):
        database.schema["Smoke"]
    with pytest.raises(InputError, match="did you mean 'mln-bt'"):
        ml.LEARNERS["mln_bt"]
    command = ["learn", "--learner", "mln-bt", "--db", "people.db", "--out", "m.json"]
    code, _, err = program(*command, "--target", "smokes", "--set", "stepps=3")
    assert code == 1
    assert "did you mean 'steps'?" in err
    code, _, err = program(*command, "--target", "smoke")
    assert code == 1
    assert "did you mean 'smokes'?" in err
    code, _, err = program("inspect", "peple.db")
    assert code == 1
    assert "did you mean 'people.db'?" in err
    code, _, err = program("inspect", "--tables", "shops.sqlite")
    assert "hint" not in err


def test_completion_can_be_shown(program, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    code, out, _ = program("--show-completion", "bash")
    assert code == 0
    assert "_MLNLEARN_COMPLETE" in out
    code, out, _ = program("--help")
    assert "--install-completion" in out


def test_python_runs_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "mlnlearn", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"mlnlearn {ml.__version__}\n")


def _can_build():
    try:
        return int(version("setuptools").split(".")[0]) >= 77
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(not _can_build(), reason="setuptools 77 is not installed")
def test_a_wheel_has_all_that_the_program_needs(tmp_path):
    project = tmp_path / "project"  # building leaves files beside the sources
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "wheel", *offline, "--wheel-dir", tmp_path, project], check=True)
    (wheel,) = tmp_path.glob("mlnlearn-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*.py")}
    assert sources <= names
    assert {"mlnlearn/py.typed", "mlnlearn/report/report.css"} <= names
    place = tmp_path / "installed"
    subprocess.run([*pip, "install", *offline, "--target", place, wheel], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "mlnlearn", "--version"],
        env={"PYTHONPATH": f"{place}:{sysconfig.get_path('purelib')}", "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"mlnlearn {ml.__version__}\n")


def test_commands_are_listed_by_the_first_line_of_what_they_say_of_themselves():
    for name, entry in COMMANDS.items():
        assert entry.load(name).help.partition("\n")[0] == entry.about


def test_help_loads_no_command():
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom mlnlearn.cli.app import app\n"
            "app(['--help'], standalone_mode=False)\n"
            "print('loaded:', [n for n in sys.modules if n in "
            "('mlnlearn.cli.learn', 'mlnlearn.cli.demo', 'mlnlearn.syntax')])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Make up data" in shown
    assert "loaded: []" in shown


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mlnlearn le", ["learn"]),
        ("mlnlearn learn --learner mln-", ["mln-bt", "mln-bc"]),
        ("mlnlearn learn --learner rdn-b --set ste", ["steps="]),
        ("mlnlearn learn --learner mln-bt --preset ", ["0.1", "paper"]),
        ("mlnlearn infer --method li", ["lifted"]),
        ("mlnlearn count --engine duck", ["duckdb"]),
        ("mlnlearn --dialect pr", ["pracmln"]),
        ("mlnlearn evaluate --learner gs", ["gslp"]),
    ],
)
def test_a_tab_offers_names(line, offered):
    environment = os.environ | {
        "_MLNLEARN_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "mlnlearn"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.stdout.split() == offered
