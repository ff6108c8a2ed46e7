"""Databases as Alchemy's ``.db`` text: what `read_db` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike

import numpy as np

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import Keys, is_among, number_of_keys, pack, unpack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.files import FACTS_MARK, RULES_MARK, write_files
from mlnlearn.logic.atoms import Constant, Predicate
from mlnlearn.syntax.mln import MlnFile
from mlnlearn.syntax.writer import write_mln

_MOST_UNKNOWN = 10_000_000
_SIGNS = {"true": "", "false": "!", "unknown": "?"}


def write_db(
    database: Database, path: str | PathLike[str], declarations: str | PathLike[str] | None = None
) -> None:
    """Write a database as a ``.db`` file; see `db_text` for what it holds.

    The declarations go into an ``.mln`` file of their own, if one is named.

    Parameters
    ----------
    database
        The database.
    path
        The file to write, in full or not at all.
    declarations
        The ``.mln`` file for the declarations; none by default.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mlnlearn.data.load.alchemy import read_db
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)]}, unknown={"smokes": [("Bob",)]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "people.db"
    ...     write_db(db, file)
    ...     again = read_db(file, schema=schema)
    >>> list(again.rows("smokes")), again.unknown_facts("smokes").shape
    ([('Anna',)], (1, 1))
    """
    texts = {path: FACTS_MARK + db_text(database)}
    if declarations is not None:
        texts[declarations] = f"{RULES_MARK}{write_mln(MlnFile(database.schema, ()))}"
    write_files(texts)


def db_text(database: Database) -> str:
    """Return a database as the text of a ``.db`` file, one atom a line.

    True atoms stand alone, false ones after ``!``, unknown ones after ``?``. Read again, the text
    gives the same constants and the same truth of every atom:

    - An open predicate is not marked in such a file, so all its unlisted atoms are written as
      unknown.
    - The domain of a type without declared constants is what its atoms mention. A constant that
      none does is mentioned in one that is false anyway.

    Raises
    ------
    InputError
        Where the language has no words for a name, or no atom can mention a constant.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("city(person,town)")
    >>> facts = {"city": [("Anna", "new york")]}
    >>> db = Database.from_facts(schema, facts, domains={"person": ["Anna", "Bob"]})
    >>> print(db_text(db), end="")
    city(Anna,"new york")
    !city(Bob,"new york")
    """
    write_mln(MlnFile(database.schema, ()))  # refuses names that cannot be written
    quoted = {
        kind: [str(Constant(name)) for name in vocabulary.names]
        for kind, vocabulary in database.domains.items()
    }
    lines: list[str] = []
    for predicate in database.schema.predicates:
        for truth, columns in _listed(database, predicate.name):
            lines += _atoms(_SIGNS[truth], predicate, columns, quoted)
    for predicate, columns in _mentions(database):
        lines += _atoms(_SIGNS["false"], predicate, columns, quoted)
    return "".join(f"{line}\n" for line in lines)


def _listed(database: Database, name: str) -> Iterator[tuple[str, Columns]]:
    """Yield the atoms to write of a predicate, by truth value."""
    yield "true", database.facts(name)
    yield "false", database.false_facts(name)
    yield (
        "unknown",
        _unlisted(database, name) if name in database.open else (database.unknown_facts(name)),
    )


def _unlisted(database: Database, name: str) -> Columns:
    """Return all atoms of an open predicate that are neither true nor false."""
    sizes = domain_sizes(database, name)
    total = number_of_keys(sizes)
    if total > _MOST_UNKNOWN:
        raise MemoryLimitError(
            f"the open predicate {name} has {total:,} atoms; written out they are too many",
            hint="list the unknown atoms, and close the predicate",
        )
    every = np.arange(total, dtype=np.int64)
    known = _known(database, name, sizes)
    return unpack(every[~is_among(every, known)], sizes)


def _known(database: Database, name: str, sizes: Sequence[int]) -> Keys:
    """Return the sorted keys of the atoms listed as true or false."""
    parts = [database.facts(name), database.false_facts(name)]
    return np.sort(np.concatenate([pack(part, sizes) for part in parts]))


def _atoms(
    sign: str, predicate: Predicate, columns: Columns, quoted: dict[str, list[str]]
) -> Iterator[str]:
    """Yield the lines of atoms."""
    words = [
        [quoted[kind][code] for code in column.tolist()]
        for kind, column in zip(predicate.types, columns, strict=True)
    ]
    if not words:
        yield from [f"{sign}{predicate.name}()"] * columns.shape[1]
    elif predicate.function:
        *arguments, values = words
        inner = map(",".join, zip(*arguments, strict=True)) if arguments else [""] * len(values)
        for value, text in zip(values, inner, strict=True):
            yield f"{sign}{value} = {predicate.name}({text})"
    else:
        for row in zip(*words, strict=True):
            yield f"{sign}{predicate.name}({','.join(row)})"


def _mentions(database: Database) -> Iterator[tuple[Predicate, Columns]]:
    """Yield false atoms that mention the constants which no written atom does."""
    missing = _unmentioned(database)
    for kind, codes in missing.items():
        for code in codes.tolist():
            yield _false_atom(database, kind, code)


def _unmentioned(database: Database) -> dict[str, Keys]:
    """Return, of each type that is not closed, those that no listed atom and no schema has."""
    seen = {
        kind: np.zeros(database.size(kind), np.bool_)
        for kind in database.schema.types
        if kind not in database.schema.declared
    }
    for kind, names in database.schema.listed.items():
        seen[kind][[database.domains[kind].code(name) for name in names]] = True
    for predicate in database.schema.predicates:
        for _, columns in _listed(database, predicate.name):
            for kind, column in zip(predicate.types, columns, strict=True):
                if kind in seen:
                    seen[kind][column] = True
    return {kind: np.flatnonzero(~found) for kind, found in seen.items()}


def _false_atom(database: Database, kind: str, code: int) -> tuple[Predicate, Columns]:
    """Return an atom with the constant that is false by the closed world."""
    for predicate in database.schema.predicates:
        fits = kind in predicate.types and predicate.name not in database.open
        if fits and all(database.size(other) for other in predicate.types):
            # no listed atom has the constant, so none is true or unknown
            place = predicate.types.index(kind)
            column = np.zeros((predicate.arity, 1), np.int32)
            column[place] = code
            return predicate, column
    name = Constant(database.domains[kind].names[code])
    raise InputError(
        f"no atom can mention the constant {name} of type {kind!r}",
        hint="declare the constants of the type in the schema",
    )
