"""True atoms as a graph: constants are nodes, atoms are the edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Predicate

Numbers = NDArray[np.int64]

NOTHING = -1
"""Stands where an atom has no argument."""


@dataclass(frozen=True, eq=False)
class AtomGraph:
    """The true atoms of several databases over numbered constants.

    The numbers follow from the names of the constants, not from the order in which they were met:
    what is drawn at random is then the same, however the data came.

    Attributes
    ----------
    predicates
        All predicates.
    kind
        Of each node, the number of its type.
    label
        Of each atom, the number of its predicate.
    nodes
        Of each atom, its arguments, as many columns as the widest predicate has places.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)", "old(person)")
    >>> facts = {"likes": [("Bob", "Anna")], "old": [("Bob",)]}
    >>> graph = AtomGraph.of([Database.from_facts(schema, facts)])
    >>> graph.label.tolist(), graph.nodes.tolist()
    ([0, 1], [[1, 0], [1, -1]])
    """

    predicates: tuple[Predicate, ...]
    kind: Numbers
    label: Numbers
    nodes: Numbers

    @classmethod
    def of(cls, databases: Sequence[Database]) -> AtomGraph:
        """List the true atoms of all databases, over constants that are numbered through."""
        objects = Objects(databases)
        kinds = {kind: number for number, kind in enumerate(objects.schema.types)}
        sizes = [objects.number(kind) for kind in kinds]
        starts = np.cumsum([0, *sizes])
        place = {kind: starts[kinds[kind]] + _by_name(databases, kind) for kind in kinds}
        predicates = objects.schema.predicates
        widest = max((predicate.arity for predicate in predicates), default=0)
        labels, rows = [np.empty(0, np.int64)], [np.empty((0, widest), np.int64)]
        for number, predicate in enumerate(predicates):
            facts = objects.relation(predicate)[1:]
            nodes = np.full((facts.shape[1], widest), NOTHING, np.int64)
            for column, kind in enumerate(predicate.types):
                nodes[:, column] = place[kind][facts[column]]
            rows.append(nodes[np.lexsort(nodes.T[::-1])] if widest else nodes)
            labels.append(np.full(len(nodes), number))
        kind_of = np.repeat(np.arange(len(sizes)), sizes)
        return cls(predicates, kind_of, np.concatenate(labels), np.concatenate(rows))

    @cached_property
    def incidence(self) -> tuple[Numbers, Numbers]:
        """Where the atoms of each node begin in a list of atoms, and that list.

        Atoms that hold a single constant lead nowhere, and are left out.
        """
        wide = self.nodes.max(axis=1, initial=NOTHING)[:, None]
        linking = np.any((self.nodes != wide) & (self.nodes != NOTHING), axis=1)
        atom, column = np.nonzero((self.nodes != NOTHING) & linking[:, None])
        pairs = np.unique(np.stack([self.nodes[atom, column], atom]), axis=1)
        return np.searchsorted(pairs[0], np.arange(len(self.kind) + 1)), pairs[1]


def _by_name(databases: Sequence[Database], kind: str) -> Numbers:
    """Return the place of each constant of a type, databases in turn, each sorted by name."""
    places, start = [np.empty(0, np.int64)], 0
    for database in databases:
        names = np.array(database.domains[kind].names, dtype=object)
        order = np.argsort(names, kind="stable")
        own = np.empty(len(names), np.int64)
        own[order] = start + np.arange(len(names))
        places.append(own)
        start += len(names)
    return np.concatenate(places)
