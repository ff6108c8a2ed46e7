"""Which variables are bound where in a formula, their types, and the functions taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import (
    AnyAtom,
    Atom,
    Calculation,
    Comparison,
    Constant,
    Predicate,
    Term,
    Variable,
    is_whole,
)
from mlnlearn.logic.formulas import And, Exists, Forall, Formula, Implies
from mlnlearn.syntax.symbols import SymbolTable
from mlnlearn.syntax.tokens import Cursor, Token


@dataclass
class Scope:
    """The reach of a quantifier, or the whole formula.

    A function inside an atom, ``P(f(x))``, is taken out: ``f(x) = v1`` with a new variable becomes
    a definition of the innermost scope that binds a variable of the function. So is a calculation:
    ``P(t+1)`` has the definition ``t + 1 = v1``.
    """

    names: set[str] = field(default_factory=set)
    definitions: list[AnyAtom] = field(default_factory=list)

    def closed(self, body: Formula) -> Formula:
        """Return ``definitions => body``."""
        return Implies(_conjunction(self.definitions), body) if self.definitions else body

    def quantified(
        self, quantifier: str, bound: tuple[Variable, ...], body: Formula
    ) -> Exists | Forall:
        """Put the quantifier in front, with the variables of the definitions bound as well."""
        fresh = tuple(a.terms[-1] for a in self.definitions if isinstance(a.terms[-1], Variable))
        if quantifier == "FORALL":
            return Forall(bound + fresh, self.closed(body))
        parts = (*self.definitions, body)
        return Exists(bound + fresh, And(parts) if self.definitions else body)


def _conjunction(atoms: list[AnyAtom]) -> Formula:
    return atoms[0] if len(atoms) == 1 else And(tuple(atoms))


@dataclass(frozen=True)
class _Compared:
    comparison: Comparison
    tokens: tuple[Token, Token]

    @property
    def places(self) -> list[tuple[Term, Token]]:
        """The terms, each with the place of its side."""
        split = len(Comparison("=", self.comparison.left, Constant("")).terms) - 1
        return [(t, self.tokens[i >= split]) for i, t in enumerate(self.comparison.terms)]


class Checker:
    """Collects what is wrong with the names and types of one formula.

    A variable has one type in the whole formula, also where two quantifiers bind the same name.
    """

    def __init__(self, cursor: Cursor, table: SymbolTable) -> None:
        self.cursor = cursor
        self.table = table
        self.problems: list[InputError] = []
        self.scopes = [Scope()]
        self.marked: set[str] = set()
        self._types: dict[str, str] = {}
        self._first: dict[str, Token] = {}
        self._compared: list[_Compared] = []
        self._constants: list[tuple[Constant, str, Token]] = []
        self._used: set[str] = set()
        self._fresh = 0

    def report(self, message: str, token: Token, hint: str = "") -> None:
        """Note a problem and go on."""
        self.problems.append(self.cursor.problem(message, token, hint))

    def mark(self, name: str, token: Token) -> None:
        """Note that a variable is written ``+x``."""
        if any(name in scope.names for scope in self.scopes[1:]):
            self.report(
                f"'+{name}' stands for one rule per constant, but a quantifier binds '{name}'",
                token,
                "mark free variables only",
            )
        self.marked.add(name)

    def use(self, term: Term, kind: str, token: Token) -> None:
        """Note that a term stands where a type is asked for."""
        if not isinstance(term, Variable):
            self._constants.append((term, kind, token))
            return
        known = self._types.setdefault(term.name, kind)
        first = self._first.setdefault(term.name, token)
        if known != kind:
            self.report(
                f"variable '{term}' has two types: '{known}' at line {first.line}, "
                f"column {first.column}, and '{kind}' here",
                token,
                "use two variables",
            )

    def compare(self, comparison: Comparison, tokens: tuple[Token, Token]) -> None:
        """Note a comparison; its types are known only at the end of the formula."""
        self._compared.append(_Compared(comparison, tokens))

    def define(self, function: Predicate, arguments: tuple[Term, ...], token: Token) -> Variable:
        """Return the variable that stands for a function's value."""
        variable, is_new = self._defined(
            arguments, lambda value: Atom(function, (*arguments, value))
        )
        if is_new:
            self.use(variable, function.types[-1], token)
        return variable

    def calculate(self, calculation: Calculation, token: Token) -> Variable:
        """Return the variable that stands for what is worked out."""
        variable, is_new = self._defined(
            calculation.terms, lambda value: Comparison("=", calculation, value)
        )
        if is_new:
            self.compare(Comparison("=", calculation, variable), (token, token))
        return variable

    def _defined(
        self, inside: tuple[Term, ...], definition: Callable[[Variable], AnyAtom]
    ) -> tuple[Variable, bool]:
        """Return the variable of a definition, and whether it is a new one."""
        names = {term.name for term in inside if isinstance(term, Variable)}
        bound = (scope for scope in reversed(self.scopes[1:]) if scope.names & names)
        scope = next(bound, self.scopes[0])
        for atom in scope.definitions:
            value = atom.terms[-1]
            assert isinstance(value, Variable)
            if atom == definition(value):
                return value, False
        variable = self.fresh()
        scope.definitions.append(definition(variable))
        scope.names.add(variable.name)
        return variable, True

    def foreign_constants(self) -> list[InputError]:
        """Return what is wrong with constants, once all types are known.

        One that its closed type does not hold, one that is written like a variable, and one that
        is no number in a type that is calculated with.
        """
        foreign = [
            self.cursor.problem(f"constant {constant} is not in the closed type '{kind}'", token)
            for constant, kind, token in self._constants
            if not self.table.allows(kind, constant.name)
        ]
        misread = [
            self.cursor.problem(
                f"'{name}' reads as a variable, but is a constant of type '{kind}'",
                self._first[name],
                f'write "{name}" in quotes; with dialect pracmln, variables are written ?{name}',
            )
            for name, kind in self._types.items()
            if not self.cursor.marked_variables and (kind, name) in self.table.bare
        ]
        return [*foreign, *misread, *self._not_whole()]

    def _not_whole(self) -> Iterator[InputError]:
        for item in self._compared:
            kinds = {self._type_of(t) for t in item.comparison.terms if isinstance(t, Variable)}
            for kind in sorted(kinds) if item.comparison.calculates else ():
                for name in self.table.constants.get(kind, ()):
                    if not is_whole(name):
                        message = (
                            f"{item.comparison} calculates with whole numbers, but "
                            f"{Constant(name)} of type '{kind}' is none"
                        )
                        yield self.cursor.problem(message, item.tokens[0])
                        break

    def fresh(self) -> Variable:
        """Return a variable whose name occurs nowhere in the text."""
        if not self._used:
            self._used.update(token.text for token in self.cursor.tokens if token.kind == "name")
        self._fresh += 1
        while f"v{self._fresh}" in self._used:
            self._fresh += 1
        return Variable(f"v{self._fresh}")

    def finish(self) -> None:
        """Type the comparisons: spread types from side to side, then check them.

        A formula with problems already is left alone: what is missing there follows from them.
        """
        if self.problems:
            return
        spread = True
        while spread:
            spread = False
            for item in self._compared:
                kinds = [kind for term, _ in item.places if (kind := self._type_of(term))]
                for term, token in item.places if kinds else ():
                    if isinstance(term, Variable) and term.name not in self._types:
                        self._types[term.name] = kinds[0]
                        self._first[term.name] = token
                        spread = True
        reported: set[str] = set()
        for item in self._compared:
            self._check(item, reported)

    def _type_of(self, term: Term) -> str:
        return self._types.get(term.name, "") if isinstance(term, Variable) else ""

    def _check(self, item: _Compared, reported: set[str]) -> None:
        for term, token in item.places:
            if isinstance(term, Variable) and not self._type_of(term) and term.name not in reported:
                reported.add(term.name)
                self.report(
                    f"the type of variable '{term}' is unknown", token, "use it in an atom as well"
                )
        if item.comparison.calculates:
            return
        left, right = (self._type_of(term) for term in item.comparison.terms)
        if left and right and left != right:
            first, second = item.comparison.terms
            self.report(
                f"'{first}' of type '{left}' is compared with '{second}' of type '{right}'",
                item.tokens[0],
            )
        if item.comparison.equates:
            for term, token in item.places:
                if not isinstance(term, Variable) and (left or right):
                    self.use(term, left or right, token)
