"""A journal of what a search has found, from which a killed run goes on to the same result.

A search is deterministic. It writes down each costly result as it comes; when it is run again with
the same settings on the same data, it reads those results instead of computing them, and arrives at
the same network. The file is JSON, one result a line; a line cut short by a crash is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.files import write_atomically

Json = Any


class Journal:
    """Results by key, kept in memory and, where a path is given, in a file.

    Parameters
    ----------
    path
        The file; created where missing, read and continued where it exists.
    identity
        What the results depend on: settings and data. A file of another identity is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     Journal(path, "settings").record("step 1", [0.5, None])
    ...     Journal(path, "settings").get("step 1")
    [0.5, None]
    """

    def __init__(self, path: str | PathLike[str] | None, identity: str) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, Json] = {}
        if self._path is None:
            return
        if self._path.exists():
            self._read(self._path, identity)
        else:
            write_atomically(self._path, json.dumps({"identity": identity}) + "\n")

    def _read(self, path: Path, identity: str) -> None:
        """Take up the results of an earlier run; leave out, and cut off, an unfinished line."""
        text = path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        try:
            first, *lines = [json.loads(line) for line in whole.splitlines()] or [None]
            matches = isinstance(first, dict) and first.get("identity") == identity
            self._known = dict(lines) if matches else {}
        except ValueError as error:
            raise InputError(
                f"{path} is no journal of a search: {error}", hint="name another file"
            ) from None
        if not matches:
            raise InputError(
                f"{path} belongs to a search with other settings or data",
                hint="name another file, or remove this one to start afresh",
            )
        if whole != text:
            write_atomically(path, whole)

    def get(self, key: str) -> Json:
        """Return the result of a key, or None."""
        return self._known.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def record(self, key: str, value: Json) -> None:
        """Write down a result."""
        self.record_all([(key, value)])

    def record_all(self, results: Sequence[tuple[str, Json]]) -> None:
        """Write down several results at once."""
        self._known.update(results)
        if self._path is not None and results:
            with self._path.open("a", encoding="utf-8", newline="\n") as stream:
                stream.writelines(json.dumps(pair) + "\n" for pair in results)


def identity_of(settings: object, databases: Sequence[Database]) -> str:
    """Return a text that tells settings and data apart from any others.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> one = Database.from_facts(Schema.of("p(t)"), {"p": [("A",)]})
    >>> identity_of("x", [one]) == identity_of("x", [one]), len(identity_of("x", [one]))
    (True, 64)
    """
    digest = hashlib.sha256(repr(settings).encode())
    for database in databases:
        digest.update(str(database.schema).encode())
        for kind in database.schema.types:
            digest.update(json.dumps([kind, list(database.domains[kind])]).encode())
        for predicate in database.schema.predicates:
            digest.update(predicate.name.encode())
            digest.update(database.facts(predicate.name).tobytes())
    return digest.hexdigest()
