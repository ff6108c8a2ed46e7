"""Terms: variables, constants, functions, and arithmetic on whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from mlnlearn.logic.atoms import Calculation, Constant, Operand, Predicate, Term, Variable, is_whole
from mlnlearn.syntax.scope import Checker
from mlnlearn.syntax.symbols import SymbolTable, constant_name
from mlnlearn.syntax.tokens import Cursor, Token

# Formulas nest no deeper than this, so that no recursive pass over them runs out of stack.
DEEPEST = 50

_FUNCTIONS = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "dividedBy": "/",
    "mod": "%",
    "min": "min",
    "max": "max",
}
NUMBER_FUNCTIONS = ("min", "max", "abs")
"""Functions of numbers that may be written after ``fn:``."""
BUILT_IN_TESTS = {
    "greaterThan": ">",
    "greaterThanEq": ">=",
    "lessThan": "<",
    "lessThanEq": "<=",
    "equals": "=",
}
_UNKNOWN_BUILT_INS = (
    *("concat", "substr", "sqrt", "contains", "startsWith", "endsWith", "length", "lower", "upper"),
    *("trim", "strpos", "split_part", "replace", "regex_replace", "initcap"),
)
_OF_ONE = ("succ", "prec", "abs")
BUILT_IN_FUNCTIONS = (*_FUNCTIONS, *_OF_ONE)
"""Functions of whole numbers, where nothing else is declared so."""
_RETURN_VALUE = ("isReturnValueOf", "ReturnValueOf")
_PRODUCT, _SUM = ("*", "/", "%"), ("+", "-")
_DIFFERENCE = re.compile(r"(?P<name>[^-]+)(?:-(?P<number>[0-9]+)|(?P<before>--))\Z")


@dataclass(frozen=True)
class Application:
    """``f(x,A)``: a predicate or function with the terms it is applied to."""

    token: Token
    symbol: Predicate | None
    terms: tuple[Term, ...]


Read: TypeAlias = Operand | Application


def _levels(side: Operand) -> int:
    """Return how deep a calculation nests; what is in it was not too deep."""
    if not isinstance(side, Calculation):
        return 0
    return 1 + max(_levels(side.left), _levels(side.right))


def unmarked(name: str) -> str:
    """Return how a variable written ``?name`` is called: in lower case.

    Examples
    --------
    >>> unmarked("X1"), unmarked("v"), unmarked("the-end")
    ('x1', 'xv', 'the_end')
    """
    plain = name[0].lower() + name[1:].replace("-", "_")
    return plain if plain[0].isalpha() and plain != "v" else f"x{plain}"


class TermParser:
    """Reads terms; `checker` notes what is wrong with their names and types."""

    def __init__(self, cursor: Cursor, table: SymbolTable) -> None:
        self.cursor = cursor
        self.table = table
        self.checker = Checker(cursor, table)
        self._depth = 0
        self._marked: dict[str, str] = {}

    @contextmanager
    def deeper(self, token: Token) -> Iterator[None]:
        """Go one level down; too deep is refused."""
        self._depth += 1
        if self._depth > DEEPEST:
            self._too_deep(token)
        yield
        self._depth -= 1

    def _too_deep(self, token: Token) -> NoReturn:
        self.cursor.fail(
            f"the formula nests deeper than {DEEPEST} levels", token, "split it into several"
        )

    # Arithmetic ----------------------------------------------------------------------------------

    def operand(self) -> Read:
        """Read a term, an application, or a calculation: sums of products of terms."""
        token = self.cursor.peek()
        left = self._product()
        while (operator := self._operator(_SUM, left)) is not None:
            left = self._calculation(operator, left, self._product(), token)
        return left

    def _product(self) -> Read:
        token = self.cursor.peek()
        left = self._factor()
        while (operator := self._operator(_PRODUCT, left)) is not None:
            left = self._calculation(operator, left, self._factor(), token)
        return left

    def _operator(self, operators: tuple[str, ...], left: Read) -> str | None:
        """Take the operator that comes next, if it is one of these; ``i+1`` is ``i + 1``."""
        cursor = self.cursor
        if isinstance(left, Application) and left.symbol is not None and not left.symbol.function:
            return None
        token = cursor.peek()
        if token.kind == "number" and token.text[0] in operators:
            rest = token._replace(text=token.text[1:], column=token.column + 1)
            cursor.tokens[cursor.index] = rest
            return token.text[0]
        return cursor.take().text if cursor.at(*operators) else None

    def _calculation(self, operator: str, left: Read, right: Read, token: Token) -> Operand:
        made = Calculation(operator, self.number(left), self.number(right))
        for side in (made.left, made.right):
            if isinstance(side, Constant) and not is_whole(side.name):
                self.cursor.fail(
                    f"{side} is no whole number to calculate with",
                    token,
                    "variables start in lower case",
                )
        if self._depth + _levels(made) > DEEPEST:
            # 1 - 1 - 1 … is deep, too: its left side is the whole of what came before
            self._too_deep(token)
        return made

    def number(self, read: Read) -> Operand:
        """Return what can be calculated with: a function's value as a new variable."""
        return self.value(read) if isinstance(read, Application) else read

    def _factor(self) -> Read:
        cursor = self.cursor
        token = cursor.peek()
        if cursor.at("(", "["):
            closing = {"(": ")", "[": "]"}[cursor.take().text]
            with self.deeper(token):
                inner = self.operand()
            cursor.expect(closing)
            return inner
        if cursor.at("+"):
            return self._per_constant(cursor.take())
        if cursor.at_variable() and cursor.peek(1).text != ":":
            if token.kind != "name" or cursor.peek(1).text != "(":
                return self._stepped(self.variable(arithmetic=True))
        elif cursor.at("?") and not cursor.marked_variables:
            cursor.unexpected("a term", "say --dialect pracmln: variables are marked '?' there")
        if token.text == "fn" and cursor.peek(1).text == ":":
            cursor.index += 2  # rockIt's mark of functions
            if cursor.peek().text not in NUMBER_FUNCTIONS:
                self._no_built_in(cursor.peek())
        if cursor.peek().kind == "name" and cursor.peek(1).text == "(":
            return self._application()
        if token.kind not in ("name", "number", "string"):
            cursor.unexpected("a term")
        return Constant(constant_name(cursor))

    def _per_constant(self, sign: Token) -> Term:
        cursor = self.cursor
        name = cursor.peek(1) if cursor.marked_variables else cursor.peek()
        if not cursor.at_variable() or cursor.peek(1).text == "(":
            cursor.unexpected("a variable after '+'")
        variable = self.variable()
        assert isinstance(variable, Variable)
        self.checker.mark(variable.name, sign if name.kind == "name" else name)
        return variable

    def _stepped(self, term: Operand) -> Operand:
        """Read ``t++``, the number after t."""
        cursor = self.cursor
        if cursor.at("+") and cursor.peek(1).touches(cursor.peek(), "+"):
            cursor.index += 2
            return Calculation("+", term, Constant("1"))
        return term

    def variable(self, arithmetic: bool = False) -> Operand:
        """Take a variable; with `arithmetic`, ``t-1`` and ``t--`` are the number before t."""
        cursor = self.cursor
        marked = cursor.marked_variables
        if marked:
            cursor.take()
        token = cursor.take()
        if marked:
            return Variable(self._unmarked(token.text))
        if "-" not in token.text:
            return Variable(token.text)
        difference = _DIFFERENCE.match(token.text)
        if arithmetic and difference:
            number = Constant(difference["number"] or "1")
            return Calculation("-", Variable(difference["name"]), number)
        first, _, second = token.text.partition("-")
        return cursor.fail(
            f"'{token.text}' reads as one variable, with '-' in its name",
            token,
            f"write a difference with blanks, '{first} - {second}', or the name with '_'; a "
            f'constant stands in quotes: "{token.text}"',
        )

    def _unmarked(self, name: str) -> str:
        """Return the name of a variable written ``?name``: in lower case, and its own."""
        if name not in self._marked:
            plain = unmarked(name)
            while plain in self._marked.values():
                plain += "_"
            self._marked[name] = plain
        return self._marked[name]

    # Functions -----------------------------------------------------------------------------------

    def value(self, read: Read, token: Token | None = None) -> Term:
        """Return a term: what is worked out, or a function's value, as a new variable."""
        if isinstance(read, Calculation):
            return self.checker.calculate(read, token or self.cursor.peek())
        if not isinstance(read, Application):
            return read
        symbol = self.function(read)
        if symbol is None:
            return self.checker.fresh()
        return self.checker.define(symbol, read.terms, read.token)

    def function(self, applied: Application) -> Predicate | None:
        """Return the function that is applied; a predicate is no term."""
        if applied.symbol is not None and not applied.symbol.function:
            self.cursor.fail(
                f"'{applied.token.text}' is a predicate, a term is expected", applied.token
            )
        return applied.symbol

    def _application(self) -> Read:
        name = self.cursor.take()
        arguments = self.arguments(name)
        if name.text not in self.table.predicates:
            built_in = self._built_in(name, [read for read, _ in arguments])
            if built_in is not None:
                return built_in
            arguments, function = self._return_value(name, arguments)
            if function is not None:
                return Application(name, function, self._typed(function, arguments))
        symbol = self.lookup(name)
        wanted = symbol.arity - int(symbol.function) if symbol else 0
        if symbol is not None and wanted != len(arguments):
            many = "1 argument" if wanted == 1 else f"{wanted} arguments"
            self.checker.report(
                f"'{name.text}' takes {many}, not {len(arguments)}",
                name,
                f"it is declared as {self.table.schema().declaration(name.text)}",
            )
            symbol = None
        return Application(name, symbol, self._typed(symbol, arguments))

    def arguments(self, name: Token) -> list[tuple[Read, Token]]:
        """Read what stands in parentheses after a name."""
        cursor = self.cursor
        cursor.take()
        operands: list[tuple[Read, Token]] = []
        with self.deeper(name):
            while not (cursor.at(")") and not operands):
                cursor.skip_newlines()
                token = cursor.peek()
                operands.append((self.operand(), token))
                cursor.go_on_at(",", ")")
                if not cursor.at(",", ")"):
                    cursor.unexpected("',' or ')'")
                if cursor.at(")"):
                    break
                cursor.take()
        cursor.take()
        return operands

    def _typed(
        self, symbol: Predicate | None, arguments: list[tuple[Read, Token]]
    ) -> tuple[Term, ...]:
        terms = tuple(self.value(read, token) for read, token in arguments)
        if symbol is not None:
            for term, kind, (_, token) in zip(terms, symbol.types, arguments, strict=False):
                self.checker.use(term, kind, token)
        return terms

    def _built_in(self, name: Token, arguments: list[Read]) -> Operand | None:
        """Work out ``succ(t)``, ``plus(x,1)`` and the like, where nothing else is declared so."""
        if name.text in _UNKNOWN_BUILT_INS:
            self._no_built_in(name)
        wanted = 1 if name.text in _OF_ONE else 2
        if name.text not in (*_OF_ONE, *_FUNCTIONS) or len(arguments) != wanted:
            return None
        sides = [self.number(read) for read in arguments]
        if name.text in ("succ", "prec"):
            step = "+" if name.text == "succ" else "-"
            return self._calculation(step, sides[0], Constant("1"), name)
        if name.text == "abs":
            negative = self._calculation("-", Constant("0"), sides[0], name)
            return self._calculation("max", sides[0], negative, name)
        return self._calculation(_FUNCTIONS[name.text], sides[0], sides[1], name)

    def _no_built_in(self, name: Token) -> NoReturn:
        self.cursor.fail(
            f"the built-in '{name.text}' is not supported",
            name,
            f"declare '{name.text}' and list its values as facts; of numbers there are +, -, *, /, "
            "%, min, max, abs and the comparisons",
        )

    def _return_value(
        self, name: Token, arguments: list[tuple[Read, Token]]
    ) -> tuple[list[tuple[Read, Token]], Predicate | None]:
        """Read ``isReturnValueOff(v,x)``, as clauses without functions say f(x) = v."""
        for prefix in _RETURN_VALUE:
            function = self.table.predicates.get(name.text.removeprefix(prefix))
            if (
                name.text.startswith(prefix)
                and function is not None
                and function.function
                and function.arity == len(arguments)
            ):
                return [*arguments[1:], arguments[0]], function
        return arguments, None

    def lookup(self, token: Token) -> Predicate | None:
        """Return the predicate or function of a name, noting where there is none."""
        symbol = self.table.predicates.get(token.text)
        if symbol is None:
            self.table.missed.add(token.text)
            self.checker.report(
                f"no such predicate '{token.text}'", token, self.table.undeclared_hint(token.text)
            )
        return symbol
