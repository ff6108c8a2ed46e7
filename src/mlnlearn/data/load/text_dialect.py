"""How a file of delimited text is written: its encoding, and what stands between the cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from mlnlearn.files import open_input

DELIMITERS = (",", ";", "\t", "|")
"""What may stand between cells, the likeliest first."""
UTF8 = "utf-8-sig"
WESTERN = "cp1252"
_BLOCK = 1 << 20
_ROWS = 200
_SAID = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x81\x8d\x8f\x90\x9d]")
_SEVERAL_BYTES = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)


@dataclass(frozen=True)
class TextDialect:
    """How a file is to be read.

    Attributes
    ----------
    delimiter
        What stands between the cells of a line.
    encoding
        As Python calls it.
    skipped
        How many lines stand before the first row.

    Examples
    --------
    >>> TextDialect(";").encoding
    'utf-8-sig'
    """

    delimiter: str = ","
    encoding: str = UTF8
    skipped: int = 0


def find_dialect(path: Path) -> TextDialect:
    r"""Look at a file: a comma stands between cells wherever it can.

    A file that is not UTF-8 is Western European text where it cannot be UTF-8 with a fault; a fault
    is left for the reader to find.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_bytes("Ort;Größe\nKöln;1,5\n".encode("latin-1"))
    >>> find_dialect(path)
    TextDialect(delimiter=';', encoding='cp1252', skipped=0)
    """
    encoding = find_encoding(path)
    with opened(path, encoding) as file:
        start = file.read(_BLOCK)
    said = _SAID.match(start)
    if said:
        return TextDialect(said[1], encoding, 1)
    widths = {delimiter: _width(start, delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=widths.__getitem__)
    return TextDialect("," if widths[","] > 1 or widths[best] < 2 else best, encoding)


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file of text with its line ends as they are, and a sign for every fault."""
    with (
        open_input(path) as binary,
        io.TextIOWrapper(binary, encoding=encoding, errors="replace", newline="") as file,
    ):
        yield file


def find_encoding(path: Path) -> str:
    """Return how the text of a file is encoded: by its mark, or by what its bytes can be."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8, is_western = True, True
    with open_input(path) as file:
        block = file.read(_BLOCK)
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        marked = block.startswith(codecs.BOM_UTF8)
        while block and (is_utf8 or is_western):
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_utf8 = False
            is_western &= not _BINARY.search(block) and not _SEVERAL_BYTES.search(block)
            block = file.read(_BLOCK)
    return WESTERN if is_western and not is_utf8 and not marked else UTF8


def _width(start: str, delimiter: str) -> int:
    """Return how many cells all first rows have; 0 where they differ."""
    complete = start if len(start) < _BLOCK else start[: start.rfind("\n") + 1]
    try:
        rows = csv.reader(io.StringIO(complete, newline=""), delimiter=delimiter, strict=True)
        widths = {len(row) for row in islice(filter(None, rows), _ROWS)}
    except csv.Error:
        return 0
    return widths.pop() if len(widths) == 1 else 0
