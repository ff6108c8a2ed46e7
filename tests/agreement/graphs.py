"""Small knowledge graphs, and rules along paths in them, read and evaluated without the library."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Triple = tuple[str, str, str]
_ATOM = re.compile(r"([a-z0-9]+)\(([A-Z]),([A-Z])\)")
_LARGEST = 0.999  # a rule is no surer than this


@dataclass(frozen=True)
class WrittenRule:
    """A rule as it is written, ``r(X,Y) <= s(X,A), t(A,Y)``, and how sure it is."""

    text: str
    confidence: float

    def holds(self, triples: Sequence[Triple], head: str, tail: str) -> bool:
        """Whether entities can be found for the variables, all of them different."""
        body = _ATOM.findall(self.text.partition("<=")[2])
        return any(True for _ in _bindings(body, triples, {"X": head, "Y": tail}))

    @property
    def relation(self) -> str:
        return self.text.partition("(")[0]


def _bindings(body, triples, bound):  # type: ignore[no-untyped-def]
    if not body:
        yield bound
        return
    (name, left, right), *rest = body
    for head, relation, tail in triples:
        if relation != name or bound.get(left, head) != head or bound.get(right, tail) != tail:
            continue
        more = {**bound, left: head, right: tail}
        if len(set(more.values())) == len(more):
            yield from _bindings(rest, triples, more)


@dataclass(frozen=True)
class RandomGraph:
    """Triples, those that are asked for among none of them."""

    triples: tuple[Triple, ...]
    asked: tuple[Triple, ...]

    @property
    def text(self) -> str:
        return "".join("\t".join(row) + "\n" for row in self.triples)

    def odds_against(self, rules: Sequence[WrittenRule], asked: Triple) -> float:
        """The probability that all rules that speak for a triple are wrong about it."""
        head, relation, tail = asked
        return math.prod(
            1.0 - min(rule.confidence, _LARGEST)
            for rule in rules
            if rule.relation == relation and rule.holds(self.triples, head, tail)
        )


def random_graph(rng: np.random.Generator) -> RandomGraph:
    """A few entities, two or three relations, one of them often made of the others."""
    names = [f"e{number}" for number in range(int(rng.integers(5, 9)))]
    relations = [f"r{number}" for number in range(int(rng.integers(2, 4)))]
    pairs = [(one, other) for one in names for other in names if one != other]
    found = {
        (one, relation, other)
        for relation in relations[1:]
        for one, other in pairs
        if rng.random() < 0.25
    }
    for one, other in pairs:
        linked = any(
            (one, "r1", by) in found and (by, relations[-1], other) in found for by in names
        )
        if rng.random() < (0.7 if linked else 0.1):
            found.add((one, "r0", other))
    found |= {(names[0], relation, names[1]) for relation in relations}
    others = [(a, r, b) for r in relations for a, b in pairs if (a, r, b) not in found]
    seen = {name for one, _, other in found for name in (one, other)}
    chosen = [others[place] for place in rng.permutation(len(others))[:12]]
    asked = tuple(row for row in chosen if row[0] in seen and row[2] in seen)
    return RandomGraph(tuple(sorted(found)), asked)
