"""Facts as plain files: one CSV file a predicate, or triples of a knowledge graph."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.load.cells import read_cells
from mlnlearn.data.load.columns import Codes, sorted_names
from mlnlearn.data.load.files import read_csv
from mlnlearn.data.load.names import clean_name
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.text_dialect import TextDialect
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, InputErrors, Location, collected, raise_all
from mlnlearn.logic.atoms import Constant, Predicate
from mlnlearn.logic.schema import Schema

_HEADERS = (("subject", "predicate", "object"), ("head", "relation", "tail"), ("s", "p", "o"))


def facts_from_csv(
    folder: str | Path,
    schema: Schema,
    *,
    domains: abc.Mapping[str, Iterable[str]] | None = None,
    name: str = "",
) -> Database:
    r"""Load facts from a folder with one CSV file a predicate; its columns are the arguments.

    The file ``advisedBy.csv`` holds the facts of ``advisedBy``, its header line names the
    arguments in any words, and their order is that of the declaration. A predicate without a file
    has no facts. `domains` adds constants that may occur in no fact.

    Parameters
    ----------
    folder
        Where the files are.
    schema
        The predicates.
    domains
        Constants by type that may occur in no fact.
    name
        What the database is called in messages and results.

    Raises
    ------
    InputErrors
        Listing every problem with its file, line and column.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = Path(folder.name, "friends.csv").write_text("who,whom\nAnna,Bob\n")
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> print(facts_from_csv(folder.name, schema, domains={"person": ["Carl"]}, name="toy"))
    toy: 1 true atoms over 3 person
    """
    path = Path(folder)
    if not path.is_dir():
        raise InputErrors([InputError("no such folder", Location(str(folder)))])
    tables: dict[str, Table] = {}
    problems: list[InputError] = []
    for file in sorted(path.glob("*.csv")):
        with collected(problems):
            tables[file.stem] = _fact_table(file, schema)
    raise_all(problems)
    return _database(schema, tables, domains or {}, name or path.resolve().name)


def _fact_table(file: Path, schema: Schema) -> Table:
    if file.stem not in schema:
        known = ", ".join(predicate.name for predicate in schema.predicates) or "none"
        message = f"no such predicate {file.stem!r}; declared are: {known}"
        raise InputError(message, Location(str(file)))
    table, predicate = read_csv(file.stem, file), schema[file.stem]
    if len(table.columns) != predicate.arity:
        message = f"{predicate} takes {predicate.arity} columns, found {len(table.columns)}"
        raise InputError(message, table.place())
    problems: list[InputError] = []
    for title, column in table.columns.items():
        empty = np.flatnonzero(column.missing)
        problems += table.problems_at(empty, title, lambda _: "an argument is empty")
    raise_all(problems)
    return table


def triples_from_csv(
    path: str | Path,
    *,
    schema: Schema | None = None,
    kind: str = "entity",
    delimiter: str = "",
    name: str = "",
) -> Database:
    r"""Load a knowledge graph from a file of triples: subject, predicate, object.

    A first line ``subject,predicate,object`` (in any order; also head, relation, tail) is a header;
    without one, all lines are triples. Files that do not end in ``.csv`` are read as tab-separated
    unless `delimiter` says otherwise. With a `schema`, predicates must be declared with two
    arguments; without one, all constants are of type `kind`, and predicates get names that formulas
    can hold.

    Parameters
    ----------
    path
        The file.
    schema
        The predicates, where they are declared.
    kind
        The type of all constants, where there is no `schema`.
    delimiter
        What stands between the cells of a line.
    name
        What the database is called in messages and results.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = Path(folder.name, "kg.tsv").write_text("Anna\tborn in\tPrague\nBob\tknows\tAnna\n")
    >>> database = triples_from_csv(Path(folder.name, "kg.tsv"))
    >>> print(database.schema)
    born_in(entity,entity)
    knows(entity,entity)
    """
    file = Path(path)
    table = _triple_table(file, delimiter or ("," if file.suffix == ".csv" else "\t"))
    relation = table.columns["predicate"]
    names = [clean_name(found) if schema is None else found for found in relation.names]
    declared = schema or Schema(
        tuple(Predicate(found, (kind, kind)) for found in sorted(set(names)))
    )
    problems = _check_relations(table, names, declared, keep=schema is not None)
    raise_all(problems)
    order = np.argsort(relation.codes, kind="stable")
    starts = np.searchsorted(relation.codes[order], np.arange(len(names) + 1))
    facts = {
        found: _slice(table, found, order[starts[code] : starts[code + 1]])
        for code, found in enumerate(names)
    }
    return _database(declared, facts, {}, name or file.stem)


def _slice(table: Table, name: str, rows: NDArray[np.integer]) -> Table:
    columns = {side: table.columns[side].at(rows) for side in ("subject", "object")}
    lines = None if table.lines is None else table.lines[rows]
    return Table(name, columns, source=table.source, lines=lines)


def _triple_table(path: Path, delimiter: str) -> Table:
    cells = read_cells(path, TextDialect(delimiter), lambda row: bool(_header(row)))
    if len(cells.first) != 3:
        message = f"expected 3 cells, found {len(cells.first)}"
        raise InputErrors([InputError(message, Location(str(path), cells.first_line))])
    titles = _header(cells.first) or _HEADERS[0]
    columns = dict(zip(titles, cells.columns, strict=True))
    table = Table(path.stem, columns, source=str(path), lines=cells.lines)
    problems = list(cells.problems)
    for title, column in columns.items():
        if "" in column.names:
            empty = np.flatnonzero(column.codes == column.names.index(""))
            problems += table.problems_at(empty, title, lambda _: "the cell is empty")
    raise_all(problems)
    return table


def _header(row: list[str]) -> tuple[str, ...]:
    """Return the titles subject, predicate and object in the order of a header, if it is one."""
    words = [cell.strip().lower() for cell in row]
    for known in _HEADERS:
        if sorted(words) == sorted(known):
            return tuple(_HEADERS[0][known.index(word)] for word in words)
    return ()


def _check_relations(
    table: Table, names: list[str], schema: Schema, keep: bool
) -> list[InputError]:
    relation, problems = table.columns["predicate"], []
    _, rows = np.unique(relation.codes, return_index=True)
    first: dict[str, str] = {}
    for code, name in enumerate(names):
        row, original = int(rows[code]), relation.names[code]
        if name not in schema:
            problems.append(InputError(f"no such predicate {name!r}", table.place(row)))
        elif schema[name].arity != 2:
            message = f"{schema[name]} takes {schema[name].arity} arguments, a triple has 2"
            problems.append(InputError(message, table.place(row)))
        elif not keep and first.setdefault(name, original) != original:
            message = f"predicates {first[name]!r} and {original!r} would both be {name!r}"
            problems.append(InputError(message, table.place(row), "rename one of them"))
    return problems


def _database(
    schema: Schema,
    tables: abc.Mapping[str, Table],
    domains: abc.Mapping[str, Iterable[str]],
    name: str,
) -> Database:
    """Code the columns of fact tables; constants are in order, whatever the order of rows."""
    unknown = [kind for kind in domains if kind not in schema.types]
    problems = [InputError(f"domains: no such type {kind!r}") for kind in unknown]
    names = {kind: dict.fromkeys(schema.constants.get(kind, ())) for kind in schema.types}
    given = [(kind, found) for kind, found in domains.items() if kind in names]
    given += [
        (kind, column.names)
        for predicate, table in tables.items()
        for kind, column in zip(schema[predicate].types, table.columns.values(), strict=True)
    ]
    for kind, found in given:
        if kind not in schema.declared:
            names[kind].update(dict.fromkeys(found))
    vocabularies = {
        kind: Vocabulary(found if kind in schema.declared else sorted_names(found))
        for kind, found in names.items()
    }
    true: dict[str, NDArray[np.integer]] = {}
    for predicate, table in tables.items():
        coded = []
        for kind, title in zip(schema[predicate].types, table.columns, strict=True):
            codes = table.columns[title].codes_in(vocabularies[kind].codes)
            problems += _outside(table, title, kind, codes)
            coded.append(codes)
        true[predicate] = np.stack(coded)
    raise_all(problems)
    return Database.from_codes(schema, vocabularies, true, name=name)


def _outside(table: Table, title: str, kind: str, codes: Codes) -> Iterator[InputError]:
    column = table.columns[title]

    def what(row: int) -> str:
        constant = Constant(column.names[column.codes[row]])
        return f"constant {constant} is not in the closed type {kind!r}"

    return table.problems_at(np.flatnonzero(codes < 0), title, what)
