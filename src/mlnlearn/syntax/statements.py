"""Statements of ``.mln`` files one by one: declarations, weighted formulas, what is included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from mlnlearn.errors import InputError, Location
from mlnlearn.files import RULES, read_text
from mlnlearn.logic.atoms import Atom, Comparison, Constant, Variable
from mlnlearn.logic.formulas import And, Rule, free_variables, variable_types
from mlnlearn.logic.schema import Schema
from mlnlearn.logic.substitute import substitute_formula
from mlnlearn.syntax.definitions import at_definition, at_most_one, read_definition
from mlnlearn.syntax.dialects import (
    FIXED_WEIGHTS,
    PASSED_OVER,
    at_marginal,
    at_most_one_of,
    marks_variables,
    read_cardinality,
    refuse_unsupported,
    spelt_out_groups,
    with_numbers_for_names,
)
from mlnlearn.syntax.formulas import CONTINUED, FormulaParser
from mlnlearn.syntax.scope import Checker
from mlnlearn.syntax.symbols import DeclarationParser, SymbolTable
from mlnlearn.syntax.terms import unmarked
from mlnlearn.syntax.tokens import Cursor, Source, Token, tokenize, unquote
from mlnlearn.syntax.weights import read_weight, read_weights

_DEEPEST_INCLUDE = 50


class StatementReader:
    """Reads statement by statement, noting problems and going on at the next line."""

    def __init__(self, table: SymbolTable, dialect: str | None = None) -> None:
        self.table = table
        self.rules: list[Rule] = []
        self.locations: list[Location] = []
        self.problems: list[InputError] = []
        self.warnings: dict[str, str] = {}  # the first of each kind
        self._dialect = dialect
        self._checkers: list[Checker] = []
        self._included: set[Path] = set()
        self._depth = 0
        self._locked = False  # '#fixweight' stands before the next rule
        self._unordered: tuple[str, ...] = ()  # and '#unique' these variables

    @classmethod
    def of(cls, source: Source, schema: Schema | None, dialect: str | None) -> StatementReader:
        """Read a whole text: once more where something is declared below its first use."""
        reader = cls(SymbolTable(schema), dialect)
        reader.read(source)
        late = reader.table.declared_late()
        if late.predicates:
            reader = cls(SymbolTable(schema), dialect)
            reader.table.expect(late)
            reader.read(source)
        reader._check_constants()
        return reader

    def _check_constants(self) -> None:
        """Check constants once all types are known: a type may be declared after its use."""
        for checker in self._checkers:
            self.problems.extend(checker.foreign_constants())

    def read(self, source: Source) -> None:
        """Read all statements of a text."""
        self._included.add(Path(source.file).absolute())
        tokens = tokenize(source.text)
        cursor = Cursor(source, tokens, marks_variables(tokens, self._dialect))
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
        refuse_unsupported(cursor, self.table)
        start = cursor.peek()
        if cursor.at("#include"):
            self._include(cursor)
        elif cursor.at(*FIXED_WEIGHTS):
            self._locked = True
            self._pass_over(cursor, FIXED_WEIGHTS)
        elif cursor.at(*PASSED_OVER):
            self._pass_over(cursor, PASSED_OVER)
        elif cursor.at("#unique"):
            self._unordered = _unique_variables(cursor)
        elif at_marginal(cursor, self.table):
            self._leave_out_marginal(cursor)
        elif at_definition(cursor):
            read_definition(cursor, self.table)
        elif cursor.at("|"):
            self._cardinality(cursor)
        elif cursor.at("{") and cursor.peek(2).text == ":":
            self._by_constant(cursor)
        elif declarations.at_type():
            declarations.type()
        elif declarations.at_predicate():
            declarations.predicate()
            for predicate, places in declarations.at_most_one:
                for rule in at_most_one(predicate, places):
                    self._add(rule, cursor.source.location(start))
            declarations.at_most_one.clear()
        else:
            self._formula(cursor)

    def _pass_over(self, cursor: Cursor, known: Mapping[str, str]) -> None:
        """Take a line that says something to another system, and say what becomes of it."""
        token = cursor.take()
        if known[token.text]:
            place = cursor.source.location(token)
            self._warn(token.text, place, f"{token.text}: {known[token.text]}")
        if cursor.at("."):  # '#group.' ends a group
            cursor.take()

    def _leave_out_marginal(self, cursor: Cursor) -> None:
        """Read past ``P(F) = 0.4``: weights are not fitted to it here."""
        said = f"'{cursor.peek().text}(F) = p' is left out"
        said += ": F has the probability that the weights give it; where nothing else bears on F, "
        said += "log(p/(1-p)) gives it p"
        self._warn("marginal", cursor.source.location(cursor.peek()), said)
        while not cursor.at_line_end():
            cursor.take()

    def _cardinality(self, cursor: Cursor) -> None:
        """Read ``|x| F <= 1`` as the hard rule that it stands for."""
        start = cursor.peek()
        counted, inner = read_cardinality(cursor)
        rule, checker, _ = read_rule(inner, self.table)
        if inner.peek().kind != "end":
            inner.unexpected("an operator or '<= 1'")
        made = at_most_one_of(rule.formula, [Variable(token.text) for token in counted])
        if made is None or rule.weight is not None:
            cursor.fail(
                "a cardinality constraint counts the one literal of a clause that is not negated",
                start,
                "for at most one, write the hard rule p(x,y) ^ p(x,z) => y = z.",
            )
        self.problems.extend(checker.problems)
        self._checkers.append(checker)
        self._add(made, cursor.source.location(start))

    def _by_constant(self, cursor: Cursor) -> None:
        """Read ``{A: 0.5, B: -1} p(x,+y)`` as a rule for each constant that is named."""
        start = cursor.peek()
        weights = read_weights(cursor)
        rule, checker, _ = read_rule(cursor, self.table)
        bare = rule.weight is None and rule.weighted_by is None and not rule.hard
        if not bare or len(rule.per_constant) != 1:
            cursor.fail(
                "weights by constant stand before a formula without any other, which marks one "
                "variable",
                start,
                "mark the variable with '+', as in {A: 0.5, B: -1} p(x,+y)",
            )
        (variable,) = rule.per_constant
        kind = variable_types(rule.formula).get(variable)
        for name, (value, token) in weights.items():
            if kind is not None:
                checker.use(Constant(name), kind, token)
            formula = substitute_formula(rule.formula, {variable: Constant(name)})
            made = replace(
                rule, formula=formula, weight=value, per_constant=(), locked=self._locked
            )
            self._add(made, cursor.source.location(start))
        self.problems.extend(checker.problems)
        self._checkers.append(checker)
        self._locked, self._unordered = False, ()

    def _formula(self, cursor: Cursor) -> None:
        start = cursor.peek()
        versions = spelt_out_groups(cursor, self.table)
        for tokens in versions:
            self._rule(Cursor(cursor.source, tokens, cursor.marked_variables), start)
        if versions:
            while not cursor.at_line_end():
                cursor.take()
        else:
            self._rule(cursor, start)
        self._locked, self._unordered = False, ()

    def _rule(self, cursor: Cursor, start: Token) -> None:
        """Read one weighted formula to the end of its line."""
        begin = cursor.index
        rule, checker, utility = read_rule(cursor, self.table)
        place = cursor.source.location(start)
        if not cursor.at_line_end():
            if cursor.at("*"):
                cursor.fail(
                    "numeric features 'F * (x = 0.5)' are not supported",
                    cursor.peek(),
                    "cut the numbers into intervals, each a constant",
                )
            if cursor.peek().kind == "number":
                cursor.unexpected("end of line", "the weight stands in front of the formula")
            closed = rule.hard or rule.whole
            cursor.unexpected("end of line" if closed else "an operator or end of line")
        self.problems.extend(checker.problems)
        self._checkers.append(checker)
        if utility:
            self._warn("utility", place, f"the utility {utility} is left out: of decisions it "
                       "says nothing here")  # fmt: skip
            if rule.weight is None:
                return
        if any(token.text == ":-" for token in cursor.tokens[begin : cursor.index]):
            self._warn_of_definition(place)
        if self._locked:
            rule = replace(rule, locked=rule.weight is not None)
        if self._unordered:
            rule = _ordered(rule, self._unordered, place)
        self._add(rule, place)
        if start.kind == "name" and reads_as_declaration(rule):
            said = f"{rule} is read as a formula without a weight, not as a declaration"
            self._warn("bare", place, said)

    def _add(self, rule: Rule, place: Location) -> None:
        self.rules.append(rule)
        self.locations.append(place)

    def _warn(self, kind: str, place: Location, message: str) -> None:
        self.warnings.setdefault(kind, f"{place}: {message}")

    def _warn_of_definition(self, place: Location) -> None:
        self._warn(
            "definition",
            place,
            "'head :- body' is read as 'body => head'; where the head is to be false unless some "
            "body is true, add the hard rule 'head => body1 v body2 v ….'",
        )

    def _include(self, cursor: Cursor) -> None:
        """Read another file at this place; a file that has been read already adds nothing."""
        cursor.take()
        token = cursor.peek()
        path = _found_from(Path(cursor.source.file).parent, self._included_name(cursor))
        # Complaints quote lines of the file: those of any other kind are nobody's business.
        if not path.name.endswith(RULES):
            hint = "linked-in functions have no like here: declare a predicate and list its facts"
            linked = path.suffix in (".cpp", ".cc", ".h", ".py")
            message = f"cannot include {path}: its name does not end in .mln"
            cursor.fail(message, token, hint if linked else "")
        if path.absolute() in self._included:
            return
        if self._depth == _DEEPEST_INCLUDE:
            cursor.fail(f"files include one another {_DEEPEST_INCLUDE} levels deep", token)
        try:
            text = read_text(path)
        except InputError as error:
            cursor.fail(f"cannot include {path}: {error.message}", token)
        self._depth += 1
        self.read(Source.of(with_numbers_for_names(text), str(path)))
        self._depth -= 1

    @staticmethod
    def _included_name(cursor: Cursor) -> str:
        """Take ``"name.mln"``, or ``<name.mln>``."""
        token = cursor.peek()
        if token.kind == "string":
            return unquote(cursor.take().text)
        if not cursor.at("<"):
            cursor.unexpected("a file name in quotes")
        cursor.take()
        name = ""
        while not cursor.at(">"):
            if cursor.at_line_end():
                cursor.unexpected("'>'")
            name += cursor.take().text
        cursor.take()
        return name


def _found_from(folder: Path, name: str) -> Path:
    """Return where an included file is; of ``$HOME_OF_THAT/a/b.mln``, the nearest a/b.mln above.

    What a variable of the environment holds is not looked up: complaints would print it.
    """
    variable, _, rest = name.partition("/")
    if not (variable.startswith("$") and rest):
        return folder / name
    above = (folder.absolute(), *folder.absolute().parents)
    return next((each / rest for each in above if (each / rest).is_file()), folder / name)


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


def read_rule(cursor: Cursor, table: SymbolTable) -> tuple[Rule, Checker, str]:
    """Read a formula with its weight and marks; the checker knows what is wrong with its names."""
    start = cursor.peek()
    weight = read_weight(cursor, table)
    whole = cursor.at("[") and _closes_line(cursor)
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
        if weight.value is not None or weight.variable:
            cursor.fail(
                "the formula has both a weight and a full stop",
                start,
                "a full stop makes it hard: drop one of the two",
            )
    weighted_by = Variable(weight.variable) if weight.variable else None
    if weighted_by is not None and weighted_by not in free_variables(formula):
        cursor.fail(
            f"the weight '{weighted_by}' is no free variable of the formula",
            start,
            "let it stand in an atom, as in conf: !p(x,conf) v q(x)",
        )
    parser.checker.marked.update({weight.variable} - {""})
    marked = parser.per_constant(formula)
    rule = Rule(formula, weight.value, hard, weight.locked, marked, whole, weighted_by)
    return rule, parser.checker, weight.utility


def _closes_line(cursor: Cursor) -> bool:
    """Tell whether what is in square brackets is all of the formula, not one condition of it."""
    depth = ahead = 0
    while (token := cursor.peek(ahead)).kind != "end":
        depth += {"[": 1, "]": -1}.get(token.text, 0) if token.kind == "symbol" else 0
        ahead += 1
        if not depth:
            break
    return cursor.peek(ahead).kind in ("newline", "end") or cursor.peek(ahead).text == "."


def _unique_variables(cursor: Cursor) -> tuple[str, ...]:
    """Read ``#unique{+?x,+?y}``."""
    cursor.take()
    cursor.expect("{")
    names: list[str] = []
    while not cursor.at("}"):
        token = cursor.take()
        if token.kind == "name":
            names.append(token.text)
        elif token.text not in ("+", "?", ","):
            cursor.unexpected("a variable")
    cursor.take()
    return tuple(names)


def _ordered(rule: Rule, names: tuple[str, ...], place: Location) -> Rule:
    """Keep of the rules for each constant one for each set of values, where order is no matter.

    For the other orders, ``x <= y`` is false and the rule with it: it says nothing.
    """
    variables = [Variable(unmarked(name)) for name in names]
    missing = [name for name, v in zip(names, variables, strict=True) if v not in rule.per_constant]
    if missing:
        raise InputError(
            f"#unique names '{missing[0]}', which the formula does not mark with '+'",
            place,
            hint=f"write +?{missing[0]}",
        )
    ordered = tuple(Comparison("<=", *pair) for pair in pairwise(variables))
    return replace(rule, formula=And((rule.formula, *ordered))) if ordered else rule
