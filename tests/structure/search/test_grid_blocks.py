"""Exclusive places on a grid: counts equal the engine's, likelihoods equal brute force."""

from dataclasses import astuple
from itertools import product

import numpy as np
import pytest

from brute import brute_count
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Literal
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.clause_scorer import ClauseScorer
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.meanfield import Coupling, together
from mlnlearn.structure.search.scoring import scorer
from mlnlearn.structure.search.weighted_grid import WeightedGrid
from worlds import random_clause, true_facts

SCHEMA = Schema.of("likes(t,t!)", "is(t,s!)", "has(t,s)", "old(t)", "at(t,s!,t!)")


def outside(atom, marked):
    return tuple(name for place, name in enumerate(atom) if place not in marked)


def blocks_of(database, predicate):
    """The atoms of each block; of a predicate without exclusive places, each atom alone."""
    marked = database.schema.functional.get(predicate.name, ())
    found = {}
    for atom in product(*(database.domains[kind].names for kind in predicate.types)):
        found.setdefault(outside(atom, marked), []).append(atom)
    return list(found.values())


def worlds(rng, sizes=((4, 3), (3, 2)), schema=SCHEMA):
    databases = []
    for number, given in enumerate(sizes):
        pairs = zip(schema.types, given, strict=True)
        domains = {kind: [f"{kind.upper()}{number}{i}" for i in range(n)] for kind, n in pairs}
        empty = Database.from_facts(schema, {}, domains=domains)
        facts = {}
        for predicate in schema.predicates:
            if predicate.name in schema.functional:
                facts[predicate.name] = [
                    block[rng.integers(len(block))] for block in blocks_of(empty, predicate)
                ]
            else:
                atoms = [block[0] for block in blocks_of(empty, predicate)]
                facts[predicate.name] = [atom for atom in atoms if rng.random() < 0.4]
        databases.append(Database.from_facts(schema, facts, domains=domains))
    return databases


def brute_wpll(databases, formulas, weights):
    """Weighted pseudo-log-likelihood, block by block and atom by atom."""
    total = 0.0
    for database in databases:
        facts = true_facts(database)
        for predicate in database.schema.predicates:
            blocks, own = blocks_of(database, predicate), facts[predicate.name]
            for block in blocks:
                rest = own - set(block)
                marked = predicate.name in database.schema.functional
                options = [rest | {atom} for atom in block] if marked else [rest, rest | set(block)]
                scores = [
                    sum(
                        weight * sum(brute_count(database, formula, (), world).values())
                        for weight, formula in zip(weights, formulas, strict=True)
                    )
                    for world in ({**facts, predicate.name: option} for option in options)
                ]
                total += (scores[options.index(own)] - np.logaddexp.reduce(scores)) / len(blocks)
    return total


def scorers(databases, sigma=2.0, given=None):
    background = Background.of(databases, given)
    engine = MemoryEngine(databases)
    return [
        ClauseScorer(kind(engine, background), background, sigma)
        for kind in (GridCounts, EngineCounts)
    ]


@pytest.mark.parametrize("seed", range(25))
def test_flips_equal_the_engine(seed):
    rng = np.random.default_rng(seed)
    grid = WeightedGrid(MemoryEngine(worlds(rng)))
    for _ in range(8):
        candidate = random_clause(rng, SCHEMA, constants=0.0, most=4)
        for predicate in {literal.atom.predicate for literal in candidate}:
            dense = grid.flips(grid.coded(candidate), predicate)
            whole = np.broadcast_to(grid.spread(dense, predicate.arity), grid.shape(predicate))
            inside = grid.weight[predicate.name] > 0
            expected = grid.formula_flips(candidate.formula, predicate).values
            assert np.array_equal(np.where(inside, whole, 0.0), expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    databases = worlds(rng, ((3, 2), (2, 2)))
    model = scorers(databases)[0].start()
    for _ in range(3):
        model = model.extended(random_clause(rng, SCHEMA, constants=0.0, variables=2, most=3))
    weights = rng.normal(size=len(model.formulas))
    expected = brute_wpll(databases, model.formulas, weights)
    assert model.weighted(weights).likelihood == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_both_scorers_agree(seed):
    rng = np.random.default_rng(seed)
    databases = worlds(rng, ((5, 3), (4, 2), (5, 4)))
    dense, sparse = scorers(databases, 3.0)
    one, two = dense.start(), sparse.start()
    for _ in range(3):
        candidate = random_clause(rng, SCHEMA, constants=0.0, most=3)
        left, right = dense.alone(candidate), sparse.alone(candidate)
        assert astuple(left) == pytest.approx(astuple(right), abs=1e-8)
        assert one.promise(candidate) == pytest.approx(two.promise(candidate), abs=1e-9)
        one, two = one.extended(candidate), two.extended(candidate)
        assert one.likelihood == pytest.approx(two.likelihood, abs=1e-9)
        assert one.weights == pytest.approx(two.weights, abs=1e-8)
        assert one.held_out == pytest.approx(two.held_out, abs=1e-8)
    one, two = one.without([0, 5]), two.without([0, 5])
    assert one.likelihood == pytest.approx(two.likelihood, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_promise_is_that_of_the_exact_curvature(seed):
    """The slope and curvature of a new weight, by differences of the fitted likelihood."""
    rng = np.random.default_rng(seed)
    databases = worlds(rng, ((6, 3), (5, 3)))
    model = scorers(databases, 1.0)[0].start()
    model = model.extended(clause(SCHEMA["is"]("x", "y"), ~Literal(SCHEMA["has"]("x", "y"))))
    candidate = random_clause(rng, SCHEMA, constants=0.0, most=3)

    def best(weight):
        """The largest penalised likelihood with the new weight held fast."""
        held = model.joined(candidate.formula, weight, locked=True).fitted()
        return held.likelihood - 0.5 * float(held.weights @ held.weights)

    step = 1e-2
    low, middle, high = best(-step), best(0.0), best(step)
    slope, bend = (high - low) / (2 * step), (2 * middle - high - low) / step**2
    assert model.promise(candidate) == pytest.approx(0.5 * slope**2 / bend, rel=1e-2, abs=1e-5)


def test_hard_rules_leave_fewer_values():
    rng = np.random.default_rng(5)
    schema = Schema.of("is(t,s!)", "bad(s)", "old(t)")
    names, values = [f"T{i}" for i in range(8)], [f"S{i}" for i in range(4)]
    facts = {
        "is": [(name, values[rng.integers(2, 4)]) for name in names],
        "bad": [(values[0],)],
        "old": [(name,) for name in names[:4]],
    }
    databases = [Database.from_facts(schema, facts, domains={"t": names, "s": values})]
    given = MLN.parse(f"{schema}\n!bad(v) v !is(x,v).\n1.0 old(x) ^ is(x,S3)\n")
    dense, sparse = (found.start() for found in scorers(databases, 10.0, given))
    assert dense.likelihood == pytest.approx(sparse.likelihood, abs=1e-6)
    assert dense.weights == pytest.approx(sparse.weights, abs=1e-2)
    free = scorers(databases, 10.0)[0].start()
    # a value out of four, and out of the three that are not bad; old(x) says a little of them
    assert free.counts.cells["is"].total.sum() == pytest.approx(4.0)
    assert dense.counts.cells["is"].total.sum() == pytest.approx(3.0)


def test_a_block_has_one_true_value():
    databases = [Database.from_facts(SCHEMA, {}, domains={"t": ["A"], "s": ["B"]})]
    with pytest.raises(InputError, match="exactly one true value"):
        scorer(databases, Background.of(databases, None), 1.0)


def test_mean_field_over_blocks_is_close_to_the_exact_marginals():
    schema = Schema.of("is(t,s!)", "near(t,t)")
    names, values = ["A", "B", "C"], ["U", "V"]
    facts = {"is": [(n, "U") for n in names], "near": [("A", "B"), ("B", "C")]}
    database = Database.from_facts(schema, facts, domains={"t": names, "s": values})
    rule = clause(
        ~Literal(schema["near"]("x", "y")), ~Literal(schema["is"]("x", "v")), schema["is"]("y", "v")
    )
    given, weight = np.array([[[0.5, 0.0], [0.0, 0.0], [-0.3, 0.2]]]), 0.3
    marginals, mass = np.zeros((3, 2)), 0.0
    for chosen in product(range(2), repeat=3):
        world = {"is": {(n, values[v]) for n, v in zip(names, chosen, strict=True)}}
        counted = {"near": set(facts["near"]), **world}
        odds = sum(given[0, i, v] for i, v in enumerate(chosen))
        odds += weight * sum(brute_count(database, rule.formula, (), counted).values())
        mass += np.exp(odds)
        marginals[np.arange(3), chosen] += np.exp(odds)
    grid = WeightedGrid(MemoryEngine([database]))
    for start in (given, np.full_like(given, np.inf)):
        found = together(grid, "is", given, [Coupling(rule, np.array([weight]))], start)
        assert found[0] == pytest.approx(marginals / mass, abs=0.01)
