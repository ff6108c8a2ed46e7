"""The graph of predicates: nodes with signs, edges that are links worth following."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.clauses import Clause
from mlnlearn.structure.predicate_graph.links import Edge, SignedPredicate, formula_of, links


@dataclass(frozen=True)
class PredicateGraph:
    """Signed predicates and links between them (definition 5), each edge with its binary clause.

    Attributes
    ----------
    nodes
        Every predicate and its negation; a node's index is its place.
    edges
        The clause that satisfies each edge's link, in canonical form.
    measures
        The measure of each edge's clause, once the graph is reduced.

    Examples
    --------
    >>> advised = Predicate("AdvisedBy", ("person", "person"))
    >>> graph = PredicateGraph.of([advised, Predicate("Professor", ("person",))])
    >>> len(graph.nodes), len(graph.edges)
    (4, 27)
    """

    nodes: tuple[SignedPredicate, ...]
    edges: Mapping[Edge, Clause]
    measures: Mapping[Edge, float] | None = None

    @classmethod
    def of(cls, predicates: Sequence[Predicate]) -> PredicateGraph:
        """Build the full graph: all links between all nodes.

        Links with the same clause are one edge; links whose clause has a single literal, or is
        always true, are none.
        """
        nodes = tuple(
            SignedPredicate(p, positive) for p in predicates for positive in (True, False)
        )
        edges: dict[Edge, Clause] = {}
        seen: set[Clause] = set()
        for first, second in combinations_with_replacement(nodes, 2):
            for link in links(first.predicate, second.predicate):
                edge = Edge(first, second, link)
                found = formula_of(edge)
                atoms = {literal.atom for literal in found}
                if len(atoms) == 2 and found not in seen:
                    seen.add(found)
                    edges[edge] = found
        return cls(nodes, edges)

    def reduced(self, measures: Mapping[Edge, float]) -> PredicateGraph:
        """Return the graph with those edges only that have a measure."""
        kept = {edge: found for edge, found in self.edges.items() if edge in measures}
        return PredicateGraph(self.nodes, kept, dict(measures))

    def without(self, names: Collection[str]) -> PredicateGraph:
        """Return the graph without the edges at some predicates."""
        kept = {
            edge: found
            for edge, found in self.edges.items()
            if not {edge.first.predicate.name, edge.second.predicate.name}.intersection(names)
        }
        return PredicateGraph(self.nodes, kept, self.measures)
