"""A Markov logic network of the best path rules of a graph, its weights learned together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.graph import BACK, Graph, GraphSplit, relation_predicates
from mlnlearn.data.triple_view import graph_database
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Term, Variable
from mlnlearn.logic.formulas import And, Formula, Implies, Rule
from mlnlearn.model.mln import MLN
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.paths.rules import PathRule
from mlnlearn.weights.generative import learn_pseudolikelihood

_SIGMA = 10.0
_NO_WEIGHT = 1e-4


def path_network(
    model: PathModel,
    graph: Graph | GraphSplit | None = None,
    *,
    rules: int = 10,
    max_length: int = 3,
    l1: float = 1.0,
) -> MLN:
    """Make a network of the surest rules of each relation, and learn their weights.

    The weights maximise the likelihood of every triple given all others, with a penalty that leaves
    rules which tell nothing new without a weight; these are left out.

    Parameters
    ----------
    model
        Path rules.
    graph
        What to learn the weights from; by default the graph of the model.
    rules
        How many rules of each relation are tried.
    max_length
        Links of the longest paths that are taken.
    l1
        How much of log likelihood a weight of 1 must earn.

    Examples
    --------
    >>> from mlnlearn.data.load.triples import from_triples
    >>> from mlnlearn.structure.paths.learner import Paths
    >>> pairs = [(a, b) for a in range(20) for b in (2 * a + 1, 2 * a + 2)]
    >>> rows = [(f"p{a}", "parent", f"p{b}") for a, b in pairs]
    >>> rows += [(f"p{b}", "child", f"p{a}") for a, b in pairs]
    >>> model = Paths(max_length=1).fit(from_triples(rows)).model
    >>> print(path_network(model).rules[0].formula)
    parent(y,x) => child(x,y)
    """
    facts = graph.train if isinstance(graph, GraphSplit) else graph or model.known_graph
    database = graph_database(facts)
    names = relation_predicates(facts.relations)
    predicates = {name: database.schema[names[name]] for name in facts.relations}
    chosen = []
    for relation in model.relations:
        if relation in predicates:
            chosen += _surest(model, relation, predicates, rules, max_length)
    mln = MLN(database.schema, tuple(Rule(rule_formula(rule, predicates)) for rule in chosen))
    engine = MemoryEngine([database])
    learned = learn_pseudolikelihood(mln, engine, weighted=False, sigma=_SIGMA, l1=l1).mln
    count = len(chosen)
    kept = [rule for rule in learned.rules[:count] if abs(rule.weight or 0.0) > _NO_WEIGHT]
    return MLN(learned.schema, (*kept, *learned.rules[count:]))


def _surest(
    model: PathModel,
    relation: str,
    predicates: Mapping[str, Predicate],
    most: int,
    max_length: int,
) -> list[PathRule]:
    """Return the rules of a relation with the highest confidence, of equals the shortest."""
    usable = [
        rule
        for rule in model.rules(relation)
        if len(rule.path) <= max_length
        and all(link.removesuffix(BACK) in predicates for link in (rule.relation, *rule.path))
    ]
    share = np.array([rule.smoothed(model.smoothing) for rule in usable])
    length = np.array([len(rule.path) for rule in usable], np.int64)
    return [usable[place] for place in np.lexsort((length, -share))[:most].tolist()]


def rule_formula(rule: PathRule, predicates: Mapping[str, Predicate]) -> Formula:
    """Return a path rule as a formula over the predicates of its relations.

    Examples
    --------
    >>> likes = Predicate("likes", ("entity", "entity"))
    >>> rule = PathRule("likes", ("likes^-1", "likes"), 1, 2, 3)
    >>> print(rule_formula(rule, {"likes": likes}))
    likes(a,x) ^ likes(a,y) => likes(x,y)
    """
    x, y = Variable("x"), Variable("y")
    if rule.constants:
        head_end, body_end = rule.constants
        other: Term = Constant(body_end) if body_end else y
        head = _atom(predicates, rule.relation, x, Constant(head_end))
        return Implies(_atom(predicates, rule.path[0], x, other), head)
    inner = [Variable(chr(ord("a") + number)) for number in range(len(rule.path) - 1)]
    steps = zip(rule.path, pairwise([x, *inner, y]), strict=True)
    body = tuple(_atom(predicates, link, one, other) for link, (one, other) in steps)
    head = _atom(predicates, rule.relation, x, y)
    return Implies(body[0] if len(body) == 1 else And(body), head)


def _atom(predicates: Mapping[str, Predicate], link: str, one: Term, other: Term) -> Atom:
    predicate = predicates[link.removesuffix(BACK)]
    return Atom(predicate, (other, one) if link.endswith(BACK) else (one, other))
