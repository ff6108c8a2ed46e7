"""Path rules as tests of other learners: what a path connects becomes a relation of its own."""

from __future__ import annotations

import numpy as np

from mlnlearn.counting.path_evidence import Collector
from mlnlearn.counting.path_rules import ConstantRules, LinkRules
from mlnlearn.counting.walks import MOST_WALKS
from mlnlearn.data.graph import Graph
from mlnlearn.data.load.names import unused
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.triple_answers import name_code


def path_views(model: PathModel, relation: str, *, most: int = 10) -> Graph:
    """Return the graph of a model with the surest paths of a relation as relations of their own.

    A boosted learner that tries a literal at a time finds a path only where its first link alone
    tells something; with these relations, each of the paths is a literal. A path never passes
    through the triple between its own ends, so that no triple tells of itself.

    Parameters
    ----------
    model
        Path rules, with the graph to follow them in.
    relation
        The relation whose rules are taken.
    most
        How many of its closed rules of two links or more.

    Examples
    --------
    >>> from mlnlearn.data.load.triples import from_triples
    >>> from mlnlearn.structure.paths.learner import Paths
    >>> parents = [(f"p{a}", "parent", f"p{b}") for a in range(9) for b in (2 * a + 1, 2 * a + 2)]
    >>> grand = [(a, "grandparent", d) for a, _, b in parents for c, _, d in parents if b == c]
    >>> model = Paths(max_length=2).fit(from_triples(parents + grand)).model
    >>> list(path_views(model, "grandparent", most=1).relations)
    ['grandparent', 'parent', 'parent then parent']
    """
    graph, closed = model.known_graph, model.closed
    rows = model.rows_of(name_code("relation", relation, model.relations))
    long = np.array([len(closed.paths[row]) > 1 for row in rows.tolist()], np.bool_)
    rows = rows[long]
    share = closed.support[rows] / (closed.body[rows] + model.smoothing)
    chosen = closed.at(rows[np.lexsort((-closed.support[rows], -share))[:most]])
    names = list(graph.relations)
    for path in chosen.paths:
        words = " then ".join(model.link_names[link] for link in path)
        names.append(unused(words, set(names)))
    collector = Collector(graph, ConstantRules.none(), model.smoothing, 1, MOST_WALKS)
    rules = LinkRules(
        int(model.relations.code(relation)), chosen.paths, chosen.support, chosen.body
    )
    found = collector.collect(rules, np.arange(len(graph.entities)))
    heads = np.repeat(np.arange(len(graph.entities)), np.diff(found.row_starts))
    tails = found.candidates[found.candidate_starts[heads] + found.places]
    views = np.stack([heads, found.rules + len(graph.relations), tails]).astype(np.int32)
    triples = np.concatenate([graph.triples, views], axis=1)
    return Graph.coded(graph.entities, Vocabulary(names), triples, graph.name)
