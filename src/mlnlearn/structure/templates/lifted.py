"""Atoms among clusters of constants, and the connected sets of them: templates of clauses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from mlnlearn.logic.canonical import canonical_key
from mlnlearn.run import check_time
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph, Numbers
from mlnlearn.structure.templates.learner import Template

# how many sets are looked at for each one that may be followed further
_SCANNED = 50

LiftedAtom = tuple[int, ...]
"""The number of a predicate, and those of its variables: two for a cluster that links to itself."""


def lifted_atoms(graph: AtomGraph, atoms: Numbers, cluster_of: Numbers) -> tuple[LiftedAtom, ...]:
    """Return the atoms among clusters that some true atoms stand for, each once.

    A cluster is a variable; one with a true atom between two different members is two, so that it
    can say how members are linked.

    Parameters
    ----------
    graph
        The true atoms.
    atoms
        Which of them to lift.
    cluster_of
        The cluster of each node; in the end, what stands for no argument.
    """
    label, nodes = graph.label[atoms], graph.nodes[atoms]
    clusters = np.where(nodes == NOTHING, NOTHING, cluster_of[nodes])
    # of each place, the first one that holds the same constant
    first = (nodes[:, :, None] == nodes[:, None, :]).argmax(axis=2)
    width = nodes.shape[1]
    distinct = np.unique(np.column_stack([label, clusters, first]), axis=0).tolist()
    shapes = [
        (row[0], tuple((row[1 + p], row[1 + width + p]) for p in range(width) if row[1 + p] >= 0))
        for row in distinct
    ]
    twice: set[int] = set()
    for _, shape in shapes:
        seen: dict[int, int] = {}
        for cluster, first in shape:
            if seen.setdefault(cluster, first) != first:
                twice.add(cluster)
    found = {atom for shape in shapes for atom in _variants(shape, twice)}
    return tuple(sorted(found))


def _variants(
    shape: tuple[int, tuple[tuple[int, int], ...]], twice: set[int]
) -> Iterator[LiftedAtom]:
    """Yield an atom over variables: all ways to choose one of those of a cluster."""
    label, places = shape
    different = list(dict.fromkeys(places))
    choices = [range(2) if cluster in twice else range(1) for cluster, _ in different]
    for chosen in product(*choices):
        variable = {
            place: 2 * place[0] + copy for place, copy in zip(different, chosen, strict=True)
        }
        # different constants are different variables, as far as a cluster has enough of them
        if len(set(variable.values())) == min(len(different), _most(different, twice)):
            yield (label, *(variable[place] for place in places))


def _most(different: list[tuple[int, int]], twice: set[int]) -> int:
    """Return how many variables the clusters of some places have."""
    return sum(
        min(number, 2 if cluster in twice else 1)
        for cluster, number in Counter(cluster for cluster, _ in different).items()
    )


def connected_sets(
    atoms: Iterable[LiftedAtom],
    max_literals: int,
    max_variables: int,
    most: int | None,
    places: int | None = None,
) -> Iterator[Template]:
    """Yield templates of connected atoms, the shortest first.

    Parameters
    ----------
    atoms
        The atoms among clusters.
    max_literals, max_variables
        How large a template may be.
    most
        Most sets of a length that are followed further; None for all.
    places
        How many sets of the same template are followed further; None for all.

    Examples
    --------
    >>> list(connected_sets([(0, 0, 2), (1, 0), (1, 2)], 3, 2, 100))
    [((0, 0, 1), (1, 0)), ((0, 0, 1), (1, 1)), ((0, 0, 1), (1, 0), (1, 1))]
    """
    given = sorted(set(atoms))
    touching: Mapping[int, list[int]] = defaultdict(list)
    for place, atom in enumerate(given):
        for variable in set(atom[1:]):
            touching[variable].append(place)
    level: list[tuple[int, ...]] = [(place,) for place in range(len(given))]
    for _ in range(max_literals - 1):
        check_time()
        longer: set[tuple[int, ...]] = set()
        number: Counter[Template] = Counter()
        following: list[tuple[int, ...]] = []
        for chosen in _extended(level, given, touching, max_variables):
            if most is not None and (len(following) >= most or len(longer) >= _SCANNED * most):
                break
            if chosen in longer:
                continue
            longer.add(chosen)
            template = _template(tuple(given[place] for place in chosen))
            if not number[template]:
                yield template
            if places is None or number[template] < places:
                following.append(chosen)
            number[template] += 1
        level = following


def _extended(
    level: Iterable[tuple[int, ...]],
    given: Sequence[LiftedAtom],
    touching: Mapping[int, list[int]],
    max_variables: int,
) -> Iterator[tuple[int, ...]]:
    """Yield sets of atoms with one more, which shares a variable with the others."""
    for chosen in level:
        variables = {variable for place in chosen for variable in given[place][1:]}
        for place in sorted({place for variable in variables for place in touching[variable]}):
            if place not in chosen and len(variables.union(given[place][1:])) <= max_variables:
                yield tuple(sorted((*chosen, place)))


def _template(atoms: tuple[LiftedAtom, ...]) -> Template:
    """Return the canonical form of atoms; numbered as they come first, many sets are the same."""
    number: dict[int, int] = {}
    return _canonical(
        tuple((atom[0], *(number.setdefault(v, len(number)) for v in atom[1:])) for atom in atoms)
    )


@lru_cache(maxsize=1 << 16)
def _canonical(atoms: tuple[LiftedAtom, ...]) -> Template:
    return canonical_key(atoms)
