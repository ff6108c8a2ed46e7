"""Learn-and-join: a net for single tables first, then for ever longer chains of relationships.

What is learned below is kept above: an edge found in a part of a chain is required, an edge not
found there is forbidden, so that each step only asks what the longer join can add (Khosravi et al.
2010; Schulte & Khosravi 2012).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

from msgspec import Struct

from mlnlearn.documents import Place
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.journal import Journal
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.run import Course
from mlnlearn.structure.join_bayes.chains import Chain, longer_chains
from mlnlearn.structure.join_bayes.counts import Counter
from mlnlearn.structure.join_bayes.ges import (
    RESTARTS,
    Ahead,
    LocalScore,
    greedy_equivalence_search,
)
from mlnlearn.structure.join_bayes.graphs import (
    Dag,
    EdgeConstraints,
    bits,
    has_circle,
    read_dag,
)
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship
from mlnlearn.structure.join_bayes.score import bdeu
from mlnlearn.structure.join_bayes.work import OutOfWorkError

NodeEdge = tuple[NetNode, NetNode]
T = TypeVar("T")

MAX_WORK = 150_000_000
"""Work for chains of several relationships; hepatitis, with seven tables, takes a sixth of it."""
WIDE, PARTNERS, WIDE_PARENTS = 24, 12, 6
"""A search over more nodes is a wide one: each looks at so many best partners, and so many parents.

No table or chain of the papers' data sets has so many nodes.
"""
MOST_ROWS = 50_000
"""Rows of a conditional table, ten times those of the papers' data sets together."""
_CHAIN = 100_000
"""Work to see what is open on a chain."""


class _NetFile(Struct, forbid_unknown_fields=True):
    """A net as the journal has it: for each node the set of its parents; and the work it took."""

    parents: list[int]
    work: Place


@dataclass(frozen=True)
class Learned:
    """The nodes of one table or chain, and the edges (parent, child) found among them."""

    nodes: tuple[NetNode, ...]
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
    max_work
        How much work the chains of several relationships may take (see `Work`); unlimited if None.
        A table or chain of more than `WIDE` nodes is then searched less thoroughly, too.
    journal
        Where the edges of every table and chain are written down, and read again by a later run.
    course
        Its time, and who is told of progress.
    label
        Tells the searches of one journal apart.
    remarks
        What was left out, for want of `max_work`, one sentence each.

    Examples
    --------
    >>> from mlnlearn.data.load.build import build_database
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.data.load.tables import Table
    >>> from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
    >>> from mlnlearn.structure.join_bayes.encode import EncodedData
    >>> names = {"id": Column.of(list("ABCDEFGH"))}
    >>> people = names | {"sex": Column.of(list("ffffmmmm")), "fan": Column.of(list("xxxxyyyy"))}
    >>> database, mapping = build_database([Table("person", people, ("id",))])
    >>> data = EncodedData([database], NetLayout.of([database], mapping))
    >>> for parent, child in LearnAndJoin(FamilyCounter(data)).edges():
    ...     print(parent, "->", child)
    fan(person) -> sex(person)
    """

    counter: Counter
    links: bool = True
    sample_size: float = 10.0
    max_chain: int | None = None
    max_parents: int | None = None
    max_work: int | None = MAX_WORK
    journal: Journal = field(default_factory=Journal)
    course: Course = field(default_factory=Course)
    label: str = ""
    layout: NetLayout = field(init=False)
    remarks: list[str] = field(init=False, default_factory=list)
    _parents: dict[NetNode, set[NetNode]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = self.counter.data.layout

    def edges(self) -> frozenset[NodeEdge]:
        """Return the edges of the whole net: those of the longest chains."""
        *_, found = self.levels()
        return found

    def levels(self) -> Iterator[frozenset[NodeEdge]]:
        """Yield the edges of the whole net as far as they are known after each level."""
        variables = self._main_variables()
        tables = [self._entity_table(v) for v in self._each("tables", variables)]
        yield self._final(tables)
        level: dict[Chain, Learned] = {
            frozenset({relationship}): self._chain((relationship,), tables)
            for relationship in self._each("relationships", self.layout.relationships)
        }
        found = [*tables, *level.values()]
        yield self._final(found)
        left = self.max_work
        for length in range(2, (self.max_chain or len(self.layout.relationships)) + 1):
            before = self.counter.work.spent
            level = self._longer(length, level, left)
            if left is not None:
                left -= self.counter.work.spent - before
            if not level:
                break
            found += level.values()
            yield self._final(found)

    def _longer(
        self, length: int, level: dict[Chain, Learned], left: int | None
    ) -> dict[Chain, Learned]:
        """Learn on the chains of a length, the least work first, as far as work is left."""
        chains, lost = longer_chains(level, self.layout.relationships)
        work, start = self.counter.work, self.counter.work.spent
        jobs = []
        for place, chain in enumerate(chains):
            work.add(_CHAIN)
            job = self._job(self._ordered(chain), [level[part] for part in level if part < chain])
            jobs.append((self._estimate(job), place, job))
        found: dict[int, Learned] = {}
        for estimate, place, job in self._each(f"chains of {length} relationships", sorted(jobs)):
            # no chain may take all that is left, lest there be nothing for those above
            most = None if left is None else (left - (work.spent - start)) // 2
            if most is None or estimate <= most:
                learned = self._attempt(job, most)
                if learned is not None:
                    found[place] = learned
        if len(found) < len(jobs) + lost:
            self.remarks.append(
                f"{len(jobs) + lost - len(found):,} of {len(jobs) + lost:,} chains of {length} "
                "relationships were left out: they would take more work than max_work"
            )
        return {chains[place]: found[place] for place in sorted(found)}

    def _estimate(self, job: _ChainJob) -> int:
        """Return about how much work it is to learn on a chain: two families for each pair."""
        pairs = job.constraints.undecided(len(job.nodes))
        links = sum(self.counter.data.link_count(r.predicate.name) for r in job.chain)
        return self.counter.estimate(2 * pairs, links)

    def _attempt(self, job: _ChainJob, most: int | None) -> Learned | None:
        """Learn on a chain; return nothing where that would take too much."""
        if most is None:
            return self._learned(job)
        try:
            with self.counter.work.at_most(most):
                return self._learned(job)
        except (OutOfWorkError, MemoryLimitError, CountOverflowError):
            return None

    def _each(self, stage: str, items: Collection[T]) -> Iterator[T]:
        """Yield the items, reporting after each."""
        for done, item in enumerate(items, start=1):
            self.course.check()
            yield item
            self.course.tell(stage, done, len(items))

    def _final(self, found: list[Learned]) -> frozenset[NodeEdge]:
        """Return the edges that stand: an edge counts as the longest chain over both nodes has it.

        Link indicators may lose parents higher up, so lower levels cannot simply be united.
        """
        decided: dict[frozenset[NetNode], NodeEdge | None] = {}
        for learned in reversed(found):
            fresh: dict[frozenset[NetNode], NodeEdge | None] = {
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
        nodes = self.layout.attributes_of(variable)
        learned = self._search(nodes, EdgeConstraints(), (), (variable,))
        for parent, child in learned.edges:
            self._parents.setdefault(child, set()).add(parent)
        return learned

    def _chain(self, chain: tuple[Relationship, ...], parts: list[Learned]) -> Learned:
        """Learn on a chain of relationships, given what was learned on its parts."""
        return self._learned(self._job(chain, parts))

    def _job(self, chain: tuple[Relationship, ...], parts: list[Learned]) -> _ChainJob:
        variables = tuple(dict.fromkeys(v for r in chain for v in r.variables))
        attributes = [n for v in variables for n in self.layout.attributes_of(v)]
        linked = [n for r in chain for n in (r.nodes if self.links else r.attributes)]
        nodes = (*attributes, *linked)
        schema = [(r.link, a) for r in chain for a in r.attributes] if self.links else []
        constraints = self._inherited(nodes, parts, schema)
        old = frozenset(edge for part in parts for edge in part.edges)
        return _ChainJob(chain, nodes, variables, constraints, old)

    def _learned(self, job: _ChainJob) -> Learned:
        chain, nodes = job.chain, job.nodes
        true = () if self.links else chain
        learned = self._search(nodes, job.constraints, true, job.variables)
        if self.links:
            return self._within_bounds(learned, job.old)
        links = {edge for edge in job.old if edge[0].is_link and edge[1] in nodes}
        links |= {(r.link, child) for _, child in learned.edges - job.old for r in chain}
        links |= {(r.link, attribute) for r in chain for attribute in r.attributes}
        joined = Learned((*nodes, *(r.link for r in chain)), learned.edges | links)
        return self._within_bounds(joined, job.old)

    def _within_bounds(self, learned: Learned, old: frozenset[NodeEdge]) -> Learned:
        """Leave out new parents with which a node's conditional table would be too large.

        Each chain may add parents, so that together they can be many more than one search allows.
        """
        edges = set(learned.edges)
        for child in learned.nodes:
            parents = self._parents.setdefault(child, set())
            new = {p for p, c in learned.edges if c == child}
            rows = child.size * math.prod(node.size for node in parents | new)
            if self.max_work is not None and rows > MOST_ROWS:
                own = child.relationship  # the link of an attribute is always its parent
                kept = {p for p in new if (p, child) in old or (p.is_link and p.predicate == own)}
                edges -= {(p, child) for p in new - kept}
                new = kept
                self.remarks.append(f"{child} got no more parents: its table would be too large")
            parents |= new
        return Learned(learned.nodes, frozenset(edges))

    def _inherited(
        self, nodes: tuple[NetNode, ...], parts: list[Learned], schema: list[NodeEdge]
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
        nodes: tuple[NetNode, ...],
        constraints: EdgeConstraints,
        true: tuple[Relationship, ...],
        scope: tuple[Variable, ...],
    ) -> Learned:
        def score(child: int, parents: tuple[int, ...]) -> float:
            family = (nodes[child], *(nodes[parent] for parent in parents))
            counts = self.counter.count(family, scope=scope, true=true)
            return bdeu(counts, self.sample_size)

        def ahead(families: Sequence[tuple[int, tuple[int, ...]]]) -> None:
            named = [(nodes[child], *(nodes[p] for p in parents)) for child, parents in families]
            self.counter.ahead([(family, true) for family in named], scope)

        # what a search may find follows from the data, and from the searches before it
        key = f"{self.label}{' '.join(map(str, nodes))} | {' '.join(str(r.link) for r in true)}"
        work = self.counter.work
        if key in self.journal:
            with self.journal.reading(key, _NetFile) as found:
                dag = read_dag(found.parents, len(nodes))
            work.add(found.work)
        else:
            self.counter.forget()
            before = work.spent
            dag = self._found(len(nodes), score, constraints, ahead)
            self.journal.record(key, {"parents": list(dag), "work": work.spent - before})
        edges = {(nodes[p], nodes[child]) for child, above in enumerate(dag) for p in bits(above)}
        return Learned(nodes, frozenset(edges))

    def _found(
        self, size: int, score: LocalScore, constraints: EdgeConstraints, ahead: Ahead
    ) -> Dag:
        """Search for a net, wide ones less thoroughly: where nothing is open there is none."""
        if not constraints.undecided(size):
            required = constraints.required_parents
            return tuple(required.get(node, 0) for node in range(size))
        if self.max_work is None or size <= WIDE:
            return greedy_equivalence_search(
                size, score, constraints, max_parents=self.max_parents, ahead=ahead
            )
        self.remarks.append(
            f"among {size} columns, each was compared with its {PARTNERS} nearest ones alone"
        )
        parents = WIDE_PARENTS if self.max_parents is None else self.max_parents
        return greedy_equivalence_search(
            size,
            score,
            constraints,
            max_parents=parents,
            partners=PARTNERS,
            restarts=RESTARTS * WIDE**2 // size**2,
            ahead=ahead,
        )


@dataclass(frozen=True, eq=False)
class _ChainJob:
    """A chain to learn on: its nodes and variables, and what the edges of its parts ask for."""

    chain: tuple[Relationship, ...]
    nodes: tuple[NetNode, ...]
    variables: tuple[Variable, ...]
    constraints: EdgeConstraints
    old: frozenset[NodeEdge]


def _without_circles(edges: Iterable[NodeEdge]) -> list[NodeEdge]:
    """Return the edges, less any that close a circle with those before."""
    kept: list[NodeEdge] = []
    place: dict[NetNode, int] = {}
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
