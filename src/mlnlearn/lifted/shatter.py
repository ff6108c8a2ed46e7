"""Shattering: formulas become products over distinct variables and blocks of equal objects.

Variables of one type may be equal or not: every set partition of them is a case of its own, so that
afterwards all variables of a product are distinct, and R(x,x) is a family apart from R(x,y). Named
constants are blocks of one object; objects that evidence tells apart fall into different blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from mlnlearn.errors import InputError
from mlnlearn.lifted.plan import NotLiftable, SearchBudget
from mlnlearn.lifted.sizes import ONE, SizePolynomial, constant, symbol, times
from mlnlearn.lifted.skolem import Skolemiser
from mlnlearn.lifted.theory import SIGN, Linear, Theory, rest_of, steps_of
from mlnlearn.logic.atoms import AnyAtom, Atom, Comparison, Constant, Predicate, Variable
from mlnlearn.logic.canonical import LiteralKey
from mlnlearn.logic.formulas import (
    Formula,
    free_variables,
    variable_types,
    without_leading_forall,
)
from mlnlearn.logic.normalize import clauses_of
from mlnlearn.logic.polynomial import Product, polynomial
from mlnlearn.logic.substitute import renamed_apart

# Where an argument stands: a block, and which of the block's objects (0 for a block of one).
Place: TypeAlias = tuple[int, int]
Binding: TypeAlias = Mapping[Variable, Place]

_FORMULAS = 1 << 10  # remembered: a search compiles the same rules beside each candidate


@dataclass(frozen=True, slots=True)
class LiftedBlock:
    """Interchangeable objects of a type: as many as a symbol says, or one named constant."""

    kind: str
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """An atom family whose truth is given: a predicate with its arguments' blocks."""

    predicate: str
    blocks: tuple[int, ...]


class Shatterer:
    """Builds a theory from formulas.

    Parameters
    ----------
    blocks
        All blocks. The symbol of a block's size is its number.
    known
        Evidence: families that are true or false throughout.
    budget
        How much work the formulas may take.
    """

    def __init__(
        self,
        blocks: Sequence[LiftedBlock],
        known: Mapping[Known, bool] | None = None,
        budget: SearchBudget | None = None,
    ) -> None:
        self.budget = budget or SearchBudget()
        self.blocks = blocks
        self.known = known or {}
        self.by_type: dict[str, list[int]] = {}
        self.constants: dict[tuple[str, str], int] = {}
        for number, block in enumerate(blocks):
            self.by_type.setdefault(block.kind, []).append(number)
            if block.constant is not None:
                self.constants[block.kind, block.constant] = number
        self.theory = Theory(
            {n: symbol(n) for n, block in enumerate(blocks) if block.constant is None}
        )
        self.names: dict[tuple[str, tuple[Place, ...]], int] = {}
        self.skolemiser = Skolemiser()

    def declare(self, predicate: Predicate) -> None:
        """Add all families of a predicate: its atoms count even where no formula has them."""
        for places in self.placements(predicate.types):
            if Known(predicate.name, tuple(block for block, _ in places)) not in self.known:
                self.family(predicate, places)

    def soft(self, formula: Formula, coefficient: Linear) -> None:
        """Add a formula as one feature."""
        plain = self._plain(formula)
        terms = _terms(plain)
        for binding in self._bindings(plain):
            self.budget.spend(len(terms) * steps_of(len(set(binding.values()))))
            for atoms, value in terms:
                placed = self._placed(atoms, binding)
                if placed is not None:
                    items, multiple = placed
                    self.theory.add_soft(items, coefficient, times(multiple, constant(value)))

    def hard(self, formula: Formula) -> None:
        """Add a formula that every world must satisfy."""
        plain = self._plain(formula)
        for clause in clauses_of(plain):
            for binding in self._bindings(plain):
                self.budget.spend(steps_of(len(set(binding.values()))))
                items: list[LiteralKey] = []
                for literal in clause:
                    truth = self._truth(literal.atom, binding)
                    if truth is not None and truth == literal.positive:
                        break
                    if truth is None:
                        family, *variables = self._item(literal.atom, binding)
                        items.append((2 * family + literal.positive, *variables))
                else:
                    self.theory.add_hard(items, self._rest(items, binding))

    def _plain(self, formula: Formula) -> Formula:
        """Return the formula without quantifiers; a FORALL in front names grounding variables."""
        return self.skolemiser.without_quantifiers(_opened(formula))

    def finish(self) -> Theory:
        """Add what stands for quantifiers, and return the theory."""
        work = self.skolemiser
        for formula in work.hard:
            self.hard(formula)
        for predicate in (*work.exists, *work.skolem):
            self.declare(predicate)
        for predicate in work.skolem:  # a false Skolem atom weighs -1: one factor, less the true
            atom = Atom(predicate, tuple(Variable(f"x{i}") for i in range(predicate.arity)))
            for binding in self._bindings(atom):
                item = self._item(atom, binding)
                self.theory.add_soft((), {SIGN: ONE}, self._rest((), binding))
                self.theory.add_soft((item,), {SIGN: ONE}, ONE)
        return self.theory.tidy()

    def family(self, predicate: Predicate, places: Sequence[Place]) -> int:
        """Return the number of the family of atoms with arguments in given places."""
        order: dict[Place, int] = {}
        shape = tuple((b, order.setdefault((b, o), len(order))) for b, o in places)
        key = (predicate.name, shape)
        if key not in self.names:
            number = len(self.names)
            self.names[key] = number
            distinct = dict.fromkeys(shape)
            self.theory.families[number] = tuple(b for b, _ in distinct if self._is_open(b))
        return self.names[key]

    def item(self, predicate: Predicate, places: Sequence[Place]) -> LiteralKey:
        """Return the atom with arguments in given places."""
        held = (_variable(p) for p in dict.fromkeys(places) if self._is_open(p[0]))
        return self.family(predicate, places), *held

    def _is_open(self, block: int) -> bool:
        return self.blocks[block].constant is None

    def placements(self, types: Sequence[str]) -> Iterator[tuple[Place, ...]]:
        """Yield every way to put arguments into blocks, equal or distinct within each."""
        for choice in product(*(self.by_type.get(kind, ()) for kind in types)):
            for places in _distinguished(choice, [self._is_open(block) for block in choice]):
                self.budget.spend(1)
                yield places

    def _bindings(self, formula: Formula) -> Iterator[dict[Variable, Place]]:
        variables, kinds = free_variables(formula), variable_types(formula)
        missing = [str(variable) for variable in variables if variable not in kinds]
        if missing:
            raise InputError(f"the type of {', '.join(missing)} is unknown in: {formula}")
        for places in self.placements([kinds[variable] for variable in variables]):
            yield dict(zip(variables, places, strict=True))

    def _truth(self, atom: AnyAtom, binding: Binding) -> bool | None:
        """Decide a comparison, or an atom by evidence; None where it is open."""
        if isinstance(atom, Comparison):
            if not atom.equates:
                raise NotLiftable(
                    f"lifted inference has no order of objects and no arithmetic: {atom}",
                    hint="only = and != can stand in its formulas",
                )
            return self._same(atom, binding)
        places = self._places(atom, binding)
        if places is None:
            return False
        return self.known.get(Known(atom.predicate.name, tuple(block for block, _ in places)))

    def _same(self, atom: Comparison, binding: Binding) -> bool:
        sides: list[Place | str] = []
        kinds = [self.blocks[binding[t][0]].kind for t in atom.terms if isinstance(t, Variable)]
        for term in atom.terms:
            if isinstance(term, Variable):
                sides.append(binding[term])
            else:
                number = self.constants.get((kinds[0], term.name)) if kinds else None
                sides.append(term.name if number is None else (number, 0))
        return sides[0] == sides[1]

    def _places(self, atom: Atom, binding: Binding) -> tuple[Place, ...] | None:
        """Return where the arguments stand; None where a constant is no object of the domain."""
        places: list[Place] = []
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True):
            if isinstance(term, Constant):
                number = self.constants.get((kind, term.name))
                if number is None:
                    return None
                places.append((number, 0))
            else:
                places.append(binding[term])
        return tuple(places)

    def _item(self, atom: AnyAtom, binding: Binding) -> LiteralKey:
        assert isinstance(atom, Atom)
        places = self._places(atom, binding)
        assert places is not None
        return self.item(atom.predicate, places)

    def _placed(
        self, atoms: Iterable[AnyAtom], binding: Binding
    ) -> tuple[list[LiteralKey], SizePolynomial] | None:
        """Write a product of atoms in families; None where evidence makes it false."""
        items: list[LiteralKey] = []
        for atom in atoms:
            truth = self._truth(atom, binding)
            if truth is False:
                return None
            if truth is None:
                items.append(self._item(atom, binding))
        return items, self._rest(items, binding)

    def _rest(self, items: Iterable[LiteralKey], binding: Binding) -> SizePolynomial:
        places = [place for place in dict.fromkeys(binding.values()) if self._is_open(place[0])]
        return rest_of(self.theory, {_variable(place): place[0] for place in places}, items)


@lru_cache(maxsize=_FORMULAS)
def _opened(formula: Formula) -> Formula:
    return renamed_apart(without_leading_forall(formula))


@lru_cache(maxsize=_FORMULAS)
def _terms(formula: Formula) -> tuple[tuple[Product, int], ...]:
    """Return the products of atoms that a formula is a sum of, each with its multiple."""
    return tuple(polynomial(formula).items())


def _variable(place: Place) -> int:
    """Return a number for an object of a block; no product has a thousand variables."""
    return place[0] * 1000 + place[1]


def _distinguished(blocks: Sequence[int], many: Sequence[bool]) -> Iterator[tuple[Place, ...]]:
    """Yield all set partitions of arguments within each block that has many objects."""

    def grow(done: tuple[Place, ...]) -> Iterator[tuple[Place, ...]]:
        if len(done) == len(blocks):
            yield done
            return
        block = blocks[len(done)]
        used = 1 + max((number for b, number in done if b == block), default=-1)
        for number in range(used + 1 if many[len(done)] else 1):
            yield from grow((*done, (block, number)))

    yield from grow(())
