"""Where lifted inference's rules apply: small functions that look at one component."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from mlnlearn.lifted.theory import Theory

Places = dict[int, tuple[int, ...]]


def ground_atom(theory: Theory) -> int | None:
    """Return a family without arguments, the one in most products, if there is any."""
    ground = [family for family, blocks in theory.families.items() if not blocks]
    return _busiest(theory, ground)[0] if ground else None


def separator(theory: Theory, width: int) -> Places | None:
    """Find argument places that hold the same `width` variables in all atoms of every product.

    With one variable, the objects of its block are independent of each other; with two, the
    unordered pairs of objects are. The places of one family determine those of all others, since
    the component is connected.
    """
    family = min(theory.families, key=lambda f: len(theory.families[f]))
    for start in _equal_blocks(theory.families[family], width):
        places = _spread(theory, {family: start})
        if places is not None:
            return places
    return None


def _equal_blocks(blocks: tuple[int, ...], width: int) -> Iterator[tuple[int, ...]]:
    for places in combinations(range(len(blocks)), width):
        if len({blocks[place] for place in places}) == 1:
            yield places


def _spread(theory: Theory, places: Places) -> Places | None:
    """Carry the choice of places through all products; None where they disagree."""
    products = list(theory.products())
    changed = True
    while changed:
        changed = False
        for atoms in products:
            known = next((atom for atom in atoms if atom[0] in places), None)
            if known is None:
                continue
            chosen = {known[1 + place] for place in places[known[0]]}
            for family, *variables in atoms:
                own = tuple(i for i, v in enumerate(variables) if v in chosen)
                if len(own) != len(chosen) or places.get(family, own) != own:
                    return None
                if family not in places:
                    places[family] = own
                    changed = True
    return places


def countable(theory: Theory) -> list[int]:
    """Return the families with one argument, those in most products first."""
    return _busiest(theory, [f for f, blocks in theory.families.items() if len(blocks) == 1])


def _busiest(theory: Theory, families: list[int]) -> list[int]:
    uses = dict.fromkeys(families, 0)
    for atoms in theory.products():
        if len(atoms) > 1:
            for family in {family for family, *_ in atoms}:
                if family in uses:
                    uses[family] += 1
    return sorted(families, key=lambda family: (-uses[family], family))
