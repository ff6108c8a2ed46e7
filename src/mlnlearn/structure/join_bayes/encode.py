"""Databases as the arrays that families are counted on: a code per entity, link and attribute."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.cache import Shelf
from mlnlearn.counting.arrays import Codes, Ints, rows_of, times
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.sparse import SparseTable
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.resources import in_use
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship


class CountedData(ABC):
    """What families are counted over, wherever it is.

    Attributes
    ----------
    layout
        The nodes.
    populations
        How many populations there are: entities of different ones never meet. One for each
        database, or a single one where all are pooled.
    sizes
        For each type, the number of entities in every population.
    """

    layout: NetLayout
    populations: int
    sizes: dict[str, Ints]

    @property
    @abstractmethod
    def incomplete(self) -> Collection[str]:
        """Predicates of attributes of which some values are unknown."""

    @abstractmethod
    def link_count(self, name: str) -> int:
        """Return the number of true links of a predicate."""

    def total(self, kind: str) -> int:
        """Return the number of entities of a type in all databases."""
        return int(self.sizes[kind].sum())

    def spread(self, variables: Iterable[Variable]) -> Ints:
        """Return how many tuples of entities some variables have in every population."""
        tuples = np.ones(self.populations, np.int64)
        for variable in variables:
            tuples = times(tuples, self.sizes[self.layout.types[variable]])
        return tuples


class EncodedData(CountedData):
    """Several databases side by side; entities are numbered through all of them.

    An unknown value has the code after the last one, so that it is counted like a value and can be
    dropped afterwards: a link with an unknown attribute is still a link.

    Attributes
    ----------
    owner
        For each type, the population of every entity.
    links
        For each link predicate, the entities joined: shape ``(arity, links)``.
    values
        For each attribute's predicate, the code of every entity or link.
    unknown
        For each attribute's predicate that has any, the entities or links of unknown value.
    summed
        Tables of links in which entities were replaced by what is asked of them, for many counts.
    """

    def __init__(
        self, databases: Sequence[Database], layout: NetLayout, *, pooled: bool = False
    ) -> None:
        self.layout = layout
        self.objects = Objects(databases)
        self.populations = 1 if pooled else len(databases)
        kinds = dict.fromkeys(layout.types.values())
        self.sizes = {k: np.diff(self.objects.offsets[k]) for k in kinds}
        if pooled:
            self.sizes = {kind: sizes.sum(keepdims=True) for kind, sizes in self.sizes.items()}
        self.owner: dict[str, Codes] = {
            kind: np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            for kind, sizes in self.sizes.items()
        }
        self.links: dict[str, Codes] = {
            relationship.predicate.name: self.objects.relation(relationship.predicate)[1:]
            for relationship in layout.relationships
        }
        self.summed: Shelf[SparseTable[str]] = in_use().cache.shelf(self)
        self.values: dict[str, Codes] = {}
        for node in layout.attributes:
            if node.main:
                self.values[node.predicate.name] = self._entity_values(node)
        for relationship in layout.relationships:
            for node in relationship.attributes:
                self.values[node.predicate.name] = self._link_values(node, relationship)
        self.unknown: dict[str, Ints] = {
            node.predicate.name: rows
            for node in layout.nodes
            if node.is_attribute
            and len(rows := np.flatnonzero(self.values[node.predicate.name] == node.size))
        }

    def completed(self, values: Mapping[str, Codes]) -> EncodedData:
        """Return the same data with other values of some attributes.

        `unknown` stays as it is: it says which values were not there at first.
        """
        other = self._copy()
        other.values = {**self.values, **values}
        return other

    def stacked(self, completions: Sequence[EncodedData]) -> EncodedData:
        """Return the tables of entities of several completions below one another, without links."""
        other = self._copy()
        names = [node.predicate.name for node in self.layout.attributes]
        other.values = {
            name: np.concatenate([part.values[name] for part in completions]) for name in names
        }
        other.owner = {kind: np.tile(owner, len(completions)) for kind, owner in self.owner.items()}
        other.links, other.unknown = {}, {}
        return other

    def _copy(self) -> EncodedData:
        """Return a copy whose values may be replaced: none of its tables were summed."""
        other = copy.copy(self)
        other.summed = in_use().cache.shelf(other)
        return other

    @property
    def incomplete(self) -> Collection[str]:
        """Predicates of attributes of which some values are unknown."""
        return self.unknown

    def link_count(self, name: str) -> int:
        """Return the number of true links of a predicate."""
        return int(self.links[name].shape[1])

    def _facts(self, node: NetNode) -> Iterator[tuple[Codes, Codes]]:
        """Yield entities of the facts that tell a node's values, and the codes of these."""
        true = self.objects.relation(node.predicate)[1:]
        if not node.is_flag:
            names, codes = self.objects.values(node.predicate.types[-1])
            code_of = {name: code for code, name in enumerate(node.values)}
            table = np.array([code_of.get(name, node.size) for name in names], np.int32)
            yield true[:-1], table[codes[true[-1]]]
            return
        unknown = self.objects.unknown(node.predicate)[1:]
        yield true, np.full(true.shape[1], node.values.index("T"), np.int32)
        yield unknown, np.full(unknown.shape[1], node.size, np.int32)

    def _entity_values(self, node: NetNode) -> Codes:
        absent = node.values.index("F") if node.is_flag else node.size
        values = np.full(self.total(node.predicate.types[0]), absent, np.int32)
        for (entities,), codes in self._facts(node):
            if _has_repeats(entities, len(values)):
                raise _several(node)
            values[entities] = codes
        return values

    def _link_values(self, node: NetNode, relationship: Relationship) -> Codes:
        predicate = relationship.predicate
        sizes = [self.total(kind) for kind in predicate.types]
        links = self.links[predicate.name]
        absent = node.values.index("F") if node.is_flag else node.size
        values = np.full(links.shape[1], absent, np.int32)
        for entities, codes in self._facts(node):
            if np.array_equal(links, entities):  # as facts are kept sorted, and most have a value
                values[:] = codes
                continue
            rows = rows_of(list(links), list(entities), sizes)
            there = rows >= 0
            if _has_repeats(rows[there], len(values)):
                raise _several(node)
            values[rows[there]] = codes[there]
        return values


def _has_repeats(places: NDArray[np.integer], size: int) -> bool:
    """Tell whether some place below `size` comes twice."""
    seen = np.zeros(size, np.bool_)
    seen[places] = True
    return int(np.count_nonzero(seen)) < len(places)


def _several(node: NetNode) -> InputError:
    return InputError(
        f"{node} has more than one value for the same key",
        hint="attributes have one value each; make it a relationship table of its own",
    )
