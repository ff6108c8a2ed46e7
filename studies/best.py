"""The best of several figures in bold, where they stand beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studies.common import bold_best


def bold_beside(
    rows: Sequence[Sequence[object]], groups: Iterable[Sequence[int]]
) -> list[list[object]]:
    """Print the largest figure of each group of columns in bold, whoever's it is, row by row.

    Parameters
    ----------
    rows
        Their first cells are what they are about.
    groups
        Numbers of columns that compare with each other: ours, and what others have.

    Examples
    --------
    >>> bold_beside([["MLN-BT", "0.956 ± 0.004", "0.94 ± 0.06", "-0.9", "-0.5"]], [(1, 2), (3, 4)])
    [['MLN-BT', '**0.956 ± 0.004**', '0.94 ± 0.06', '-0.9', '**-0.5**']]
    """
    found = [list(row) for row in rows]
    for columns in groups:
        for row in found:
            cells = bold_best([["", row[column]] for column in columns], [1], lambda _: "")
            if sum(_is_figure(row[column]) for column in columns) > 1:
                for column, (_, cell) in zip(columns, cells, strict=True):
                    row[column] = cell
    return found


def _is_figure(cell: object) -> bool:
    return any(character.isdigit() for character in str(cell))
