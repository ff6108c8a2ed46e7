"""Rules of a family: which combinations of parent values are told apart, and the literals.

A *leaf* is a set of parent configurations with one distribution of the child: a row of the
conditional table, or a leaf of a decision tree. Each leaf and child value is one conjunction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mlnlearn.documents import Count, Place
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Formula
from mlnlearn.model.bayesnet import count_rows
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.structure.join_bayes.counts import Counter, Counts
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship
from mlnlearn.structure.join_bayes.trees import Path, grow_tree, weighted_bins

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_CONFIGURATIONS = 50_000_000


@dataclass(frozen=True, eq=False)
class FamilyRules:
    """The rules of one node, given its parents.

    Attributes
    ----------
    child
        The node.
    parents
        Nodes whose values the rules ask for.
    given
        Relationships that all rules ask to hold.
    leaves
        For each leaf the (parent, value) pairs it asks for.
    counts
        How often each child value was seen at each leaf; shape ``(leaves, values)``.
    prior
        What smoothing adds to each count.
    inverse
        Whether the rules divide by their probabilities: see `relative_to`.
    seen
        Where cells are empty, so that `counts` are of filled ones, too: the same counts of those
        rows alone whose cells are there, and a last row for all leaves together, parents empty or
        not; else None.
    """

    child: NetNode
    parents: tuple[NetNode, ...]
    given: tuple[Relationship, ...]
    leaves: tuple[Path, ...]
    counts: Floats
    prior: float
    inverse: bool = False
    seen: Floats | None = None

    def relative_to(self, own: FamilyRules) -> FamilyRules:
        """Return rules that divide by another family's probabilities, wherever this one speaks.

        An attribute may have rules of its own and, for each link, rules that ask for the entity
        linked. Each of the latter says P(value | all) / P(value | own), so that what is known
        without links counts once, however many links there are.
        """
        return replace(own, given=self.given, inverse=True)

    @property
    def nodes(self) -> tuple[NetNode, ...]:
        """The child and its parents."""
        return (self.child, *self.parents)

    @property
    def size(self) -> int:
        """Number of places for rules: leaves times values of the child."""
        return len(self.leaves) * self.child.size

    @property
    def emitted(self) -> NDArray[np.bool_]:
        """Whether the rule of each leaf and value is written: never for the value N/A."""
        shown = np.ones((len(self.leaves), self.child.size), np.bool_)
        if self.child.relationship is not None and self.child.is_attribute:
            shown[:, 0] = False
        return shown.reshape(-1)

    def log_probabilities(self) -> Floats:
        """Return log P(value | leaf) for every rule, smoothed; 0 where none is written.

        Those of rules that divide have the other sign.
        """
        shown = self.emitted.reshape(self.counts.shape)
        smoothed = np.where(shown, self.counts + self.prior, 0.0)
        shares = smoothed / smoothed.sum(axis=1, keepdims=True)
        logs = np.where(shown, np.log(np.where(shown, shares, 1.0)), 0.0).reshape(-1)
        return -logs if self.inverse else logs

    @cached_property
    def _leaf_table(self) -> NDArray[np.int32]:
        # one more place for an unknown value: it leads to the leaves that do not ask for it
        sizes = [node.size + 1 for node in self.parents]
        if math.prod(sizes) > _MOST_CONFIGURATIONS:
            raise InputError(
                f"{self.child} has parents with {math.prod(sizes):,} configurations",
                hint="set max_parents",
            )
        table = np.full(sizes, -1, np.int32)
        for leaf, path in enumerate(self.leaves):
            index: list[int | slice] = [slice(None)] * len(sizes)
            for place, value in path:
                index[place] = value
            table[tuple(index)] = leaf
        return table

    def with_seen(self, counter: Counter) -> FamilyRules:
        """Return the rules with counts of rows in which no cell that they ask for is empty."""
        names = {node.predicate.name for node in self.nodes}
        if self.inverse or names.isdisjoint(counter.data.incomplete):
            return self
        found = counter.count(self.nodes, true=self.given, unknown=True)
        child, *parents = found.columns
        known = child < self.child.size
        leaf = self.leaf_of([column[known] for column in parents], int(known.sum()))
        numbers, size, places = found.mean[known], self.child.size, len(self.leaves)
        keys = np.where(leaf < 0, places, leaf) * size + child[known]
        seen = weighted_bins(keys, numbers, (places + 1) * size).reshape(-1, size)
        seen[-1] = seen.sum(axis=0)
        return replace(self, seen=seen)

    def checkable(self) -> tuple[Floats, Floats]:
        """Return the counts of values that a person finds in the tables: by leaf, and in all."""
        if self.seen is None:
            return self.counts, self.counts.sum(axis=0)
        return self.seen[:-1], self.seen[-1]

    def leaf_of(self, columns: Sequence[NDArray[np.integer]], rows: int) -> NDArray[np.int32]:
        """Return the leaf of each row of parent values.

        It is -1 where none was seen in training, and where the tree asks for an unknown value.
        """
        return np.broadcast_to(self._leaf_table[tuple(columns)], rows)

    def mentions(self, leaf: int, nodes: Sequence[NetNode]) -> bool:
        """Tell whether the rules of a leaf depend on any of the nodes."""
        asked = {self.parents[place] for place, _ in self.leaves[leaf]} | {self.child}
        return not asked.isdisjoint(nodes)

    def unmentioned(self, leaf: int) -> list[Variable]:
        """Return the variables of the family that no literal of a leaf's rules has."""
        asked = [self.child, *(self.parents[place] for place, _ in self.leaves[leaf])]
        there = {variable for node in asked for variable in node.variables}
        there |= {variable for relationship in self.given for variable in relationship.variables}
        every = dict.fromkeys(variable for node in self.nodes for variable in node.variables)
        return [variable for variable in every if variable not in there]

    def formulas(self) -> list[Formula]:
        """Return the conjunctions of the rules that are written."""
        links = [relationship.link.literal(1) for relationship in self.given]
        shown = self.emitted.reshape(self.counts.shape)
        found = []
        for leaf, path in enumerate(self.leaves):
            asked = [self.parents[place].literal(value) for place, value in path]
            for value in np.flatnonzero(shown[leaf]).tolist():
                parts = dict.fromkeys([*links, *asked, self.child.literal(value)])
                found.append(next(iter(parts)) if len(parts) == 1 else And(tuple(parts)))
        return found

    def as_dict(self, places: Mapping[NetNode, int]) -> dict[str, Any]:
        """Return the rules as plain values; nodes by their place in the net."""
        return {
            "child": places[self.child],
            "parents": [places[node] for node in self.parents],
            "given": [relationship.predicate.name for relationship in self.given],
            "leaves": [[list(pair) for pair in path] for path in self.leaves],
            "counts": self.counts.tolist(),
            "prior": self.prior,
            "inverse": self.inverse,
            **({} if self.seen is None else {"seen": self.seen.tolist()}),
        }

    @classmethod
    def from_file(
        cls, file: FamilyFile, layout: NetLayout, nodes: Sequence[NetNode]
    ) -> FamilyRules:
        """Undo `as_dict`."""
        if any(place >= len(nodes) for place in (file.child, *file.parents)):
            raise InputError(f"the net has {len(nodes)} nodes; child and parents are others")
        links = {r.predicate.name: r for r in layout.relationships}
        if missing := [name for name in file.given if name not in links]:
            raise InputError(f"given: no link {missing[0]!r} in the net")
        child, parents = nodes[file.child], tuple(nodes[place] for place in file.parents)
        for number, path in enumerate(file.leaves):
            if any(p >= len(parents) or v >= parents[p].size for p, v in path):
                raise InputError(f"leaves[{number}]: no such value of a parent")
        found = cls(
            child,
            parents,
            tuple(links[name] for name in file.given),
            tuple(map(tuple, file.leaves)),
            count_rows(file.counts, child.size, len(file.leaves)),
            file.prior,
            file.inverse,
            None if file.seen is None else count_rows(file.seen, child.size, len(file.leaves) + 1),
        )
        shown = found.emitted.reshape(found.counts.shape)
        if np.any(np.where(shown, found.counts + found.prior, 1.0) <= 0.0):
            raise InputError("counts: a value has no probability")
        return found


class FamilyFile(Struct, forbid_unknown_fields=True):
    """Rules of a family in a file."""

    child: Place
    parents: list[Place]
    given: list[str]
    leaves: list[list[tuple[Place, Place]]]
    counts: list[list[Count]]
    prior: Count
    inverse: bool = False
    seen: list[list[Count]] | None = None


@dataclass(frozen=True)
class Family:
    """A node with its parents in the net, and how its rules look at relationships.

    With `links`, parents that are links stay parents, true or false; only the link of an attribute
    of a relationship is given. Without, all links among the parents are given.
    """

    child: NetNode
    parents: tuple[NetNode, ...]
    given: tuple[Relationship, ...]

    @classmethod
    def of(
        cls, child: NetNode, parents: Sequence[NetNode], layout: NetLayout, *, links: bool
    ) -> Family:
        """Split the parents into given relationships and others."""
        own = child.relationship if child.is_attribute else None
        asked = {n.relationship for n in parents if n.relationship is not None and not links}
        if own is not None:
            asked.add(own)
        given = tuple(r for r in layout.relationships if r.predicate in asked)
        held = {r.link for r in given}
        return cls(child, tuple(node for node in parents if node not in held), given)

    def allows(self, path: Path) -> bool:
        """Tell whether values of parents agree on which relationships hold."""
        holds = {relationship.predicate: True for relationship in self.given}
        for place, value in path:
            owner = self.parents[place].relationship
            # the first value is F of a link, and N/A of its attributes
            if owner is not None and holds.setdefault(owner, value > 0) != (value > 0):
                return False
        return True

    def mentions_all(self, path: Path) -> bool:
        """Tell whether a rule that asks for these values has all variables of the family."""
        asked = [self.child, *(r.link for r in self.given), *(self.parents[p] for p, _ in path)]
        there = {variable for node in asked for variable in node.variables}
        return all(there.issuperset(node.variables) for node in self.parents)

    def count(self, counter: Counter) -> Counts:
        """Count the family where the given relationships hold."""
        return counter.count((self.child, *self.parents), true=self.given)


def table_rules(
    family: Family, counts: Counts, sample_size: float = 10.0, *, every: bool = False
) -> FamilyRules:
    """Return one leaf for each parent configuration seen, smoothed by the BDeu prior.

    With `every`, those never seen have leaves too, in which all values are equally probable: as
    many at once as differ from what was seen in the same value.
    """
    configurations, table = rows_and_values(counts)
    leaves = [tuple(enumerate(row)) for row in configurations.tolist()]
    if every:
        leaves += _unseen_rows(family, configurations, ())
        table = np.concatenate([table, np.zeros((len(leaves) - len(table), family.child.size))])
    # the given links are parents in the net too, so the prior is spread over their values as well
    cells = math.prod(node.size for node in counts.nodes) * 2 ** len(family.given)
    prior = sample_size / cells
    return FamilyRules(family.child, family.parents, family.given, tuple(leaves), table, prior)


def _unseen_rows(family: Family, seen: Ints, path: Path) -> Iterator[Path]:
    """Yield the shortest beginnings of configurations that none of those seen has.

    They mention all variables, so that their rules have a grounding for each tuple of entities.
    """
    place = len(path)
    if not len(seen) and family.mentions_all(path):
        yield path
    elif place < len(family.parents):
        for value in range(family.parents[place].size):
            way = (*path, (place, value))
            if family.allows(way):
                yield from _unseen_rows(family, seen[seen[:, place] == value], way)


def tree_rules(
    family: Family,
    counts: Counts,
    *,
    min_rows: float = 2.0,
    pruning: str = "none",
    every: bool = False,
) -> FamilyRules:
    """Return the leaves of a decision tree, smoothed by Laplace's correction.

    With `every`, values of a parent that no data had where the tree asks for it have leaves too,
    with the counts of that place.
    """
    tree = grow_tree(counts, min_rows=min_rows, pruning=pruning)
    found = list(tree.leaves())
    if every:
        ways = tree.unseen([node.size for node in family.parents])
        found += [(way, values) for way, values in ways if family.allows(way)]
    table = np.array([leaf for _, leaf in found], np.float64)
    leaves = tuple(path for path, _ in found)
    return FamilyRules(family.child, family.parents, family.given, leaves, table, 1.0)


def rows_and_values(counts: Counts) -> tuple[Ints, Floats]:
    """Return the parent configurations seen, and the counts of the child's values in each."""
    child, *parents = counts.columns
    size = counts.nodes[0].size
    numbers = counts.mean
    if not parents:
        return np.zeros((1, 0), np.int64), weighted_bins(child, numbers, size).reshape(1, size)
    rows, place = np.unique(np.stack(parents), axis=1, return_inverse=True)
    keys = place.reshape(-1) * size + child
    table = weighted_bins(keys, numbers, rows.shape[1] * size)
    return rows.T.astype(np.int64), table.reshape(-1, size)
