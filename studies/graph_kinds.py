"""Made-up graphs of many kinds, to see that default settings do for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from mlnlearn.data.graph import Graph, Longs
from mlnlearn.model.triple_answers import LinkScores

Rng = np.random.Generator
Triple = tuple[str, str, str]
Kind = Callable[[Rng], Iterable[Triple]]

KINDS: dict[str, tuple[str, Kind]] = {}
"""What each kind is, in words, and what makes the triples of one, by name."""


def parts(kind: str, seed: int) -> tuple[list[Triple], list[Triple], list[Triple]]:
    """Return triples of a kind to learn from, and a tenth each to choose by and to test on."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    rows = sorted(set(KINDS[kind][1](rng)))
    order = rng.permutation(len(rows)).tolist()
    held = max(1, len(rows) // 10)
    chosen = order[2 * held :], order[:held], order[held : 2 * held]
    train, valid, test = ([rows[place] for place in places] for places in chosen)
    return train, valid, test


@dataclass(frozen=True)
class Frequency:
    """Ranks entities by how often they are at the end of a link, whatever the question."""

    graph: Graph

    def link_scores(self, link: int, sources: Longs) -> LinkScores:
        """Score all entities as ends of a link."""
        heads, kinds, tails = self.graph.triples
        relations, entities = len(self.graph.relations), len(self.graph.entities)
        ends = (tails if link < relations else heads)[kinds == link % relations]
        scores = np.bincount(ends, minlength=entities).astype(np.float64)
        scores[self.graph.edges.degrees == 0] = -1.0
        starts, nobody = np.zeros(len(sources) + 1, np.int64), np.empty(0, np.int32)
        return LinkScores(starts, nobody, np.empty(0), scores)


def _kind(about: str) -> Callable[[Kind], Kind]:
    def put(make: Kind) -> Kind:
        KINDS[make.__name__.strip("_").replace("_", " ")] = about, make
        return make

    return put


def _pairs(rng: Rng, entities: int, count: int) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in rng.integers(entities, size=(count, 2))]


@_kind("40 random triples")
def _tiny(rng: Rng) -> Iterable[Triple]:
    return [(f"a{a}", f"r{rng.integers(3)}", f"a{b}") for a, b in _pairs(rng, 8, 40)]


@_kind("one relation, random")
def _random(rng: Rng) -> Iterable[Triple]:
    return [(f"a{a}", "r", f"a{b}") for a, b in _pairs(rng, 200, 1000)]


@_kind("one relation, always both ways")
def _symmetric(rng: Rng) -> Iterable[Triple]:
    pairs = _pairs(rng, 300, 600)
    return [(f"a{x}", "r", f"a{y}") for a, b in pairs for x, y in ((a, b), (b, a))]


@_kind("a tree of one relation: nothing to be learned")
def _tree(_: Rng) -> Iterable[Triple]:
    return [(f"n{number}", "child of", f"n{(number - 1) // 2}") for number in range(1, 800)]


@_kind("one entity is in half of the triples, the others are random")
def _hub(rng: Rng) -> Iterable[Triple]:
    rows = [(f"e{number}", f"in{rng.integers(3)}", "HUB") for number in range(1000)]
    return rows + [(f"e{a}", "knows", f"e{b}") for a, b in _pairs(rng, 1000, 1000)]


@_kind("the same with 20,000 triples")
def _large_hub(rng: Rng) -> Iterable[Triple]:
    rows = [(f"e{number}", f"in{rng.integers(3)}", "HUB") for number in range(10000)]
    return rows + [(f"e{a}", "knows", f"e{b}") for a, b in _pairs(rng, 10000, 10000)]


@_kind("one tail a head; a country follows from the city; numbers of passports from nothing")
def _functional(rng: Rng) -> Iterable[Triple]:
    rows = [(f"city{city}", "in", f"country{city % 7}") for city in range(40)]
    for person, city in enumerate(rng.integers(40, size=500).tolist()):
        rows.append((f"p{person}", "lives in", f"city{city}"))
        rows.append((f"p{person}", "citizen of", f"country{city % 7}"))
        rows.append((f"p{person}", "passport", f"number{person}"))
    return rows


@_kind("one head a tail, and half of the inverse")
def _inverse_functional(rng: Rng) -> Iterable[Triple]:
    rows = []
    for person in range(400):
        rows += [(f"p{person}", "wrote", f"b{book}") for book in (person, person + 1000)]
        rows.append((f"b{person}", "written by", f"p{person}"))
        if rng.random() < 0.5:
            rows.append((f"b{person + 1000}", "written by", f"p{person}"))
    return rows


@_kind("twelve orders of twelve")
def _transitive(rng: Rng) -> Iterable[Triple]:
    rows = []
    for group in range(12):
        order = rng.permutation(12).tolist()
        for place, one in enumerate(order):
            later = [other for other in order[place + 1 :] if rng.random() < 0.7]
            rows += [(f"g{group} {one}", "before", f"g{group} {other}") for other in later]
    return rows


@_kind("things with three attributes, two of which go together")
def _attributes(rng: Rng) -> Iterable[Triple]:
    rows = []
    for thing in range(600):
        kind, odd = int(rng.integers(8)), int(rng.integers(5)) * (rng.random() < 0.2)
        rows.append((f"x{thing}", "hasType", f"T{kind}"))
        rows.append((f"x{thing}", "colour", f"C{(3 * kind + odd) % 5}"))
        rows.append((f"x{thing}", "size", f"S{rng.integers(3)}"))
    return rows


@_kind("a random relation, and 100 with a triple each")
def _rare_relations(rng: Rng) -> Iterable[Triple]:
    rows = [(f"a{a}", "common", f"a{b}") for a, b in _pairs(rng, 100, 500)]
    return rows + [(f"a{a}", f"once{k}", f"a{b}") for k, (a, b) in enumerate(_pairs(rng, 100, 100))]


@_kind("500 relations, the second half inverses of the first, mostly")
def _many_relations(rng: Rng) -> Iterable[Triple]:
    rows = []
    for number in range(500):
        for a, b in _pairs(rng, 400, int(rng.integers(2, 30))):
            rows.append((f"a{a}", f"rel {number}", f"a{b}"))
            if number % 2 == 0 and rng.random() < 0.9:
                rows.append((f"a{b}", f"rel {number + 1}", f"a{a}"))
    return rows


@_kind("random, with names of 2,000 letters")
def _long_names(rng: Rng) -> Iterable[Triple]:
    one, relation = "x" * 2000, "y" * 3000
    pairs = _pairs(rng, 50, 400)
    return [(f"{one}{a}", f"{relation}{rng.integers(3)}", f"{one}{b}") for a, b in pairs]


@_kind("random, with blanks, commas and brackets in the names")
def _addresses(rng: Rng) -> Iterable[Triple]:
    def name(number: int) -> str:
        return f"http://ex.org/a b/{number}?q=ä&x=(1,2)"

    pairs = _pairs(rng, 60, 500)
    return [(name(a), f"http://ex.org/p(X,Y)#{rng.integers(4)}", name(b)) for a, b in pairs]


@_kind("a relation from all to themselves, and a random one")
def _loops(rng: Rng) -> Iterable[Triple]:
    rows = [(f"a{number}", "same", f"a{number}") for number in range(100)]
    return rows + [(f"a{a}", "knows", f"a{b}") for a, b in _pairs(rng, 100, 300)]


@_kind("every pair")
def _complete(_: Rng) -> Iterable[Triple]:
    return [(f"a{a}", "r", f"a{b}") for a in range(40) for b in range(40)]


@_kind("a chain")
def _chain(_: Rng) -> Iterable[Triple]:
    return [(f"a{number}", "next", f"a{number + 1}") for number in range(1000)]


@_kind("pairs without a link between them")
def _lone_pairs(_: Rng) -> Iterable[Triple]:
    return [(f"a{number}", "r", f"b{number}") for number in range(500)]


@_kind("a random relation, and its inverse")
def _inverse(rng: Rng) -> Iterable[Triple]:
    rows = []
    for a, b in _pairs(rng, 200, 500):
        rows += [(f"a{a}", "r", f"a{b}"), (f"a{b}", "inverse of r", f"a{a}")]
    return rows


@_kind("random, but some entities are in far more triples than others")
def _zipf(rng: Rng) -> Iterable[Triple]:
    often = 1.0 / np.arange(1, 1001)
    ends = rng.choice(1000, (3000, 2), p=often / often.sum()).tolist()
    return [(f"e{a}", f"r{rng.integers(5)}", f"e{b}") for a, b in ends]


@_kind("random, but of people, firms and dishes, of which some are liked most")
def _types(rng: Rng) -> Iterable[Triple]:
    rows = []
    for person in range(300):
        rows.append((f"person{person}", "works for", f"firm{rng.integers(30)}"))
        rows.append((f"person{person}", "likes", f"dish{min(rng.geometric(0.2), 40)}"))
        rows.append((f"person{person}", "friend", f"person{rng.integers(300)}"))
    return rows


@_kind("twelve types with hubs, 40 relations, of which half copy, turn around or join others")
def _encyclopedia(rng: Rng) -> Iterable[Triple]:
    types = np.split(rng.permutation(2400), 12)
    pairs: list[list[tuple[int, int]]] = []
    for _ in range(22):
        ones, others = (types[number] for number in rng.integers(12, size=2))
        chance, liked = (1.0 / (np.arange(200) + shift) for shift in (5.0, 2.0))
        liked = liked ** rng.uniform(0.3, 1.1)
        size = int(min(100 * (rng.pareto(1.0) + 0.2), 2000)) + 5
        heads = rng.choice(ones, size, p=chance / chance.sum()).tolist()
        tails = rng.choice(others, size, p=liked / liked.sum()).tolist()
        pairs.append(sorted(set(zip(heads, tails, strict=True))))
    for number in range(18):
        one, other = (pairs[place] for place in rng.integers(22, size=2))
        if number % 3 == 0:
            new = [(b, a) for a, b in one]
        elif number % 3 == 1:
            new = one
        else:
            new = sorted({(a, d) for a, b in one for c, d in other if b == c})[:1000]
        pairs.append([pair for pair in new if rng.random() < 0.85])
    return [(f"/m/{a}", f"/rel/{k}", f"/m/{b}") for k, rows in enumerate(pairs) for a, b in rows]
