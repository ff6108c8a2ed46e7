"""Databases as the arrays that families are counted on: a code per entity, link and attribute."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np

from mlnlearn.counting.arrays import Codes, Index, Ints, pack
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.bayesnet_nodes import Node
from mlnlearn.structure.join_bayes.layout import Layout, Relationship


class EncodedData:
    """Several databases side by side; entities are numbered through all of them.

    An unknown value has the code after the last one, so that it is counted like a value and can be
    dropped afterwards: a link with an unknown attribute is still a link.

    Attributes
    ----------
    populations
        How many populations there are: entities of different ones never meet. One for each
        database, or a single one where all are pooled.
    owner
        For each type, the population of every entity.
    sizes
        For each type, the number of entities in every population.
    links
        For each link predicate, the entities joined: shape ``(arity, links)``.
    values
        For each attribute's predicate, the code of every entity or link.
    unknown
        For each attribute's predicate that has any, the entities or links of unknown value.
    """

    def __init__(
        self, databases: Sequence[Database], layout: Layout, *, pooled: bool = False
    ) -> None:
        self.databases = tuple(databases)
        self.layout = layout
        self.populations = 1 if pooled else len(databases)
        self.sizes: dict[str, Ints] = {
            kind: np.array([db.size(kind) for db in databases], np.int64)
            for kind in dict.fromkeys(layout.types.values())
        }
        self._starts = {kind: np.cumsum(sizes) - sizes for kind, sizes in self.sizes.items()}
        if pooled:
            self.sizes = {kind: sizes.sum(keepdims=True) for kind, sizes in self.sizes.items()}
        self.owner: dict[str, Codes] = {
            kind: np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            for kind, sizes in self.sizes.items()
        }
        self.links: dict[str, Codes] = {
            relationship.predicate.name: self._entities(relationship.predicate, "true")
            for relationship in layout.relationships
        }
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
        other = copy.copy(self)
        other.values = {**self.values, **values}
        return other

    def total(self, kind: str) -> int:
        """Return the number of entities of a type in all databases."""
        return int(self.sizes[kind].sum())

    def _entities(self, predicate: Predicate, truth: str, places: int | None = None) -> Codes:
        """Return facts with entities numbered through all databases."""
        keys = predicate.arity if places is None else places
        parts = []
        for number, database in enumerate(self.databases):
            facts = getattr(database, truth).get(predicate.name)
            if facts is None:
                continue
            shifts = [self._starts[kind][number] for kind in predicate.types[:keys]]
            parts.append(facts[:keys] + np.array(shifts, np.int64)[:, None])
        if not parts:
            return np.empty((keys, 0), np.int32)
        return np.concatenate(parts, axis=1).astype(np.int32)

    def _recoded(self, node: Node) -> Codes:
        """Return the node's value code in every true fact, in the order of `_entities`."""
        if node.is_flag:
            return np.ones(sum(db.count(node.predicate.name) for db in self.databases), np.int32)
        code_of = {name: code for code, name in enumerate(node.values)}
        parts = [np.empty(0, np.int32)]
        for database in self.databases:
            names = database.domains[node.predicate.types[-1]].names
            table = np.array([code_of.get(name, node.size) for name in names], np.int32)
            parts.append(table[database.facts(node.predicate.name)[-1]])
        return np.concatenate(parts)

    def _entity_values(self, node: Node) -> Codes:
        kind = node.predicate.types[0]
        codes = np.full(self.total(kind), 0 if node.is_flag else node.size, np.int32)
        [entities] = self._entities(node.predicate, "true", 1)
        if len(np.unique(entities)) < len(entities):
            raise _several(node)
        codes[entities] = self._recoded(node)
        if node.is_flag:
            codes[self._entities(node.predicate, "unknown", 1)[0]] = node.size
        return codes

    def _link_values(self, node: Node, relationship: Relationship) -> Codes:
        predicate = relationship.predicate
        sizes = [self.total(kind) for kind in predicate.types]
        links = self._keys(self.links[predicate.name], sizes)
        absent = node.values.index("F") if node.is_flag else node.size
        codes = np.full(len(links), absent, np.int32)
        index = Index(links)
        for truth in ("true", "unknown") if node.is_flag else ("true",):
            facts = self._keys(self._entities(node.predicate, truth, predicate.arity), sizes)
            if len(np.unique(facts)) < len(facts):
                raise _several(node)
            starts, found = index.ranges(facts)
            rows = index.rows(starts, found)
            code = (
                np.full(len(facts), node.size, np.int32)
                if truth == "unknown"
                else node.values.index("T") * np.ones(len(facts), np.int32)
                if node.is_flag
                else self._recoded(node)
            )
            codes[rows] = code[found > 0]
        return codes

    def _keys(self, columns: Codes, sizes: Sequence[int]) -> Ints:
        keys = pack(list(columns), sizes)
        if keys is None:
            raise InputError(f"a relationship over {sizes} entities has too many possible links")
        return keys


def _several(node: Node) -> InputError:
    return InputError(
        f"{node} has more than one value for the same key",
        hint="attributes have one value each; make it a relationship table of its own",
    )
