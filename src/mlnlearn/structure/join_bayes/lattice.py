"""Learn-and-join: a net for single tables first, then for ever longer chains of relationships.

What is learned below is kept above: an edge found in a part of a chain is required, an edge not
found there is forbidden, so that each step only asks what the longer join can add (Khosravi et al.
2010; Schulte & Khosravi 2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

from mlnlearn.journal import Journal
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import Node
from mlnlearn.run import Course
from mlnlearn.structure.join_bayes.counts import FamilyCounter
from mlnlearn.structure.join_bayes.ges import greedy_equivalence_search
from mlnlearn.structure.join_bayes.graphs import EdgeConstraints, bits, has_circle
from mlnlearn.structure.join_bayes.layout import Layout, Relationship
from mlnlearn.structure.join_bayes.score import bdeu

NodeEdge = tuple[Node, Node]
T = TypeVar("T")


@dataclass(frozen=True)
class Learned:
    """The nodes of one table or chain, and the edges (parent, child) found among them."""

    nodes: tuple[Node, ...]
    edges: frozenset[NodeEdge]


@dataclass
class LearnAndJoin:
    """Learns the edges of a net level by level.

    Attributes
    ----------
    counter
        Counts of families.
    links
        With link indicators: families are counted over all tuples, and whether a link holds is a
        node like others. Without: only over joins of true links; the links of the chain become
        parents of every node that got a parent there.
    sample_size
        Equivalent sample size of the BDeu score.
    max_chain
        The longest chain of relationships to learn on; by default as long as there are.
    max_parents
        The most parents of a node that are learned on one level.
    journal
        Where the edges of every table and chain are written down, and read again by a later run.
    course
        Its time, and who is told of progress.
    label
        Tells the searches of one journal apart.

    Examples
    --------
    >>> from mlnlearn.data.load.build import build_database
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.data.load.tables import Table
    >>> from mlnlearn.structure.join_bayes.encode import EncodedData
    >>> names = {"id": Column.of(list("ABCDEFGH"))}
    >>> people = names | {"sex": Column.of(list("ffffmmmm")), "fan": Column.of(list("xxxxyyyy"))}
    >>> database, mapping = build_database([Table("person", people, ("id",))])
    >>> data = EncodedData([database], Layout.of([database], mapping))
    >>> for parent, child in LearnAndJoin(FamilyCounter(data)).edges():
    ...     print(parent, "->", child)
    fan(person) -> sex(person)
    """

    counter: FamilyCounter
    links: bool = True
    sample_size: float = 10.0
    max_chain: int | None = None
    max_parents: int | None = None
    journal: Journal = field(default_factory=Journal)
    course: Course = field(default_factory=Course)
    label: str = ""
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        self.layout = self.counter.data.layout

    def edges(self) -> frozenset[NodeEdge]:
        """Return the edges of the whole net: those of the longest chains."""
        variables = self._main_variables()
        tables = [self._entity_table(v) for v in self._each("tables", variables)]
        level: dict[frozenset[Relationship], Learned] = {
            frozenset({relationship}): self._chain((relationship,), tables)
            for relationship in self._each("relationships", self.layout.relationships)
        }
        found = [*tables, *level.values()]
        longest = self.max_chain or len(self.layout.relationships)
        for length in range(2, longest + 1):
            above: dict[frozenset[Relationship], Learned] = {}
            chains = _joined(level, self.layout.relationships)
            for chain in self._each(f"chains of {length} relationships", chains):
                parts = [level[part] for part in level if part < chain]
                above[chain] = self._chain(self._ordered(chain), parts)
            if not above:
                break
            level = above
            found += level.values()
        return self._final(found)

    def _each(self, stage: str, items: Sequence[T]) -> Iterator[T]:
        """Yield the items, reporting after each."""
        for done, item in enumerate(items, start=1):
            self.course.check()
            yield item
            self.course.tell(stage, done, len(items))

    def _final(self, found: list[Learned]) -> frozenset[NodeEdge]:
        """Return the edges that stand: an edge counts as the longest chain over both nodes has it.

        Link indicators may lose parents higher up, so lower levels cannot simply be united.
        """
        decided: dict[frozenset[Node], NodeEdge | None] = {}
        for learned in reversed(found):
            fresh: dict[frozenset[Node], NodeEdge | None] = {
                frozenset(pair): None
                for pair in combinations(learned.nodes, 2)
                if frozenset(pair) not in decided
            }
            fresh |= {frozenset(e): e for e in learned.edges if frozenset(e) in fresh}
            decided |= fresh
        order = {node: place for place, node in enumerate(self.layout.nodes)}
        edges = [edge for edge in decided.values() if edge is not None]
        schema = {(r.link, a) for r in self.layout.relationships for a in r.attributes}
        edges.sort(key=lambda edge: (edge not in schema, order[edge[0]], order[edge[1]]))
        return frozenset(_without_circles(edges))

    def _main_variables(self) -> list[Variable]:
        return list({node.variables[0]: None for node in self.layout.attributes if node.main})

    def _ordered(self, chain: Iterable[Relationship]) -> tuple[Relationship, ...]:
        chosen = set(chain)
        return tuple(r for r in self.layout.relationships if r in chosen)

    def _entity_table(self, variable: Variable) -> Learned:
        return self._search(self.layout.attributes_of(variable), EdgeConstraints(), (), (variable,))

    def _chain(self, chain: tuple[Relationship, ...], parts: list[Learned]) -> Learned:
        """Learn on a chain of relationships, given what was learned on its parts."""
        variables = tuple(dict.fromkeys(v for r in chain for v in r.variables))
        attributes = [n for v in variables for n in self.layout.attributes_of(v)]
        linked = [n for r in chain for n in (r.nodes if self.links else r.attributes)]
        nodes = (*attributes, *linked)
        schema = [(r.link, a) for r in chain for a in r.attributes] if self.links else []
        constraints = self._inherited(nodes, parts, schema)
        learned = self._search(nodes, constraints, () if self.links else chain, variables)
        if self.links:
            return learned
        old = frozenset(edge for part in parts for edge in part.edges)
        links = {edge for edge in old if edge[0].is_link and edge[1] in nodes}
        links |= {(r.link, child) for _, child in learned.edges - old for r in chain}
        links |= {(r.link, attribute) for r in chain for attribute in r.attributes}
        return Learned((*nodes, *(r.link for r in chain)), learned.edges | links)

    def _inherited(
        self, nodes: tuple[Node, ...], parts: list[Learned], schema: list[NodeEdge]
    ) -> EdgeConstraints:
        place = {node: number for number, node in enumerate(nodes)}
        known = [
            frozenset(e for e in part.edges if e[0] in place and e[1] in place) for part in parts
        ]
        everywhere = frozenset().union(*known) if known else frozenset()
        disputed = {frozenset(edge) for edge in everywhere if edge[::-1] in everywhere}
        wanted = sorted(
            (
                edge
                for edge in everywhere
                if frozenset(edge) not in disputed and not edge[1].is_link and edge not in schema
            ),
            key=lambda edge: (place[edge[0]], place[edge[1]]),
        )
        required = set(_without_circles([*schema, *wanted]))
        forbidden = {(parent, child) for child in nodes if not child.main for parent in nodes}
        for part, edges in zip(parts, known, strict=True):
            members = [node for node in part.nodes if node in place]
            for parent in members:
                for child in members:
                    absent = (parent, child) not in edges and not parent.is_link
                    if absent and frozenset((parent, child)) not in disputed:
                        forbidden.add((parent, child))
        forbidden -= required
        return EdgeConstraints(
            frozenset((place[a], place[b]) for a, b in required),
            frozenset((place[a], place[b]) for a, b in forbidden if a != b),
        )

    def _search(
        self,
        nodes: tuple[Node, ...],
        constraints: EdgeConstraints,
        true: tuple[Relationship, ...],
        scope: tuple[Variable, ...],
    ) -> Learned:
        def score(child: int, parents: tuple[int, ...]) -> float:
            family = (nodes[child], *(nodes[parent] for parent in parents))
            counts = self.counter.count(family, scope=scope, true=true)
            return bdeu(counts, self.sample_size)

        # what a search may find follows from the data, and from the searches before it
        key = f"{self.label}{' '.join(map(str, nodes))} | {' '.join(str(r.link) for r in true)}"
        dag = self.journal.get(key)
        if dag is None:
            dag = greedy_equivalence_search(
                len(nodes), score, constraints, max_parents=self.max_parents
            )
            self.journal.record(key, list(dag))
        edges = {(nodes[p], nodes[child]) for child, above in enumerate(dag) for p in bits(above)}
        return Learned(nodes, frozenset(edges))


def _joined(
    level: Iterable[frozenset[Relationship]], relationships: tuple[Relationship, ...]
) -> list[frozenset[Relationship]]:
    """Return all chains with one relationship more than those of a level."""
    longer: dict[frozenset[Relationship], None] = {}
    for chain in level:
        variables = {variable for r in chain for variable in r.variables}
        for relationship in relationships:
            if relationship not in chain and variables & set(relationship.variables):
                longer[chain | {relationship}] = None
    return list(longer)


def _without_circles(edges: Iterable[NodeEdge]) -> list[NodeEdge]:
    """Return the edges, less any that close a circle with those before."""
    kept: list[NodeEdge] = []
    place: dict[Node, int] = {}
    parents: list[int] = []
    for parent, child in edges:
        for node in (parent, child):
            if node not in place:
                place[node] = len(parents)
                parents.append(0)
        before = parents[place[child]]
        parents[place[child]] |= 1 << place[parent]
        if has_circle(parents):
            parents[place[child]] = before
        else:
            kept.append((parent, child))
    return kept
