"""Path rules as tests of other learners: what a path connects becomes a relation of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mlnlearn.counting.path_evidence import Collector
from mlnlearn.counting.path_rules import ConstantRules, LinkRules
from mlnlearn.counting.walks import MOST_WALKS, Path
from mlnlearn.data.graph import Graph
from mlnlearn.data.load.names import unused
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.files import AnyPath, write_files
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.paths.rules import PathRule, coded_path, rules_table
from mlnlearn.model.triple_answers import name_code
from mlnlearn.structure.paths.given import given_closed


def path_views(model: PathModel, relation: str | Sequence[str], *, most: int = 10) -> Graph:
    """Return the graph of a model with the surest paths of a relation as relations of their own.

    A boosted learner that tries a literal at a time finds a path only where its first link alone
    tells something; with these relations, each of the paths is a literal. A path never passes
    through the triple between its own ends, so that no triple tells of itself.

    Parameters
    ----------
    model
        Path rules, with the graph to follow them in.
    relation
        The relation, or relations, whose rules are taken.
    most
        How many of the closed rules of two links or more of each.

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
    graph = model.known_graph
    rules = _surest(model, relation, most)
    return _with_paths(graph, [coded_path(rule.path, graph.relations.codes) for rule in rules])


def save_path_views(
    path: AnyPath, model: PathModel, relation: str | Sequence[str], *, most: int = 10
) -> None:
    """Write the rules that `path_views` makes relations of, for `read_path_views`.

    Parameters
    ----------
    path
        The file.
    model, relation, most
        As for `path_views`.
    """
    write_files({path: rules_table(_surest(model, relation, most))})


def read_path_views(rules: AnyPath, graph: Graph) -> Graph:
    """Return a graph with the paths of the longer rules of a file as relations of their own.

    Parameters
    ----------
    rules
        A file as `save_path_views` and `PathModel.save_rules` write it, or of AnyBURL.
    graph
        Where the paths are followed.
    """
    return _with_paths(graph, (path for path in given_closed(rules, graph)[1] if len(path) > 1))


def _with_paths(graph: Graph, paths: Iterable[Path]) -> Graph:
    """Return a graph with the pairs that each of some paths connects as a relation more."""
    distinct = list(dict.fromkeys(paths))
    names = list(graph.relations)
    for path in distinct:
        words = " then ".join(graph.link_names[link] for link in path)
        names.append(unused(words, set(names)))
    collector = Collector(graph, ConstantRules.none(), 0.0, 1, MOST_WALKS)
    ones = np.ones(len(distinct), np.int64)  # counts, of which none is asked for
    found = collector.collect(LinkRules(0, distinct, ones, ones), np.arange(len(graph.entities)))
    heads = np.repeat(np.arange(len(graph.entities)), np.diff(found.row_starts))
    tails = found.candidates[found.candidate_starts[heads] + found.places]
    views = np.stack([heads, found.rules + len(graph.relations), tails]).astype(np.int32)
    triples = np.concatenate([graph.triples, views], axis=1)
    return Graph.coded(graph.entities, Vocabulary(names), triples, graph.name)


def _surest(model: PathModel, relation: str | Sequence[str], most: int) -> list[PathRule]:
    """Return the surest closed rules, of two links or more, of some relations."""
    closed, found = model.closed, []
    for name in [relation] if isinstance(relation, str) else relation:
        rows = model.rows_of(name_code("relation", name, model.relations))
        long = np.array([len(closed.paths[row]) > 1 for row in rows.tolist()], np.bool_)
        rows = rows[long]
        share = closed.support[rows] / (closed.body[rows] + model.smoothing)
        found += rows[np.lexsort((-closed.support[rows], -share))[:most]].tolist()
    return [model.closed_rule(row) for row in found]
