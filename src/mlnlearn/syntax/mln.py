"""Reading ``.mln`` files: declarations and weighted formulas in Alchemy's language."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from mlnlearn.errors import DataWarning, InputError, InputErrors, Location
from mlnlearn.files import read_text
from mlnlearn.logic.atoms import Atom, Variable
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.formulas import CONTINUED, FormulaParser
from mlnlearn.syntax.scope import Checker
from mlnlearn.syntax.symbols import DeclarationParser, SymbolTable
from mlnlearn.syntax.tokens import Cursor, Source, tokenize, unquote

RULES = (".mln", ".mln.gz")
"""How the names of files of rules end."""
_DEEPEST_INCLUDE = 50


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


def parse_mln(text: str, file: str = "<text>", schema: Schema | None = None) -> MlnFile:
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

    Raises
    ------
    InputErrors
        With every problem of the text and its place.

    Notes
    -----
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
    reader = _Reader(SymbolTable(schema))
    reader.read(Source.of(text, file))
    reader.check_constants()
    if reader.problems:
        raise InputErrors(reader.problems)
    if reader.bare is not None:
        place, rule = reader.bare
        warnings.warn(
            f"{place}: {rule} is read as a formula without a weight, not as a declaration",
            DataWarning,
            stacklevel=2,
        )
    return MlnFile(reader.table.schema(), tuple(reader.rules), tuple(reader.locations))


def read_mln(path: str | PathLike[str]) -> MlnFile:
    """Read an ``.mln`` file, plain or gzip, with the files it includes; see `parse_mln`.

    Examples
    --------
    >>> read_mln("missing.mln")
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: missing.mln: cannot read the file: No such file or directory
    """
    return parse_mln(read_text(path), str(path))


def parse_formula(text: str, schema: Schema, file: str = "<formula>") -> Rule:
    """Read one formula, with or without a weight, over declared predicates.

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
    rule, checker = _rule(cursor, SymbolTable(schema))
    cursor.skip_newlines()
    if cursor.peek().kind != "end":
        cursor.unexpected("an operator or end of text")
    problems = [*checker.problems, *checker.foreign_constants()]
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise InputErrors(problems)
    return rule


class _Reader:
    """Reads statement by statement, noting problems and going on at the next line."""

    def __init__(self, table: SymbolTable) -> None:
        self.table = table
        self.rules: list[Rule] = []
        self.locations: list[Location] = []
        self.problems: list[InputError] = []
        self._checkers: list[Checker] = []
        self._included: set[Path] = set()
        self._depth = 0
        self.bare: tuple[Location, Rule] | None = None  # the first that may be meant as declaration

    def check_constants(self) -> None:
        """Check constants once all types are known: a type may be declared after its use."""
        for checker in self._checkers:
            self.problems.extend(checker.foreign_constants())

    def read(self, source: Source) -> None:
        self._included.add(Path(source.file).absolute())
        cursor = Cursor(source, tokenize(source.text))
        declarations = DeclarationParser(cursor, self.table)
        cursor.skip_newlines()
        while cursor.peek().kind != "end":
            try:
                self._statement(cursor, declarations)
                if not cursor.at_line_end():
                    cursor.unexpected("end of line")
            except InputError as error:
                self.problems.append(error)
                cursor.skip_statement(CONTINUED)
            cursor.skip_newlines()

    def _statement(self, cursor: Cursor, declarations: DeclarationParser) -> None:
        if cursor.at("#include"):
            self._include(cursor)
        elif declarations.at_type():
            declarations.type()
        elif declarations.at_predicate():
            declarations.predicate()
        else:
            start = cursor.peek()
            rule, checker = _rule(cursor, self.table)
            if not cursor.at_line_end():
                closed = rule.hard or rule.whole
                cursor.unexpected("end of line" if closed else "an operator or end of line")
            self.problems.extend(checker.problems)
            self._checkers.append(checker)
            self.rules.append(rule)
            place = cursor.source.location(start)
            self.locations.append(place)
            if self.bare is None and start.kind == "name" and reads_as_declaration(rule):
                self.bare = place, rule

    def _include(self, cursor: Cursor) -> None:
        """Read another file at this place; a file that has been read already adds nothing."""
        cursor.take()
        token = cursor.peek()
        if token.kind != "string":
            cursor.unexpected("a file name in quotes")
        cursor.take()
        path = Path(cursor.source.file).parent / unquote(token.text)
        # Complaints quote lines of the file: those of any other kind are nobody's business.
        if not path.name.endswith(RULES):
            cursor.fail(f"cannot include {path}: its name does not end in .mln", token)
        if path.absolute() in self._included:
            return
        if self._depth == _DEEPEST_INCLUDE:
            cursor.fail(f"files include one another {_DEEPEST_INCLUDE} levels deep", token)
        try:
            text = read_text(path)
        except InputError as error:
            cursor.fail(f"cannot include {path}: {error.message}", token)
        self._depth += 1
        self.read(Source.of(text, str(path)))
        self._depth -= 1


def reads_as_declaration(rule: Rule) -> bool:
    """Tell whether a rule looks like a declaration: a bare atom over variables."""
    formula = rule.formula
    return (
        isinstance(formula, Atom)
        and formula.predicate.arity > 0
        and not formula.predicate.function
        and not (rule.hard or rule.whole or rule.per_constant or rule.weight is not None)
        and all(isinstance(term, Variable) for term in formula.terms)
    )


def _rule(cursor: Cursor, table: SymbolTable) -> tuple[Rule, Checker]:
    """Read a formula with its weight and marks; the checker knows what is wrong with its names."""
    start = cursor.peek()
    weight, locked = _weight(cursor)
    whole = cursor.at("[")
    if whole:
        cursor.take()
        cursor.skip_newlines()
    parser = FormulaParser(cursor, table)
    formula = parser.formula()
    if whole:
        if not cursor.at("]"):
            cursor.unexpected("an operator or ']'")
        cursor.take()
    hard = cursor.at(".")
    if hard:
        cursor.take()
        if weight is not None:
            cursor.fail(
                "the formula has both a weight and a full stop",
                start,
                "a full stop makes it hard: drop one of the two",
            )
    marked = parser.per_constant(formula)
    return Rule(formula, weight, hard, locked, marked, whole), parser.checker


def _weight(cursor: Cursor) -> tuple[float | None, bool]:
    """Read a weight and the full stop that locks it.

    ``2. F`` is a weight of 2 (the stop belongs to the number, as in the original system), so
    ``2.0. F`` or ``2 . F`` lock it.
    """
    token = cursor.peek()
    following = cursor.peek(1)
    if token.kind != "number" or following.text in ("=", "!=", "<", ">", "<=", ">="):
        return None, False
    cursor.take()
    weight = float(token.text)
    if math.isinf(weight):
        cursor.fail(
            f"the weight {token.text} is too large", token, "end the formula in '.' to make it hard"
        )
    if token.text.lstrip("+-").isdigit() and following.touches(token, "."):
        cursor.take()
    locked = cursor.at(".")
    if locked:
        cursor.take()
    if cursor.at_line_end():
        cursor.unexpected("a formula after the weight")
    return weight, locked
