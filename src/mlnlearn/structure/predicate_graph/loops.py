"""Loops: paths of the graph that come back to where they started.

A path that only adds literals leaves variables that occur once, and may say little until it comes
back to its first literal, as in ``title(b,t) ^ title(c,u) ^ sameTitle(t,u) => sameBib(b,c)``; nor
would the heuristic variabilisation ever build this clause, since it starts all edges of a node from
the same literal. So loops are not grown link by link but listed: facts that lead from one constant
to another in two ways, as relational path-finding looks for them in the data, read off the graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import ClauseKey, LiteralKey, canonical_key
from mlnlearn.run import check_time
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.paths import Pairs

_MOST_WALKS = 1_000_000

Places = frozenset[int]
# the links from a predicate: the other predicate, its arity, and which places share a variable
Links = Mapping[int, Sequence[tuple[int, int, Pairs]]]


def loops(graph: PredicateGraph, longest: int, max_same: int) -> list[ClauseKey]:
    """Return the clauses of all loops: those of the edges that tie two places, then longer ones.

    Each literal of a longer loop is linked to the one before and, by other places, to the one
    after; the last is linked to the first. All its literals but at most one are negated: a clause
    says what follows from facts. (Where a body holds negated facts, nearly all groundings have it.)

    Parameters
    ----------
    graph
        The graph; an edge counts whatever the signs of its nodes.
    longest
        Most literals; fewer where the graph has too many walks to look at.
    max_same
        Most literals of one predicate.

    Returns
    -------
    list of ClauseKey
        Literals as a node's number and the numbers of variables.

    Examples
    --------
    >>> graph = PredicateGraph.of([Predicate("r", ("t", "t")), Predicate("a", ("t",))])
    >>> [key for key in loops(graph, 3, 3) if {literal[0] for literal in key} == {1}]
    [((1, 0, 1), (1, 1, 0)), ((1, 0, 1), (1, 0, 2), (1, 1, 2)), ((1, 0, 2), (1, 1, 0), (1, 2, 1))]
    """
    predicates = [node.predicate for node in graph.nodes[::2]]
    links = _links(graph, predicates)
    longest = _affordable(links, longest)
    found: dict[ClauseKey, None] = {}
    for number, predicate in enumerate(predicates):
        if number not in links:
            continue
        places = frozenset(range(predicate.arity))
        walk = _Walk(((number, *range(predicate.arity)),), places, places)
        for key in _search(walk, links, longest, max_same):
            found.setdefault(key)
    signed = [*_double(graph, longest, max_same), *(key for loop in found for key in _signed(loop))]
    return list(dict.fromkeys(signed))


def _affordable(links: Links, longest: int) -> int:
    """Return how many literals loops may have, for all walks to be looked at."""
    ways = dict.fromkeys(links, 1)
    for literals in range(2, longest + 1):
        ways = {own: sum(ways[other] for other, _, _ in near) for own, near in links.items()}
        if sum(ways.values()) > _MOST_WALKS:
            return literals - 1
    return longest


def _double(graph: PredicateGraph, longest: int, max_same: int) -> Iterator[ClauseKey]:
    """Yield the clauses of edges that tie two places or more of different literals."""
    number = {node: place for place, node in enumerate(graph.nodes)}
    for edge in graph.edges if longest > 1 else ():
        pairs = edge.link.pairs
        allowed = max_same > 1 or edge.first.predicate != edge.second.predicate
        if allowed and is_plain(pairs) and len(pairs) > 1:
            arity = edge.first.predicate.arity
            terms = [arity + place for place in range(edge.second.predicate.arity)]
            for u, v in pairs:
                terms[v] = u
            yield canonical_key(
                [(number[edge.first], *range(arity)), (number[edge.second], *terms)]
            )


def is_plain(pairs: Pairs) -> bool:
    """Tell whether no place is paired twice, so that no variable is repeated in a literal."""
    return len({u for u, _ in pairs}) == len({v for _, v in pairs}) == len(pairs)


def identities(databases: Sequence[Database]) -> frozenset[str]:
    """Return the relations that hold of nothing but a constant and itself.

    A loop through such a relation is a shorter loop in disguise.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("same(t,t)", "likes(t,t)")
    >>> facts = {"same": [("A", "A")], "likes": [("A", "A"), ("A", "B")]}
    >>> identities([Database.from_facts(schema, facts)])
    frozenset({'same'})
    """
    found = set()
    for predicate in databases[0].schema.predicates:
        if predicate.arity == 2 and len(set(predicate.types)) == 1:
            facts = [database.facts(predicate.name) for database in databases]
            if all((codes[0] == codes[1]).all() for codes in facts):
                found.add(predicate.name)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Literals in a row, and the places of the first and the last that are not linked yet."""

    literals: tuple[LiteralKey, ...]
    first: Places
    last: Places

    def longer(self, links: Links) -> Iterator[_Walk]:
        """Add a literal in each possible way."""
        own = self.literals[-1]
        fresh = 1 + max(max(literal[1:]) for literal in self.literals)
        for other, arity, pairs in links[own[0]]:
            if not self.last.issuperset(u for u, _ in pairs):
                continue
            terms = list(range(fresh, fresh + arity))
            for u, v in pairs:
                terms[v] = own[1 + u]
            alone = len(self.literals) == 1
            yield _Walk(
                (*self.literals, (other, *terms)),
                self.first.difference(u for u, _ in pairs) if alone else self.first,
                frozenset(range(arity)).difference(v for _, v in pairs),
            )

    def closed(self, links: Links) -> Iterator[ClauseKey]:
        """Link the last literal to the first in each possible way."""
        start, own = self.literals[0], self.literals[-1]
        for other, _, pairs in links[own[0]]:
            if (
                other == start[0]
                and self.last.issuperset(u for u, _ in pairs)
                and self.first.issuperset(v for _, v in pairs)
            ):
                tied = {own[1 + u]: start[1 + v] for u, v in pairs}
                last = (own[0], *(tied.get(term, term) for term in own[1:]))
                yield canonical_key((*self.literals[:-1], last))


def _links(graph: PredicateGraph, predicates: Sequence[Predicate]) -> Links:
    """Return the links of a graph by predicate, without those that pair a place twice."""
    number = {predicate: place for place, predicate in enumerate(predicates)}
    found: dict[int, dict[tuple[int, int, Pairs], None]] = defaultdict(dict)
    for edge in graph.edges:
        for way in (edge, edge.turned()):
            pairs = tuple(sorted(way.link.pairs))
            if is_plain(pairs):
                other = way.second.predicate
                found[number[way.first.predicate]].setdefault((number[other], other.arity, pairs))
    return {own: list(known) for own, known in found.items()}


def _search(walk: _Walk, links: Links, longest: int, max_same: int) -> Iterator[ClauseKey]:
    """Yield the loops that begin with a walk, unsigned."""
    check_time()
    if len(walk.literals) > 2:
        yield from (key for key in walk.closed(links) if len(key) == len(walk.literals))
    if len(walk.literals) < longest:
        for longer in walk.longer(links):
            last = longer.literals[-1][0]
            same = sum(literal[0] == last for literal in longer.literals)
            if longer.last and longer.first and same <= max_same:
                yield from _search(longer, links, longest, max_same)


def _signed(key: ClauseKey) -> Iterator[ClauseKey]:
    """Yield a loop with all literals negated, then with each of them positive."""
    check_time()
    negated = [(2 * literal[0] + 1, *literal[1:]) for literal in key]
    yield canonical_key(negated)
    for place, literal in enumerate(negated):
        head = (literal[0] - 1, *literal[1:])
        yield canonical_key((*negated[:place], head, *negated[place + 1 :]))
