"""Which paths connect two links of an example: ranked by their correlation with gradients.

The paths of two or three hops are many, but what all paths by a pair of hops have to do with the
gradients is a product of sparse matrices: with the gradients G of pairs as a matrix, the sum of
gradients over the paths by H1 and then H2 is the sum of the entries of (H1' G) times those of H2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.relational import NAME, Link, Nominal, Relational, RowSet
from mlnlearn.model.relational.between import hop_matrix, place_codes
from mlnlearn.model.relational.features import Between, Hop

_HOPS = 400  # most hops from one kind of place
_MOST = 2_000_000  # entries of a product on the way
_MANY_NAMES = 3  # fewest names of a column that is joined on
_HUB = 10
_Places: TypeAlias = tuple[object, ...]
"""What a hop comes from or leads to: row sets, or the names of columns."""
_Typed: TypeAlias = tuple[Hop, _Places, _Places]


def closing_features(
    view: Relational, base: RowSet, rows: Ints, gradients: Floats, most: int
) -> Iterator[Between]:
    """Yield connections of the links of examples, at most so many of each length but the first.

    Parameters
    ----------
    view, base, rows
        The data and the examples, of which those rows are looked at.
    gradients
        Of each row; those of several classes are added up by size.
    most
        How many.
    """
    links = base.links
    for start, end in combinations(links, 2):
        yield from _connections(view, base, rows, (start, end), gradients, most)


def _connections(
    view: Relational,
    base: RowSet,
    chosen: Ints,
    ends: tuple[str, str],
    gradients: Floats,
    most: int,
) -> Iterator[Between]:
    start, end = ends
    source, goal = base.links[start].to, base.links[end].to
    if source == goal:
        yield Between(start, end, ())
    rows, rows_size = place_codes(view, base, (start,))
    columns, columns_size = place_codes(view, base, (end,))
    rows, columns = rows[chosen], columns[chosen]
    known = (rows >= 0) & (columns >= 0)
    strength = gradients[known, 0] if gradients.shape[1] == 1 else gradients[known].sum(axis=1)
    pulls = csr_array((strength, (rows[known], columns[known])), shape=(rows_size, columns_size))
    hops = _hops(view)
    matrices: dict[Hop, csr_array] = {}

    def matrix(hop: Hop) -> csr_array:
        if hop not in matrices:
            matrices[hop] = hop_matrix(view, hop)
        return matrices[hop]

    first = [(hop, leads) for hop, comes, leads in hops if comes == (source,)][:_HOPS]
    last = {hop: comes for hop, comes, leads in hops if leads == (goal,)}
    for hop, leads in first:
        if leads == (goal,):
            yield Between(start, end, (hop,))
    pulled = {}
    for hop, _ in first:
        found = csr_array(matrix(hop).T @ pulls)
        if found.nnz <= _MOST:
            pulled[hop] = found
    two = _two((start, end), first, last, pulled, matrix)
    yield from _best(list(two), most)
    plain = [typed for typed in hops if not any(isinstance(p, tuple) for p in typed[1] + typed[2])]
    firm = [(hop, leads) for hop, leads in first if not isinstance(leads[0], tuple)]
    three = _three((start, end), plain, firm, last, pulled, matrix, 20 * most)
    yield from _best(list(three), most)


def _two(
    ends: tuple[str, str],
    first: list[tuple[Hop, _Places]],
    last: dict[Hop, _Places],
    pulled: dict[Hop, csr_array],
    matrix: Callable[[Hop], csr_array],
) -> Iterator[tuple[float, Between]]:
    """Yield connections by two hops with their strength, those by one place all at once."""
    for middle in dict.fromkeys(leads for _, leads in first):
        ones = [hop for hop, leads in first if leads == middle and hop in pulled]
        others = [hop for hop, comes in last.items() if comes == middle]
        if not ones or not others:
            continue
        entries = [matrix(hop).reshape((1, -1)) for hop in others]
        across = csr_array(vstack(entries, format="csr").T)
        counts = {hop: float(matrix(hop).sum()) for hop in (*ones, *others)}
        for one in ones:
            totals = (csr_array(pulled[one].reshape((1, -1))) @ across).toarray()[0]
            for other, total in zip(others, totals.tolist(), strict=True):
                if not _returns(one, other):
                    strength = abs(total) / float(np.sqrt(1.0 + counts[one] + counts[other]))
                    yield strength, Between(*ends, (one, other))


def _three(
    ends: tuple[str, str],
    hops: list[_Typed],
    first: list[tuple[Hop, _Places]],
    last: dict[Hop, _Places],
    pulled: dict[Hop, csr_array],
    matrix: Callable[[Hop], csr_array],
    work: int,
) -> Iterator[tuple[float, Between]]:
    """Yield connections by three hops with their strength, while there is work left to do."""
    by_places: dict[tuple[_Places, _Places], list[Hop]] = {}
    for hop, enters, leaves in hops:
        by_places.setdefault((enters, leaves), []).append(hop)
    finals = [(hop, comes) for hop, comes in last.items() if not _is_hub(csr_array(matrix(hop).T))]
    for one, leads in first:
        if one not in pulled or _is_hub(matrix(one)):
            continue
        for final, comes in finals:
            middles = [
                hop
                for hop in by_places.get((leads, comes), ())
                if not _returns(one, hop) and not _returns(hop, final)
            ]
            work -= 1 + len(middles) if middles else 0
            if work < 0:
                return
            both = csr_array(pulled[one] @ matrix(final).T) if middles else None
            for hop in middles if both is not None and both.nnz <= _MOST else ():
                strength = _strength(both, matrix(hop), matrix(hop))
                yield strength, Between(*ends, (one, hop, final))


def _is_hub(matrix: csr_array) -> bool:
    """Whether so many rows meet at the places that a hop leads to that paths only count rows."""
    return bool(matrix.nnz > _HUB * len(np.unique(matrix.indices)))


def _strength(pulled: csr_array, matrix: csr_array, other: csr_array) -> float:
    """Return the sum of gradients over paths, by the root of how many paths there may be."""
    total = float(pulled.multiply(matrix).sum())
    return abs(total) / float(np.sqrt(1.0 + matrix.sum() + other.sum()))


def _best(found: list[tuple[float, Between]], most: int) -> list[Between]:
    order = sorted(range(len(found)), key=lambda at: (-found[at][0], at))
    return [found[at][1] for at in order[:most] if found[at][0] > 0]


def _returns(one: Hop, other: Hop) -> bool:
    """Whether a hop goes back the way that the one before came, by a row that has no choice."""
    turned = one.rows == other.rows and one.enter == other.leave and one.leave == other.enter
    return turned and one.leave == (NAME,)


def _hops(view: Relational) -> list[_Typed]:
    """Return all hops with what they come from and lead to."""
    found: list[_Typed] = []
    for rows in view:
        places = dict(_places(rows))
        names = list(places)
        for enter, leave in permutations(names, 2):
            found.append((Hop(rows.name, (enter,), (leave,)), (places[enter],), (places[leave],)))
        for enter in names:
            rest = [name for name in names if name != enter]
            for pair in permutations(rest, 2):
                both = (places[pair[0]], places[pair[1]])
                if pair[0] == NAME or pair[1] == NAME or str(both[0]) > str(both[1]):
                    continue
                found.append((Hop(rows.name, (enter,), pair), (places[enter],), both))
                found.append((Hop(rows.name, pair, (enter,)), both, (places[enter],)))
    return found


def _places(rows: RowSet) -> Iterator[tuple[str, object]]:
    """Yield the columns that can be joined on, with what tells whether two of them match."""
    if NAME in rows.columns:
        yield NAME, rows.name
    for name, column in rows.columns.items():
        if isinstance(column, Link):
            yield name, column.to
        elif isinstance(column, Nominal) and name != NAME and len(column.names) >= _MANY_NAMES:
            yield name, ("names", tuple(column.names))
