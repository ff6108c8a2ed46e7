"""The pages about learners: examples run, settings and learners exist, links lead somewhere.

Run as a program, ``python tests/test_learner_pages.py`` writes what is printed now into the pages.
"""

import re
from pathlib import Path

import pytest

from mlnlearn.registry import LEARNERS
from mlnlearn.settings import describe
from test_tutorial import CELL, printed_by

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted((DOCS / "learners").glob("*.md"))
TEXTS = {page.name: page.read_text("utf-8") for page in [*PAGES, DOCS / "choosing.md"]}
LEARNER = re.compile(r"--learner ([a-z-]+)")


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = CELL.findall(TEXTS[page])
    assert len(cells) == TEXTS[page].count("```python") == 1
    names = {}
    for source, shown in cells:
        assert printed_by(source, names) == shown, source


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_settings_are_those_of_the_learners(page):
    learners = set(LEARNER.findall(TEXTS[page])) | set(
        re.findall(r"`([a-z-]+)`", TEXTS[page].splitlines()[0])
    )
    known = {name for learner in learners for name in describe(LEARNERS[learner].load())}
    table = [line for line in TEXTS[page].splitlines() if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named
    assert named <= known


@pytest.mark.parametrize("page", TEXTS)
def test_learners_and_links_exist(page):
    assert set(LEARNER.findall(TEXTS[page])) <= set(LEARNERS)
    folder = DOCS if page == "choosing.md" else DOCS / "learners"
    links = re.findall(r"\]\(([^)#]+)\)", TEXTS[page])
    assert links
    assert all((folder / link).exists() for link in links)


def write_outputs():
    for page in PAGES:
        names = {}

        def renewed(cell, names=names):
            shown = printed_by(cell[1], names)
            return f"```python\n{cell[1]}```\n" + (f"\n```text\n{shown}```\n" if shown else "")

        page.write_text(CELL.sub(renewed, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write_outputs()
