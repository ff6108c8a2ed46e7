"""What the results of a run depend on, as digests: all of the data, and the settings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

from mlnlearn.data.database import Database
from mlnlearn.data.placed import DigestedPlace
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.journal import Identity, Journal

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def digest(parts: Iterable[bytes | memoryview | str]) -> str:
    """Return a digest of some parts, of which none can pass for the end of another.

    Examples
    --------
    >>> digest(["ab", "c"]) == digest(["ab", b"c"]), digest(["ab", "c"]) == digest(["a", "bc"])
    (True, False)
    """
    found = hashlib.blake2b(digest_size=12)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.hexdigest()


def fingerprint(databases: Sequence[Database]) -> dict[str, str]:
    """Return a digest of each part of the data: what is declared, all constants, all atoms.

    Constants count in their order, since learners break ties, and add up, in that order.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> people = Database.from_facts(Schema.of("smokes(person)"), {"smokes": [("Anna",)]})
    >>> for part in fingerprint([people]):
    ...     print(part)
    declarations of database 1
    constants of person in database 1
    atoms of smokes in database 1
    """
    found: dict[str, str] = {}
    for number, database in enumerate(databases, start=1):
        where, schema = f"database {number}", database.schema
        found[f"declarations of {where}"] = digest(
            [str(schema), *(f"{kind} {names}" for kind, names in schema.declared.items())]
        )
        place = getattr(database.true, "place", None)
        if isinstance(place, DigestedPlace):
            found |= {f"{part} in {where}": text for part, text in place.digests().items()}
            continue
        for kind in schema.types:
            found[f"constants of {kind} in {where}"] = digest(_constants(database.domains[kind]))
        listed = replace(database, cells={})
        for predicate in schema.predicates:
            name = predicate.name
            tables = [listed.facts(name), listed.false_facts(name), listed.unknown_facts(name)]
            if name in database.cells:
                tables.append(database.cells[name])
            # the shape tells an atom without arguments from none
            parts = [part for table in tables for part in (str(table.shape), table.tobytes())]
            unlisted = "unknown" if name in database.open else "false"
            found[f"atoms of {name} in {where}"] = digest([unlisted, *parts])
    return found


def _constants(vocabulary: Vocabulary) -> Iterator[str]:
    yield from vocabulary.names
    if vocabulary.numbers is not None:
        yield "times" if vocabulary.time else "numbers"


def settings_of(learner: DataclassInstance) -> dict[str, str]:
    """Return the settings of a learner as text, by name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Learner:
    ...     steps: int = 3
    >>> settings_of(Learner())
    {'steps': '3'}
    """
    return {item.name: in_full(getattr(learner, item.name)) for item in fields(learner)}


def in_full(value: object) -> str:
    """Return all that a value holds, as text; the `repr` of models is one line.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> in_full(Schema.of("smokes(person)").predicates[0])
    "Predicate(name='smokes', types=('person',), function=False)"
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(in_full, value))}{',' * (len(value) == 1)})"
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    parts = (f"{item.name}={in_full(getattr(value, item.name))}" for item in fields(value))
    return f"{type(value).__name__}({', '.join(parts)})"


def journal_of(
    path: str | PathLike[str] | None,
    learner: DataclassInstance,
    databases: Sequence[Database],
    more: Mapping[str, Iterable[bytes | str]] | None = None,
    *,
    name: str = "",
    settings: Mapping[str, str] | None = None,
) -> Journal:
    """Open the journal of a run; without a path, one that is kept in memory only.

    Parameters
    ----------
    path
        The file.
    learner
        Its type and its settings are those of the run, unless `name` and `settings` say otherwise.
    databases
        The data.
    more
        What else the run learns from, in plural words.
    """
    if path is None:
        return Journal()
    others = {what: digest(parts) for what, parts in (more or {}).items()}
    found = settings_of(learner) if settings is None else settings
    data = {**fingerprint(databases), **others}
    return Journal(path, Identity(name or type(learner).__name__, found, data))
