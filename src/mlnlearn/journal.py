"""A journal of what a run has found, from which a killed run goes on to the same result.

A learner is deterministic. It writes down each costly result as it comes; run again with the same
settings on the same data, it reads those results instead of computing them, and arrives at the same
model.

The file is text, one record a line: a checksum, then JSON. The first record says what the results
depend on: format, version, learner, settings, data. A checksum covers its own line and all lines
before it, so that a changed digit, and a line that is missing or out of place, are found. Only at
the very end may something be missing: a line without its end is what a kill in the middle of a
write leaves behind, and is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from msgspec import Struct, convert
from msgspec.structs import asdict

from mlnlearn.documents import decode
from mlnlearn.errors import InputError, Location
from mlnlearn.files import open_input, write_files
from mlnlearn.run import is_cut

FORMAT = "mlnlearn journal 1"
Json = Any
T = TypeVar("T")

_DAMAGED = "this checkpoint is damaged"
_OTHER_FILE = "name another file, or remove this one to start afresh"
# longer settings, such as whole networks, are named in messages but not shown
_SHOWN = 40


class Header(Struct):
    """The first record of a journal."""

    format: str
    version: str
    learner: str
    settings: dict[str, str]
    data: dict[str, str]


@dataclass(frozen=True)
class Identity:
    """What the results of a run depend on.

    Attributes
    ----------
    learner
        Its name.
    settings
        Their values as text, by name.
    data
        A digest of each part of the data, by what a person would call that part.
    """

    learner: str
    settings: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)

    def header(self) -> Header:
        """Return the first record of a journal."""
        return Header(FORMAT, _version(), self.learner, dict(self.settings), dict(self.data))


class Journal:
    """Results by key, kept in memory and, where a path is given, in a file.

    Parameters
    ----------
    path
        The file; created where missing, read and continued where it exists.
    identity
        What the results depend on. A file of another identity is refused, saying what differs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     Journal(path, Identity("GSLP", {"beam": "5"})).record("step 1", [0.5, None])
    ...     again = Journal(path, Identity("GSLP", {"beam": "5"}))
    ...     print(again.read("step 1", list[float | None]))
    ...     try:
    ...         again.read("step 1", list[float])
    ...     except InputError as error:
    ...         print(error.message)
    ...     try:
    ...         Journal(path, Identity("GSLP", {"beam": "7"}))
    ...     except InputError as error:
    ...         print(error.message)
    [0.5, None]
    this checkpoint is damaged: [1]: expected `float`, got `null`
    this checkpoint belongs to a run with other settings: beam was 5, is 7
    """

    def __init__(
        self, path: str | PathLike[str] | None = None, identity: Identity | None = None
    ) -> None:
        self._path = None if path is None else Path(path)
        self._results: dict[str, Json] = {}
        self._lines: dict[str, int] = {}
        self._sum = b""
        self._size = 0
        if self._path is None:
            return
        header = (identity or Identity("")).header()
        try:
            if self._path.exists() and self._path.stat().st_size:
                self._read(self._path, header)
            else:
                text = self._line(asdict(header))
                write_files({self._path: text.decode()})
                self._size = len(text)
        except OSError as error:
            self._fail(f"cannot use this checkpoint: {error.strerror or error}")

    @property
    def has_file(self) -> bool:
        """Whether results are kept beyond this run."""
        return self._path is not None

    def read(self, key: str, kind: type[T]) -> T:
        """Return the result of a key, which must be of a kind (see `mlnlearn.documents.decode`)."""
        with self.reading(key, kind) as result:
            return result

    @contextmanager
    def reading(self, key: str, kind: type[T]) -> Iterator[T]:
        """Give the result of a key; what turns out to be wrong with it is said with its line."""
        line = self._lines.get(key)
        if line is None:  # this run has found it
            yield convert(self._results[key], kind)
            return
        try:
            yield decode(self._results[key], kind)
        except InputError as error:
            self._fail(f"{_DAMAGED}: {error.message}", line)

    def is_null(self, key: str) -> bool:
        """Whether what was written down is that there is no result."""
        return self._results[key] is None

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def record(self, key: str, value: Json) -> None:
        """Write down a result."""
        self.record_all([(key, value)])

    def record_all(self, results: Sequence[tuple[str, Json]]) -> None:
        """Write down several results at once.

        Nothing is kept once a phase of the run ended early: what follows depends on the clock, and
        a run that goes on has the time to do it in full.
        """
        self._results.update(results)
        if self._path is None or not results or is_cut():
            return
        lines = b"".join(self._line(list(pair)) for pair in results)
        try:
            self._append(self._path, lines)
        except OSError as error:
            self._fail(f"cannot write this checkpoint: {error.strerror or error}")
        self._size += len(lines)

    def _append(self, path: Path, lines: bytes) -> None:
        """Write at the end of the file; what is written in part is taken back."""
        with path.open("r+b", buffering=0) as stream:
            if stream.seek(0, os.SEEK_END) != self._size:
                self._fail("another program has changed this checkpoint since it was read")
            try:
                written = 0
                while written < len(lines):
                    written += stream.write(lines[written:])
            except BaseException:
                stream.truncate(self._size)
                raise

    def _line(self, content: Json) -> bytes:
        """Return a record as a line, after those that were made before it."""
        body = json.dumps(content, ensure_ascii=False).encode()
        self._sum = _checksum(self._sum, body)
        return self._sum + b" " + body + b"\n"

    def _read(self, path: Path, header: Header) -> None:
        """Take up the results of an earlier run; leave out, and cut off, an unfinished line."""
        with open_input(path) as file:
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        records = self._records(whole)
        wrong = _differences(next(records, None), header)
        if wrong:
            self._fail(f"this checkpoint {wrong}", line=1)
        for number, record in enumerate(records, start=2):
            if not (isinstance(record, list) and len(record) == 2 and isinstance(record[0], str)):
                self._fail(f"{_DAMAGED}: no result stands here", line=number)
            self._results[record[0]] = record[1]
            self._lines[record[0]] = number
        self._size = len(whole)
        if whole != text:
            with path.open("r+b") as stream:
                stream.truncate(self._size)

    def _records(self, text: bytes) -> Iterator[Json]:
        for number, line in enumerate(text.split(b"\n")[:-1], start=1):
            found, _, body = line.partition(b" ")
            expected = _checksum(self._sum, body)
            if found != expected:
                if number == 1 and not body.startswith(b'{"format": "mlnlearn journal'):
                    self._fail("this is no checkpoint of a run", line=number)
                self._fail(f"{_DAMAGED}: the line has another checksum", line=number)
            self._sum = expected
            try:
                yield json.loads(body)
            except (ValueError, RecursionError) as error:
                self._fail(f"{_DAMAGED}: {error}", line=number)

    def _fail(self, message: str, line: int = 0) -> NoReturn:
        raise InputError(message, Location(str(self._path), line), hint=_OTHER_FILE) from None


@cache
def _version() -> str:
    return version("mlnlearn")


def _checksum(before: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(before + body, digest_size=12).hexdigest().encode()


def _differences(plain: Json, wanted: Header) -> str:
    """Say in which way a journal is of another run; nothing where it is of this one."""
    other = plain.get("format") if isinstance(plain, dict) else plain
    if other != wanted.format:
        return f"has the format {other!r:.80}, not {wanted.format!r}"
    try:
        found = decode(plain, Header)
    except InputError as error:
        return f"has a first line that is not whole: {error.message}"
    if found.version != wanted.version:
        return f"was written by version {found.version}, this is {wanted.version}"
    if found.learner != wanted.learner:
        return f"belongs to a run of {found.learner}, not of {wanted.learner}"
    if changes := _changes(found.settings, wanted.settings, shown=True):
        return f"belongs to a run with other settings: {changes}"
    if changes := _changes(found.data, wanted.data, shown=False):
        return f"belongs to a run on other data: {changes}"
    return ""


def _changes(was: Mapping[str, str], now: Mapping[str, str], *, shown: bool) -> str:
    """List the entries that differ, the first few of them."""
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    changes = []
    for name in names[:5]:
        before, after = was.get(name, "not there"), now.get(name, "not there")
        short = shown and max(len(before), len(after)) <= _SHOWN
        changes.append(f"{name} was {before}, is {after}" if short else f"{name} differ")
    return "; ".join([*changes, "and more"] if len(names) > len(changes) else changes)
