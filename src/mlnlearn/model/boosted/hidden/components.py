"""Which unknown atoms depend on each other: connected parts, and the order of a sweep.

Under counting semantics the log-probability of a world is a sum over false heads and trees. Atoms
belong together where one tree of one head tests them, or one grounding needs them; the value of a
clause is a sum over its groundings, so that a head known to be false connects the atoms of each
single grounding only. A head that is unknown is connected to all that its rules look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Ints, bounds_of
from mlnlearn.late import late
from mlnlearn.model.boosted.hidden.atoms import Mask
from mlnlearn.model.boosted.hidden.network import Rules

sparse = late("scipy.sparse")
csgraph = late("scipy.sparse.csgraph")


@dataclass(frozen=True, eq=False)
class HiddenComponents:
    """The connected components of a ground network, numbered in the order of their first atoms.

    Attributes
    ----------
    label
        The component of each unknown atom.
    order, starts
        What is drawn in a sweep (see `sweep_order`), component by component, and where each
        component starts.
    """

    label: Ints
    order: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def sizes(self) -> Ints:
        """Number of atoms of each component."""
        return np.bincount(self.label, minlength=len(self)).astype(np.int64)

    def groundings(self, rules: Rules) -> Ints:
        """Return how many groundings that need unknown atoms each component has."""
        owner = np.zeros(len(rules.counter), np.int64)
        owner[rules.grounding] = np.repeat(self.label, np.diff(rules.uses))
        return np.bincount(owner, minlength=len(self)).astype(np.int64)


def hidden_components(rules: Rules) -> HiddenComponents:
    """Split a ground network into parts that can be answered on their own.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
    >>> from mlnlearn.model.boosted.hidden.network import GroundNetwork
    >>> from mlnlearn.model.boosted.rules import ClauseList, HornClause, TargetRules
    >>> from mlnlearn.counting.pattern import Pattern
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> facts = {"friends": [("Anna", "Bob")]}
    >>> db = Database.from_facts(schema, facts, domains={"person": ["Carl"]}, open=["smokes"])
    >>> body = (Pattern(schema["friends"], (0, 1)), Pattern(schema["smokes"], (1,)))
    >>> steps = (ClauseList((HornClause(body, 1.0),)),)
    >>> hidden = HiddenAtoms.of([db], ["smokes"])
    >>> network = GroundNetwork.of([TargetRules(schema["smokes"], 0.0, steps=steps)], False, hidden)
    >>> hidden_components(network.rules).label.tolist()    # Carl; Anna and Bob
    [0, 1, 1]
    """
    atoms = len(rules.own)
    parent = np.arange(atoms + len(rules.counter) + len(rules.conjunction) + int(rules.units[-1]))
    _link(rules, _adds_up(rules), parent)
    roots = _roots(parent, atoms)
    _, label = np.unique(roots, return_inverse=True)  # the root of a part is its first atom
    label = label.reshape(-1).astype(np.int64)
    order = sweep_order(rules)
    count = int(label.max()) + 1 if atoms else 0
    starts = bounds_of(np.bincount(label[order], minlength=count))
    return HiddenComponents(label, order[np.argsort(label[order], kind="stable")], starts)


def _adds_up(rules: Rules) -> Mask:
    """Tell which trees, by their place in `root`, are clauses whose value counts groundings."""
    root = rules.root
    if rules.existential or not len(root):
        return np.zeros(len(root), np.bool_)
    yes, no = rules.yes[root], rules.no[root]
    found: Mask = (rules.test[root] >= 0) & (rules.test[yes] < 0) & (rules.test[no] < 0)
    found &= rules.value[no] == 0.0
    return found


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _root(parent, node):  # type: ignore[no-untyped-def]
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=True)
def _join(parent, one, other):  # type: ignore[no-untyped-def]
    one, other = _root(parent, one), _root(parent, other)
    parent[max(one, other)] = min(one, other)


@njit(cache=True)
def _roots(parent, atoms):  # type: ignore[no-untyped-def]
    return np.array([_root(parent, atom) for atom in range(atoms)], np.int64)


@njit(cache=True)
def _link(rules, adds_up, parent):  # type: ignore[no-untyped-def]
    """Join what depends on each other; nodes are atoms, groundings, counters, heads' trees."""
    first_grounding = len(rules.own)
    first_counter = first_grounding + len(rules.counter)
    first_unit = first_counter + len(rules.conjunction)
    together = np.zeros(len(rules.conjunction), np.bool_)
    for counter in range(len(rules.conjunction)):
        conjunction = rules.conjunction[counter]
        for place in range(rules.heads[counter], rules.heads[counter + 1]):
            head = rules.head[place]
            owner = rules.atom[head]
            if owner >= 0:
                together[counter] = True
                _join(parent, first_counter + counter, owner)
                continue
            for which in range(rules.trees[conjunction], rules.trees[conjunction + 1]):
                tree = rules.tree[which]
                if not adds_up[rules.roots[head] + tree]:
                    together[counter] = True
                    unit = rules.units[head] + tree
                    _join(parent, first_counter + counter, first_unit + unit)
    for grounding in range(len(rules.counter)):
        if together[rules.counter[grounding]]:
            counter = first_counter + rules.counter[grounding]
            _join(parent, first_grounding + grounding, counter)
    for atom in range(len(rules.own)):
        _join(parent, atom, rules.next_value[atom])
        for place in range(rules.uses[atom], rules.uses[atom + 1]):
            _join(parent, atom, first_grounding + rules.grounding[place])


def sweep_order(rules: Rules) -> Ints:
    """Return the order in which a sweep draws the atoms.

    Of a block, whose value is drawn at once, only the first atom is there. Under counting semantics
    any order leaves the distribution as it is. A dependency network with circles is defined by the
    order (Heckerman et al. 2000); here causes come before effects as far as there is no circle, so
    that without one a sweep draws from the product of the conditionals.
    """
    atoms, counters = len(rules.own), len(rules.conjunction)
    everything = np.arange(atoms)
    # the circle of a block goes up but for the step back to its first atom
    leads = everything == rules.next_value
    leads[rules.next_value[rules.next_value < everything]] = True
    if not rules.existential or not len(rules.grounding):
        return np.flatnonzero(leads)
    needs = np.repeat(everything, np.diff(rules.uses)), atoms + rules.counter[rules.grounding]
    gives = np.repeat(atoms + np.arange(counters), np.diff(rules.heads)), rules.atom[rules.head]
    blocks = everything, rules.next_value  # one node of the graph each
    before, after = (np.concatenate(pair) for pair in zip(needs, gives, blocks, strict=True))
    graph = sparse.coo_array(
        (np.ones(len(before), np.int8), (before, after)), shape=(atoms + counters,) * 2
    )
    count, label = csgraph.connected_components(graph, directed=True, connection="strong")
    before, after = label[before], label[after]
    different = before != after
    before, after = before[different], after[different]
    level = np.zeros(count, np.int64)
    while True:
        higher = level.copy()
        np.maximum.at(higher, after, level[before] + 1)
        if (higher == level).all():
            order: Ints = np.argsort(level[label[:atoms]], kind="stable")
            return np.asarray(order[leads[order]])
        level = higher
