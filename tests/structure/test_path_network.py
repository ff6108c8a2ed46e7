"""Networks of path rules: the formulas say what the rules say, and weights are learned for them."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.data.triple_view import graph_database
from mlnlearn.structure.paths.network import rule_formula

SETTINGS = {"min_support": 1, "min_confidence": 0.0, "min_constant_confidence": 0.0}


def test_a_formula_is_violated_where_its_rule_is_wrong():
    rng = np.random.default_rng(3)
    every = list(product(range(5), range(2), range(5)))
    rows = [every[place] for place in rng.permutation(len(every))[:18]]
    graph = ml.from_triples([(f"e{h}", f"r {r}", f"e{t}") for h, r, t in rows if h != t]).train
    model = ml.Paths(max_length=2, aggregation="noisy-or", **SETTINGS).fit(graph).model
    database = graph_database(graph)
    engine = ml.MemoryEngine([database])
    predicates = {name: database.schema[name.replace(" ", "_")] for name in graph.relations}
    names, facts = list(graph.entities), set(graph.rows())

    def holds(link, one, other):
        name = link.removesuffix("^-1")
        return ((other, name, one) if link != name else (one, name, other)) in facts

    rules = list(model.rules())
    chosen = [r for r in rules if not r.constants] + [r for r in rules if r.constants][:40]
    for rule in chosen:
        [true] = ml.true_groundings(engine, rule_formula(rule, predicates))
        if rule.constants:
            head_end, body_end = rule.constants
            free = [body_end] if body_end else names
            expected = sum(
                not holds(rule.path[0], x, e) or holds(rule.relation, x, head_end)
                for x in names
                for e in free
            )
        else:
            expected = sum(
                not all(
                    holds(link, *step) for link, step in zip(rule.path, pairwise(walk), strict=True)
                )
                or holds(rule.relation, walk[0], walk[-1])
                for walk in product(names, repeat=len(rule.path) + 1)
            )
        assert true == expected, rule


def test_the_network_keeps_what_is_true_and_little_else():
    made = ml.synthetic.planted_graph(150, rng=4)
    model = ml.Paths(max_length=2, epochs=1).fit(made.graph).model
    mln = ml.path_network(model, rules=5)
    weights = {str(rule.formula): rule.weight for rule in mln.rules}
    for rule in made.rules:
        head, _, body = rule.replace("X", "x").replace("Y", "y").replace("A", "a").partition(" <= ")
        assert weights[f"{body.replace(', ', ' ^ ')} => {head}"] > 3.0
    tried = 5 * len(model.relations)
    assert len(mln.rules) - len(model.relations) < tried
    assert all(rule.weight is not None for rule in mln.rules)
    # most of what a rule implies and is missing comes first
    missing = [row for row in made.graph.rows() if row[1] == "planted0"][::10]
    known = [row for row in made.graph.rows() if row not in set(missing)]
    ranking = ml.TripleRanker(mln, ml.from_triples(known)).rank(missing)
    assert ranking.hits(3) > 0.5


def test_a_stronger_penalty_leaves_fewer_rules():
    made = ml.synthetic.planted_graph(60, rng=6)
    model = ml.Paths(max_length=2, aggregation="noisy-or").fit(made.graph).model
    sizes = [len(ml.path_network(model, rules=4, l1=l1).rules) for l1 in (0.1, 5.0)]
    assert sizes[1] < sizes[0]


def test_a_network_asks_for_a_graph():
    model = ml.Paths(aggregation="noisy-or").fit(ml.from_triples([("a", "r", "b")])).model
    with pytest.raises(ml.InputError, match="no graph"):
        ml.path_network(replace(model, graph=None))
