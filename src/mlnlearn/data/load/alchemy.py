"""Databases from Alchemy's ``.db`` files."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.load.columns import sorted_names
from mlnlearn.data.load.ground_atoms import AtomBuilder
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, InputErrors, Location, raise_all
from mlnlearn.files import read_text
from mlnlearn.logic.atoms import Atom, Constant
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.db import DbText, SoftAtom, scan_databases, scan_db
from mlnlearn.syntax.mln import MlnFile, read_mln

_LOG = logging.getLogger(__name__)


def read_db(
    *paths: str | PathLike[str],
    schema: Schema | MlnFile | str | PathLike[str],
    name: str | None = None,
) -> Database:
    """Read one database from one or more ``.db`` files, plain or gzip.

    Plain lists of atoms (example files) have the same form and are read the same way.

    Parameters
    ----------
    paths
        The files; together they make one database.
    schema
        The declarations, or an ``.mln`` file that holds them.
    name
        The database's name in messages; the paths unless given.

    Raises
    ------
    InputErrors
        With every problem of all files: syntax, undeclared predicates, wrong numbers of arguments,
        constants outside a closed type, atoms with two truth values.

    Warns
    -----
    DataWarning
        Where an atom is listed twice, or an argument marked ``!`` has not exactly one value.

    Examples
    --------
    >>> read_db("missing.db", schema=Schema.of("smokes(person)"))
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: missing.db: cannot read the file: No such file or directory
    """
    declared = _schema(schema)
    scanned = []
    for path in paths:
        parts = scan_databases(read_text(path), declared, str(path))
        if len(parts) > 1:
            raise _several(path, len(parts))
        scanned += parts
    return database_of(scanned, declared, name or ", ".join(map(str, paths)))


def read_databases(
    path: str | PathLike[str], schema: Schema | MlnFile | str | PathLike[str]
) -> tuple[Database, ...]:
    """Read the databases of one ``.db`` file: one, or as many as lines ``---`` set apart.

    Parameters
    ----------
    path
        The file, plain or gzip.
    schema
        The declarations, or an ``.mln`` file that holds them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "people.db"
    >>> _ = path.write_text("smokes(anna)" + chr(10) + "---" + chr(10) + "smokes(bob)")
    >>> [list(db.rows("smokes")) for db in read_databases(path, Schema.of("smokes(person)"))]
    [[('anna',)], [('bob',)]]
    """
    declared = _schema(schema)
    parts = scan_databases(read_text(path), declared, str(path))
    names = [str(path)] if len(parts) == 1 else [f"{path}#{i + 1}" for i in range(len(parts))]
    problems: list[InputError] = []
    databases = []
    for part, name in zip(parts, names, strict=True):
        try:
            databases.append(database_of([part], declared, name))
        except InputErrors as errors:
            problems += errors.problems
    raise_all(problems)
    return tuple(databases)


@dataclass(frozen=True)
class SoftEvidence:
    """What is given to a query: facts, and rules that stand for soft evidence.

    Attributes
    ----------
    database
        The facts; atoms of soft evidence are unknown in it.
    rules
        One for each of those, with its log-odds as weight.
    """

    database: Database
    rules: tuple[Rule, ...] = ()


def read_evidence(
    path: str | PathLike[str],
    schema: Schema | MlnFile | str | PathLike[str],
    name: str | None = None,
) -> SoftEvidence:
    """Read evidence for a query, in which atoms may have a probability: ``0.8 P(A)``.

    Such an atom is unknown, and a rule with the weight log(0.8/0.2) speaks for it: it has the
    probability 0.8 where no other rule of the network bears on it, else what all say together.

    Parameters
    ----------
    path
        The ``.db`` file, plain or gzip.
    schema
        The declarations, or an ``.mln`` file that holds them.
    name
        The database's name in messages; the path unless given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "seen.db"
    >>> _ = path.write_text("near(A,B)" + chr(10) + "0.8 open(A)")
    >>> found = read_evidence(path, Schema.of("near(door,door)", "open(door)"))
    >>> print(found.rules[0], *found.database.incomplete)
    1.3862943611198908. open(A) open
    """
    declared = _schema(schema)
    parts = scan_databases(read_text(path), declared, str(path))
    if len(parts) > 1:
        raise _several(path, len(parts))
    database = database_of(parts, declared, name or str(path), soft=True)
    return SoftEvidence(database, tuple(_weighted(atom, declared) for atom in parts[0].soft))


def _weighted(atom: SoftAtom, schema: Schema) -> Rule:
    formula = Atom(schema[atom.predicate], tuple(map(Constant, atom.constants)))
    return Rule(formula, math.log(atom.probability / (1 - atom.probability)), locked=True)


def _refused(atom: SoftAtom) -> InputError:
    weight = math.log(atom.probability / (1 - atom.probability))
    written = f"{atom.predicate}({','.join(str(Constant(name)) for name in atom.constants)})"
    return InputError(
        f"soft evidence, {atom.probability:.4g} {written}, is for queries alone",
        atom.place,
        hint=f"infer and read_evidence take it; else list ?{written}, "
        f"add the rule {weight:.4g} {written}",
    )


def parse_db(
    text: str, schema: Schema | MlnFile, file: str = "<text>", name: str | None = None
) -> Database:
    r"""Read a database from the text of a ``.db`` file; see `read_db`.

    Constants get their codes in order of first occurrence, predicate by predicate; those of a
    closed type keep the order of its declaration.

    Parameters
    ----------
    text
        The text.
    schema
        The predicates, or the file that declares them.
    file
        What the text is called in errors.
    name
        What the database is called in messages and results.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> print(parse_db("smokes(Anna)\nfriends(Anna,Bob)\n?smokes(Bob)", schema, name="tiny"))
    tiny: 2 true atoms over 2 person
    """
    declared = _schema(schema)
    return database_of([scan_db(text, declared, file)], declared, name or file)


def _several(path: str | PathLike[str], number: int) -> InputError:
    return InputError(
        f"the file holds {number} databases, with '---' between them",
        Location(str(path)),
        hint="one file each, split at '---'; in Python, read_databases reads them all",
    )


def _schema(given: Schema | MlnFile | str | PathLike[str]) -> Schema:
    if isinstance(given, Schema):
        return given
    return given.schema if isinstance(given, MlnFile) else read_mln(given).schema


def database_of(
    scanned: Sequence[DbText], schema: Schema, name: str, soft: bool = False
) -> Database:
    """Make one database of scanned texts, or complain about all that is wrong with them.

    Atoms with a probability are unknown ones if `soft` says so, else refused.
    """
    builder = AtomBuilder(schema, scanned)
    if not soft:
        builder.problems += [_refused(atom) for part in scanned for atom in part.soft]
    tables = builder.tables()
    builder.find_contradictions(tables)
    if builder.problems:
        raise InputErrors(builder.all_problems())
    tables = builder.without_duplicates(tables)
    builder.warn_functional(tables)
    # constants in an order of their own, so that the order of lines changes no result
    domains = {
        kind: Vocabulary(codes if kind in schema.declared else sorted_names(codes))
        for kind, codes in builder.codes.items()
    }
    renumbered = {
        kind: np.fromiter(map(domains[kind].code, codes), np.int32, len(codes))
        for kind, codes in builder.codes.items()
    }
    facts: dict[str, dict[str, NDArray[np.int32]]] = {"true": {}, "false": {}, "unknown": {}}
    for (truth, predicate), table in tables.items():
        columns = zip(schema[predicate].types, table.codes, strict=True)
        coded = [renumbered[kind][codes] for kind, codes in columns]
        facts[truth][predicate] = np.array(coded, np.int32).reshape(table.codes.shape)
    database = Database.from_codes(
        schema, domains, facts["true"], facts["false"], facts["unknown"], name=name
    )
    _LOG.info("read %s", database)
    return database
