"""Shattered theories: what the plan search works on, and how conditioning changes it.

The energy of a world is a polynomial in the truth values of its ground atoms. After shattering it
is a sum of *products* of atoms; a product's variables are pairwise distinct, every variable ranges
over a *block* of interchangeable objects, and the product stands for all its groundings. Atoms of
one predicate with arguments in the same blocks form a *family*. The coefficient of a product is
linear in the weights, with polynomials in block sizes as multiples. Because this form is canonical,
whatever is independent shows as such: terms that cancel are gone.

Hard formulas are kept beside it as clauses that no grounding may violate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations, product
from math import factorial
from typing import TypeAlias

from mlnlearn.lifted.sizes import ONE, SizePolynomial, negated, plus, shifted, symbol, times
from mlnlearn.logic.canonical import ClauseKey, LiteralKey, canonical_key

Linear: TypeAlias = Mapping[int, SizePolynomial]

SIGN = -1
"""The pseudo-weight whose multiple counts factors of -1."""
VIOLATED = -2
"""The pseudo-weight whose multiple counts violated groundings of hard clauses."""


@dataclass(slots=True)
class Theory:
    """Families of atoms over blocks, soft products with coefficients, and hard clauses.

    Attributes
    ----------
    blocks
        The size of each block.
    families
        The blocks of each family's arguments.
    soft
        Products of atoms, each its family and variables, with their coefficients.
    hard
        Clauses, of literals 2 · family + sign and variables, with the number of groundings that
        each of their own stands for (variables that no literal holds any more).
    """

    blocks: dict[int, SizePolynomial] = field(default_factory=dict)
    families: dict[int, tuple[int, ...]] = field(default_factory=dict)
    soft: dict[ClauseKey, dict[int, SizePolynomial]] = field(default_factory=dict)
    hard: dict[ClauseKey, SizePolynomial] = field(default_factory=dict)

    def add_soft(
        self, items: Iterable[LiteralKey], coefficient: Linear, multiple: SizePolynomial
    ) -> None:
        """Add a multiple of a coefficient to that of a product."""
        if not multiple:
            return
        known = self.soft.setdefault(canonical_items(items), {})
        for weight, value in coefficient.items():
            total = plus(known.get(weight, ()), times(value, multiple))
            if total:
                known[weight] = total
            else:
                known.pop(weight, None)

    def add_hard(self, items: Iterable[LiteralKey], multiple: SizePolynomial) -> None:
        """Add a hard clause, unless it holds whatever the atoms are."""
        distinct = set(items)
        if any((label ^ 1, *variables) in distinct for label, *variables in distinct):
            return
        key = canonical_items(distinct)
        self.hard[key] = plus(self.hard.get(key, ()), multiple)

    def tidy(self) -> Theory:
        """Drop products whose coefficient has become zero; return the theory itself."""
        self.soft = {items: linear for items, linear in self.soft.items() if linear}
        return self

    @property
    def work(self) -> int:
        """What one rewriting of the theory takes, in steps of a plan search's budget."""
        products = (len({v for _, *vs in atoms for v in vs}) for atoms in self.products())
        return 1 + len(self.families) + sum(map(steps_of, products))

    def constants(self) -> dict[int, SizePolynomial]:
        """Return what does not depend on any atom."""
        violated = self.hard.get((), ())
        return self.soft.get((), {}) | ({VIOLATED: violated} if violated else {})

    def products(self) -> Iterator[list[LiteralKey]]:
        """Yield the atoms of soft products and hard clauses alike, constants left out."""
        for items in self.soft:
            if items:
                yield list(items)
        for items in self.hard:
            if items:
                yield atoms_of(items)

    def variable_blocks(self, atoms: Iterable[LiteralKey]) -> dict[int, int]:
        """Return the block of every variable of some atoms."""
        return {
            variable: block
            for family, *variables in atoms
            for variable, block in zip(variables, self.families[family], strict=True)
        }


def atoms_of(clause: ClauseKey) -> list[LiteralKey]:
    """Return the atoms of a hard clause's literals."""
    return [(label >> 1, *variables) for label, *variables in clause]


def steps_of(variables: int) -> int:
    """Return the work of one product: orders of its variables may have to be told apart."""
    return max(1, factorial(variables) // 24)


def canonical_items(items: Iterable[LiteralKey]) -> ClauseKey:
    """Rename variables so that equal products look equal."""
    return _canonical(frozenset(items))


_canonical = lru_cache(maxsize=1 << 16)(canonical_key)


def components(theory: Theory) -> list[Theory]:
    """Split a theory into parts that share no atom."""
    parent = {family: family for family in theory.families}

    def find(family: int) -> int:
        while parent[family] != family:
            parent[family] = parent[parent[family]]
            family = parent[family]
        return family

    for atoms in theory.products():
        for family, *_ in atoms[1:]:
            parent[find(family)] = find(atoms[0][0])
    parts: dict[int, Theory] = {}
    for family, blocks in theory.families.items():
        part = parts.setdefault(find(family), Theory())
        part.families[family] = blocks
        part.blocks.update((block, theory.blocks[block]) for block in blocks)
    for items, linear in theory.soft.items():
        if items:
            parts[find(items[0][0])].soft[items] = linear
    for items, multiple in theory.hard.items():
        if items:
            parts[find(items[0][0] >> 1)].hard[items] = multiple
    return list(parts.values())


def rest_of(
    theory: Theory, blocks: Mapping[int, int], kept: Iterable[LiteralKey]
) -> SizePolynomial:
    """Count the values of the variables that hold in no atom any more, the others given."""
    remaining = {variable for _, *variables in kept for variable in variables}
    taken: dict[int, int] = {}
    for variable in remaining:
        taken[blocks[variable]] = taken.get(blocks[variable], 0) + 1
    total = ONE
    for variable, block in blocks.items():
        if variable not in remaining:
            used = taken.get(block, 0)
            total = times(total, shifted(theory.blocks[block], -used))
            taken[block] = used + 1
    return total


def conditioned(theory: Theory, family: int, truth: bool) -> Theory:
    """Set the one atom of a family without arguments."""
    known = theory.families
    result = Theory(theory.blocks, {f: blocks for f, blocks in known.items() if f != family})
    for items, linear in theory.soft.items():
        kept = tuple(item for item in items if item[0] != family)
        if truth or len(kept) == len(items):
            result.add_soft(kept, linear, ONE)
    for items, multiple in theory.hard.items():
        if (2 * family + truth,) not in items:
            result.add_hard((item for item in items if item[0] >> 1 != family), multiple)
    return result.tidy()


Rename: TypeAlias = Callable[[int, tuple[int, ...]], int]


def _renamer(
    result: Theory, arguments: Callable[[int, tuple[int, ...]], tuple[int, ...]]
) -> Rename:
    """Return a function that numbers new families by an old one and a mark."""
    names: dict[tuple[int, tuple[int, ...]], int] = {}

    def rename(family: int, mark: tuple[int, ...]) -> int:
        number = names.setdefault((family, mark), len(names))
        result.families.setdefault(number, arguments(family, mark))
        return number

    return rename


def counted(theory: Theory, family: int, axis: int) -> Theory:
    """Condition on how many atoms of a one-argument family are true.

    Its block falls apart into the objects for which the atom is true, as many as the symbol `axis`
    says, and the others; both are blocks, since all that matters is their sizes.
    """
    (block,) = theory.families[family]
    yes, no = max(theory.blocks) + 1, max(theory.blocks) + 2
    result = Theory(dict(theory.blocks))
    size = result.blocks.pop(block)
    result.blocks[yes] = symbol(axis)
    result.blocks[no] = plus(size, negated(symbol(axis)))
    rename = _renamer(result, lambda _, blocks: blocks)
    for other, blocks in theory.families.items():
        if other != family:
            for choice in product(*((yes, no) if b == block else (b,) for b in blocks)):
                rename(other, choice)

    def versions(atoms: Iterable[LiteralKey]) -> Iterator[dict[int, int]]:
        where = theory.variable_blocks(atoms)
        choices = [(yes, no) if b == block else (b,) for b in where.values()]
        for choice in product(*choices):
            yield dict(zip(where, choice, strict=True))

    def moved(atom: LiteralKey, where: Mapping[int, int]) -> int:
        return rename(atom[0], tuple([where[v] for v in atom[1:]]))

    for items, linear in theory.soft.items():
        for where in versions(items):
            if all(where[vs[0]] == yes for f, *vs in items if f == family):
                kept = [(moved(atom, where), *atom[1:]) for atom in items if atom[0] != family]
                result.add_soft(kept, linear, rest_of(result, where, kept))
    for items, multiple in theory.hard.items():
        for where in versions(atoms_of(items)):
            mine = [(label & 1, vs[0]) for label, *vs in items if label >> 1 == family]
            if any((where[v] == yes) == bool(positive) for positive, v in mine):
                continue
            kept = [
                (2 * moved((label >> 1, *variables), where) + (label & 1), *variables)
                for label, *variables in items
                if label >> 1 != family
            ]
            result.add_hard(kept, times(multiple, rest_of(result, where, kept)))
    return result.tidy()


def grounded(theory: Theory, places: Mapping[int, tuple[int, ...]]) -> Theory:
    """Return the theory of one object, or of one set of objects, of a block.

    Parameters
    ----------
    theory
        A component in which the chosen arguments of all atoms of a product hold the same variables.
    places
        The chosen argument places of each family, all of one block.
    """
    first = next(iter(places))
    width = len(places[first])
    block = theory.families[first][places[first][0]]
    result = Theory(dict(theory.blocks))
    result.blocks[block] = shifted(theory.blocks[block], -width)

    def rest(family: int, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(v for i, v in enumerate(values) if i not in places[family])

    rename = _renamer(result, lambda family, _: rest(family, theory.families[family]))
    for family in theory.families:
        for order in permutations(range(width)):
            rename(family, order)

    def fixed(atom: LiteralKey, objects: Mapping[int, int]) -> LiteralKey:
        family, *variables = atom
        order = tuple([objects[variables[place]] for place in places[family]])
        return rename(family, order), *rest(family, tuple(variables))

    for items, linear in theory.soft.items():
        for objects in _orders(items[0], places):
            result.add_soft((fixed(atom, objects) for atom in items), linear, ONE)
    for items, multiple in theory.hard.items():
        atoms = atoms_of(items)
        for objects in _orders(atoms[0], places):
            kept = []
            for (label, *_), atom in zip(items, atoms, strict=True):
                number, *others = fixed(atom, objects)
                kept.append((2 * number + (label & 1), *others))
            result.add_hard(kept, multiple)
    used = {b for blocks in result.families.values() for b in blocks}
    result.blocks = {b: size for b, size in result.blocks.items() if b in used}
    return result.tidy()


def _orders(atom: LiteralKey, places: Mapping[int, tuple[int, ...]]) -> Iterator[dict[int, int]]:
    chosen = [atom[1 + place] for place in places[atom[0]]]
    for order in permutations(range(len(chosen))):
        yield dict(zip(chosen, order, strict=True))
