"""Dialects: what the systems that read ``.mln`` files write differently.

One parser reads them all. What it has to be told is whether variables are marked, ``?x``, so that
other lower-case names are constants; it looks for the marks where nobody says. Everything else is
plain from the text: no two of the systems mean different things by the same line, but for ``:-``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, product

from mlnlearn.dialect import DIALECT
from mlnlearn.logic.atoms import Atom, Comparison, Variable
from mlnlearn.logic.formulas import And, Formula, Implies, Not, Or, Rule, free_variables
from mlnlearn.logic.substitute import substitute_formula
from mlnlearn.syntax.symbols import SymbolTable
from mlnlearn.syntax.tokens import Cursor, Token

# What only one of the systems has, by the text that a statement starts with, and what to do.
_DIRECTIVES = {
    "#AdaptiveMLNDependency": (
        "weights that depend on the size of a domain are not supported",
        "leave the line out: the weights are then those written",
    ),
    "#fixUnitary": (
        "weights that are set by how often an atom is true are not supported",
        "give the atom its weight, log(p/(1-p)), after a line '#fixweight'",
    ),
}
# What is read past, and what to say of it: nothing, where it has no bearing on the rules.
PASSED_OVER = {
    "#group": "",
    "#fuzzy": "degrees of truth are not supported: atoms of the predicate are true or false",
}
FIXED_WEIGHTS = {
    "#fixweight": "",
    "#fixWeightFreq": "the weight is the one written, not set by how often the formula is true",
}
_RULES_COMPARED = 1000
_MARGINALS = ("P", "R")
_NAMED_VALUE = re.compile(r"\s*\$(\w+)\s*=\s*([^\s/][^\n]*?)\s*(?://[^\n]*)?")
_NAME_OF_VALUE = re.compile(r"\$(\w+)")


def marks_variables(tokens: Sequence[Token], dialect: str | None) -> bool:
    """Tell whether variables are written ``?x`` in a text."""
    named = dialect or DIALECT.get()
    if named is not None:
        return named == "pracmln"
    return any(
        token.text == "?" and after.kind == "name" and after.touches(token, after.text)
        for token, after in pairwise(tokens)
    )


def same_but_for_names(rules: Sequence[Rule]) -> tuple[int, int] | None:
    """Return two of the first rules that differ in the names of variables and in weight alone.

    Nobody writes a rule twice; constants in lower case look so, ``0.2 class(good)`` and
    ``-1.3 class(bad)``.
    """
    seen: dict[str, tuple[tuple[Variable, ...], int]] = {}
    for number, rule in enumerate(rules[:_RULES_COMPARED]):
        names = free_variables(rule.formula)
        if rule.weight is None or rule.per_constant or not names:
            continue
        renamed = {name: Variable(f"_{place}") for place, name in enumerate(names)}
        shape = str(substitute_formula(rule.formula, renamed))
        others, first = seen.setdefault(shape, (names, number))
        if others != names and rules[first].weight != rule.weight:
            return first, number
    return None


def with_numbers_for_names(text: str) -> str:
    r"""Replace ``$name`` by what a line ``$name = value`` above it says, and leave that line out.

    Examples
    --------
    >>> with_numbers_for_names("$n = 20\nlog(1/$n) p(x)")
    '\nlog(1/20) p(x)'
    """
    if "$" not in text:
        return text
    values: dict[str, str] = {}
    lines = []
    for line in text.split("\n"):
        named = _NAMED_VALUE.fullmatch(line)
        if named:
            values[named[1]] = _spelt_out(named[2], values)
        lines.append("" if named else _spelt_out(line, values))
    return "\n".join(lines)


def _spelt_out(line: str, values: dict[str, str]) -> str:
    return _NAME_OF_VALUE.sub(lambda match: values.get(match[1], match[0]), line)


def refuse_unsupported(cursor: Cursor, table: SymbolTable) -> None:
    """Complain about a statement of another system that has no like here, by its name."""
    token = cursor.peek()
    if token.text in _DIRECTIVES:
        message, hint = _DIRECTIVES[token.text]
        cursor.fail(f"{token.text}: {message}", token, hint)
    if token.text == "SE" and _constrains(cursor, table):
        cursor.fail(
            "soft evidence 'SE(F) = p' among rules is not supported",
            token,
            "give the atom a rule of weight log(p/(1-p)), or list it in the data, '0.8 P(A)'",
        )
    if token.text == "count" and _constrains(cursor, table):
        cursor.fail(
            "count constraints 'count(P(x)) = n' are not supported",
            token,
            "for exactly one, mark the place in the declaration: P(a,b!)",
        )


def at_marginal(cursor: Cursor, table: SymbolTable) -> bool:
    """Tell whether ``P(F) = p`` comes next: what probability a formula is to have."""
    return cursor.peek().text in _MARGINALS and _constrains(cursor, table)


def _constrains(cursor: Cursor, table: SymbolTable) -> bool:
    """Tell whether the statement is ``name(…) = number`` with a name that is not declared."""
    undeclared = cursor.peek().kind == "name" and cursor.peek().text not in table.predicates
    return undeclared and cursor.peek(1).text == "(" and _ends_in_number(cursor)


def _ends_in_number(cursor: Cursor) -> bool:
    """Tell whether the statement is ``name(…) = number``."""
    ahead = 0
    while cursor.peek(ahead).kind not in ("newline", "end"):
        ahead += 1
    last = cursor.peek(ahead - 2 if cursor.peek(ahead - 1).text == "." else ahead - 1)
    place = ahead - 3 if cursor.peek(ahead - 1).text == "." else ahead - 2
    return last.kind == "number" and cursor.peek(place).text in ("=", "==")


def spelt_out_groups(cursor: Cursor, table: SymbolTable) -> list[list[Token]]:
    """Return the tokens of the statement once for each choice from ``foo|bar(x)``.

    Of a statement without such groups, nothing.
    """
    line: list[Token] = []
    while (token := cursor.peek(len(line))).kind not in ("newline", "end"):
        line.append(token)
    choices: list[list[Token]] = []
    place, found = 0, False
    while place < len(line):
        names = _group(line, place, table)
        found = found or len(names) > 1
        choices.append(names or [line[place]])
        place += 2 * len(names) - 1 if names else 1
    if not found:
        return []
    end = Token("end", "", line[-1].line, line[-1].column + len(line[-1].text))
    return [[*chosen, end] for chosen in product(*choices)]


def _group(line: list[Token], place: int, table: SymbolTable) -> list[Token]:
    """Return the names of ``foo|bar(``, written without blanks; predicates with arguments."""
    names = [line[place]]
    known = table.predicates.get(names[0].text)
    if names[0].kind != "name" or known is None or not known.arity:
        return []
    while place + 3 < len(line) and line[place + 1].touches(names[-1], "|"):
        if line[place + 2].kind != "name":
            return []
        names.append(line[place + 2])
        place += 2
    return names if len(names) > 1 and line[place + 1].text == "(" else []


def read_cardinality(cursor: Cursor) -> tuple[tuple[Token, ...], Cursor]:
    """Take ``|x| F <= 1``: return the variables counted, and a cursor over F.

    rockIt's constraints with other numbers have no like here.
    """
    start = cursor.take()
    counted = []
    while not cursor.at("|"):
        if not cursor.at_variable():
            cursor.unexpected("a variable between '|'")
        counted.append(cursor.take())
        if cursor.at(","):
            cursor.take()
    cursor.take()
    line: list[Token] = []
    while not cursor.at_line_end():
        line.append(cursor.take())
    line = line[:-1] if line and line[-1].text == "." else line
    if len(line) < 2 or line[-2].text != "<=" or line[-1].text != "1":
        cursor.fail(
            "cardinality constraints are supported for '|x| F <= 1' alone",
            start,
            "for other numbers write hard rules; for at least one, 'EXIST x F.'",
        )
    end = line[-2]._replace(kind="end", text="")
    return tuple(counted), Cursor(cursor.source, [*line[:-2], end], cursor.marked_variables)


def at_most_one_of(formula: Formula, counted: Sequence[Variable]) -> Rule | None:
    """Return the hard rule that at most one binding of some variables makes a clause's head true.

    The negative literals are conditions; None where there is not exactly one positive one.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("p", ("t",)), Predicate("q", ("t", "t"))
    >>> x, y = Variable("x"), Variable("y")
    >>> print(at_most_one_of(Or((Not(p("x")), q("x", "y"))), [y]))
    p(x) ^ q(x,y) ^ q(x,y_2) => y = y_2.
    """
    parts = formula.parts if isinstance(formula, Or) else (formula,)
    heads = [part for part in parts if isinstance(part, Atom)]
    conditions = [part.part for part in parts if isinstance(part, Not)]
    if len(heads) != 1 or len(conditions) + 1 != len(parts):
        return None
    taken = {variable.name for variable in free_variables(formula)}
    names = {variable: _fresh(f"{variable.name}_2", taken) for variable in counted}
    again = [substitute_formula(part, names) for part in (*conditions, heads[0])]
    body = tuple(dict.fromkeys([*conditions, heads[0], *again]))
    same = tuple(Comparison("=", variable, other) for variable, other in names.items())
    return Rule(Implies(And(body), same[0] if len(same) == 1 else And(same)), hard=True)


def _fresh(name: str, taken: set[str]) -> Variable:
    while name in taken:
        name += "_"
    return Variable(name)
