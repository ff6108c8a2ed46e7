"""What stands in front of a formula: a number, an expression, a variable, or a utility."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlnlearn.logic.atoms import Constant
from mlnlearn.syntax.symbols import SymbolTable, constant_name
from mlnlearn.syntax.tokens import Cursor, Token

_COMPARED = ("=", "==", "!=", "=/=", "<>", "<", ">", "<=", ">=")
_PIECE = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[A-Za-z_]\w*|[-+*/(),]")
_NUMBERS = {"e": math.e, "pi": math.pi}
_LOG_OF_ZERO = -100.0  # what logx(0) is in the systems that have it


@dataclass(frozen=True)
class Weight:
    """A weight as it stands in front of a formula.

    Attributes
    ----------
    value
        The number; None where there is none.
    locked
        Whether learning must not change it.
    variable
        The variable whose value is the weight, ``conf: F``.
    utility
        The text of a utility, ``-2:20 F``; such a part is read and left out.
    """

    value: float | None = None
    locked: bool = False
    variable: str = ""
    utility: str = ""


def read_weight(cursor: Cursor, table: SymbolTable) -> Weight:
    """Take a weight, if one comes next.

    ``2. F`` is a weight of 2 (the stop belongs to the number, as in the original system), so
    ``2.0. F`` or ``2 . F`` lock it, and so does ``@2 F``.
    """
    fixed = cursor.at("@")
    if fixed:
        cursor.take()
    token, following = cursor.peek(), cursor.peek(1)
    if fixed and token.kind == "name" and token.text not in _FUNCTIONS:
        cursor.fail(
            "'@' stands before a weight that learning leaves alone, '@2 F'",
            token,
            "leave '@' out: predicates and rules are declared without it",
        )
    if cursor.at(":", ":-"):
        return Weight(utility=_utility(cursor))
    if token.kind == "name" and following.text == ":":
        cursor.index += 2
        return Weight(variable=token.text)
    value = _expression(cursor, table)
    if value is None:
        if token.kind != "number" or following.text in _COMPARED:
            return Weight()
        cursor.take()
        value = float(token.text)
        if token.text.lstrip("+-").isdigit() and following.touches(token, "."):
            cursor.take()
    if not math.isfinite(value):
        cursor.fail(
            f"the weight {token.text} is too large", token, "end the formula in '.' to make it hard"
        )
    utility = _utility(cursor) if cursor.at(":", ":-") else ""
    locked = fixed or cursor.at(".")
    if cursor.at("."):
        cursor.take()
    if cursor.at_line_end():
        cursor.unexpected("a formula after the weight")
    return Weight(value, locked, utility=utility)


def read_weights(cursor: Cursor) -> dict[str, tuple[float, Token]]:
    """Take ``{A: 0.5, B: -1}``: weights by constant, each with its place."""
    cursor.expect("{")
    found: dict[str, tuple[float, Token]] = {}
    while True:
        cursor.skip_newlines()
        token = cursor.peek()
        name = constant_name(cursor)
        if name in found:
            cursor.fail(f"{Constant(name)} has two weights", token, "leave one of them")
        cursor.expect(":")
        number = cursor.peek()
        if number.kind != "number" or not math.isfinite(float(number.text)):
            cursor.unexpected("a number after ':'")
        found[name] = float(cursor.take().text), token
        if cursor.expect(",", "}").text == "}":
            return found


def _utility(cursor: Cursor) -> str:
    """Take ``:20`` or ``:-1``."""
    sign = "-" if cursor.take().text == ":-" else ""
    if cursor.peek().kind != "number":
        cursor.unexpected("a number after ':'")
    return sign + cursor.take().text


def _expression(cursor: Cursor, table: SymbolTable) -> float | None:
    """Work out ``log(0.9/0.1)``: a word without blanks that is more than a number."""
    signed = int(cursor.at("-", "+"))
    first = cursor.peek(signed)
    called = first.text in _FUNCTIONS and cursor.peek(signed + 1).text == "("
    if first.text in table.predicates or not (
        called or first.kind == "number" or first.text == "("
    ):
        return None
    word = _word(cursor)
    text = "".join(token.text for token in word)
    balanced = text.count("(") == text.count(")")
    if len(word) < 2 or not balanced or not re.search(r"[*/()]|[0-9][-+]", text):
        return None
    pieces = _with_sizes(_PIECE.findall(text), table)
    if "".join(_PIECE.findall(text)) != text or cursor.peek(len(word)).kind in ("newline", "end"):
        return None
    if cursor.peek(len(word)).text in (*_COMPARED, "^", "v", "=>", "<=>", "+", "-", "*", "/"):
        return None
    unknown = [p for p in pieces if p[0].isalpha() and p not in _FUNCTIONS and p not in _NUMBERS]
    if unknown:
        if not called and first.kind != "number":
            return None
        cursor.fail(
            f"the weight depends on '{unknown[0]}'",
            first,
            "weights are numbers here: write the number for your data"
            + (", or list the constants of the type above it" if "domSize" in unknown else ""),
        )
    try:
        value = _Arithmetic(pieces).all()
    except (ValueError, ZeroDivisionError, OverflowError):
        cursor.fail(
            f"the weight {text} has no value",
            first,
            "a formula that must hold ends in '.'; one that must not, negate and end it in '.'",
        )
    cursor.index += len(word)
    return value


def _with_sizes(pieces: list[str], table: SymbolTable) -> list[str]:
    """Put the number of constants in place of ``domSize(type)``, where the type is closed."""
    found: list[str] = []
    place = 0
    while place < len(pieces):
        opening, kind, closing = ([*pieces[place + 1 : place + 4], "", "", ""])[:3]
        sized = pieces[place] == "domSize" and (opening, closing) == ("(", ")")
        known = sized and kind in table.constants and kind not in table.listed
        found.append(str(len(table.constants[kind])) if known else pieces[place])
        place += 4 if known else 1
    return found


def _word(cursor: Cursor) -> list[Token]:
    """Return the tokens that follow one another without a blank."""
    word = [cursor.peek()]
    while True:
        token, last = cursor.peek(len(word)), word[-1]
        if token.kind in ("newline", "end") or not token.touches(last, token.text):
            return word
        word.append(token)


def _log_or_low(value: float) -> float:
    return math.log(value) if value else _LOG_OF_ZERO


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "log": math.log,
    "logx": _log_or_low,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "float": float,
    "pow": math.pow,
}


class _Arithmetic:
    """The value of an arithmetic expression; `ValueError` where it is none."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces: Iterator[str] = iter([*pieces, ""])
        self.next = next(self.pieces)

    def all(self) -> float:
        value = self._sum()
        if self.next:
            raise ValueError(self.next)
        return value

    def _take(self, wanted: str = "") -> str:
        piece = self.next
        if wanted and piece != wanted:
            raise ValueError(piece)
        self.next = next(self.pieces, "")
        return piece

    def _sum(self) -> float:
        value = self._product()
        while self.next in ("+", "-"):
            value += self._product() if self._take() == "+" else -self._product()
        return value

    def _product(self) -> float:
        value = self._factor()
        while self.next in ("*", "/"):
            value = value * self._factor() if self._take() == "*" else value / self._factor()
        return value

    def _factor(self) -> float:
        piece = self._take()
        if piece in ("+", "-"):
            return self._factor() if piece == "+" else -self._factor()
        if piece == "(":
            value = self._sum()
            self._take(")")
            return value
        if piece in _FUNCTIONS:
            self._take("(")
            values = [self._sum()]
            while self.next == ",":
                self._take()
                values.append(self._sum())
            self._take(")")
            return _called(piece, values)
        return _NUMBERS[piece] if piece in _NUMBERS else float(piece)


def _called(name: str, values: list[float]) -> float:
    if len(values) != (2 if name == "pow" else 1) and not (name == "log" and len(values) == 2):
        raise ValueError(name)
    return float(_FUNCTIONS[name](*values))
