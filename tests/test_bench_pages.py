"""Pages of timings: what was not measured again stays as it is."""

from functools import partial

import pytest

from bench import scale, searches

PAGES = {
    "scale": (scale.PAGE, scale.page, scale.rows_of_page),
    "searches": (
        searches.PAGE,
        searches.page,
        partial(scale.rows_of_page, tasks=list(searches.TASKS), size_of=searches.size_of),
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_keeps_the_rows_that_are_not_measured_again(name):
    path, page, rows_of_page = PAGES[name]
    rows = rows_of_page(path.read_text("utf-8"))
    assert len({(row["task"], row["size"]) for row in rows}) == len(rows) > 10
    measured = {**rows[0], "answer": "measured again"}
    again = rows_of_page(page([*rows, measured]))
    assert again == [measured, *rows[1:]]


def test_the_size_of_a_row_is_read_off_its_facts_and_its_answer():
    assert searches.size_of(31_623, "3 trees; BoostSRL 9 CPU s") == 4.5
    assert searches.size_of(96_320, "3 trees") == 5
    assert searches.size_of(1_489, "20 trees; BoostSRL 26.1 CPU s") == 0
    assert [searches.size_of(0, answer) for answer in searches.STARTS] == [0, 1, 2]
