"""Path models in the codes of another graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlnlearn.counting.path_rules import ClosedRules, ConstantRules
from mlnlearn.data.graph import Graph
from mlnlearn.model.paths.model import PathModel


def recoded(model: PathModel, graph: Graph) -> PathModel:
    """Return a model in the codes of another graph, without what that does not know."""
    old, new = len(model.relations), len(graph.relations)
    relation = np.array([graph.relations.code(name) for name in model.relations], np.int64)
    link = np.concatenate([relation, np.where(relation >= 0, relation + new, -1)])
    entity = np.array([graph.entities.code(name) for name in model.entities] + [-1], np.int64)
    closed = model.closed
    good = np.array(
        [
            relation[head] >= 0 and all(link[step] >= 0 for step in path)
            for head, path in zip(closed.heads.tolist(), closed.paths, strict=True)
        ],
        np.bool_,
    )
    kept = closed.at(np.flatnonzero(good))
    moved = ClosedRules(
        relation[kept.heads],
        [tuple(int(link[step]) for step in path) for path in kept.paths],
        kept.support,
        kept.body,
        kept.pca_body,
    )
    rules = model.constants
    sound = (link[rules.head_link] >= 0) & (link[rules.body_link] >= 0)
    sound &= (entity[rules.head_end] >= 0) & ((entity[rules.body_end] >= 0) | (rules.body_end < 0))
    part = rules.at(sound)
    constants = ConstantRules(
        link[part.head_link].astype(np.int32),
        entity[part.head_end].astype(np.int32),
        link[part.body_link].astype(np.int32),
        entity[part.body_end].astype(np.int32),
        part.support,
        part.body,
    )
    weights = {}
    for place, found in model.weights.items():
        if link[place] >= 0:
            rows = good[closed.heads == place % old]
            having = np.zeros(2 * new)
            having[link[link >= 0]] = found.having[link >= 0]
            weights[int(link[place])] = replace(found, rules=found.rules[rows], having=having)
    facts = np.zeros(new, np.int64)
    facts[relation[relation >= 0]] = model.facts[relation >= 0]
    return replace(
        model,
        relations=graph.relations,
        entities=graph.entities,
        facts=facts,
        closed=moved,
        constants=constants,
        weights=weights,
        graph=graph,
    )
