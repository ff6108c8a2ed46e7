"""Which paths connect two links of an example: ranked by their correlation with gradients.

The paths of two or three hops are many, but what all paths by a pair of hops have to do with the
gradients is a product of sparse matrices: with the gradients G of pairs as a matrix, the sum of
gradients over the paths by H1 and then H2 is the sum of the entries of (H1' G) times those of H2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, pairwise, permutations
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.relational import NAME, Link, Nominal, Relational, RowSet
from mlnlearn.model.relational.between import HopMatrices, place_codes
from mlnlearn.model.relational.features import Between, Hop

_HOPS = 400  # most hops from one kind of place
_MOST = 2_000_000  # entries of a product on the way
_KEPT = 20_000  # entries of a matrix whose transpose is kept
_MANY_NAMES = 3  # fewest names of a column that is joined on
_HUB = 10
_WORK = 20  # products of three hops, by how many are wanted
_Places: TypeAlias = tuple[object, ...]
"""What a hop comes from or leads to: row sets, or the names of columns."""
_Typed: TypeAlias = tuple[Hop, _Places, _Places]


@dataclass(frozen=True, eq=False)
class _HopStack:
    """Hops between the same places, with the entries of their matrices.

    Attributes
    ----------
    hops
        The hops.
    places
        Where in a matrix any of them has an entry, in rising order, as one number.
    entries
        A row a hop, a column a place: places are few, where all pairs would not fit in memory.
    """

    hops: list[Hop]
    places: Ints
    entries: csr_array

    @classmethod
    def of(cls, hops: list[Hop], matrices: list[csr_array]) -> _HopStack:
        """Flatten matrices of the same shape."""
        found = [_flat(matrix) for matrix in matrices]
        places = np.unique(np.concatenate([place for place, _ in found] or [np.zeros(0, np.int64)]))
        starts = np.cumsum([0, *(len(place) for place, _ in found)])
        values = np.concatenate([value for _, value in found] or [np.zeros(0)])
        columns = [np.searchsorted(places, place) for place, _ in found]
        listed = np.concatenate(columns or [np.zeros(0, np.int64)])
        return cls(hops, places, csr_array((values, listed, starts), (len(hops), len(places))))

    @cached_property
    def rows(self) -> Floats:
        """How many rows each hop goes by."""
        return np.asarray(self.entries.sum(axis=1)).reshape(-1)

    def products(self, pulled: csr_array) -> Floats:
        """Return the sum of a matrix times that of each hop, entry by entry."""
        flat, values = _flat(pulled)
        at = np.searchsorted(self.places, flat)
        here = at < len(self.places)
        here[here] = self.places[at[here]] == flat[here]
        found: Floats = self.entries @ np.bincount(at[here], values[here], len(self.places))
        return found


def _below(matrices: list[csr_array], columns: int) -> csr_array:
    """Return matrices one below the other."""
    ends = np.cumsum([0, *(matrix.nnz for matrix in matrices)])
    starts = [matrix.indptr[:-1] + end for matrix, end in zip(matrices, ends, strict=False)]
    data = np.concatenate([matrix.data for matrix in matrices])
    indices = np.concatenate([matrix.indices for matrix in matrices])
    rows = sum(matrix.shape[0] for matrix in matrices)
    return csr_array((data, indices, np.concatenate([*starts, ends[-1:]])), (rows, columns))


def _flat(matrix: csr_array) -> tuple[Ints, Floats]:
    """Return where a matrix has entries, row by row as one number, and the entries."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices, matrix.data


@dataclass(eq=False)
class ClosingSearch:
    """Finds what connects the links of examples, for several gradients of the same examples.

    Hops and their matrices do not depend on gradients, and are made once.

    Attributes
    ----------
    matrices
        Those of hops of the data.
    base
        The examples.
    most
        Most connections of each length but the first.
    """

    matrices: HopMatrices
    base: RowSet
    most: int
    _hubs: dict[tuple[Hop, bool], bool] = field(default_factory=dict)
    _turns: dict[Hop, csr_array] = field(default_factory=dict)
    _counts: dict[Hop, float] = field(default_factory=dict)
    _starts: dict[str, list[tuple[Hop, _Places]]] = field(default_factory=dict)
    _between_rows: dict[tuple[_Places, _Places], _HopStack] = field(default_factory=dict)
    _goals: dict[str, dict[_Places, list[Hop]]] = field(default_factory=dict)
    _middles: dict[tuple[_Places, str], _HopStack] = field(default_factory=dict)

    def connections(self, gradients: Floats) -> Iterator[Between]:
        """Yield connections, the strongest of each length.

        Parameters
        ----------
        gradients
            Of each example; those of several classes are added up.
        """
        for start, end in combinations(self.base.links, 2):
            yield from self._between(start, end, gradients)

    @property
    def view(self) -> Relational:
        """The data."""
        return self.matrices.view

    def _between(self, start: str, end: str, gradients: Floats) -> Iterator[Between]:
        source, goal = self.base.links[start].to, self.base.links[end].to
        if source == goal:
            yield Between(start, end, ())
        pulls = self._pulls(start, end, gradients)
        first = self._first(source)
        for hop, leads in first:
            if leads == (goal,):
                yield Between(start, end, (hop,))
        pulled = dict(self._pulled([hop for hop, _ in first], pulls))
        two, three = self._two(goal, first, pulled), self._three(goal, first, pulled)
        for found in (two, three):
            for hops in _best(list(found), self.most):
                yield Between(start, end, hops)

    def _pulls(self, start: str, end: str, gradients: Floats) -> csr_array:
        """Return the gradients of examples as a matrix of what their two links point to."""
        rows, rows_size = place_codes(self.view, self.base, (start,))
        columns, columns_size = place_codes(self.view, self.base, (end,))
        known = (rows >= 0) & (columns >= 0)
        strength = gradients[known].sum(axis=1)
        return csr_array((strength, (rows[known], columns[known])), (rows_size, columns_size))

    def _pulled(self, hops: list[Hop], pulls: csr_array) -> Iterator[tuple[Hop, csr_array]]:
        """Yield what hops do to pulls, as a matrix of where each leads; not if it is too large.

        Several hops are one product: most of them are small, and each would take a call.
        """
        each = np.diff(pulls.indptr)
        together: list[Hop] = []
        work = 0
        for hop in hops:
            matrix = self.matrices[hop]
            own = matrix.nnz + int(np.diff(matrix.indptr) @ each)
            if together and work + own > _MOST:
                yield from self._product(together, pulls)
                together, work = [], 0
            together.append(hop)
            work += own
        yield from self._product(together, pulls)

    def _product(self, hops: list[Hop], pulls: csr_array) -> Iterator[tuple[Hop, csr_array]]:
        if not hops:
            return
        turned = [self._turned(hop) for hop in hops]
        whole = _below(turned, turned[0].shape[1]) @ pulls
        ends = np.cumsum([0, *(matrix.shape[0] for matrix in turned)])
        for hop, top, bottom in zip(hops, ends, ends[1:], strict=False):
            first, last = whole.indptr[top], whole.indptr[bottom]
            if last - first <= _MOST:
                listed = whole.data[first:last], whole.indices[first:last]
                rows = whole.indptr[top : bottom + 1] - first
                shape = (int(bottom - top), whole.shape[1])
                yield hop, csr_array((*listed, rows), shape)

    def _turned(self, hop: Hop) -> csr_array:
        """Return the matrix of a hop that is gone back."""
        found = self._turns.get(hop)
        if found is None:
            found = csr_array(self.matrices[hop].T)
            if found.nnz <= _KEPT:
                self._turns[hop] = found
        return found

    def _rows(self, hop: Hop) -> float:
        """Return how many rows a hop goes by."""
        if hop not in self._counts:
            self._counts[hop] = float(self.matrices[hop].sum())
        return self._counts[hop]

    def _two(
        self, goal: str, first: list[tuple[Hop, _Places]], pulled: dict[Hop, csr_array]
    ) -> Iterator[_Strengths]:
        """Yield connections by two hops with their strength, those by one place all at once."""
        for middle in dict.fromkeys(leads for _, leads in first):
            ones = [hop for hop, leads in first if leads == middle and hop in pulled]
            into = self._into(middle, goal) if ones else None
            if into is None or not into.hops:
                continue
            for one in ones:
                rows = self._rows(one) + into.rows
                strengths = np.abs(into.products(pulled[one])) / np.sqrt(1.0 + rows)
                yield _Strengths(strengths, (one,), into.hops)

    def _three(
        self, goal: str, first: list[tuple[Hop, _Places]], pulled: dict[Hop, csr_array]
    ) -> Iterator[_Strengths]:
        """Yield connections by three hops with their strength, while there is work left to do."""
        work = _WORK * self.most
        finals = [
            (hop, comes)
            for comes, hops in self._last(goal).items()
            if not any(isinstance(place, tuple) for place in comes)
            for hop in hops
            if not self._is_hub(hop, True)
        ]
        for one, leads in first:
            if isinstance(leads[0], tuple) or one not in pulled or self._is_hub(one, False):
                continue
            for final, comes in finals:
                middles = self._from_to(leads, comes)
                if not middles.hops:
                    continue
                work -= 1 + len(middles.hops)
                if work < 0:
                    return
                both = csr_array(pulled[one] @ self._turned(final))
                if both.nnz > _MOST:
                    continue
                strengths = np.abs(middles.products(both)) / np.sqrt(1.0 + 2.0 * middles.rows)
                yield _Strengths(strengths, (one,), middles.hops, (final,))

    def _first(self, source: str) -> list[tuple[Hop, _Places]]:
        """Return hops from a row set, with what they lead to."""
        if source not in self._starts:
            hops = (typed for rows in self.view for typed in _hops(rows, source, None))
            self._starts[source] = [(hop, leads) for hop, _, leads in islice(hops, _HOPS)]
        return self._starts[source]

    def _last(self, goal: str) -> dict[_Places, list[Hop]]:
        """Return hops to a row set, by what they come from."""
        if goal not in self._goals:
            found: dict[_Places, list[Hop]] = {}
            for rows in self.view:
                for hop, comes, _ in _hops(rows, None, goal):
                    found.setdefault(comes, []).append(hop)
            self._goals[goal] = found
        return self._goals[goal]

    def _from_to(self, comes: _Places, leads: _Places) -> _HopStack:
        """Return hops between two row sets, with the entries of their matrices."""
        if (comes, leads) not in self._between_rows:
            hops = self._plain.get((comes, leads), [])
            self._between_rows[comes, leads] = _HopStack.of(
                hops, [self.matrices[hop] for hop in hops]
            )
        return self._between_rows[comes, leads]

    @cached_property
    def _plain(self) -> dict[tuple[_Places, _Places], list[Hop]]:
        """Hops between row sets, by what they come from and lead to."""
        found: dict[tuple[_Places, _Places], list[Hop]] = {}
        for rows in self.view:
            for hop, comes, leads in _hops(rows, None, None, names=False):
                found.setdefault((comes, leads), []).append(hop)
        return found

    def _into(self, middle: _Places, goal: str) -> _HopStack:
        """Return hops from a place to a row set, with the entries of their matrices."""
        if (middle, goal) not in self._middles:
            others = self._last(goal).get(middle, [])
            self._middles[middle, goal] = _HopStack.of(
                others, [self.matrices[hop] for hop in others]
            )
        return self._middles[middle, goal]

    def _is_hub(self, hop: Hop, turned: bool) -> bool:
        """Whether so many rows meet where a hop leads (comes from) that paths only count rows."""
        if (hop, turned) not in self._hubs:
            matrix = self.matrices[hop]
            matrix = self._turned(hop) if turned else matrix
            places = len(np.unique(matrix.indices))
            self._hubs[hop, turned] = bool(matrix.nnz > _HUB * places)
        return self._hubs[hop, turned]


@dataclass(frozen=True, eq=False)
class _Strengths:
    """How strong connections are that differ by one hop.

    Attributes
    ----------
    values, hops
        The strength with each of the hops.
    before, after
        The hops before and after it.
    """

    values: Floats
    before: tuple[Hop, ...]
    hops: list[Hop]
    after: tuple[Hop, ...] = ()

    def path(self, at: int) -> tuple[Hop, ...]:
        """Return all hops of a connection."""
        return (*self.before, self.hops[at], *self.after)


def _best(found: list[_Strengths], most: int) -> Iterator[tuple[Hop, ...]]:
    """Yield the hops of the strongest connections, without those that go back where they came."""
    if not found:
        return
    ends = np.cumsum([len(one.values) for one in found])
    strengths = np.concatenate([one.values for one in found])
    yielded = 0
    for at in np.argsort(-strengths, kind="stable").tolist():
        if yielded == most or not strengths[at] > 0:
            return
        block = int(np.searchsorted(ends, at, side="right"))
        one = found[block]
        hops = one.path(at - int(ends[block]) + len(one.values))
        if not any(_returns(*pair) for pair in pairwise(hops)):
            yielded += 1
            yield hops


def _returns(one: Hop, other: Hop) -> bool:
    """Whether a hop goes back the way that the one before came, by a row that has no choice."""
    turned = one.rows == other.rows and one.enter == other.leave and one.leave == other.enter
    return turned and one.leave == (NAME,)


def _hops(
    rows: RowSet, source: str | None, goal: str | None, names: bool = True
) -> Iterator[_Typed]:
    """Yield hops by the rows of a row set, with what they come from and lead to.

    Parameters
    ----------
    rows
        The row set.
    source, goal
        What they must come from, or lead to; None for anything, of at least one of the two.
    names
        Whether columns of names may be joined on, too.
    """
    places = {name: kind for name, kind in _places(rows) if names or isinstance(kind, str)}
    for enter, leave in permutations(places, 2):
        if source in (None, places[enter]) and goal in (None, places[leave]):
            yield Hop(rows.name, (enter,), (leave,)), (places[enter],), (places[leave],)
    for one, kind in places.items():
        if (source or goal or kind) != kind:
            continue
        rest = [name for name in places if name not in (one, NAME)]
        for pair in permutations(rest, 2):
            both = (places[pair[0]], places[pair[1]])
            if str(both[0]) > str(both[1]):
                continue
            if goal is None:
                yield Hop(rows.name, (one,), pair), (kind,), both
            if source is None:
                yield Hop(rows.name, pair, (one,)), both, (kind,)


def _places(rows: RowSet) -> Iterator[tuple[str, object]]:
    """Yield the columns that can be joined on, with what tells whether two of them match."""
    if NAME in rows.columns:
        yield NAME, rows.name
    for name, column in rows.columns.items():
        if isinstance(column, Link):
            yield name, column.to
        elif isinstance(column, Nominal) and name != NAME and len(column.names) >= _MANY_NAMES:
            yield name, ("names", tuple(column.names))
