"""Parts of a network: files of rules whose predicates another file declares.

What such a file says of its predicates is how they are used. Places that hold the same variable of
a statement have the same type, or such with numbers, ``p1`` and ``p2``, and so have a place and the
function that stands in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.symbols import QUANTIFIERS, is_reserved
from mlnlearn.syntax.terms import BUILT_IN_FUNCTIONS, BUILT_IN_TESTS, DEEPEST
from mlnlearn.syntax.tokens import Token, is_variable_name

_EQUALS = ("=", "==", "!=", "=/=", "<>")
# A place of a predicate, the value of a function, or a variable of a statement.
_Node = tuple[str, str, int]


def schema_of_use(statements: Sequence[Sequence[Token]], marked_variables: bool) -> Schema:
    """Return the predicates and functions of some statements, with types found from their use.

    Types are called after the variables that stand for them.

    Parameters
    ----------
    statements
        The tokens of each statement.
    marked_variables
        Whether variables are written ``?x``.

    Examples
    --------
    >>> from mlnlearn.syntax.tokens import tokenize
    >>> line = tokenize("1.2 Near(p1,p2) ^ Walks(goal(p1),t) => Meet(p2,t)")
    >>> used = schema_of_use([line], False)
    >>> [used.declaration(predicate.name) for predicate in used.predicates]
    ['Near(p,p)', 'Walks(goal,t)', 'goal goal(p)', 'Meet(p,t)']
    """
    use = _Use(marked_variables)
    for number, tokens in enumerate(statements):
        use.read(list(tokens), number)
    return use.schema()


class _Use:
    """What is known of the names so far: places with the same type hang together."""

    def __init__(self, marked_variables: bool) -> None:
        self.marked = marked_variables
        self.arity: dict[str, int] = {}
        self.functions: set[str] = set()
        self.parents: dict[_Node, _Node] = {}
        self.names: Counter[tuple[str, int]] = Counter()  # variables of statements

    def read(self, tokens: list[Token], number: int) -> None:
        """Take in one statement; one nested too deep will be refused, and says nothing here."""
        closing = _closings(tokens)
        if closing is None:
            return
        place = 0
        while place < len(tokens):
            if self._applies(tokens, place):
                end = closing[place + 1]
                self._apply(tokens, place, end, number)
                self._equal(tokens, place, end, number)
            elif (name := self._variable(tokens[place : place + 2])) and place + 2 < len(tokens):
                after = place + 2 if self.marked else place + 1
                other = self._variable(tokens[after + 1 : after + 3])
                if tokens[after].text in _EQUALS and other:
                    self._join(self._of(name, number), self._of(other, number))
            place += 1

    def _applies(self, tokens: list[Token], place: int) -> bool:
        """Tell whether a predicate or function with arguments stands here."""
        token = tokens[place]
        known = (*BUILT_IN_FUNCTIONS, *BUILT_IN_TESTS)
        return (
            token.kind == "name"
            and place + 1 < len(tokens)
            and tokens[place + 1].text == "("
            and token.text.lower() not in QUANTIFIERS
            and token.text not in ("v", *known)
        )

    def _apply(self, tokens: list[Token], place: int, end: int, number: int) -> None:
        name = tokens[place].text
        arguments = list(_arguments(tokens[place + 2 : end]))
        self.arity.setdefault(name, len(arguments))
        for position, argument in enumerate(arguments):
            node = ("place", name, position)
            self.parents.setdefault(node, node)
            if argument and self._applies(argument, 0):
                self.functions.add(argument[0].text)
                self._join(node, ("value", argument[0].text, 0))
                continue
            for start in range(len(argument)):
                if variable := self._variable(argument[start : start + 2]):
                    self._join(node, self._of(variable, number))

    def _equal(self, tokens: list[Token], place: int, end: int, number: int) -> None:
        """Read ``f(x) = y`` and ``y = f(x)``: what is compared is a function."""
        before = place > 0 and tokens[place - 1].text in _EQUALS
        after = end + 1 < len(tokens) and tokens[end + 1].text in _EQUALS
        if not (before or after):
            return
        value = ("value", tokens[place].text, 0)
        self.functions.add(tokens[place].text)
        self.parents.setdefault(value, value)
        other = end + 2 if after else max(0, place - 2 - int(self.marked))
        if variable := self._variable(tokens[other : other + 2]):
            self._join(value, self._of(variable, number))

    def _variable(self, tokens: list[Token]) -> str:
        """Return the variable that comes next, or nothing."""
        if self.marked:
            marked = len(tokens) > 1 and tokens[0].text == "?" and tokens[1].kind == "name"
            return tokens[1].text if marked else ""
        if not tokens or tokens[0].kind != "name" or is_reserved(tokens[0].text):
            return ""
        applied = len(tokens) > 1 and tokens[1].text == "("
        return tokens[0].text if is_variable_name(tokens[0].text) and not applied else ""

    def _of(self, variable: str, number: int) -> _Node:
        stem = variable.partition("-")[0].rstrip("0123456789_'") or variable
        self.names[stem, number] += 1
        return ("variable", stem, number)

    def _join(self, one: _Node, other: _Node) -> None:
        self.parents[self._root(one)] = self._root(other)

    def _root(self, node: _Node) -> _Node:
        self.parents.setdefault(node, node)
        while self.parents[node] != node:
            self.parents[node] = node = self.parents[self.parents[node]]
        return node

    def schema(self) -> Schema:
        """Return what was used, in order of first use."""
        kinds = self._kinds()
        predicates = []
        for name, arity in self.arity.items():
            nodes = [("place", name, i) for i in range(arity)]
            function = name in self.functions
            nodes += [("value", name, 0)] if function else []
            types = tuple(kinds[self._root(node)] for node in nodes)
            predicates.append(Predicate(name, types, function=function))
        values = {p.name: (p.arity - 1,) for p in predicates if p.function}
        return Schema(tuple(predicates), {}, values)

    def _kinds(self) -> dict[_Node, str]:
        """Name each set of places after the variables in it, else after its first place."""
        called: dict[_Node, Counter[str]] = defaultdict(Counter)
        for (stem, number), times in self.names.items():
            called[self._root(("variable", stem, number))][stem] += times
        kinds: dict[_Node, str] = {}
        taken: Counter[str] = Counter()
        for kind, name, place in sorted(self.parents, key=lambda node: node[0] != "value"):
            root = self._root((kind, name, place))
            if root in kinds or kind == "variable":
                continue
            stems = called[root].most_common(1)
            plain = stems[0][0] if stems else name if kind == "value" else f"{name}_{place + 1}"
            plain = plain[:1].lower() + plain[1:]
            kinds[root] = _own_name(plain, taken)
        return kinds


def _own_name(wanted: str, taken: Counter[str]) -> str:
    """Return a name that is not taken, and take it; `taken` knows how far each was counted."""
    name = wanted
    while name in taken or is_reserved(name):
        taken[wanted] += 1
        name = f"{wanted}_" if taken[wanted] == 2 else f"{wanted}_{taken[wanted]}"
    taken[name] += 1
    return name


def _closings(tokens: list[Token]) -> dict[int, int] | None:
    """Return where each parenthesis closes, the end where it does not; None if nested too deep."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.text == "(":
            opened.append(place)
            if len(opened) > 2 * DEEPEST:  # of formulas, and of terms within
                return None
        elif token.text == ")" and opened:
            found[opened.pop()] = place
    return found | dict.fromkeys(opened, len(tokens))


def _arguments(tokens: list[Token]) -> Iterator[list[Token]]:
    """Split tokens at the commas that stand in no parentheses."""
    depth, argument = 0, list[Token]()
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == "," and not depth:
            yield argument
            argument = []
        else:
            argument.append(token)
    if argument:
        yield argument
