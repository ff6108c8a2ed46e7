"""The site: its pages run, its reference is complete, and what it links to is there.

Run as a program, ``python tests/test_site.py`` writes what is printed now into the pages.
"""

import inspect
import os
import re
import tempfile
import warnings
from pathlib import Path

import pytest

import mlnlearn as ml
import mlnlearn.sklearn
from test_tutorial import CELL, printed_by

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RUN = ("start.md", "hidden.md", "explaining.md", "big.md")
PUBLIC = {
    **{name: getattr(ml, name) for name in ml.__all__ if name != "__version__"},
    **{name: getattr(mlnlearn.sklearn, name) for name in mlnlearn.sklearn.__all__},
}
CALLABLE = sorted(name for name, value in PUBLIC.items() if callable(value))
SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def documented(value):
    """Return the parameters that a docstring tells of; a class may leave them to its base."""
    homes = value.__mro__[:-1] if inspect.isclass(value) else (value,)
    texts = [inspect.cleandoc(home.__doc__) for home in homes if home.__doc__]
    lines = "\n".join(found for text in texts for found in SECTION.findall(text)).splitlines()
    entries = [line.split(":")[0] for line in lines if line and not line.startswith(" ")]
    return {name.strip(" *") for entry in entries for name in entry.split(",")}


@pytest.mark.parametrize("name", CALLABLE)
def test_every_parameter_of_a_public_name_is_documented(name):
    try:
        asked = inspect.signature(PUBLIC[name]).parameters
    except ValueError:  # built into Python, as warnings are
        return
    assert set(asked) - {"self", "args", "kwargs"} <= documented(PUBLIC[name])


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
    rooms = [room for line in re.findall(r"public-names:: (.*)", text) for room in line.split()]
    assert len(rooms) == len(set(rooms))
    assert {home.split(".")[1] for home in ml._HOME_OF.values()} <= set(rooms)
    assert set(re.findall(r"auto\w+:: (\w+)", text)) == {*mlnlearn.sklearn.__all__}


@pytest.mark.parametrize("page", RUN)
def test_cells_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text("utf-8")
    cells = CELL.findall(text)
    assert len(cells) == text.count("```python") > 0
    names = {}
    for source, shown in cells:
        assert printed_by(source, names) == shown, source


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_pages_outside_the_site_lead_somewhere(page):
    links = [link for link in LINK.findall((ROOT / page).read_text("utf-8")) if ":" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_page_of_results_is_in_the_index():
    linked = set(LINK.findall((DOCS / "results" / "index.md").read_text("utf-8")))
    pages = {page.name for page in (DOCS / "results").glob("*.md")} - {"index.md"}
    assert linked == pages


def write_outputs():
    for name in RUN:
        names = {}

        def renewed(cell, names=names):
            shown = printed_by(cell[1], names)
            return f"```python\n{cell[1]}```\n" + (f"\n```text\n{shown}```\n" if shown else "")

        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
            os.chdir(folder)
            page = DOCS / name
            page.write_text(CELL.sub(renewed, page.read_text("utf-8")), "utf-8")
            os.chdir(ROOT)


if __name__ == "__main__":
    write_outputs()
