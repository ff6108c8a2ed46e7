"""Rules of a file, made ready to be counted and weighed on a graph."""

from __future__ import annotations

import warnings

import numpy as np

from mlnlearn.counting.mine_constants import count_constants
from mlnlearn.counting.path_rules import ConstantRules
from mlnlearn.counting.walks import Path
from mlnlearn.data.graph import BACK, Graph, Longs
from mlnlearn.errors import DataWarning, InputError, Location
from mlnlearn.files import AnyPath
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
    strange = [rule for rule in rules if not (_is_known(rule, codes) and _names(rule, graph))]
    if len(strange) == len(rules):
        raise InputError("no rule is about relations of the graph", Location(str(file)))
    if strange:
        warnings.warn(
            f"{file}: {len(strange):,} rules name relations or entities that the graph lacks, and "
            f"are left out, such as {strange[0]}",
            DataWarning,
            stacklevel=2,
        )
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
    return count_constants(graph, rows, least_support)


def _names(rule: PathRule, graph: Graph) -> bool:
    """Say whether the graph has the constants of a rule."""
    return all(not name or name in graph.entities.codes for name in rule.constants)


def _is_known(rule: PathRule, relations: dict[str, int]) -> bool:
    return all(link.removesuffix(BACK) in relations for link in (rule.relation, *rule.path))
