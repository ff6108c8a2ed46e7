"""What is declared so far while a file is read: types, predicates and functions."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from mlnlearn.logic.atoms import MOST_ARGUMENTS, Constant, Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.tokens import Cursor, Token, is_variable_name, unquote

QUANTIFIERS = {"exist": "EXIST", "exists": "EXIST", "forall": "FORALL"}
_IN_NAMES = (".", ":", "-")
_LARGEST_RANGE = 1_000_000
_LONGEST_COMPARED = 100
_MOST_COMPARED = 10_000


def is_reserved(name: str) -> bool:
    """Tell whether a name is a word of the language: ``v`` or a quantifier."""
    return name == "v" or name.lower() in QUANTIFIERS


def is_symbol_name(token: Token) -> bool:
    """Tell whether a token can name a type, predicate or function."""
    return token.kind == "name" and not token.text[0].isdigit()


@dataclass(frozen=True)
class Definition:
    """``name(x,y) := condition``: what stands for the condition, wherever it is written."""

    parameters: tuple[str, ...]
    tokens: tuple[Token, ...]


class SymbolTable:
    """The growing schema of a file.

    Examples
    --------
    >>> table = SymbolTable(Schema.of("smokes(person)"))
    >>> table.predicates["smokes"].types, table.nearest("smoke")
    (('person',), 'smokes')
    """

    def __init__(self, schema: Schema | None = None) -> None:
        schema = schema or Schema()
        self.predicates = {predicate.name: predicate for predicate in schema.predicates}
        self.constants = {kind: dict.fromkeys(names) for kind, names in schema.declared.items()}
        self.constants |= {kind: dict.fromkeys(names) for kind, names in schema.listed.items()}
        self.listed = set(schema.listed)
        self.functional = dict(schema.functional)
        self.closed = set(schema.closed)
        self.definitions: dict[str, Definition] = {}
        self.bare: set[tuple[str, str]] = set()  # constants written like variables, by type
        self.missed: set[str] = set()  # names used where they were not declared yet
        self._expected: set[str] = set()
        self._compared = 0
        self._used = {kind for predicate in schema.predicates for kind in predicate.types}

    def is_type(self, name: str) -> bool:
        """Tell whether a name has been declared or used as a type so far."""
        return name in self.constants or name in self._used

    def schema(self) -> Schema:
        """Return what has been declared, as a value."""
        return Schema(
            tuple(self.predicates.values()),
            {kind: tuple(n) for kind, n in self.constants.items() if kind not in self.listed},
            dict(self.functional),
            {kind: tuple(n) for kind, n in self.constants.items() if kind in self.listed},
            frozenset(self.closed),
        )

    def declared_late(self) -> Schema:
        """Return the predicates and functions that were used above their declaration."""
        late = tuple(p for name, p in self.predicates.items() if name in self.missed)
        names = {predicate.name for predicate in late}
        functional = {name: marked for name, marked in self.functional.items() if name in names}
        return Schema(late, {}, functional, closed=frozenset(self.closed & names))

    def expect(self, late: Schema) -> None:
        """Know predicates and functions that will be declared further down."""
        self._expected = {predicate.name for predicate in late.predicates}
        self.predicates |= {predicate.name: predicate for predicate in late.predicates}
        self.functional |= late.functional
        self.closed |= late.closed

    def is_new(self, name: str) -> bool:
        """Tell whether a predicate or function has not been declared so far."""
        return name not in self.predicates or name in self._expected

    def nearest(self, name: str) -> str:
        """Return the declared name most like the given one, or nothing."""
        # Of use to those who read a few complaints about a few names; else it takes too long.
        self._compared += len(self.predicates)
        if len(name) > _LONGEST_COMPARED or self._compared > _MOST_COMPARED:
            return ""
        known = [other for other in self.predicates if len(other) <= _LONGEST_COMPARED]
        near = difflib.get_close_matches(name, known, n=1)
        return near[0] if near else ""

    def undeclared_hint(self, name: str) -> str:
        """Say what to do about a predicate that is not declared."""
        near = self.nearest(name)
        return (
            f"did you mean '{near}'?"
            if near
            else "declare it first, with the types of its arguments"
        )

    def allows(self, kind: str, constant: str) -> bool:
        """Tell whether a type is open or holds the constant."""
        closed = kind in self.constants and kind not in self.listed
        return not closed or constant in self.constants[kind]

    def add(self, predicate: Predicate, marked: tuple[int, ...]) -> bool:
        """Add a declaration; return False where the name means something else already."""
        if predicate.name in self._expected:  # in the order of declarations, not of use
            self._expected.remove(predicate.name)
            del self.predicates[predicate.name]
        known = self.predicates.get(predicate.name)
        if known is not None:
            return known == predicate and self.functional.get(known.name, ()) == marked
        self.predicates[predicate.name] = predicate
        self._used.update(predicate.types)
        if marked:
            self.functional[predicate.name] = marked
        return True


class DeclarationParser:
    """Reads ``person = {Anna, Bob}``, ``pos(person,position!)`` and ``person motherOf(person)``.

    ``*pos(person)`` is a predicate of which nothing is unknown; ``pos(person,position?)`` has at
    most one position a person, which `at_most_one` collects.
    """

    def __init__(self, cursor: Cursor, table: SymbolTable) -> None:
        self.cursor = cursor
        self.table = table
        self.at_most_one: list[tuple[Predicate, tuple[int, ...]]] = []

    def at_type(self) -> bool:
        """Tell whether a type with its constants comes next."""
        first, second, third = (self.cursor.peek(i) for i in range(3))
        return first.kind == "name" and second.text == "=" and third.text == "{"

    def at_predicate(self) -> bool:
        """Tell whether a predicate or function declaration comes next, not a formula.

        A bare atom is a declaration where its name is new (as in the original system), where a
        place is marked ``!``, or where it repeats the declared types word for word.
        """
        first, second = self.cursor.peek(), self.cursor.peek(1)
        if self.cursor.at("*"):
            listed = self.cursor.peek(2).text == "(" and is_symbol_name(second)
            return listed and self.table.is_new(second.text)
        if not is_symbol_name(first):
            return False
        if is_symbol_name(second) and self.cursor.peek(2).text == "(":
            return first.text.lower() not in QUANTIFIERS and second.text != "v"
        known = self.table.predicates.get(first.text)
        if second.kind in ("newline", "end"):
            return self.table.is_new(first.text)
        found = self._scan_types()
        if found is None:
            return False
        kinds, marked = found
        if known is None or marked or self.table.is_new(first.text):
            return True
        # Types in the places of arguments make a declaration, if another one than before.
        return not known.function and all(map(self.table.is_type, kinds))

    def _scan_types(self) -> tuple[tuple[str, ...], bool] | None:
        """Look ahead over ``name(type,type!)`` up to the line end."""
        if self.cursor.peek(1).text != "(":
            return None
        ahead, kinds, marked = 2, [], False
        while is_symbol_name(self.cursor.peek(ahead)):
            kinds.append(self.cursor.peek(ahead).text)
            ahead += 1
            if is_symbol_name(self.cursor.peek(ahead)):  # the name of the argument
                ahead += 1
            if self.cursor.peek(ahead).text in ("!", "?"):
                marked = True
                ahead += 1
            if self.cursor.peek(ahead).text != ",":
                break
            ahead += 1
            while self.cursor.peek(ahead).kind == "newline":
                ahead += 1
        closed = self.cursor.peek(ahead).text == ")"
        ended = self.cursor.peek(ahead + 1).kind in ("newline", "end")
        return (tuple(kinds), marked) if closed and ended else None

    def predicate(self) -> None:
        """Read a predicate or function declaration."""
        cursor = self.cursor
        closed = cursor.at("*")
        if closed:
            cursor.take()
        result = self._name("a type") if is_symbol_name(cursor.peek(1)) else None
        token = cursor.peek()
        name = self._name("a name")
        kinds, marked, optional = self._types()
        if result is None:
            predicate = Predicate(name, kinds)
        else:
            if marked or optional:
                cursor.fail(
                    "a function takes no '!' marks", token, "its value is the one marked place"
                )
            predicate = Predicate(name, (*kinds, result), function=True)
            marked = (len(kinds),)
        if not self.table.add(predicate, marked):
            known = self.table.schema().declaration(name)
            cursor.fail(f"'{name}' is declared already, as {known}", token, "declare it once")
        if closed:
            self.table.closed.add(name)
        if optional:
            self.at_most_one.append((predicate, optional))

    def _name(self, expected: str) -> str:
        token = self.cursor.peek()
        if not is_symbol_name(token):
            self.cursor.unexpected(expected)
        if is_reserved(token.text):
            self.cursor.fail(
                f"'{token.text}' is a word of the language", token, "choose another name"
            )
        return self.cursor.take().text

    def _types(self) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
        """Read types; return them, the places marked ``!``, and those marked ``?``."""
        cursor = self.cursor
        kinds: list[str] = []
        marked: dict[str, list[int]] = {"!": [], "?": []}
        if not cursor.at("("):
            return (), (), ()
        cursor.take()
        if cursor.at(")"):
            cursor.take()
            return (), (), ()
        while True:
            kinds.append(self._name("a type"))
            if len(kinds) > MOST_ARGUMENTS:
                cursor.fail(f"more than {MOST_ARGUMENTS} arguments", cursor.peek())
            if is_symbol_name(cursor.peek()):  # the name of the argument
                cursor.take()
            if cursor.at("!", "?"):
                marked[cursor.take().text].append(len(kinds) - 1)
            if cursor.expect(",", ")").text == ")":
                return tuple(kinds), tuple(marked["!"]), tuple(marked["?"])
            cursor.skip_newlines()

    def type(self) -> None:
        """Read a type with its constants; declared again, it grows; a last ``...`` opens it."""
        cursor = self.cursor
        kind = self._name("a type")
        cursor.expect("=")
        cursor.expect("{")
        cursor.skip_newlines()
        names: list[str] = []
        while not cursor.at("}"):
            if names and cursor.at("...") and cursor.peek(1).text == "}":
                cursor.take()
                self.table.listed.add(kind)
                continue
            if cursor.at_variable():
                self.table.bare.add((kind, cursor.peek().text))
            self._constants(names)
            cursor.skip_newlines()
            if cursor.expect(",", "}").text == "}":
                break
            cursor.skip_newlines()
            if cursor.at("}"):
                cursor.unexpected("a constant")
        else:
            cursor.take()
        self.table.constants.setdefault(kind, {}).update(dict.fromkeys(names))

    def _constants(self, names: list[str]) -> None:
        """Read one constant, or the rest of a range after its first number."""
        cursor = self.cursor
        token = cursor.peek()
        if not (token.kind == "symbol" and token.text == "..."):
            names.append(constant_name(cursor, listed=True))
            return
        if not names:
            cursor.unexpected("a constant")
        first = self._integer(names[-1], token)
        cursor.take()
        cursor.expect(",")
        cursor.skip_newlines()
        last_token = cursor.peek()
        last = self._integer(constant_name(cursor), last_token)
        if last < first:
            cursor.fail(f"the range runs down from {first} to {last}", last_token)
        if last - first > _LARGEST_RANGE:
            cursor.fail(f"the range holds more than {_LARGEST_RANGE:,} constants", last_token)
        names.extend(map(str, range(first + 1, last + 1)))

    def _integer(self, name: str, token: Token) -> int:
        if not name.removeprefix("-").isdecimal() or len(name) > 18:
            self.cursor.fail(f"a range runs between whole numbers, not {Constant(name)}", token)
        return int(name)


def constant_name(cursor: Cursor, listed: bool = False) -> str:
    """Take a constant and return its name; where it is `listed`, there can be no variable.

    There, and where variables are marked, points, colons and the like may stand in a name.
    """
    token = cursor.peek()
    joined = _joined(cursor) if listed or cursor.marked_variables else ""
    if joined:
        return joined
    if token.kind == "string":
        return unquote(cursor.take().text)
    if token.kind == "number" and not token.text.startswith("+"):
        return cursor.take().text
    if token.kind == "name":
        if is_variable_name(token.text) and not (listed or cursor.marked_variables):
            cursor.fail(
                f"'{token.text}' reads as a variable, a constant is expected",
                token,
                f'write "{token.text}" in quotes or start it in upper case',
            )
        return cursor.take().text
    return cursor.unexpected("a constant")


def _joined(cursor: Cursor) -> str:
    """Take a name such as ``milk.n.01`` or ``3-way``, whose pieces are tokens of their own."""
    pieces = [cursor.peek()]
    if pieces[0].kind not in ("name", "number"):
        return ""
    while (after := cursor.peek(len(pieces))).touches(pieces[-1], after.text):
        if after.kind not in ("name", "number") and after.text not in _IN_NAMES:
            break
        pieces.append(after)
    while pieces[-1].text in _IN_NAMES:  # the full stop after it
        pieces.pop()
    if len(pieces) < 2:
        return ""
    cursor.index += len(pieces)
    return "".join(piece.text for piece in pieces)
