"""Rules of a file, made ready to be counted and weighed on a graph."""

from __future__ import annotations

import numpy as np

from mlnlearn.counting.walks import Path
from mlnlearn.data.graph import BACK, Graph, Longs
from mlnlearn.errors import InputError, Location
from mlnlearn.files import AnyPath
from mlnlearn.model.paths.evidence import ConstantRules
from mlnlearn.model.paths.rules import PathRule, coded_path, read_rules


def given_closed(file: AnyPath, graph: Graph) -> tuple[Longs, list[Path]]:
    """Return relation and path of the closed rules of a file whose relations the graph has."""
    codes = graph.relations.codes
    found: dict[tuple[int, Path], None] = {}
    rules = read_rules(file)
    for rule in rules:
        if not rule.constants and _is_known(rule, codes):
            head, path = codes[rule.relation], coded_path(rule.path, codes)
            if path != (head,):
                found[head, path] = None
    if not any(_is_known(rule, codes) for rule in rules):
        raise InputError("no rule is about relations of the graph", Location(str(file)))
    return np.array([head for head, _ in found], np.int64), [path for _, path in found]


def given_constants(file: AnyPath, graph: Graph, least_support: int) -> ConstantRules:
    """Return the rules with constants of a file whose names the graph has, counted."""
    codes, entities = graph.relations.codes, graph.entities.codes
    rows: dict[tuple[int, int, int, int], None] = {}
    for rule in read_rules(file):
        if rule.constants and _is_known(rule, codes):
            (head,), (body,) = coded_path([rule.relation], codes), coded_path(rule.path, codes)
            end, other = (entities.get(name, -2) for name in rule.constants)
            other = -1 if not rule.constants[1] else other
            if end >= 0 and other >= -1 and end != other and not (other < 0 and body == head):
                rows[head, end, body, other] = None
    counted = []
    back = len(codes)
    for head, end, body, other in rows:
        holds = _holders(graph, body, other)
        both = np.intersect1d(holds, graph.neighbours(end, (head + back) % (2 * back)))
        if len(both) >= least_support:
            counted.append((head, end, body, other, len(both), len(holds)))
    columns = np.array(counted, np.int64).reshape(-1, 6).T
    codes32 = columns[:4].astype(np.int32)
    return ConstantRules(codes32[0], codes32[1], codes32[2], codes32[3], columns[4], columns[5])


def _holders(graph: Graph, link: int, end: int) -> Longs:
    """Return the entities that a link leads from: to an end, or to anything."""
    back = len(graph.relations)
    if end >= 0:
        return graph.neighbours(end, (link + back) % (2 * back)).astype(np.int64)
    heads, kinds, tails = graph.triples
    return np.unique((heads if link < back else tails)[kinds == link % back]).astype(np.int64)


def _is_known(rule: PathRule, relations: dict[str, int]) -> bool:
    return all(link.removesuffix(BACK) in relations for link in (rule.relation, *rule.path))
