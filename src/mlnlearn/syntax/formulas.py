"""Formulas: a parser by precedence climbing that checks names, arities and types as it goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from mlnlearn.logic.atoms import Atom, Comparison, Constant, Predicate, Term, Variable
from mlnlearn.logic.formulas import (
    And,
    EitherSign,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    free_variables,
)
from mlnlearn.syntax.scope import Checker, Scope
from mlnlearn.syntax.symbols import QUANTIFIERS, SymbolTable, constant_name
from mlnlearn.syntax.tokens import Cursor, Token, is_variable_name

# Formulas nest no deeper than this, so that no recursive pass over them runs out of stack.
DEEPEST = 50

# How loosely an operator binds; '=>' and '<=>' group to the left, as in the original system.
_LEVEL = {"^": 1, "v": 2, "=>": 3, "<=>": 4}
_LOOSEST = 4
_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
CONTINUED = frozenset((*_LEVEL, *_COMPARISONS, ",", "{", "("))


@dataclass(frozen=True)
class _Application:
    """``f(x,A)``: a predicate or function with the terms it is applied to."""

    token: Token
    symbol: Predicate | None
    terms: tuple[Term, ...]


class FormulaParser:
    """Reads one formula; afterwards `checker` holds its problems and the variables marked ``+``."""

    def __init__(self, cursor: Cursor, table: SymbolTable) -> None:
        self.cursor = cursor
        self.table = table
        self.checker = Checker(cursor, table)
        self._depth = 0

    def formula(self) -> Formula:
        """Read a formula up to a token that cannot belong to it."""
        body = self._expression(_LOOSEST)
        self.checker.finish()
        return self.checker.scopes[0].closed(body)

    def per_constant(self, formula: Formula) -> tuple[Variable, ...]:
        """Return the variables marked ``+``, in order of first occurrence."""
        return tuple(v for v in free_variables(formula) if v.name in self.checker.marked)

    @contextmanager
    def _deeper(self, token: Token) -> Iterator[None]:
        self._depth += 1
        if self._depth > DEEPEST:
            self.cursor.fail(
                f"the formula nests deeper than {DEEPEST} levels", token, "split it into several"
            )
        yield
        self._depth -= 1

    def _level(self) -> int:
        """Return the level of the operator that comes next, past the loosest without one."""
        token = self.cursor.peek()
        return _LEVEL.get(token.text, _LOOSEST + 1) if token.kind != "string" else _LOOSEST + 1

    def _expression(self, loosest: int) -> Formula:
        left = self._unary()
        while (level := self._level()) <= loosest:
            parts = [left]
            while self._level() == level:
                token = self.cursor.take()
                self.cursor.skip_newlines()
                parts.append(self._expression(level - 1) if level > 1 else self._unary())
                if level > 2 and len(parts) > DEEPEST:
                    self.cursor.fail(
                        f"more than {DEEPEST} '{token.text}' in a row", token, "use parentheses"
                    )
            left = _combine(level, parts)
        return left

    def _unary(self) -> Formula:
        cursor = self.cursor
        token = cursor.peek()
        if cursor.at("!"):
            with self._deeper(cursor.take()):
                return Not(self._unary())
        if cursor.at("("):
            with self._deeper(cursor.take()):
                cursor.skip_newlines()
                inner = self._expression(_LOOSEST)
            if not cursor.at(")"):
                cursor.unexpected("an operator or ')'")
            cursor.take()
            return inner
        if cursor.at("*"):
            cursor.take()
            atom = self._simple()
            if not isinstance(atom, Atom):
                cursor.fail("'*' stands only before an atom", token, "write *P(x)")
            return EitherSign(atom)
        if token.text.lower() in QUANTIFIERS and cursor.peek(1).text not in _COMPARISONS:
            with self._deeper(token):
                return self._quantified()
        return self._simple()

    def _quantified(self) -> Formula:
        cursor, checker = self.cursor, self.checker
        quantifier = QUANTIFIERS[cursor.take().text.lower()]
        bound = [self._bound_variable()]
        while cursor.at(","):
            cursor.take()
            cursor.skip_newlines()
            bound.append(self._bound_variable())
        scope = Scope({variable.name for variable, _ in bound})
        if len(scope.names) < len(bound):
            checker.report("a variable is bound twice by one quantifier", bound[-1][1])
        checker.scopes.append(scope)
        body = self._expression(_LOOSEST)
        checker.scopes.pop()
        formula = scope.quantified(quantifier, tuple(variable for variable, _ in bound), body)
        used = free_variables(formula.body)
        for variable, token in bound:
            if variable not in used:
                checker.report(
                    f"variable '{variable}' is quantified but never used",
                    token,
                    "drop it from the quantifier",
                )
        return formula

    def _bound_variable(self) -> tuple[Variable, Token]:
        token = self.cursor.peek()
        if token.kind != "name" or not is_variable_name(token.text):
            self.cursor.unexpected("a variable", "variables start in lower case")
        if token.text in self.table.predicates and self.cursor.peek(1).touches(token, "("):
            self.cursor.unexpected("a variable", "name the variables before the formula")
        return self._variable(), token

    def _variable(self) -> Variable:
        """Take a name as a variable; ``t-1`` is refused, since it looks like a difference."""
        token = self.cursor.take()
        if "-" in token.text:
            first = token.text.split("-")[0]
            self.cursor.fail(
                f"'{token.text}' reads as one variable, with '-' in its name; there is no "
                "arithmetic on terms",
                token,
                f"give the relation of the two a predicate, as in succ({first}0,{first}), or write "
                f"the name with '_'; a constant stands in quotes: \"{token.text}\"",
            )
        return Variable(token.text)

    def _simple(self) -> Formula:
        """Read an atom or a comparison."""
        cursor = self.cursor
        token = cursor.peek()
        if token.kind not in ("name", "number", "string") and not cursor.at("+"):
            cursor.unexpected("a formula")
        compared = cursor.peek(1).text in _COMPARISONS and cursor.peek(1).kind == "symbol"
        if token.kind == "name" and not compared and cursor.peek(1).text != "(":
            return self._propositional(cursor.take())
        left = self._operand()
        if cursor.at(*_COMPARISONS):
            operator = cursor.take()
            cursor.skip_newlines()
            return self._comparison(left, token, operator.text)
        if isinstance(left, _Application):
            return self._atom(left)
        return cursor.unexpected("a comparison such as '='")

    def _propositional(self, token: Token) -> Formula:
        symbol = self._lookup(token)
        if symbol is not None and symbol.arity:
            example = self.table.schema().declaration(token.text)
            self.cursor.fail(f"'{token.text}' needs arguments: {example}", token)
        return Atom(symbol or Predicate(token.text), ())

    def _atom(self, applied: _Application) -> Formula:
        name, symbol = applied.token.text, applied.symbol
        if symbol is None:
            return Atom(Predicate(name, ("",) * len(applied.terms)), applied.terms)
        if symbol.function:
            arguments = ",".join(map(str, applied.terms))
            self.cursor.fail(
                f"'{name}' is a function, not a formula",
                applied.token,
                f"compare it with a value: {name}({arguments}) = y",
            )
        return Atom(symbol, applied.terms)

    def _comparison(self, left: Term | _Application, token: Token, operator: str) -> Formula:
        right_token = self.cursor.peek()
        right = self._operand()
        positive = operator != "!="
        if operator in ("=", "!="):
            for function, value, at in ((left, right, right_token), (right, left, token)):
                if isinstance(function, _Application):
                    atom = self._function_atom(function, value, at)
                    return atom if positive else Not(atom)
        terms = self._value(left), self._value(right)
        self.checker.compare(operator, terms, (token, right_token))
        comparison = Comparison(operator if positive else "=", *terms)
        return comparison if positive else Not(comparison)

    def _function_atom(
        self, function: _Application, value: Term | _Application, at: Token
    ) -> Formula:
        """Read ``f(x) = y`` as the atom f(x,y)."""
        term = self._value(value)
        symbol = self._function(function)
        if symbol is None:
            kinds = ("",) * (len(function.terms) + 1)
            return Atom(Predicate(function.token.text, kinds, True), (*function.terms, term))
        self.checker.use(term, symbol.types[-1], at)
        return Atom(symbol, (*function.terms, term))

    def _value(self, operand: Term | _Application) -> Term:
        """Return a term, a function's value as a new variable."""
        if not isinstance(operand, _Application):
            return operand
        symbol = self._function(operand)
        if symbol is None:
            return self.checker.fresh()
        return self.checker.define(symbol, operand.terms, operand.token)

    def _function(self, applied: _Application) -> Predicate | None:
        if applied.symbol is not None and not applied.symbol.function:
            self.cursor.fail(
                f"'{applied.token.text}' is a predicate, a term is expected", applied.token
            )
        return applied.symbol

    def _operand(self) -> Term | _Application:
        """Read a term or an application of a predicate or function."""
        cursor = self.cursor
        token = cursor.peek()
        if cursor.at("+"):
            sign = cursor.take()
            token = cursor.peek()
            if (
                token.kind != "name"
                or not is_variable_name(token.text)
                or cursor.peek(1).text == "("
            ):
                cursor.unexpected("a variable after '+'")
            self.checker.mark(token.text, sign)
            return self._variable()
        if token.kind == "name" and cursor.peek(1).text == "(":
            return self._application()
        if token.kind == "name" and is_variable_name(token.text):
            return self._variable()
        if token.kind not in ("name", "number", "string"):
            cursor.unexpected("a term")
        return Constant(constant_name(cursor))

    def _application(self) -> _Application:
        cursor = self.cursor
        name = cursor.take()
        cursor.take()
        operands: list[tuple[Term | _Application, Token]] = []
        with self._deeper(name):
            while not (cursor.at(")") and not operands):
                cursor.skip_newlines()
                token = cursor.peek()
                operands.append((self._operand(), token))
                if not cursor.at(",", ")"):
                    cursor.unexpected("',' or ')'")
                if cursor.at(")"):
                    break
                cursor.take()
        cursor.take()
        symbol = self._lookup(name)
        kinds = symbol.types if symbol else ()
        wanted = len(kinds) - 1 if symbol and symbol.function else len(kinds)
        terms = tuple(self._value(operand) for operand, _ in operands)
        if symbol is not None and wanted != len(terms):
            many = "1 argument" if wanted == 1 else f"{wanted} arguments"
            self.checker.report(
                f"'{name.text}' takes {many}, not {len(terms)}",
                name,
                f"it is declared as {self.table.schema().declaration(name.text)}",
            )
            symbol = None
        if symbol is not None:
            for term, kind, (_, token) in zip(terms, kinds, operands, strict=False):
                self.checker.use(term, kind, token)
        return _Application(name, symbol, terms)

    def _lookup(self, token: Token) -> Predicate | None:
        symbol = self.table.predicates.get(token.text)
        if symbol is None:
            self.checker.report(
                f"no such predicate '{token.text}'", token, self.table.undeclared_hint(token.text)
            )
        return symbol


def _combine(level: int, parts: list[Formula]) -> Formula:
    match level:
        case 1:
            return And(tuple(parts))
        case 2:
            return Or(tuple(parts))
        case 3:
            return reduce(Implies, parts)
    return reduce(Iff, parts)
