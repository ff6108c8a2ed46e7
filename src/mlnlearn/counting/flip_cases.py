"""The parts of a flip count: what a product of atoms adds to it, before multiples of domains.

`mlnlearn.counting.coincidences` tells where a ground atom meets a product, as a number of cases; a
case is one count by the arguments of the flipped atom, as a table or as products of factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mlnlearn.counting.arrays import Ints, times
from mlnlearn.counting.coincidences import cases
from mlnlearn.counting.flip_products import Factorised, factorised, products
from mlnlearn.counting.flip_tables import FlipProduct, FlipTable, keyed
from mlnlearn.counting.prepare import member_atom
from mlnlearn.counting.query import Engine, Query
from mlnlearn.counting.stack import Stack
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Variable
from mlnlearn.logic.numbering import Numbering


@dataclass(frozen=True, slots=True)
class FlipCase:
    """Atoms to be counted by those arguments of a flipped atom that stand in them.

    Attributes
    ----------
    pattern
        The flipped atom.
    atoms
        What must be true.
    group
        Variables of the pattern that stand in the atoms.
    free
        Types of variables that stand nowhere: each multiplies the count by its domain.
    coefficient
        How often the count goes into the flip count.
    factorised
        How the count falls into factors, if it does.
    """

    pattern: Atom
    atoms: tuple[Atom, ...]
    group: tuple[Variable, ...]
    free: tuple[str, ...]
    coefficient: int
    factorised: Factorised

    def queries(self) -> tuple[Query, ...]:
        """Return what is asked first: the factors one by one, where a product may pay."""
        return self.factorised.factors or (Query(self.atoms, self.group),)


@dataclass(frozen=True, slots=True)
class FlipPart:
    """What a case counts: a table, or products.

    Attributes
    ----------
    counted
        The counts.
    free, coefficient
        As those of `FlipCase`; not in the counts.
    """

    counted: FlipTable | tuple[FlipProduct, ...]
    free: tuple[str, ...]
    coefficient: int

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return sum(table.nbytes for table in self._tables)

    @property
    def rows(self) -> int:
        """How many rows the arrays have."""
        return sum(map(len, self._tables))

    @property
    def _tables(self) -> tuple[FlipTable, ...]:
        """The table, or the factors of the products."""
        if isinstance(self.counted, FlipTable):
            return (self.counted,)
        return tuple(factor for part in self.counted for factor in part.factors)

    def times(self, scale: Ints) -> FlipTable | tuple[FlipProduct, ...]:
        """Return the counts times a number for each database."""
        if isinstance(self.counted, FlipTable):
            return _scaled(self.counted, scale)
        return tuple(
            FlipProduct((_scaled(part.factors[0], scale), *part.factors[1:]))
            for part in self.counted
        )


@dataclass(frozen=True, slots=True)
class FlipParts:
    """What a product of atoms adds to the flip counts of a predicate."""

    parts: tuple[FlipPart, ...]

    def __iter__(self) -> Iterator[FlipPart]:
        return iter(self.parts)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return sum(part.nbytes for part in self.parts)

    @property
    def rows(self) -> int:
        """How many rows the arrays have."""
        return sum(part.rows for part in self.parts)


def flip_cases(
    stack: Stack, atoms: Sequence[Atom], predicate: Predicate, exclusive: tuple[int, ...]
) -> Iterator[FlipCase]:
    """Yield the cases in which a ground atom of a predicate meets a product of atoms."""
    if predicate not in [atom.predicate for atom in atoms]:
        return
    numbering = Numbering(
        (term for atom in atoms for term in atom.terms), (atom.predicate for atom in atoms)
    )
    kinds = {
        term: kind
        for atom in atoms
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True)
    }
    denied = tuple(numbering.literal(atom, False) for atom in atoms)
    for case in cases(denied, numbering.predicate(predicate), exclusive):
        unifier = {numbering.term(v): numbering.term(t) for v, t in case.unifier.items()}
        types = {
            value: kind
            for term, kind in kinds.items()
            if isinstance(value := unifier.get(term, term), Variable)
        }
        rest = [numbering.atom(literal) for literal in case.rest]
        pattern = Atom(predicate, tuple(map(numbering.term, case.terms)))
        # more groundings of the denying clause are violated where more of the product are true
        yield _flip_case(stack, pattern, rest, types, -case.coefficient)


def _flip_case(
    stack: Stack,
    pattern: Atom,
    rest: list[Atom],
    types: dict[Variable, str],
    coefficient: int,
) -> FlipCase:
    used = {term for atom in rest for term in atom.terms}
    shape = pattern.terms
    repeated = {t for t in shape if isinstance(t, Variable) and shape.count(t) > 1}
    members = [member_atom(stack, types[v], v) for v in sorted(repeated - used, key=str)]
    members += [
        # a database without the constant has no such atom
        member_atom(stack, kind, term)
        for term, kind in zip(shape, pattern.predicate.types, strict=True)
        if isinstance(term, Constant)
    ]
    used |= repeated
    free = (kind for variable, kind in types.items() if variable not in used | set(shape))
    group = dict.fromkeys(t for t in shape if isinstance(t, Variable) and t in used)
    atoms = (*rest, *members)
    factors = factorised(stack, pattern, atoms, types)
    return FlipCase(pattern, atoms, tuple(group), tuple(free), coefficient, factors)


def flip_part(engine: Engine, case: FlipCase) -> FlipPart:
    """Count what a case says, by the arguments of the flipped atom."""
    counted: FlipTable | tuple[FlipProduct, ...] | None
    counted = products(engine, case.pattern, case.factorised)
    if counted is None:
        table = engine.table(Query(case.atoms, case.group))
        counted = keyed(engine.stack, case.pattern, table)
    return FlipPart(counted, case.free, case.coefficient)


def _scaled(table: FlipTable, scale: Ints) -> FlipTable:
    """Return a table times a number for each database."""
    if (scale == 1).all():
        return table
    return replace(table, values=times(scale[table.database], table.values))
