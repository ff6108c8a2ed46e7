"""The page of the papers' tables: every published figure once, ours from the pages it names."""

import pytest

from studies.common import RESULTS
from studies.page_tables import NoPageError, Place, look_up
from studies.paper_places import place_of
from studies.papers import is_reached, table_section
from studies.published import figure, tables

PAGE = """# Title

## Part

### All

| learner | AUC-PR | published | CLL | published |
|---|---:|---:|---:|---:|
| one | **0.9** | 0.8 | -1.0 | -2.0 |

### Some

| hidden | learner | CLL |
|---|---:|---:|
| 20% | one | -0.1 |
| 40% | one | -0.2 |
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def test_figures_are_found_by_heading_row_and_column(folder):
    assert look_up(folder, Place("page", ("Part", "All"), ("one",), "AUC-PR")) == "0.9"
    assert look_up(folder, Place("page", ("Some",), ("40%", "one"), "CLL")) == "-0.2"


@pytest.mark.parametrize(
    ("place", "missing"),
    [
        (Place("page", ("None",), ("one",), "CLL"), "no table under None"),
        (Place("page", ("All",), ("one",), "AP"), "no column 'AP'"),
        (Place("page", ("All",), ("two",), "CLL"), "no row 'two'"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(folder, place, missing):
    with pytest.raises(LookupError, match=missing):
        look_up(folder, place)
    with pytest.raises(NoPageError, match="absent has not been run"):
        look_up(folder, Place("absent", (), (), "CLL"))


def test_every_published_figure_is_there_once():
    assert {len(table.figures()) for table in tables().values() if table.number == "II"} == {30}
    assert sum(len(table.figures()) for table in tables().values()) == 400
    for table in tables().values():
        for _, _, text in table.figures():
            assert "/" in text or figure(text) == figure(text.split()[0].split("±")[0])


def test_every_figure_has_a_place_or_a_reason():
    for table in tables().values():
        for row, column, _ in table.figures():
            place = place_of(table, row, column)
            if isinstance(place, Place) and (RESULTS / f"{place.page}.md").is_file():
                assert look_up(RESULTS, place)
            else:
                assert place


def test_reached_is_to_the_digits_printed():
    known = tables()["khot2011", "II"]
    assert is_reached(known, "AUC-PR, all negatives", "0.21 ± 0.17", "0.206")
    assert not is_reached(known, "AUC-PR, all negatives", "0.21 ± 0.17", "0.204")
    assert is_reached(known, "time", "1.8 h", "6479")
    assert not is_reached(known, "time", "18.4 s", "18.5")


def test_the_page_is_that_of_the_pages_it_reads():
    text = (RESULTS / "papers.md").read_text(encoding="utf-8")
    for table in tables().values():
        assert table_section(table, RESULTS)[0] in text, f"{table.paper} {table.number}: run it"
