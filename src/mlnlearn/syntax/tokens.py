"""From text to tokens, each with its line and column, and a cursor that walks over them."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, NoReturn

from mlnlearn.errors import InputError, Location

# Names may hold hyphens (of variables the parser refuses them: x-1) and primes (x'); a word such as
# 3D is a name, 3e5 a number.
_TOKEN = re.compile(
    r"""
      (?P<space>[^\S\n]+|//[^\n]*|/\*(?s:.*?)\*/)
    | (?P<newline>\n)
    | (?P<open_comment>/\*)
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<open_string>")
    | (?P<number>[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?![\w']))
    | (?P<name>(?:[0-9]*[^\W\d])[\w\-']*)
    | (?P<symbol><=>|=>|<=|>=|=/=|!=|==|<>|:=|:-|&&|\|\||\.\.\.|\#[A-Za-z]+
        |[(){}\[\],.!^=<>+*?/%&|:@\-])
    | (?P<bad>[0-9]+|.)
    """,
    re.VERBOSE,
)

_ESCAPE = re.compile(r'\\(["\\nr])')
_ESCAPED = {"n": "\n", "r": "\r"}

_BROKEN = {
    "open_comment": ("this comment is never closed", "add '*/'"),
    "open_string": ("this string is never closed", "add '\"' on the same line"),
}

# Signs of other languages, and what to write instead.
_STRAY = {
    "~": "write '!' for not",
    "-": "write '=>' for implies",
    ":": "write '=>' for implies",
    "'": "strings stand in double quotes",
    ";": "end a line without it",
    "$": "a line '$name = number' must stand above it",
    "#": "comments begin with '//'",
    "%": "comments begin with '//'",
}


class Token(NamedTuple):
    """A piece of text with its kind and place; lines and columns count from 1."""

    kind: str
    text: str
    line: int
    column: int

    def touches(self, before: Token, text: str) -> bool:
        """Tell whether this is the given text, right after another token."""
        end = before.column + len(before.text)
        return self.text == text and (self.line, self.column) == (before.line, end)

    def __str__(self) -> str:
        if self.kind == "newline":
            return "end of line"
        if self.kind == "end":
            return "end of text"
        return self.text if self.kind == "string" else f"'{self.text}'"


@dataclass(frozen=True)
class Source:
    """A text and where it came from; any line end and a byte order mark are taken."""

    file: str
    text: str

    @classmethod
    def of(cls, text: str, file: str) -> Source:
        """Tidy up line ends and drop a byte order mark."""
        return cls(file, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))

    @cached_property
    def lines(self) -> list[str]:
        """The text, line by line."""
        return self.text.split("\n")

    def location(self, token: Token) -> Location:
        """Return the place of a token, with the text of its line."""
        return Location(self.file, token.line, token.column, self.lines[token.line - 1])


def tokenize(text: str, first_line: int = 1) -> list[Token]:
    """Split text into tokens; the last one has the kind ``end``.

    Examples
    --------
    >>> [token.text for token in tokenize("1.5 P(x) // why")]
    ['1.5', 'P', '(', 'x', ')', '']
    """
    tokens: list[Token] = []
    line, line_start, position = first_line, 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        kind = match.lastgroup or "bad"
        if kind != "space":
            tokens.append(Token(kind, match.group(), line, position - line_start + 1))
        end = match.end()
        if kind in _BROKEN:
            # Nothing can be read past an unclosed string (in its line) or comment (in the text).
            end = text.find("\n", position) if kind == "open_string" else len(text)
            end = len(text) if end < 0 else end
        breaks = text.count("\n", position, end)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", position, end) + 1
        position = end
    tokens.append(Token("end", "", line, position - line_start + 1))
    return tokens


def is_variable_name(name: str) -> bool:
    """Tell whether a bare name reads as a variable: a lower-case letter or ``_`` in front."""
    return name[:1].islower() or name[:1] == "_"


def unquote(text: str) -> str:
    r"""Return the value of a quoted string; ``\"``, ``\\``, ``\n`` and ``\r`` are escapes.

    Examples
    --------
    >>> unquote('"new york"')
    'new york'
    """
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])


class Cursor:
    """Walks over tokens; every complaint names what was expected and what was found.

    With `marked_variables`, variables are written ``?x`` and all other names are constants.
    """

    def __init__(self, source: Source, tokens: list[Token], marked_variables: bool = False) -> None:
        self.source = source
        self.tokens = tokens
        self.index = 0
        self.marked_variables = marked_variables

    def at_variable(self) -> bool:
        """Tell whether a variable comes next."""
        if self.marked_variables:
            return self.at("?") and self.peek(1).kind == "name"
        token = self.peek()
        return token.kind == "name" and is_variable_name(token.text)

    def peek(self, ahead: int = 0) -> Token:
        """Return a token ahead without taking it; past the last one stands the last one."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.index += 1
        return token

    def at(self, *symbols: str) -> bool:
        """Tell whether the next token is one of these symbols."""
        token = self.peek()
        return token.kind == "symbol" and token.text in symbols

    def go_on_at(self, *symbols: str) -> None:
        """Go on to the next line that holds something, if it starts with one of these."""
        ahead = 0
        while self.peek(ahead).kind == "newline":
            ahead += 1
        token = self.peek(ahead)
        if token.kind in ("symbol", "name") and token.text in symbols:
            self.index += ahead

    def at_line_end(self) -> bool:
        """Tell whether the line (or the text) ends here."""
        return self.peek().kind in ("newline", "end")

    def skip_newlines(self) -> None:
        """Go on to the next line that holds something."""
        while self.peek().kind == "newline":
            self.index += 1

    def expect(self, symbol: str, *others: str) -> Token:
        """Take the given symbol (or one of the others), or complain."""
        if not self.at(symbol, *others):
            self.unexpected(" or ".join(f"'{text}'" for text in (symbol, *others)))
        return self.take()

    def unexpected(self, expected: str, hint: str = "") -> NoReturn:
        """Complain about the next token."""
        token = self.peek()
        if token.kind in _BROKEN:
            message, remedy = _BROKEN[token.kind]
            self.fail(message, token, remedy)
        found = repr(token.text) if token.kind == "bad" else str(token)
        remedy = _STRAY.get(token.text, "") if token.kind in ("bad", "symbol") else ""
        self.fail(f"expected {expected}, found {found}", token, hint or remedy)

    def fail(self, message: str, token: Token, hint: str = "") -> NoReturn:
        """Complain about a token."""
        raise self.problem(message, token, hint)

    def problem(self, message: str, token: Token, hint: str = "") -> InputError:
        """Return a complaint about a token, to be collected."""
        return InputError(message, self.source.location(token), hint)

    def skip_statement(self, continued: Container[str]) -> None:
        """Go past the end of a broken statement: a line end not preceded by an operator."""
        while self.peek().kind != "end":
            token = self.take()
            last = self.tokens[self.index - 2].text if self.index > 1 else ""
            if token.kind == "newline" and last not in continued:
                return
