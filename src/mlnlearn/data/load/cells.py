"""The cells of a delimited text file, column by column, with the line of each row."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import Column, ColumnBuilder
from mlnlearn.data.load.tables import SHOWN_ROWS
from mlnlearn.data.load.text_dialect import UTF8, TextDialect
from mlnlearn.errors import InputError, Location
from mlnlearn.files import open_input

_CHUNK = 10_000
MOST_COLUMNS = 10_000
"""Of a table: each becomes a predicate, and far fewer can be learned from."""


@dataclass(frozen=True)
class Cells:
    """What a file holds: its first row, and the columns below it (or from it on).

    Attributes
    ----------
    lines
        The line on which each row of the columns begins.
    problems
        One for each row with another number of cells than the first.
    """

    first: list[str]
    first_line: int
    lines: NDArray[np.int64]
    columns: list[Column]
    problems: list[InputError]


def read_cells(
    path: Path, dialect: TextDialect, is_header: Callable[[list[str]], bool] = bool
) -> Cells:
    r"""Read a file; lines without a cell are skipped, and the first row where it is a header.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "a.csv")
    >>> _ = path.write_text('a,b\n1,"x\ny"\n\n2,z\n')
    >>> cells = read_cells(path, TextDialect(","))
    >>> cells.first, cells.lines.tolist(), [column.names for column in cells.columns]
    (['a', 'b'], [2, 5], [('1', '2'), ('x\ny', 'z')])
    """
    first: list[str] = []
    first_line = 0
    builders: list[ColumnBuilder] = []
    lines, wrong = array("q"), []
    for starts, rows in _chunks(path, dialect):
        if not first:
            first, first_line = rows[0], starts[0]
            if len(first) > MOST_COLUMNS:
                message = f"the first line has {len(first):,} cells, more than {MOST_COLUMNS:,}"
                raise InputError(message, Location(str(path), first_line))
            builders = [ColumnBuilder() for _ in first]
            if is_header(first):
                del rows[0], starts[0]
        if set(map(len, rows)) - {len(first)}:
            found = zip(starts, rows, strict=True)
            wrong += [(line, len(row)) for line, row in found if len(row) != len(first)]
        if wrong or not rows:
            continue
        lines.extend(starts)
        for builder, cells in zip(builders, zip(*rows, strict=True), strict=True):
            builder.extend(cells)
    if not first:
        raise InputError("the file is empty", Location(str(path)), "the first line names columns")
    columns = [builder.column() for builder in builders]
    problems = _wrong_widths(str(path), len(first), wrong)
    return Cells(first, first_line, np.array(lines, np.int64), columns, problems)


def _wrong_widths(source: str, width: int, wrong: list[tuple[int, int]]) -> list[InputError]:
    problems = [
        InputError(f"expected {width} cells, found {count}", Location(source, line))
        for line, count in wrong[:SHOWN_ROWS]
    ]
    if len(wrong) > SHOWN_ROWS:
        more = f"{len(wrong) - SHOWN_ROWS} more lines with a wrong number of cells"
        problems.append(InputError(more, Location(source)))
    return problems


def _chunks(path: Path, dialect: TextDialect) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield rows that are not blank and the lines on which they begin, some thousands at a time.

    Rows that live shortly cost neither much memory nor the garbage collector's time.
    """
    where = str(path)
    try:
        with (
            open_input(path) as binary,
            io.TextIOWrapper(binary, encoding=dialect.encoding, newline="") as file,
        ):
            for _ in range(dialect.skipped):
                file.readline()
            reader = csv.reader(file, delimiter=dialect.delimiter, strict=True)
            more = True
            while more:
                ends, rows = [reader.line_num + dialect.skipped], []
                try:
                    for row in reader:
                        rows.append(row)
                        ends.append(reader.line_num + dialect.skipped)
                        if len(rows) == _CHUNK:
                            break
                except csv.Error as error:
                    raise InputError(f"bad CSV: {error}", Location(where, ends[-1] + 1)) from None
                more = len(rows) == _CHUNK
                starts = [end + 1 for end in ends[:-1]]
                filled = [len(row) == 1 or any(row) for row in rows]
                if not all(filled):
                    starts = list(compress(starts, filled))
                    rows = list(compress(rows, filled))
                if rows:
                    yield starts, rows
    except UnicodeDecodeError:
        if dialect.encoding != UTF8:
            message = f"the file is not {dialect.encoding.upper()}, as its first bytes say"
            raise InputError(message, Location(where), "save the file as UTF-8") from None
        line, place = _bad_byte(path)
        message = f"byte {place} of the line is not UTF-8"
        raise InputError(message, Location(where, line), "save the file as UTF-8") from None


def _bad_byte(path: Path) -> tuple[int, int]:
    """Return the line and the byte in it where a file stops being UTF-8."""
    data = path.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = error.start
        return data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
    return 0, 0
