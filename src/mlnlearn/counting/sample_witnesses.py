"""Rows that show what a sample of a table would hide: gaps, repeats, other values, other spellings.

What a sample shows that all rows agree in may be so by chance; the server is asked for a row that
does not agree, which joins the sample. What a sample already refutes needs no question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlnlearn.counting.dialect import DUCKDB, POSTGRESQL
from mlnlearn.counting.sampled_table import SampledTable
from mlnlearn.counting.sql_engine import Answer
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.reading import MANY_NAMES
from mlnlearn.data.load.tally import NameTally

_SHAPES = 100
_PARTS = 3
"""Numbers of a text, as a day has, whose extremes may tell how it is written."""
_NEARLY_ALL = 0.7
"""A share of different names that is surely above that of a column in which each row has its own,
also where it is only about right."""


def want_extremes(table: SampledTable) -> dict[str, int]:
    """Have rows with an empty cell, a filled one, the least and greatest number, and a fraction.

    Returns how many cells are empty, by column.
    """
    titles = table.plain
    if table.is_whole or not titles:
        return {}
    limits, found = ["count(*) AS n"], []
    for place, title in enumerate(titles):
        cell = table.cell(title)
        tests = [f"{cell} IS NULL", f"{cell} IS NOT NULL"]
        if table.is_number(title):
            limits += [f"min({cell}) AS a{place}", f"max({cell}) AS b{place}"]
            tests += [f"{cell} = a{place}", f"{cell} = b{place}", f"{cell} <> floor({cell})"]
        found.append(f"count(CASE WHEN {tests[0]} THEN 1 END) AS e{place}")
        found += [
            f"min(CASE WHEN {test} THEN {table.row} END) AS r{place}_{k}"
            for k, test in enumerate(tests)
        ]
    answer = table.server.fetch(
        f"WITH s AS MATERIALIZED (SELECT {', '.join(limits)} FROM {table.every}) "
        f"SELECT {', '.join(found)} FROM {table.every}, s"
    )
    table.want_rows(row for name in answer if name[0] == "r" for row in _numbers(answer, name))
    return {title: int(answer[f"e{place}"][0]) for place, title in enumerate(titles)}


def _numbers(answer: Answer, name: str) -> list[int]:
    """Return the numbers in a column of an answer, without the empty ones."""
    cells = np.ma.masked_array(answer[name])
    return [int(cell) for cell in cells.tolist() if cell is not None]


def want_values(table: SampledTable, title: str) -> None:
    """Have a row with each value of a column that has few, and more than a few of one of many."""
    cell = table.cell(title)
    table.want(
        f"SELECT min({table.row}) FROM {table.every} WHERE {cell} IS NOT NULL GROUP BY {cell} "
        f"ORDER BY 1 LIMIT {MANY_NAMES + 1}"
    )


def want_spellings(table: SampledTable, title: str) -> None:
    """Have rows whose texts look different, and those with the least and greatest numbers in them.

    A look is that of the signs: ``31.12.2020`` and ``01.02.2021`` look the same. Rare ones come
    first, where there are many.
    """
    cell = table.cell(title)
    look = f"regexp_replace({cell}, '[[:alpha:]]+', 'a', 'g')"
    look = f"regexp_replace({look}, '[0-9]{{4,}}', '0000', 'g')"
    look = f"regexp_replace({look}, '[0-9]', '0', 'g')"
    table.want(
        f"SELECT r FROM (SELECT min({table.row}) AS r, count(*) AS n FROM {table.every} "
        f"WHERE {cell} IS NOT NULL GROUP BY {look}) s ORDER BY n, r LIMIT {_SHAPES}"
    )
    for part in range(_PARTS):
        number = _number_in(table, cell, part)
        for way in ("", " DESC"):
            table.want(
                f"SELECT r FROM (SELECT {table.row} AS r, {number} AS k FROM {table.every}) s "
                f"WHERE k IS NOT NULL ORDER BY k{way}, r LIMIT 1"
            )


def _number_in(table: SampledTable, cell: str, place: int) -> str:
    """Return the SQL of a text's first, second or third number."""
    pattern = "^[^0-9]*" + "[0-9]+[^0-9]+" * place + "([0-9]{1,9})"
    if table.server.dialect is POSTGRESQL:
        return f"CAST(substring({cell} from '{pattern}') AS BIGINT)"
    return f"TRY_CAST(regexp_extract({cell}, '{pattern}', 1) AS BIGINT)"


def want_repeat(table: SampledTable, titles: Sequence[str]) -> bool:
    """Have two rows with the same cells, if there are any; tell whether there are none."""
    cells = ", ".join(table.cell(title) for title in titles)
    answer = table.server.fetch(
        f"SELECT min({table.row}) AS a, max({table.row}) AS b FROM {table.every} "
        f"WHERE {table.filled(titles)} GROUP BY {cells} HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
    )
    rows = [*_numbers(answer, "a"), *_numbers(answer, "b")]
    table.want_rows(rows)
    return not rows


def count_names(table: SampledTable, title: str) -> int:
    """Return how many names a column has in all rows."""
    cell = table.cell(title)
    return table.number(
        f"SELECT count(*) AS n FROM (SELECT 1 AS one FROM {table.every} WHERE {cell} IS NOT NULL "
        f"GROUP BY {cell}) s"
    )


def tally_of(table: SampledTable, title: str, column: Column, most: int = MANY_NAMES) -> NameTally:
    """Return how often the frequent names of a column occur in all rows.

    Parameters
    ----------
    table
        The table.
    title
        The column.
    column
        Its cells in the sample; those of a column in which nearly each row has its own name are
        not counted at the server.
    most
        How many names are returned; only if all are, it matters that nearly each row has its own.
    """
    cell, name, here = table.cell(title), table.name_of(title), NameTally.of(column)
    if table.server.dialect is DUCKDB and most == MANY_NAMES < here.distinct:
        counted = f"approx_count_distinct({cell}) AS d, count({cell}) AS f"
        answer = table.server.fetch(f"SELECT {counted} FROM {table.used}")
        distinct, filled = int(answer["d"][0]), int(answer["f"][0])
        if distinct > _NEARLY_ALL * filled:
            return NameTally(here.names, here.counts, distinct, filled)
    # names come in the order of a loader: numbers by size, texts as they occur
    by_size = table.server.dialect is DUCKDB and table.is_number(title)
    order = f"min({cell})" if by_size else f"min({table.row})"
    answer = table.server.fetch(
        f"SELECT *, count(*) OVER () AS d, sum(n) OVER () AS f FROM (SELECT {name} AS name, "
        f"count(*) AS n, {order} AS o FROM {table.used} WHERE {cell} IS NOT NULL GROUP BY {name}) "
        f"s ORDER BY n DESC, o LIMIT {most}"
    )
    names = tuple(str(found) for found in answer["name"].tolist())
    if not names:
        return here
    counts = np.array(_numbers(answer, "n"), np.int64)
    return NameTally(names, counts, int(answer["d"][0]), int(answer["f"][0]))
