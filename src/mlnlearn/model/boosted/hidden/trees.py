"""Rules of one target as flat arrays of tree nodes, which compiled loops can walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mlnlearn.counting.arrays import Ints
from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.rules import Leaf, Node, Step, roots


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """Trees over numbered conjunctions.

    Attributes
    ----------
    bodies
        The conjunctions that are tested, each in full.
    roots
        Per tree, its first node.
    test
        Per node, the number of its conjunction; -1 for a leaf.
    yes, no
        Per node, where the walk goes on.
    value
        Per node, a leaf's value.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.boosted.rules import ClauseList, HornClause
    >>> from mlnlearn.counting.pattern import Pattern
    >>> rain = (Pattern(Predicate("rain", ()), ()),)
    >>> flat = FlatTrees.of([ClauseList((HornClause(rain, 0.5),))])
    >>> len(flat.bodies), flat.test.tolist(), flat.value.tolist()
    (1, [0, -1, -1], [0.0, 0.5, 0.0])
    """

    bodies: tuple[Body, ...]
    roots: Ints
    test: Ints
    yes: Ints
    no: Ints
    value: Floats

    @classmethod
    def of(cls, steps: Sequence[Step]) -> FlatTrees:
        """Flatten the trees and clauses of some steps."""
        build = _Building()
        places = [build.add(root, ()) for step in steps for root in roots(step)]
        test, yes, no = (np.array(part, np.int64) for part in (build.test, build.yes, build.no))
        return cls(
            tuple(build.numbers), np.array(places, np.int64), test, yes, no, np.array(build.value)
        )

    def trees_of(self) -> list[list[int]]:
        """Return, for every conjunction, the trees that test it."""
        found: list[list[int]] = [[] for _ in self.bodies]
        bounds = [*self.roots.tolist(), len(self.test)]
        for tree, (start, end) in enumerate(pairwise(bounds)):
            for body in {int(number) for number in self.test[start:end] if number >= 0}:
                found[body].append(tree)
        return found


@dataclass
class _Building:
    numbers: dict[Body, int] = field(default_factory=dict)
    test: list[int] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def add(self, node: Node, before: Body) -> int:
        """Add a node and all below it, and return its place."""
        place = len(self.test)
        self.test.append(-1)
        self.yes.append(-1)
        self.no.append(-1)
        self.value.append(0.0)
        if isinstance(node, Leaf):
            self.value[place] = node.value
            return place
        body = before + node.test
        self.test[place] = self.numbers.setdefault(body, len(self.numbers))
        self.yes[place] = self.add(node.yes, body)
        self.no[place] = self.add(node.no, before)
        return place
