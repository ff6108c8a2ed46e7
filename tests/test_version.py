"""The version is the same wherever it stands, and so are the Pythons that are supported."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_one_version_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(
        r"^## (\S+)(?: \((.+)\))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert cited is not None
    assert newest is not None
    assert cited[1] == version
    released = newest[2] != "unreleased"
    assert not released or newest[1] == version
    assert not released or re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2])


def test_the_workflow_does_what_the_check_does_on_every_supported_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3" in line]
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    assert re.findall(r'"(3\.\d+)"', workflow) == named
    assert project["requires-python"] == f">={named[0]}"
    runs = re.findall(r"- run: (.+)", workflow)
    assert runs[-1] == ".ci/run"  # so that there is one list of what is checked
    assert all(run.startswith("sudo apt-get") for run in runs[:-1])
    check = (ROOT / ".ci/run").read_text()
    assert re.findall(r"^make (\w+)$", check, re.MULTILINE) == ["lint", "test"]
    assert "postgresql" in check
    assert "postgresql" in runs[0]
