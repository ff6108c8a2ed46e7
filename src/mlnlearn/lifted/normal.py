"""A normal form of components, so that equal subproblems are compiled once.

Blocks' sizes become the symbols themselves where they can, which also finds the fewest sizes that a
subproblem depends on. The order of families is by how they are used; ties are left as they are, so
that some equal subproblems may be missed, at no cost but time.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from mlnlearn.lifted.sizes import (
    SizePolynomial,
    negated,
    plus,
    substituted,
    symbol,
    symbols_of,
    times,
)
from mlnlearn.lifted.theory import Theory, canonical_items
from mlnlearn.logic.canonical import ClauseKey


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A renamed component.

    Attributes
    ----------
    key
        Equal for equal components.
    theory
        The component in symbols 0, 1, ….
    arguments
        What each of these symbols is in the symbols of the caller.
    """

    key: Hashable
    theory: Theory
    arguments: tuple[SizePolynomial, ...]


def normal_form(component: Theory) -> NormalForm:
    """Rename the families, blocks and symbols of a component."""
    families = {old: new for new, old in enumerate(_order(component))}
    blocks: dict[int, int] = {}
    for old in families:
        for block in component.families[old]:
            blocks.setdefault(block, len(blocks))
    sizes = [component.blocks[block] for block in blocks]
    multiples = [m for linear in component.soft.values() for m in linear.values()]
    values, arguments = _fewest_symbols(sizes, [*multiples, *component.hard.values()])
    theory = Theory(
        {new: substituted(component.blocks[old], values) for old, new in blocks.items()},
        {new: tuple(blocks[b] for b in component.families[old]) for old, new in families.items()},
    )
    for items, linear in component.soft.items():
        renamed = canonical_items((families[family], *vs) for family, *vs in items)
        theory.soft[renamed] = {w: substituted(m, values) for w, m in linear.items()}
    for items, multiple in component.hard.items():
        moved = ((2 * families[label >> 1] + (label & 1), *vs) for label, *vs in items)
        theory.hard[canonical_items(moved)] = substituted(multiple, values)
    return NormalForm(_key(theory), theory, arguments)


def _key(theory: Theory) -> Hashable:
    soft = frozenset(
        (items, tuple(sorted(linear.items()))) for items, linear in theory.soft.items()
    )
    blocks, families = tuple(theory.blocks.values()), tuple(theory.families.values())
    return blocks, families, soft, frozenset(theory.hard.items())


def _order(component: Theory) -> list[int]:
    """Order the families by their arguments and the products they are in."""
    uses: dict[int, list[tuple[object, ...]]] = {family: [] for family in component.families}

    def note(items: ClauseKey, what: tuple[int, ...], shift: int) -> None:
        for place, (label, *variables) in enumerate(items):
            uses[label >> shift].append((len(items), what, place, tuple(variables)))

    for items, linear in component.soft.items():
        note(items, tuple(sorted(linear)), 0)
    for items in component.hard:
        note(items, tuple(label & 1 for label, *_ in items), 1)

    def place(family: int) -> tuple[int, str]:
        return len(component.families[family]), repr(sorted(uses[family], key=repr))

    return sorted(component.families, key=place)


def _fewest_symbols(
    sizes: list[SizePolynomial], multiples: list[SizePolynomial]
) -> tuple[dict[int, SizePolynomial], tuple[SizePolynomial, ...]]:
    """Choose the symbols of a subproblem: its blocks' sizes, then whatever else is needed.

    Each size takes the place of one old symbol in it. New symbols are negative while they are mixed
    with old ones.
    """
    values: dict[int, SizePolynomial] = {}
    arguments: list[SizePolynomial] = []
    for size in sizes:
        now = substituted(size, values)
        pivot = next((p[0] for p, v in now if len(p) == 1 and p[0] >= 0 and v in (1, -1)), None)
        if pivot is None:
            continue
        sign = dict(now)[(pivot,)]
        fresh = symbol(-1 - len(arguments))
        others = tuple((p, v) for p, v in now if p != (pivot,))
        solved = times(plus(fresh, negated(others)), (((), sign),))
        values = {old: substituted(value, {pivot: solved}) for old, value in values.items()}
        values[pivot] = solved
        arguments.append(size)
    left = symbols_of(substituted(p, values) for p in [*sizes, *multiples])
    for old in sorted(number for number in left if number >= 0):
        values = {o: substituted(v, {old: symbol(-1 - len(arguments))}) for o, v in values.items()}
        values[old] = symbol(-1 - len(arguments))
        arguments.append(symbol(old))
    used = sorted(
        (number for number in symbols_of(substituted(p, values) for p in [*sizes, *multiples])),
        reverse=True,
    )
    final = {number: symbol(place) for place, number in enumerate(used)}
    kept = tuple(arguments[-1 - number] for number in used)
    return {old: substituted(value, final) for old, value in values.items()}, kept
