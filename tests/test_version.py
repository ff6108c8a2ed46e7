"""The version is the same wherever it stands."""

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
