"""``name(x,y) := condition``, and the hard rules that a declaration ``p(a,b?)`` stands for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mlnlearn.logic.atoms import Comparison, Predicate, Variable
from mlnlearn.logic.formulas import And, Implies, Rule
from mlnlearn.syntax.symbols import Definition, SymbolTable
from mlnlearn.syntax.terms import NUMBER_FUNCTIONS
from mlnlearn.syntax.tokens import Cursor, Token


def at_definition(cursor: Cursor) -> bool:
    """Tell whether a line with ``:=`` comes next."""
    ahead = 0
    while (token := cursor.peek(ahead)).kind not in ("newline", "end"):
        if token.kind == "symbol" and token.text == ":=":
            return True
        ahead += 1
    return False


def read_definition(cursor: Cursor, table: SymbolTable) -> None:
    """Read ``name(x,y) := condition``, a name for comparisons of its parameters.

    Where atoms stand in the condition it is a scoping rule, which says what atoms to look at; there
    is nothing like it here.
    """
    name = cursor.take()
    parameters = _parameters(cursor, name)
    cursor.expect(":=")
    tokens: list[Token] = []
    while not cursor.at_line_end():
        tokens += _split(cursor.take(), parameters)
    if tokens and tokens[-1].text == ".":
        tokens.pop()
    for place, (token, after) in enumerate(pairwise(tokens)):
        if token.kind == "name" and after.text == ":" and place + 2 < len(tokens):
            if tokens[place + 2].text in NUMBER_FUNCTIONS:
                continue
            cursor.fail(
                f"functions '{token.text}:{tokens[place + 2].text}' are not supported",
                token,
                "declare a predicate and list its facts; of numbers there are +, -, *, /, %, "
                "min, max and abs",
            )
        known = (*table.definitions, *NUMBER_FUNCTIONS)
        if token.kind == "name" and after.text == "(" and token.text not in known:
            cursor.fail(
                "scoping rules 'P(x) := Q(x), R(x)' are not supported",
                token,
                "list the atoms that are false as evidence, or write Q(x) ^ R(x) => P(x)",
            )
    if name.text in table.predicates or name.text in table.definitions:
        cursor.fail(f"'{name.text}' is declared already", name, "declare it once")
    end = Token("end", "", name.line, tokens[-1].column + 1 if tokens else name.column)
    table.definitions[name.text] = Definition(parameters, (*tokens, end))


def _parameters(cursor: Cursor, name: Token) -> tuple[str, ...]:
    cursor.expect("(")
    parameters: list[str] = []
    while not parameters or not cursor.at(")"):
        if parameters:
            cursor.expect(",")
        if cursor.peek().kind != "name":
            cursor.unexpected("a variable")
        parameters.append(cursor.take().text)
    cursor.take()
    if len(set(parameters)) < len(parameters):
        cursor.fail(f"a parameter of '{name.text}' stands twice", name)
    return tuple(parameters)


def _split(token: Token, parameters: tuple[str, ...]) -> list[Token]:
    """Read ``x-y`` as a difference where both are parameters."""
    first, sign, second = token.text.partition("-")
    if token.kind != "name" or not sign or not {first, second} <= set(parameters):
        return [token]
    middle = token.column + len(first)
    return [
        token._replace(text=first),
        token._replace(text="-", kind="symbol", column=middle),
        token._replace(text=second, column=middle + 1),
    ]


def at_most_one(predicate: Predicate, places: tuple[int, ...]) -> Iterator[Rule]:
    """Return the hard rules that a place marked ``?`` stands for.

    Examples
    --------
    >>> for rule in at_most_one(Predicate("label", ("thing", "name")), (1,)):
    ...     print(rule)
    label(x0,x1) ^ label(x0,y1) => x1 = y1.
    """
    first = [Variable(f"x{i}") for i in range(predicate.arity)]
    other = [Variable(f"y{i}") if i in places else v for i, v in enumerate(first)]
    for place in places:
        same = Comparison("=", first[place], other[place])
        yield Rule(Implies(And((predicate(*first), predicate(*other))), same), hard=True)
