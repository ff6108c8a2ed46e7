"""Chains of relationships: which there are of a length, given those one shorter."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

from mlnlearn.structure.join_bayes.layout import Relationship

Chain: TypeAlias = frozenset[Relationship]


def longer_chains(
    level: Collection[Chain], relationships: Iterable[Relationship]
) -> tuple[list[Chain], int]:
    """Return all chains with one relationship more than those of a level, and how many are not.

    Those that are not have a part that is a chain, too, but not one of the level: what was not
    learned on a part would be learned on the whole without regard to it.
    """
    found: dict[Chain, bool] = {}
    for chain in level:
        variables = {variable for r in chain for variable in r.variables}
        for relationship in relationships:
            longer = chain | {relationship}
            if relationship in chain or longer in found:
                continue
            if variables & set(relationship.variables):
                parts = (longer - {one} for one in longer)
                found[longer] = all(part in level or not _connected(part) for part in parts)
    whole = [chain for chain, complete in found.items() if complete]
    return whole, len(found) - len(whole)


def _connected(chain: Chain) -> bool:
    """Tell whether one can go from every relationship to every other, by shared variables."""
    left = list(chain)
    reached = set(left.pop().variables)
    while left:
        near = next((r for r in left if reached & set(r.variables)), None)
        if near is None:
            return False
        left.remove(near)
        reached |= set(near.variables)
    return True
