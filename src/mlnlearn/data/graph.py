"""A knowledge graph: triples of head, relation and tail as integers, and its edges both ways.

A *link* is a relation read in one of its two directions: the links ``0 … R-1`` lead from heads to
tails, the links ``R … 2R-1`` back from tails to heads. To ask for heads is then to ask for the ends
of a backward link, and whatever follows links need not know of sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.names import clean_name, unused
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

BACK = "^-1"
"""What follows the name of a relation that is read from tail to head."""


@dataclass(frozen=True, eq=False)
class Edges:
    """All links from each entity, in the order of entity, link and where it leads.

    Attributes
    ----------
    starts
        Where the links from each entity begin; one more entry than entities.
    links, ends
        The link, and the entity that it leads to.
    """

    starts: Longs
    links: Codes
    ends: Codes

    @cached_property
    def degrees(self) -> Longs:
        """How many links leave each entity."""
        return np.diff(self.starts)

    @cached_property
    def masks(self) -> NDArray[np.uint64]:
        """For each entity a set of 64 bits: which links, modulo 64, leave it."""
        from mlnlearn.data.graph_edges import masks_of  # noqa: PLC0415 - loads the compiler

        found: NDArray[np.uint64] = masks_of(self.starts, self.links)
        return found

    def own(self) -> tuple[Longs, Codes]:
        """Return where the distinct links of each entity begin, and these links."""
        from mlnlearn.data.graph_edges import own_links  # noqa: PLC0415 - loads the compiler

        starts, links = own_links(self.starts, self.links)
        return starts, links


@dataclass(frozen=True, eq=False)
class Graph:
    """Triples over one set of entities. Immutable.

    Attributes
    ----------
    entities, relations
        Their names, as given.
    triples
        An ``int32`` array of shape ``(3, triples)`` of heads, relations and tails, sorted by
        relation, head and tail, without repeats.
    name
        Where it came from, for messages.

    Examples
    --------
    >>> graph = Graph.of([("Anna", "born in", "Prague"), ("Bob", "knows", "Anna")])
    >>> print(graph)
    2 triples, 3 entities, 2 relations
    >>> graph.link_names
    ('born in', 'knows', 'born in^-1', 'knows^-1')
    """

    entities: Vocabulary
    relations: Vocabulary
    triples: Codes
    name: str = ""

    @classmethod
    def of(
        cls,
        rows: Iterable[Sequence[str]],
        *,
        entities: Iterable[str] = (),
        relations: Iterable[str] = (),
        name: str = "",
    ) -> Graph:
        """Make a graph of rows of names; `entities` and `relations` add names of no triple."""
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        if len(columns) != 3:
            raise InputError(f"a triple has 3 names, not {len(columns)}")
        heads, kinds, tails = columns
        everyone = Vocabulary(sorted({*heads, *tails, *entities}))
        every_kind = Vocabulary(sorted({*kinds, *relations}))
        return cls.coded(everyone, every_kind, encoded(columns, everyone, every_kind), name)

    @classmethod
    def coded(
        cls, entities: Vocabulary, relations: Vocabulary, triples: Codes, name: str = ""
    ) -> Graph:
        """Make a graph of triples of codes, in any order."""
        return cls(entities, relations, sorted_triples(triples), name)

    @property
    def size(self) -> int:
        """How many triples there are."""
        return int(self.triples.shape[1])

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """The names of all links, forward ones first."""
        names = tuple(self.relations)
        return (*names, *(f"{name}{BACK}" for name in names))

    @cached_property
    def edges(self) -> Edges:
        """All links, from each entity."""
        from mlnlearn.data.graph_edges import edges_of  # noqa: PLC0415 - loads the compiler

        return Edges(*edges_of(*self.triples, len(self.entities), len(self.relations)))

    def neighbours(self, entity: int, link: int) -> Codes:
        """Return where a link leads from an entity."""
        edges = self.edges
        here = slice(edges.starts[entity], edges.starts[entity + 1])
        first, last = np.searchsorted(edges.links[here], [link, link + 1])
        return edges.ends[here][first:last]

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the triples as names."""
        entities, relations = self.entities.names, self.relations.names
        return [(entities[h], relations[r], entities[t]) for h, r, t in self.triples.T.tolist()]

    def types(self) -> Codes:
        """Find types of entities: two that can stand at the same place of a relation share theirs.

        Returns the number of the type of each entity, -1 of one in no triple. The places (domain
        and range of each relation) that share an entity are of one type, so that no entity has two.

        Examples
        --------
        >>> graph = Graph.of([("Anna", "born in", "Prague"), ("Bob", "born in", "Rome")])
        >>> dict(zip(graph.entities, graph.types().tolist()))
        {'Anna': 0, 'Bob': 0, 'Prague': 1, 'Rome': 1}
        """
        from scipy.sparse import coo_array  # noqa: PLC0415 - a second of import, seldom needed
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        heads, kinds, tails = self.triples
        count, places = len(self.entities), 2 * len(self.relations)
        entity = np.concatenate([heads, tails])
        place = np.concatenate([kinds, kinds + np.int32(len(self.relations))]) + count
        links = coo_array((np.ones(len(entity)), (entity, place)), (count + places,) * 2)
        _, parts = connected_components(links, directed=False)
        seen = np.zeros(count, np.bool_)
        seen[entity] = True
        _, numbers = np.unique(parts[:count][seen], return_inverse=True)
        found = np.full(count, -1, np.int32)
        found[seen] = numbers
        return found

    def __str__(self) -> str:
        shown = f"{self.name}: " if self.name else ""
        return (
            f"{shown}{self.size:,} triples, {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations"
        )


def encoded(columns: Sequence[Sequence[str]], entities: Vocabulary, relations: Vocabulary) -> Codes:
    """Return columns of names as codes, -1 for names that a vocabulary does not have."""
    found = np.empty((3, len(columns[0])), np.int32)
    for place, (names, codes) in enumerate(
        zip(columns, (entities.codes, relations.codes, entities.codes), strict=True)
    ):
        found[place] = [codes.get(name, -1) for name in names]
    return found


def triple_keys(triples: Codes, entities: int) -> Longs:
    """Return one number for each triple, in the order of relation, head and tail."""
    heads, kinds, tails = triples
    found: Longs = kinds.astype(np.int64)
    for column in (heads, tails):
        found *= entities
        found += column
    return found


def sorted_triples(triples: Codes) -> Codes:
    """Return triples in order, each once."""
    heads, kinds, tails = triples
    if np.any(triples < 0):
        raise InputError("a triple has a name that is in no vocabulary")
    if not triples.size:
        return np.empty((3, 0), np.int32)
    relations, entities = int(kinds.max()) + 1, int(max(heads.max(), tails.max())) + 1
    if relations * entities**2 < 2**63:  # a number a triple takes half the memory of their order
        keys = triple_keys(triples, entities)
        keys.sort()
        new = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        return _from_keys(keys if new.all() else keys[new], entities)
    order = np.lexsort((tails, heads, kinds))
    ordered = triples[:, order]
    new = np.ones(ordered.shape[1], np.bool_)
    new[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    return np.ascontiguousarray(ordered[:, new], np.int32)


def _from_keys(keys: Longs, entities: int) -> Codes:
    """Return the triples of the numbers that `triple_keys` gives them; the numbers are used up."""
    found = np.empty((3, len(keys)), np.int32)
    found[2] = keys % entities
    keys //= entities
    found[0] = keys % entities
    keys //= entities
    found[1] = keys
    return found


@dataclass(frozen=True, eq=False)
class GraphSplit:
    """A graph to learn from, and triples over the same names to choose by and to test on.

    Attributes
    ----------
    train
        What is learned from. Its vocabularies hold the names of all parts.
    valid, test
        Triples of codes, ``(3, triples)``, that are not in `train`.
    remarks
        What was strange in the data, as sentences.
    """

    train: Graph
    valid: Codes
    test: Codes
    remarks: tuple[str, ...] = ()

    @property
    def all(self) -> Codes:
        """All triples known to be true."""
        return np.concatenate([self.train.triples, self.valid, self.test], axis=1)


def relation_predicates(relations: Iterable[str]) -> Mapping[str, str]:
    """Return for each relation a name that can stand in a formula, no two alike.

    Parameters
    ----------
    relations
        The names of relations.

    Examples
    --------
    >>> relation_predicates(["born in", "born-in"])
    {'born in': 'born_in', 'born-in': 'born_in_2'}
    """
    found: dict[str, str] = {}
    for name in relations:
        found[name] = unused(clean_name(name), set(found.values()))
    return found
