"""Scanning ``.db`` text: one ground atom a line, millions of them.

There are no variables in a database, so that lower-case names are constants too. A full stop after
an atom is no matter, a line may hold several atoms, ``person = {Anna, Bob}`` names constants, and
a line of dashes, ``---``, stands between databases.

Nearly all lines of real files have one of two plain shapes, ``P(A,B)`` or ``A = f(B)``. One regular
expression takes those, many at a time, and they are split in bulk per predicate. Every other line
(comments removed) goes through the tokenizer, which also words the complaints.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, compress, islice, pairwise

from mlnlearn.errors import InputError, Location
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.symbols import SymbolTable, constant_name
from mlnlearn.syntax.tokens import Cursor, Source, Token, tokenize

# Possessive: a plain line matches without going back, any other fails at once.
_NAME = r"[A-Za-z_][\w\-']*+"
_CONSTANT = r"""(?>[A-Za-z_][\w\-']*+(?:[.:][\w\-']++)*+|-?[0-9]++(?:\.[0-9]++)?|"[^"\\\n]*+")"""
_CONSTANTS = rf"{_CONSTANT}(?:,[ \t]*+{_CONSTANT})*+"
_LINE = re.compile(
    rf"^(?:[ \t]*+([!?]?{_NAME})\(({_CONSTANTS})\)[ \t]*\.?[ \t]*"
    rf"|[ \t]*+({_CONSTANT})[ \t]*=[ \t]*({_NAME})\(({_CONSTANTS})\)[ \t]*\.?[ \t]*"
    r"|(.*))$",
    re.MULTILINE,
)
_ITEM = re.compile(r'"[^"]*"|[^,"\s]+')
# Of a string or comment that is never closed, one match takes all: else each further one in it
# would be looked through to the end again.
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*+"?|//[^\n]*|/\*(?s:.*?)\*/|/\*(?s:.*)')
_BETWEEN = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_CHUNK = 1 << 22
_MARK = "\0"

TRUTH = {"": "true", "!": "false", "?": "unknown"}
MOST_PROBLEMS = 1000

_HEAD = "an atom such as P(A), !P(A), ?P(A) or A = f(B)"


@dataclass
class AtomList:
    """Atoms of one predicate and truth value: constants row by row, and the line of each atom."""

    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, names: list[str], lines: list[int]) -> None:
        """Add atoms; they stay in the order of the lines."""
        late = bool(self.lines) and lines[0] < self.lines[-1]
        self.names += names
        self.lines += lines
        if late:
            arity = len(self.names) // len(self.lines)
            order = sorted(range(len(self.lines)), key=self.lines.__getitem__)
            rows = (self.names[i * arity : (i + 1) * arity] for i in order)
            self.names = list(chain.from_iterable(rows))
            self.lines = [self.lines[i] for i in order]


@dataclass(frozen=True)
class SoftAtom:
    """An atom with a probability in front, ``0.8 P(A)``."""

    predicate: str
    constants: tuple[str, ...]
    probability: float
    place: Location


@dataclass
class DbText:
    """The scanned text: atoms by (truth value, predicate), and what is wrong with the rest."""

    source: Source
    clean: Source  # comments blanked out
    atoms: dict[tuple[str, str], AtomList]
    problems: list[InputError]
    unlisted: int  # further problems, of which only the number is kept
    constants: list[tuple[str, str, Location]]  # named by 'type = {…}'
    soft: list[SoftAtom]  # among the unknown atoms

    def location(self, line: int) -> Location:
        """Return the place of an atom's line."""
        text = self.clean.lines[line - 1]
        column = len(text) - len(text.lstrip()) + 1
        return Location(self.source.file, line, column, self.source.lines[line - 1])

    def argument(self, line: int, place: int) -> Location:
        """Return the place of an atom's argument; a function's value is the last one."""
        tokens = tokenize(self.clean.lines[line - 1], line)
        opened = next(i for i, token in enumerate(tokens) if token.text == "(")
        constants = [
            (i < opened, token)
            for i, token in enumerate(tokens)
            if token.kind in ("name", "number", "string")
            and (i == 0 or tokens[i - 1].text in ("(", ",", "="))
            and i != opened - 1
        ]
        constants.sort(key=lambda pair: pair[0])
        return self.source.location(constants[place][1])


def scan_db(text: str, schema: Schema, file: str = "<text>") -> DbText:
    r"""Split the text of a ``.db`` file into atoms, collecting all problems of form and arity.

    Examples
    --------
    >>> scanned = scan_db("smokes(Anna)\n!smokes(Bob)", Schema.of("smokes(person)"))
    >>> {key: atoms.names for key, atoms in scanned.atoms.items()}
    {('true', 'smokes'): ['Anna'], ('false', 'smokes'): ['Bob']}
    """
    source = Source.of(text, file)
    return _Scanner(source, _without_comments(source.text), schema).scan()


def scan_databases(text: str, schema: Schema, file: str = "<text>") -> list[DbText]:
    r"""Split a text with several databases, a line ``---`` between them, and scan each.

    Examples
    --------
    >>> scanned = scan_databases("smokes(Anna)\n---\nsmokes(Bob)", Schema.of("smokes(person)"))
    >>> [list(part.atoms.values())[0].lines for part in scanned]
    [[1], [3]]
    """
    source = Source.of(text, file)
    clean = _without_comments(source.text)
    ends = [*(match.span() for match in _BETWEEN.finditer(clean)), (len(clean), len(clean))]
    parts, start = [], 0
    for end, after in ends:
        # lines before keep their numbers
        before = "\n" * clean.count("\n", 0, start)
        parts.append(_Scanner(source, before + clean[start:end], schema).scan())
        start = after
    return parts


class _Scanner:
    def __init__(self, source: Source, clean: str, schema: Schema) -> None:
        self.source = source
        self.clean = Source(source.file, clean)
        self.constants: list[tuple[str, str, Location]] = []
        self.table = SymbolTable(schema)
        self.schema = schema
        self.problems: list[InputError] = []
        self.atoms: dict[tuple[str, str], AtomList] = defaultdict(AtomList)
        self.soft: list[SoftAtom] = []
        self._unlisted = 0

    def scan(self) -> DbText:
        rows: dict[str, list[str]] = defaultdict(list)
        lines: dict[str, list[int]] = defaultdict(list)
        first, last = 1, ""
        add, note = rows[""].append, lines[""].append
        for chunk in _chunks(self.clean.text):
            for number, (key, terms, value, function, inner, other) in enumerate(chunk, first):
                if key:
                    if key != last:
                        last, add, note = key, rows[key].append, lines[key].append
                    add(terms)
                    note(number)
                elif function:
                    rows["=" + function].append(f"{inner},{value}")
                    lines["=" + function].append(number)
                elif other and not other.isspace():
                    self._careful(other, number)
            first += len(chunk)
        del rows[""]
        for key, found in rows.items():
            self._plain(key, found, lines[key])
        ordered = sorted(self.atoms.items(), key=lambda item: item[1].lines[0])
        return DbText(
            self.source,
            self.clean,
            dict(ordered),
            self.problems,
            self._unlisted,
            self.constants,
            self.soft,
        )

    def _plain(self, key: str, rows: list[str], lines: list[int]) -> None:
        """Take the atoms of one predicate that have the plain form."""
        name = key.lstrip("!?=")
        predicate = self._predicate(name, key[0] == "=", lines)
        if predicate is None:
            return
        names = _split(rows, predicate.arity)
        if names is None:
            counts = [len(_ITEM.findall(row)) for row in rows]
            for line, count in zip(lines, counts, strict=True):
                if count != predicate.arity:
                    self._wrong_arity(predicate, count, self._token(line, name))
            fit = [count == predicate.arity for count in counts]
            rows, lines = list(compress(rows, fit)), list(compress(lines, fit))
            names = _split(rows, predicate.arity) or []
        if lines:
            self.atoms[TRUTH[key[0] if key[0] in "!?" else ""], name].add(names, lines)

    def _predicate(self, name: str, function: bool, lines: list[int]) -> Predicate | None:
        """Look up a predicate; complain about every line where it is not what is written."""
        predicate = self.table.predicates.get(name)
        if predicate is not None and predicate.function == function:
            return predicate
        for line in islice(lines, MOST_PROBLEMS):
            self._unfit(predicate, self._token(line, name))
        self._unlisted += max(0, len(lines) - MOST_PROBLEMS)
        return None

    def _unfit(self, predicate: Predicate | None, token: Token) -> None:
        name = token.text
        if predicate is None:
            self._report(f"no such predicate '{name}'", token, self.table.undeclared_hint(name))
        elif predicate.function:
            self._report(f"'{name}' is a function", token, f"write A = {name}(B)")
        else:
            self._report(f"'{name}' is a predicate, not a function", token, f"write {name}(A)")

    def _wrong_arity(self, predicate: Predicate, count: int, token: Token) -> None:
        value = 1 if predicate.function else 0
        wanted = predicate.arity - value
        many = "1 argument" if wanted == 1 else f"{wanted} arguments"
        self._report(
            f"'{predicate.name}' takes {many}, not {count - value}",
            token,
            f"it is declared as {self.schema.declaration(predicate.name)}",
        )

    def _report(self, message: str, token: Token, hint: str) -> None:
        self._note(InputError(message, self.source.location(token), hint))

    def _note(self, problem: InputError) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self._unlisted += 1

    def _token(self, line: int, name: str) -> Token:
        """Find a predicate's name in its line."""
        pairs = pairwise(tokenize(self.clean.lines[line - 1], line))
        return next(first for first, after in pairs if first.text == name and after.text == "(")

    def _careful(self, text: str, number: int) -> None:
        """Take one line token by token."""
        cursor = Cursor(self.source, tokenize(text + "\n", number))
        try:
            if cursor.peek(1).text == "=" and cursor.peek(2).text == "{":
                self._constants_of(cursor)
            while not cursor.at_line_end():
                start = cursor.peek()
                probability = _probability(cursor)
                self._take(*_read_atom(cursor), start, probability)
        except InputError as error:
            self._note(error)

    def _constants_of(self, cursor: Cursor) -> None:
        """Take ``person = {Anna, Bob}``: constants, whether or not an atom has them."""
        kind = cursor.take()
        if kind.text not in self.schema.types:
            cursor.fail(f"no such type '{kind.text}'", kind, "declare it with the predicates")
        cursor.index += 2
        while not cursor.at("}"):
            place = self.source.location(cursor.peek())
            self.constants.append((kind.text, constant_name(cursor, listed=True), place))
            if not cursor.at("}"):
                cursor.expect(",", "}")
        cursor.take()

    def _take(
        self,
        truth: str,
        token: Token,
        names: list[str],
        function: bool,
        start: Token,
        probability: float,
    ) -> None:
        predicate = self.table.predicates.get(token.text)
        if predicate is None or predicate.function != function:
            self._unfit(predicate, token)
        elif predicate.arity != len(names):
            self._wrong_arity(predicate, len(names), token)
        else:
            chance = 1 - probability if truth == "false" else probability
            if not 0 < chance < 1:
                truth = "unknown" if truth == "unknown" else "true" if chance else "false"
            else:
                truth, place = "unknown", self.source.location(start)
                self.soft.append(SoftAtom(token.text, tuple(names), chance, place))
            self.atoms[truth, token.text].add(names, [start.line])


def _read_atom(cursor: Cursor) -> tuple[str, Token, list[str], bool]:
    """Return truth value, name, constants and whether it is a function."""
    sign = cursor.take().text if cursor.at("!", "?") else ""
    if cursor.peek().kind not in ("name", "number", "string"):
        cursor.unexpected(_HEAD)
    head, after = cursor.peek(), cursor.peek(1)
    value: str | None = None
    if head.kind != "name" or after.text == "=":
        value = constant_name(cursor, listed=True)
        cursor.expect("=")
        head = cursor.peek()
        if head.kind != "name":
            cursor.unexpected("a function")
        if cursor.peek(1).text != "(":
            cursor.take()
            cursor.unexpected("'('")
    cursor.take()
    names: list[str] = []
    if cursor.at("("):
        cursor.take()
        while not (cursor.at(")") and not names):
            names.append(constant_name(cursor, listed=True))
            if not cursor.at(")"):
                cursor.expect(",", ")")
                continue
            break
        cursor.take()
    if value is None and cursor.at("="):
        cursor.take()
        value = constant_name(cursor, listed=True)
    if cursor.at("."):
        cursor.take()
    another = cursor.at("!", "?") or cursor.peek().kind == "name"
    if not (cursor.at_line_end() or (another and names)):
        cursor.unexpected("end of line")
    return TRUTH[sign], head, names if value is None else [*names, value], value is not None


def _probability(cursor: Cursor) -> float:
    """Take the number in front of an atom, ``0.8 P(A)``; without one, it is 1."""
    token, after = cursor.peek(), cursor.peek(1)
    if token.kind != "number" or not (after.kind == "name" or after.text == "!"):
        return 1.0
    probability = float(token.text)
    if not 0 <= probability <= 1:
        cursor.fail(
            f"{token.text} in front of an atom is no probability",
            token,
            "between 0 and 1 it is soft evidence; weights stand in the network",
        )
    cursor.take()
    return probability


def _split(rows: list[str], arity: int) -> list[str] | None:
    """Split rows of constants in bulk; None where some row has not as many as asked for.

    The rows are joined with a mark between them, so the marks stand at regular distances.
    """
    joined = f",{_MARK},".join(rows)
    quoted = '"' in joined
    if quoted:
        names = _ITEM.findall(joined)
    else:
        names = joined.replace(" ", "").replace("\t", "").split(",") if joined else []
    if len(names) != max(0, len(rows) * (arity + 1) - 1):
        return None
    if names[arity :: arity + 1].count(_MARK) != max(0, len(rows) - 1):
        return None
    del names[arity :: arity + 1]
    return [name[1:-1] if name[0] == '"' else name for name in names] if quoted else names


def _without_comments(text: str) -> str:
    """Blank out comments, leaving every other character where it is."""
    if "//" not in text and "/*" not in text:
        return text

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] == '"':
            return found
        # What is never closed stays visible where it opens, and is complained about there.
        closed = found.startswith("//") or (found.endswith("*/") and len(found) > 3)
        shown = "" if closed else found[:2]
        return shown + re.sub(r"[^\n]", " ", found[len(shown) :])

    return _COMMENT.sub(blank, text)


def _chunks(text: str) -> Iterator[list[tuple[str, ...]]]:
    """Match line by line, a few megabytes at a time; every line gives one match."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        yield _LINE.findall(text, start, end)
        start = end + 1
