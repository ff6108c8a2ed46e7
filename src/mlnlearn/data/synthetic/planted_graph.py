"""A knowledge graph in which some relations follow from others by known rules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.data.graph import Graph
from mlnlearn.data.synthetic.names import NumberedVocabulary
from mlnlearn.data.vocabulary import Vocabulary

_GIVEN = 12
_PLANTED = 10

Longs = NDArray[np.int64]


class PlantedGraph(NamedTuple):
    """A graph, and the rules that it was made by, as path rules are written."""

    graph: Graph
    rules: tuple[str, ...]


def planted_graph(
    entities: int = 1000,
    *,
    rng: np.random.Generator | int,
    density: float = 0.6,
    kept: float = 0.9,
    noise: float = 0.05,
) -> PlantedGraph:
    """Generate a graph of twelve random relations, and ten that follow from two of them each.

    Parameters
    ----------
    entities
        How many; there are some ten times as many triples.
    rng
        Where randomness comes from.
    density
        Triples of each of the twelve relations, for each entity.
    kept
        The share of what a rule implies that is in the graph.
    noise
        Triples of a planted relation that follow from nothing, for each that does.

    Examples
    --------
    >>> made = planted_graph(200, rng=0)
    >>> len(made.rules), made.rules[0]
    (10, 'planted0(X,Y) <= given0(X,A), given1(A,Y)')
    """
    generator = np.random.default_rng(rng)
    names = [f"given{k}" for k in range(_GIVEN)] + [f"planted{k}" for k in range(_PLANTED)]
    order = sorted(names)
    heads, kinds, tails, rules = [], [], [], []

    def add(name: str, one: Longs, other: Longs) -> None:
        differ = one != other
        heads.append(one[differ])
        tails.append(other[differ])
        kinds.append(np.full(int(differ.sum()), order.index(name)))

    given = []
    for number in range(_GIVEN):
        count = round(density * entities)
        given.append(generator.integers(0, entities, (2, count)))
        add(f"given{number}", *given[-1])
    for number in range(_PLANTED):
        first, second = given[number], given[number + 1]
        # every third rule reads its second relation backwards
        back = number % 3 == 2
        ends = _joined(first, second[::-1] if back else second, entities)
        ends = ends[:, generator.random(ends.shape[1]) < kept]
        wrong = generator.integers(0, entities, (2, round(noise * ends.shape[1])))
        add(f"planted{number}", *np.concatenate([ends, wrong], axis=1))
        step = f"given{number + 1}({'Y,A' if back else 'A,Y'})"
        rules.append(f"planted{number}(X,Y) <= given{number}(X,A), {step}")
    triples = np.stack([np.concatenate(column) for column in (heads, kinds, tails)])
    vocabulary = NumberedVocabulary("e", entities)
    graph = Graph.coded(vocabulary, Vocabulary(order), triples.astype(np.int32), "planted graph")
    return PlantedGraph(graph, tuple(rules))


def _joined(first: Longs, second: Longs, entities: int) -> Longs:
    """Return the distinct pairs that two relations, one after the other, connect."""
    shape = entities, entities
    steps = [csr_array((np.ones(pairs.shape[1]), pairs), shape) for pairs in (first, second)]
    ends = steps[0] @ steps[1]
    ends.sort_indices()
    return np.stack(ends.nonzero()).astype(np.int64)
