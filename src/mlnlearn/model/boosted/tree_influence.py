"""What an atom in the tests of a tree does to the tree's values for all false heads.

A tree's value is linear in the groundings of a branch as long as the atom sends no head to another
leaf. So all branches are first treated as clauses, each for the heads that end there. What remains
are the pairs of an atom and a head for which the atom decides a test: the atom is false and the
test fails without it, or the atom is true and in all the groundings by which the test holds. Only
these, few beside all that touch each other, are routed anew one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip, Mask
from mlnlearn.counting.chunks import in_chunks
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body
from mlnlearn.counting.through import (
    CHUNK,
    HEAD_NUMBER,
    MOST_ROWS,
    Conjunct,
    Through,
    within,
)
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Floats, routes, used, values_below, values_from
from mlnlearn.model.boosted.false_heads import false_heads
from mlnlearn.model.boosted.rules import Leaf, Node, Split, Tree, bodies, nodes


def tree_influence(
    tree: Tree, head: Predicate, world: Objects, predicate: Predicate, atoms: Codes, known: Mask
) -> Floats:
    """Return ``-Σ [f(h; x true) - f(h; x false)]`` over the false heads, for each atom ``x``."""
    heads = false_heads(tree, head, world, predicate, atoms, known)
    routed = _Routed(tree, head, world, predicate, heads)
    result = np.zeros(len(known))
    for truth in (False, True):
        chosen = np.flatnonzero(known == truth)
        if len(chosen):
            result[chosen] = -routed.changes(np.ascontiguousarray(atoms[:, chosen]), truth)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class _LeafHeads:
    """A leaf, the heads that end there, and their groundings (given for all heads)."""

    body: Body
    value: float
    members: Ints
    counts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """A node, the heads that come there, and their groundings of the test (for all heads)."""

    before: Body
    node: Split
    members: Ints
    counts: Ints

    @property
    def body(self) -> Body:
        return self.before + self.node.test


class _Routed:
    """False heads, the way of each through the tree, and what atoms change about it."""

    def __init__(
        self, tree: Tree, head: Predicate, world: Objects, predicate: Predicate, heads: Codes
    ) -> None:
        self.head, self.world, self.predicate, self.heads = head, world, predicate, heads
        self.size = max(heads.shape[1], 1)
        self.leaf = np.zeros(heads.shape[1], np.int64)
        self.branches: list[_LeafHeads] = []
        self.tests: list[_Test] = []
        stops = routes(tree.root, world, heads)
        for (body, node), stop in zip(nodes(tree.root), stops, strict=True):
            members = np.flatnonzero(stop.reached)
            if isinstance(node, Leaf):
                self.leaf[members] = len(self.branches)
                self.branches.append(_LeafHeads(body, node.value, members, stop.counts))
            elif self._is_in(body + node.test):
                self.tests.append(_Test(body, node, members, stop.counts))

    def _is_in(self, body: Body) -> bool:
        return any(pattern.predicate == self.predicate for pattern in body)

    def changes(self, atoms: Codes, truth: bool) -> Floats:
        """Return ``Σ [f(h; x true) - f(h; x false)]`` for atoms that are true, or false, all."""
        result = np.zeros(atoms.shape[1])
        branches = [
            (branch, self._within(branch.members))
            for branch in self.branches
            if self._is_in(branch.body)
        ]
        tests = [
            (test, self._within(test.members[(test.counts[test.members] > 0) == truth]))
            for test in self.tests
        ]

        def run(start: int, end: int) -> None:
            known = np.full(end - start, truth)
            through = Through.of(self.world, self.predicate, atoms[:, start:end], known)
            values = np.zeros(end - start)
            for branch, reached in branches:
                for place in through.places(branch.body):
                    values += branch.value * through.count(branch.body, place, reached)
            seen = np.empty(0, np.int64)
            for test, reached in tests:  # of several tests that an atom decides, the first counts
                pairs, anew = self._decided(through, truth, test, reached, seen)
                atom, number = np.divmod(pairs, self.size)
                excess = anew - self._as_clauses(through, atom, number, truth)
                values += np.bincount(atom, -excess if truth else excess, len(values))
                seen = np.concatenate([seen, pairs])
            result[start:end] = values

        in_chunks(len(result), CHUNK, run)
        return result

    def _within(self, members: Ints) -> Conjunct:
        return within(self.world, self.head, self.heads, members)

    def _decided(
        self, through: Through, truth: bool, test: _Test, reached: Conjunct, seen: Ints
    ) -> tuple[Ints, Floats]:
        """Return the pairs for which the atom decides a test, and the heads' values then.

        Pairs are numbers, ``atom * size + head``; those already seen are left out.
        """
        kept = frozenset({HEAD_NUMBER}) if truth else used(test.node.yes) | {HEAD_NUMBER}
        found = [
            through.groundings(test.body, place, kept, reached)
            for place in through.places(test.body)
        ]
        rows = _Rows.of(found, self.size, 0 if truth else self._variables(test.body), seen)
        pairs, of_row = np.unique(rows.pair, return_inverse=True)
        if truth:
            groundings = np.bincount(of_row, rows.times, len(pairs))
            pairs = pairs[groundings == test.counts[pairs % self.size]]
            return pairs, self._if_failed(through, test, pairs)
        return pairs, self._if_holds(through, test, pairs, of_row, rows)

    def _if_holds(
        self, through: Through, test: _Test, pairs: Ints, of_row: Ints, rows: _Rows
    ) -> Floats:
        """Return values where a test holds thanks to an atom: it is in all the groundings."""
        atom, number = np.divmod(pairs, self.size)
        order = np.argsort(of_row, kind="stable")
        example = of_row[order].astype(np.int32)
        columns = rows.columns[:, order]
        columns[: len(self.heads)] = self.heads[:, number[example]]
        flip = through.flip.part(atom)
        table = Bindings(self.world, example, columns, len(pairs), flip, rows.times[order])
        most = MOST_ROWS if through.size > 1 else None
        return values_below(test.node.yes, table, most)

    def _if_failed(self, through: Through, test: _Test, pairs: Ints) -> Floats:
        """Return values where a test fails for want of an atom."""
        atom, number = np.divmod(pairs, self.size)
        after = [body for body in bodies(Tree(test.node.no)) if self._is_in(body)]
        if after or self._is_in(test.before):
            flip = self._flipped(through, atom, True)
            return self._values_from(test.node.no, test.before, number, flip)
        different, place = np.unique(number, return_inverse=True)
        return self._values_from(test.node.no, test.before, different, None)[place]

    def _as_clauses(self, through: Through, atom: Ints, number: Ints, truth: bool) -> Floats:
        """Return the values of pairs where the branch of the data is taken as a clause."""
        result = np.empty(len(number))
        for place, branch in enumerate(self.branches):
            chosen = np.flatnonzero(self.leaf[number] == place)
            if self._is_in(branch.body):
                flip = self._flipped(through, atom[chosen], truth)
                leaf = Leaf(branch.value)
                result[chosen] = self._values_from(leaf, branch.body, number[chosen], flip)
            else:
                result[chosen] = branch.value * branch.counts[number[chosen]]
        return result

    def _values_from(self, node: Node, body: Body, number: Ints, flip: Flip | None) -> Floats:
        heads = np.ascontiguousarray(self.heads[:, number])
        return values_from(node, body, self.world, heads, flip)

    def _flipped(self, through: Through, atom: Ints, truth: bool) -> Flip:
        """Return the atoms of pairs with the other truth value than in the data."""
        known = np.full(len(atom), truth)
        columns = np.ascontiguousarray(through.flip.columns[:, atom])
        return Flip(self.predicate, columns, ~known, known)

    def _variables(self, body: Body) -> int:
        """Return how many variables a branch has, those of the head among them."""
        return 1 + max([self.head.arity - 1, *(v for pattern in body for v in pattern.variables)])


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Groundings through atoms, under the numbers that variables have in the tree.

    Attributes
    ----------
    pair
        Per row, ``atom * size + head``.
    columns
        As in `Bindings`; only variables that were kept have values.
    times
        How many groundings a row stands for.
    """

    pair: Ints
    columns: Codes
    times: Ints

    @classmethod
    def of(
        cls, tables: list[tuple[Bindings, dict[int, int]]], size: int, variables: int, seen: Ints
    ) -> _Rows:
        """Unite tables, without the pairs that were seen."""
        parts = []
        for table, numbers in tables:
            heads = table.columns[numbers[HEAD_NUMBER] + 1]
            pair = table.example.astype(np.int64) * size + heads
            new = np.flatnonzero(~np.isin(pair, seen))
            columns = np.zeros((variables + 1, len(new)), np.int32)
            for variable, number in numbers.items():
                if variable < variables:
                    columns[variable + 1] = table.columns[number + 1][new]
            parts.append((pair[new], columns, table.multiplicity[new]))
        pairs, rows, times = zip(*parts, strict=True)
        return cls(np.concatenate(pairs), np.concatenate(rows, axis=1), np.concatenate(times))
