"""Formulas: a parser by precedence climbing that checks names, arities and types as it goes."""

from __future__ import annotations

from functools import reduce

from mlnlearn.logic.atoms import Atom, Comparison, Predicate, Variable
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
from mlnlearn.syntax.scope import Scope
from mlnlearn.syntax.symbols import QUANTIFIERS, Definition
from mlnlearn.syntax.terms import BUILT_IN_TESTS, DEEPEST, Application, Read, TermParser
from mlnlearn.syntax.tokens import Cursor, Token

__all__ = ["CONTINUED", "DEEPEST", "FormulaParser"]

# How loosely an operator binds; '=>' and '<=>' group to the left, as in the original system.
_LEVEL = {"^": 1, "&": 1, "&&": 1, ",": 1, "v": 2, "|": 2, "||": 2, "=>": 3, "<=>": 4}
_LEVEL |= {"AND": 1, "OR": 2}
_LOOSEST = 4
_UNEQUAL = ("!=", "=/=", "<>")
_EQUAL = ("=", "==")
_COMPARISONS = (*_EQUAL, *_UNEQUAL, "<", ">", "<=", ">=")
# A line may start with these, to go on with the one before. (Some lines start with '|x|'.)
_AT_LINE_START = frozenset(_LEVEL) - {",", "|", "AND", "OR"}
CONTINUED = frozenset((*_LEVEL, *_COMPARISONS, ":-", "{", "("))


class FormulaParser(TermParser):
    """Reads one formula; afterwards `checker` holds its problems and the variables marked ``+``."""

    def formula(self) -> Formula:
        """Read a formula up to a token that cannot belong to it; ``a :- b`` is ``b => a``."""
        body = self._expression(_LOOSEST)
        if self.cursor.at(":-"):
            self.cursor.take()
            self.cursor.skip_newlines()
            body = Implies(self._expression(_LOOSEST), body)
        self.checker.finish()
        return self.checker.scopes[0].closed(body)

    def per_constant(self, formula: Formula) -> tuple[Variable, ...]:
        """Return the variables marked ``+``, in order of first occurrence."""
        return tuple(v for v in free_variables(formula) if v.name in self.checker.marked)

    def _level(self) -> int:
        """Return the level of the operator that comes next, past the loosest without one."""
        self.cursor.go_on_at(*_AT_LINE_START)
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
        spelt = token.kind == "name" and token.text == "NOT" and "NOT" not in self.table.predicates
        if cursor.at("!") or spelt:
            with self.deeper(cursor.take()):
                return Not(self._unary())
        if cursor.at("(", "[") and not self._opens_term():
            return self._grouped({"(": ")", "[": "]"}[token.text])
        if cursor.at("*"):
            cursor.take()
            atom = self._simple()
            if not isinstance(atom, Atom):
                cursor.fail("'*' stands only before an atom", token, "write *P(x)")
            return EitherSign(atom)
        if token.text.lower() in QUANTIFIERS and cursor.peek(1).text not in _COMPARISONS:
            with self.deeper(token):
                return self._quantified()
        return self._simple()

    def _grouped(self, closing: str) -> Formula:
        cursor = self.cursor
        with self.deeper(cursor.take()):
            cursor.skip_newlines()
            inner = self._expression(_LOOSEST)
            cursor.go_on_at(closing)
        if not cursor.at(closing):
            cursor.unexpected(f"an operator or '{closing}'")
        cursor.take()
        return inner

    def _opens_term(self) -> bool:
        """Tell whether a parenthesis holds a term, ``(x + y) < z``: what follows it says so.

        In ``(f(x) = 2) * p(x)`` it holds a formula all the same.
        """
        depth = ahead = 0
        while (token := self.cursor.peek(ahead)).kind != "end":
            if token.kind == "symbol" and token.text in "([":
                depth += 1
            elif token.kind == "symbol" and token.text in ")]":
                depth -= 1
            elif token.kind == "symbol" and token.text in _COMPARISONS:
                return False
            ahead += 1
            if not depth:
                break
        after = self.cursor.peek(ahead)
        return after.kind == "symbol" and after.text in (*_COMPARISONS, "+", "-", "*", "/", "%")

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
        # where variables are marked, a quantifier reaches no further than the next atom or group
        body = self._unary() if cursor.marked_variables else self._expression(_LOOSEST)
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
        if not self.cursor.at_variable():
            self.cursor.unexpected("a variable", "variables start in lower case")
        if token.text in self.table.predicates and self.cursor.peek(1).touches(token, "("):
            self.cursor.unexpected("a variable", "name the variables before the formula")
        variable = self.variable()
        assert isinstance(variable, Variable)
        return variable, token

    # Atoms and comparisons -----------------------------------------------------------------------

    def _simple(self) -> Formula:
        """Read an atom or a comparison."""
        cursor = self.cursor
        token = cursor.peek()
        if token.kind not in ("name", "number", "string") and not cursor.at("+", "(", "[", "?"):
            cursor.unexpected("a formula")
        marked = token.text == "fn" and cursor.peek(1).text == ":"
        if token.kind == "name" and cursor.peek(1).text == "(":
            tested = self._test(token)
            if tested is not None:
                return tested
        applied = marked or cursor.peek(1).text == "("
        if token.kind == "name" and not self._in_comparison() and not applied:
            return self._propositional(cursor.take())
        left = self.operand()
        if cursor.at(*_COMPARISONS):
            operator = cursor.take()
            cursor.skip_newlines()
            return self._comparison(left, token, operator.text)
        if isinstance(left, Application):
            return self._atom(left)
        return cursor.unexpected("a comparison such as '='")

    def _in_comparison(self) -> bool:
        """Tell whether the name that comes next is a term of a comparison."""
        after = self.cursor.peek(1)
        signed = after.kind == "number" and after.text[0] in "+-"
        operators = (*_COMPARISONS, "+", "-", "*", "/", "%")
        stepped = self.cursor.at_variable() and self.cursor.peek().text.endswith("--")
        return signed or stepped or (after.kind == "symbol" and after.text in operators)

    def _test(self, token: Token) -> Formula | None:
        """Read ``greaterThan(x,y)`` or a name defined by ``:=``, unless a predicate is named so."""
        if token.text in self.table.predicates:
            return None
        defined = self.table.definitions.get(token.text)
        if defined is None and token.text not in BUILT_IN_TESTS:
            return None
        self.cursor.take()
        arguments = self.arguments(token)
        wanted = 2 if defined is None else len(defined.parameters)
        if len(arguments) != wanted:
            many = "1 argument" if wanted == 1 else f"{wanted} arguments"
            self.cursor.fail(f"'{token.text}' takes {many}, not {len(arguments)}", token)
        if defined is not None:
            return self._spelt_out(defined, [read for read, _ in arguments], token)
        (left, at), (right, right_at) = arguments
        return self._compared(BUILT_IN_TESTS[token.text], (left, right), (at, right_at))

    def _spelt_out(self, defined: Definition, arguments: list[Read], token: Token) -> Formula:
        """Read the condition of a definition with its parameters replaced."""
        names: dict[str, str] = {}
        for parameter, read in zip(defined.parameters, arguments, strict=True):
            term = self.value(read)
            names[parameter] = str(term)
        tokens = [
            item._replace(text=names[item.text], kind=_kind(names[item.text]))
            if item.kind == "name" and item.text in names
            else item
            for item in defined.tokens
        ]
        outer, self.cursor = self.cursor, Cursor(self.cursor.source, tokens)
        self.checker.cursor = self.cursor
        with self.deeper(token):
            inner = self._expression(_LOOSEST)
            if self.cursor.peek().kind != "end":
                self.cursor.unexpected("an operator or end of line")
        self.cursor = self.checker.cursor = outer
        return inner

    def _propositional(self, token: Token) -> Formula:
        symbol = self.lookup(token)
        if symbol is not None and symbol.arity:
            example = self.table.schema().declaration(token.text)
            self.cursor.fail(f"'{token.text}' needs arguments: {example}", token)
        return Atom(symbol or Predicate(token.text), ())

    def _atom(self, applied: Application) -> Formula:
        name, symbol = applied.token.text, applied.symbol
        if symbol is None:
            return Atom(Predicate(name, ("",) * len(applied.terms)), applied.terms)
        if symbol.function and symbol.name == name:
            arguments = ",".join(map(str, applied.terms))
            self.cursor.fail(
                f"'{name}' is a function, not a formula",
                applied.token,
                f"compare it with a value: {name}({arguments}) = y",
            )
        return Atom(symbol, applied.terms)

    def _comparison(self, left: Read, token: Token, operator: str) -> Formula:
        right_token = self.cursor.peek()
        right = self.operand()
        if operator in (*_EQUAL, *_UNEQUAL):
            for function, value, at in ((left, right, right_token), (right, left, token)):
                if isinstance(function, Application):
                    atom = self._function_atom(function, value, at)
                    return Not(atom) if operator in _UNEQUAL else atom
        return self._compared(operator, (left, right), (token, right_token))

    def _compared(
        self, operator: str, sides: tuple[Read, Read], tokens: tuple[Token, Token]
    ) -> Formula:
        plain = "=" if operator in (*_EQUAL, *_UNEQUAL) else operator
        comparison = Comparison(plain, *(self.number(side) for side in sides))
        self.checker.compare(comparison, tokens)
        return Not(comparison) if operator in _UNEQUAL else comparison

    def _function_atom(self, function: Application, value: Read, at: Token) -> Formula:
        """Read ``f(x) = y`` as the atom f(x,y)."""
        term = self.value(value)
        symbol = self.function(function)
        if symbol is None:
            kinds = ("",) * (len(function.terms) + 1)
            return Atom(Predicate(function.token.text, kinds, True), (*function.terms, term))
        self.checker.use(term, symbol.types[-1], at)
        return Atom(symbol, (*function.terms, term))


def _kind(text: str) -> str:
    return "string" if text[0] == '"' else "number" if text.lstrip("-")[0].isdigit() else "name"


def _combine(level: int, parts: list[Formula]) -> Formula:
    match level:
        case 1:
            return And(tuple(parts))
        case 2:
            return Or(tuple(parts))
        case 3:
            return reduce(Implies, parts)
    return reduce(Iff, parts)
