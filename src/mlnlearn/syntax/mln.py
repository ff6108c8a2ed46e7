"""Reading ``.mln`` files: declarations and weighted formulas in Alchemy's language."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from os import PathLike

from mlnlearn.dialect import DIALECT, check_dialect
from mlnlearn.errors import DataWarning, InputError, InputErrors, Location, raise_all
from mlnlearn.files import read_text
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.dialects import (
    marks_variables,
    same_but_for_names,
    with_numbers_for_names,
)
from mlnlearn.syntax.formulas import CONTINUED
from mlnlearn.syntax.parts import schema_of_use
from mlnlearn.syntax.statements import StatementReader, read_rule
from mlnlearn.syntax.symbols import SymbolTable
from mlnlearn.syntax.tokens import Cursor, Source, Token, tokenize


@dataclass(frozen=True)
class MlnFile:
    r"""What an ``.mln`` file says.

    Attributes
    ----------
    schema
        Types, predicates and functions.
    rules
        The formulas with their weights, in the order of the file.
    locations
        Where each rule stands, for messages; no part of the value.

    Examples
    --------
    >>> file = parse_mln("smokes(person)\n1.5 !smokes(x)")
    >>> file.schema["smokes"].types, str(file.rules[0].formula), file.rules[0].weight
    (('person',), '!smokes(x)', 1.5)
    """

    schema: Schema
    rules: tuple[Rule, ...] = ()
    locations: tuple[Location, ...] = field(default=(), compare=False, repr=False)


def parse_mln(
    text: str,
    file: str = "<text>",
    schema: Schema | None = None,
    dialect: str | None = None,
) -> MlnFile:
    r"""Read the text of an ``.mln`` file.

    Parameters
    ----------
    text
        Declarations and formulas, one a line; a formula may go on after an operator, a list after
        a comma. A bare atom is a declaration where its predicate is new, else a formula.
    file
        The name for messages; ``#include`` looks in its folder.
    schema
        Declarations known beforehand.
    dialect
        The system that the file was written for: ``alchemy``, ``tuffy``, ``rockit``, ``lomrf`` or
        ``pracmln``; found out from the text unless given.

    Raises
    ------
    InputErrors
        With every problem of the text and its place.

    Warns
    -----
    DataWarning
        Where a bare atom is read as a formula, a utility is left out, ``a :- b`` is read as
        ``b => a`` and no more, a probability ``P(F) = p`` is left out, rules differ in the names
        of their variables alone, or nothing is declared and types are taken from the rules.

    Notes
    -----
    Terms may be calculated from whole numbers, ``P(t+1)``, ``succ(t)``, ``plus(x,y)``: the value is
    taken out like that of a function, ``t + 1 = v1 => P(v1)``. Where it is no constant of its type
    the formula says nothing.

    A function ``person motherOf(person)`` is the relation ``motherOf(x,y)``, written
    ``motherOf(x) = y`` (or ``y = motherOf(x)``). Used inside an atom it is taken out: ``P(f(x))``
    becomes ``f(x) = v1 => P(v1)`` around the formula, or ``EXIST x,v1 f(x) = v1 ^ P(v1)``
    where a quantifier binds ``x``.

    A FORALL in front of a formula only names variables that are free anyway, as in Alchemy: the
    formula has one grounding for each of their values, and rules are kept without it. Deeper in a
    formula, FORALL quantifies: ``2 !(EXIST x !p(x))`` is one grounding about all x.

    Examples
    --------
    >>> text = "person motherOf(person)\nlikes(person,person)\nlikes(x,motherOf(x))."
    >>> print(parse_mln(text).rules[0])
    motherOf(x) = v1 => likes(x,v1).
    """
    check_dialect(dialect)
    source = Source.of(with_numbers_for_names(text), file)
    reader = StatementReader.of(source, schema, dialect)
    if reader.problems and not reader.table.predicates:
        reader = _read_part(source, dialect) or reader
    if dialect is None and DIALECT.get() is None:
        reader = _with_constants(reader, source, schema)
    if reader.problems:
        raise InputErrors(reader.problems)
    for message in reader.warnings.values():
        warnings.warn(message, DataWarning, stacklevel=2)
    return MlnFile(reader.table.schema(), tuple(reader.rules), tuple(reader.locations))


def _read_part(source: Source, dialect: str | None) -> StatementReader | None:
    """Read rules over predicates that nothing declares, if there are any."""
    tokens = tokenize(source.text)
    statements = _statements(tokens)
    try:
        used = schema_of_use(statements, marks_variables(tokens, dialect))
    except InputError:  # no predicates that there could be, such as one of 100 arguments
        return None
    if not used.predicates:
        return None
    reader = StatementReader.of(source, used, dialect)
    guessed = ", ".join(used.declaration(predicate.name) for predicate in used.predicates)
    message, hint = "the file declares no predicate", "if it is a part of another file, read that"
    if reader.problems:
        reader.problems.append(InputError(message, Location(source.file), hint=hint))
    reader.warnings["part"] = (
        f"{source.file}: {message}; types are taken from the rules: {guessed}; {hint}"
    )
    return reader


def _with_constants(
    reader: StatementReader, source: Source, schema: Schema | None
) -> StatementReader:
    """Read lower-case names as constants where they look like such and make no sense otherwise.

    Rules that pracmln has learned may hold no variable at all, so that no mark tells its dialect.
    """
    pair = same_but_for_names(reader.rules)
    if pair is None:
        return reader
    lines = " and ".join(str(reader.locations[number].line) for number in pair)
    same = f"{reader.locations[pair[0]]}: the rules of lines {lines} differ in names alone"
    other = StatementReader.of(source, schema, "pracmln") if reader.problems else None
    if other is not None and not other.problems:
        other.warnings["names"] = (
            f"{same}: names in lower case are read as constants, as pracmln does; "
            "give the dialect to have it otherwise"
        )
        return other
    reader.warnings["names"] = (
        f"{same}: they are read as variables; where they are constants, give the dialect pracmln"
    )
    return reader


def _statements(tokens: list[Token]) -> list[list[Token]]:
    """Split tokens at the line ends where no operator, list or parenthesis goes on."""
    statements: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth = max(0, depth + {"(": 1, ")": -1}.get(token.text, 0))
        if token.kind != "newline":
            statements[-1].append(token)
        elif not depth and statements[-1] and statements[-1][-1].text not in CONTINUED:
            statements.append([])
    return statements


def read_mln(path: str | PathLike[str], dialect: str | None = None) -> MlnFile:
    """Read an ``.mln`` file, plain or gzip, with the files it includes; see `parse_mln`.

    Parameters
    ----------
    path
        The file.
    dialect
        Whose language it is: see `parse_mln`; found out by default.

    Examples
    --------
    >>> read_mln("missing.mln")
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: missing.mln: cannot read the file: No such file or directory
    """
    return parse_mln(read_text(path), str(path), dialect=dialect)


def parse_formula(text: str, schema: Schema, file: str = "<formula>") -> Rule:
    """Read one formula, with or without a weight, over declared predicates.

    Parameters
    ----------
    text
        The formula, in Alchemy's language.
    schema
        The predicates.
    file
        What the text is called in errors.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> print(parse_formula("0.7 friends(x,y) => (smokes(x) <=> smokes(y))", schema))
    0.7 friends(x,y) => (smokes(x) <=> smokes(y))
    >>> parse_formula("smoke(x)", schema)
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: <formula>:1:1: no such predicate 'smoke'
      smoke(x)
      ^
      hint: did you mean 'smokes'?
    """
    source = Source.of(text, file)
    cursor = Cursor(source, tokenize(source.text))
    cursor.skip_newlines()
    rule, checker, _ = read_rule(cursor, SymbolTable(schema))
    cursor.skip_newlines()
    if cursor.peek().kind != "end":
        cursor.unexpected("an operator or end of text")
    problems = [*checker.problems, *checker.foreign_constants()]
    if len(problems) == 1:
        raise problems[0]
    raise_all(problems)
    return rule
