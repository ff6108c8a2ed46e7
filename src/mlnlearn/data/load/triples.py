"""Triples of a knowledge graph: from files (text, Parquet, DuckDB), frames and rows.

Names are kept as they are written: lower case, with blanks, as addresses. What cannot be a triple
is an error with its line, all of them at once.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.graph import Codes, Graph, GraphSplit, encoded, sorted_triples, triple_keys
from mlnlearn.data.load.triple_tables import PLACES, is_triple_table, triple_tables
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import DataWarning, InputError, InputErrors, Location
from mlnlearn.files import AnyPath, read_text

_OTHER_WORDS = {"subject": "head", "predicate": "relation", "object": "tail"} | dict(
    zip("spohrt", ("head", "relation", "tail") * 2, strict=True)
)
_MOST_PROBLEMS = 1000
_TEXT_AT_ONCE = 1 << 20  # letters that are split into lines
_CODE_POINT = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_RESOURCE = rf"<((?:[^<>\"{{}}|^`\\\s]|{_CODE_POINT})*)>|(_:\S+)"
_LITERAL = r"(\"(?:[^\"\\]|\\.)*\"(?:@[\w-]+|\^\^<[^<>\s]*>)?)"
_N_TRIPLE = re.compile(
    rf"\s*(?:{_RESOURCE})\s*<([^<>\s]*)>\s*(?:{_RESOURCE}|{_LITERAL})\s*\.\s*(?:#.*)?\Z"
)

Columns = tuple[list[str], list[str], list[str]]


def read_triples(path: AnyPath, *, order: str = "") -> Columns:
    r"""Read the triples of a file as three lists of names: heads, relations, tails.

    Parameters
    ----------
    path
        A file with one triple a line. ``.nt`` is read as N-Triples, ``.csv`` with commas, others
        with tabs where the first line has one; ``.gz`` after it is unpacked.
    order
        Which cell is what, such as ``"relation head tail"``; by default as a header line says
        (head, relation, tail; subject, predicate, object), else head, relation, tail.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "kg.tsv"
    ...     _ = path.write_text("Anna\tborn in\tPrague\n")
    ...     read_triples(path)
    (['Anna'], ['born in'], ['Prague'])
    """
    places = _order(order)
    whole = read_text(path)
    split = _splitter(Path(path), whole)
    columns: list[list[str]] = [[], [], []]
    add = [column.append for column in columns]
    once: dict[str, str] = {}  # a name that stands in many triples is kept once
    problems: list[InputError] = []
    first = True
    for number, line in enumerate(_lines(whole), start=1):
        text = line.removesuffix("\r")
        if not text or text.isspace():
            continue
        try:
            cells = split(text)
        except (ValueError, csv.Error) as error:
            problems.append(InputError(str(error), Location(str(path), number)))
            continue
        if not cells:  # a comment
            continue
        if first:
            first = False
            header = _header(cells)
            if header and not order:
                places = header
            if header:
                continue
        if len(cells) != 3 or not (cells[0].strip() and cells[1].strip() and cells[2].strip()):
            problems.append(_problem(cells, places, Location(str(path), number)))
            if len(problems) >= _MOST_PROBLEMS:
                break
            continue
        for place, cell in zip(places, cells, strict=True):
            add[place](once.setdefault(cell, cell))
    if problems:
        raise problems[0] if len(problems) == 1 else InputErrors(problems)
    if not columns[0]:
        raise InputError("there is no triple in the file", Location(str(path)))
    _doubt_header(columns, Location(str(path)))
    return columns[0], columns[1], columns[2]


def _doubt_header(columns: Sequence[list[str]], where: Location) -> None:
    """Warn of a first triple whose names are all of them in no other."""
    first = {column[0] for column in columns}
    again = any(name in first for column in columns for name in islice(column, 1, None))
    if len(columns[0]) > 2 and len(first) == 3 and not again:
        shown = ", ".join(column[0] for column in columns)
        warnings.warn(
            f"{where}: the names of the first triple ({shown}) are in no other: if they are "
            "titles, call them head, relation and tail",
            DataWarning,
            stacklevel=3,
        )


def _order(order: str) -> tuple[int, ...]:
    if not order:
        return (0, 1, 2)
    found = _header(list(order.strip())) or _header(re.split(r"[\s,\-–]+", order.strip()))
    if not found:
        raise InputError(
            f"order {order!r}: expected head, relation and tail",
            hint='such as "head relation tail"',
        )
    return found


def _header(cells: Sequence[str]) -> tuple[int, ...]:
    """Return which place each word names, nothing where the words are no header."""
    words = [cell.strip().lower() for cell in cells]
    known = [_OTHER_WORDS.get(word, word) for word in words]
    if sorted(known) != sorted(PLACES):
        return ()
    return tuple(PLACES.index(word) for word in known)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, without all of them in memory at once."""
    start = 0
    while True:
        stop = text.find("\n", start + _TEXT_AT_ONCE)
        if stop < 0:
            yield from text[start:].split("\n")
            return
        yield from text[start:stop].split("\n")
        start = stop + 1


def _splitter(path: Path, text: str) -> Callable[[str], list[str]]:
    """Return what splits a line of this file in cells."""
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    start = next((line for line in _lines(text) if line.strip()), "")
    if ending in (".nt", ".ntriples") or ("\t" not in start and _N_TRIPLE.match(start)):
        return _n_triple
    if ending == ".csv" or ("\t" not in start and start.count(",") >= 2):
        return _comma
    return _tab


def _tab(line: str) -> list[str]:
    cells = line.split("\t")
    if len(cells) > 3 and '"' in line:  # a tab within quotes
        return next(csv.reader([line], delimiter="\t"))
    return cells


def _comma(line: str) -> list[str]:
    return next(csv.reader([line])) if '"' in line else line.split(",")


def _n_triple(line: str) -> list[str]:
    if line.lstrip().startswith("#"):
        return []
    found = _N_TRIPLE.match(line)
    if found is None:
        raise ValueError("expected <subject> <predicate> <object> . as N-Triples has it")
    subject, subject_blank, relation, thing, thing_blank, literal = found.groups()
    cells = [subject or subject_blank or "", relation, thing or thing_blank or literal or ""]
    return [_decoded(cell) for cell in cells] if "\\" in line else cells


def _decoded(name: str) -> str:
    """Return a name with the letters that N-Triples may write by their numbers."""

    def letter(found: re.Match[str]) -> str:
        code = int(found[1][2:], 16) if found[1] else 0
        plain = 31 < code < 0x110000 and not 0xD800 <= code < 0xE000 and chr(code) not in '"\\'
        return chr(code) if plain else found[0]

    return re.sub(rf"\\\\|({_CODE_POINT})", letter, name)


def _problem(cells: list[str], places: Sequence[int], where: Location) -> InputError:
    if len(cells) != 3:
        found = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
        hint = "cells stand between tabs, or between commas" if len(cells) == 1 else ""
        return InputError(f"expected 3 cells (head, relation, tail), found {found}", where, hint)
    empty = [PLACES[place] for place, cell in zip(places, cells, strict=True) if not cell.strip()]
    return InputError(f"the {' and the '.join(empty)} of the triple is empty", where)


def read_graph(
    train: AnyPath,
    valid: AnyPath | None = None,
    test: AnyPath | None = None,
    *,
    order: str = "",
) -> GraphSplit:
    """Read a knowledge graph: triples to learn from, and others to choose by and to test on.

    What is strange is said in a `DataWarning` and mended: a triple listed twice counts once; one of
    `valid` or `test` that is in `train` is known, and left out there; one of both `valid` and
    `test` is left to `test`. Entities of `valid` and `test` that `train` lacks are kept.

    See `read_triples` for files of text and the `order` of their cells. A Parquet file, a folder of
    files that are its parts, and a DuckDB file with a table of three columns (or one that is called
    ``triples``) are read as numbers, within the memory that is in use.

    Parameters
    ----------
    train
        The file of triples to learn from.
    valid, test
        Files of triples to choose by, and to test on.
    order
        The order of the cells in words, such as ``"head tail relation"``: see
        `read_triples`.
    """
    paths = [None if path is None else Path(path) for path in (train, valid, test)]
    tables = [path if path is not None and is_triple_table(path) else None for path in paths]
    texts: list[Columns] = [
        ([], [], []) if path is None or path is table else read_triples(path, order=order)
        for path, table in zip(paths, tables, strict=True)
    ]
    if not any(tables):
        return split_of(texts, name=Path(train).stem)
    with triple_tables(tables, _order(order) if order else (), _header) as opened:
        entities, places = _joined(opened.entities, [*_names(texts, 0), *_names(texts, 2)])
        relations, kinds = _joined(opened.relations, _names(texts, 1))
        coded = []
        for number, text in enumerate(texts):
            if tables[number] is None:
                coded.append(encoded(text, entities, relations))
                continue
            codes = opened.codes(number)
            for row, new in enumerate((places, kinds, places)):
                if new is not None:
                    codes[row] = new[codes[row]]
            coded.append(codes)
    return _split(coded, entities, relations, Path(train).stem)


def _names(parts: Sequence[Columns], place: int) -> list[str]:
    return [name for part in parts for name in part[place]]


def _joined(numbered: list[str], more: Iterable[str]) -> tuple[Vocabulary, Codes | None]:
    """Return a vocabulary of numbered names and of others, and new numbers where there are such."""
    found = set(more)
    if not found.difference(numbered):
        return Vocabulary(numbered), None
    vocabulary = Vocabulary(sorted(found.union(numbered)))
    return vocabulary, np.array([vocabulary.codes[name] for name in numbered], np.int32)


def from_triples(
    train: Any, valid: Any = None, test: Any = None, *, columns: Sequence[str] = (), name: str = ""
) -> GraphSplit:
    """Make a knowledge graph of data frames, arrays or rows, as `read_graph` does of files.

    Parameters
    ----------
    train, valid, test
        Each a data frame or rows of head, relation and tail.
    columns
        The names of the columns of frames that hold head, relation and tail; by default those
        that are called so (or subject, predicate, object), else the three there are, in order.
    name
        What the graph is called in messages and results.

    Examples
    --------
    >>> split = from_triples([("Anna", "knows", "Bob"), ("Bob", "knows", "Carl")])
    >>> print(split.train)
    2 triples, 3 entities, 1 relations
    """
    parts = [_columns_of(part, columns) for part in (train, valid, test)]
    return split_of(parts, name=name)


def _columns_of(given: Any, titles: Sequence[str]) -> Sequence[list[str]]:
    if given is None:
        return [], [], []
    if hasattr(given, "columns"):
        import narwhals as nw  # noqa: PLC0415 - only where frames are given

        frame = nw.from_native(given, eager_only=True)
        names = list(titles) or _named_places(frame.columns)
        if len(names) != 3 or any(name not in frame.columns for name in names):
            raise InputError(
                f"the frame has the columns {', '.join(map(str, frame.columns))}",
                hint="name those of head, relation and tail with columns=…",
            )
        cells = [frame[name].to_list() for name in names]
    else:
        rows = given.tolist() if isinstance(given, np.ndarray) else list(given)
        wrong = next((number for number, row in enumerate(rows) if len(row) != 3), None)
        if wrong is not None:
            raise InputError(f"row {wrong}: a triple has 3 names, not {len(rows[wrong])}")
        cells = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    for place, column in zip(PLACES, cells, strict=True):
        for number, cell in enumerate(column):
            if cell is None or str(cell).strip() in ("", "nan"):
                raise InputError(f"row {number}: the {place} of the triple is empty")
    return [[str(cell) for cell in column] for column in cells]


def _named_places(titles: Sequence[str]) -> list[str]:
    """Return titles in the order of head, relation and tail, where they say which is which."""
    places = _header([str(title) for title in titles]) if len(titles) == 3 else ()
    return [titles[places.index(place)] for place in range(3)] if places else list(titles)


def split_of(parts: Sequence[Sequence[list[str]]], name: str = "") -> GraphSplit:
    """Put coded triples of three parts over common vocabularies, and say what is strange."""
    entities = Vocabulary(sorted({name for part in parts for name in (*part[0], *part[2])}))
    relations = Vocabulary(sorted({name for part in parts for name in part[1]}))
    return _split([encoded(part, entities, relations) for part in parts], entities, relations, name)


def _split(
    parts: list[Codes], entities: Vocabulary, relations: Vocabulary, name: str
) -> GraphSplit:
    """Put triples of three parts in order, each once and in one of them, saying what is strange."""
    coded, remarks = [], []
    for title in ("train", "valid", "test"):
        triples = parts.pop(0)  # which nobody needs once it is in order
        listed = triples.shape[1]
        coded.append(sorted_triples(triples))
        if coded[-1].shape[1] < listed:
            lost = listed - coded[-1].shape[1]
            remarks.append(f"{title} lists {_triples(lost)} more than once: each counts once")
    train, valid, test = coded
    test, found = _without(test, train, len(entities))
    remarks += [f"test has {_triples(found)} of train: left out of test"] * bool(found)
    valid, found = _without(valid, train, len(entities))
    remarks += [f"valid has {_triples(found)} of train: left out of valid"] * bool(found)
    valid, found = _without(valid, test, len(entities))
    remarks += [f"valid has {_triples(found)} of test: left out of valid"] * bool(found)
    remarks += _unseen(train, valid, test, entities, relations)
    for remark in remarks:
        warnings.warn(remark, DataWarning, stacklevel=4)
    return GraphSplit(Graph(entities, relations, train, name), valid, test, tuple(remarks))


def _triples(count: int) -> str:
    return "1 triple" if count == 1 else f"{count:,} triples"


def _without(triples: Codes, known: Codes, entities: int) -> tuple[Codes, int]:
    if not triples.size:
        return triples, 0
    there = np.isin(triple_keys(triples, entities), triple_keys(known, entities))
    return np.ascontiguousarray(triples[:, ~there]), int(there.sum())


def _unseen(
    train: Codes, valid: Codes, test: Codes, entities: Vocabulary, relations: Vocabulary
) -> Iterator[str]:
    seen = np.zeros(len(entities), np.bool_)
    seen[train[0]] = seen[train[2]] = True
    kinds = np.zeros(len(relations), np.bool_)
    kinds[train[1]] = True
    for title, part in (("valid", valid), ("test", test)):
        new = int((~(seen[part[0]] & seen[part[2]])).sum())
        if new:
            has = "has" if new == 1 else "have"
            yield f"{_triples(new)} of {title} {has} entities that train lacks: these rank last"
        if not kinds[part[1]].all():
            missing = sorted({relations[code] for code in part[1][~kinds[part[1]]]})
            shown = ", ".join(_shown(missing))
            yield f"{title} has relations that train lacks, and nothing is known of: {shown}"


def _shown(names: Iterable[str], most: int = 5) -> list[str]:
    found = list(names)
    return found if len(found) <= most else [*found[:most], f"and {len(found) - most} more"]
