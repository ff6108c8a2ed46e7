"""Dense counts equal the engine's and brute force; both scorers agree; scores equal brute force."""

from dataclasses import astuple
from itertools import product

import numpy as np
import pytest

from brute import brute_count
from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Literal
from mlnlearn.logic.canonical import canonical, key_of
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.structure.search.background import Background, unit_clauses
from mlnlearn.structure.search.clause_scorer import ClauseScorer
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.scoring import scorer
from mlnlearn.structure.search.weighted_grid import WeightedGrid
from worlds import random_clause, random_database_list, true_facts

SCHEMA = Schema.of("p(t,t)", "q(t)", "r(t,s)", "c")
PLAIN = Schema.of("p(t,s)", "q(t)", "r(s)", "c")


def people(rng, schema=SCHEMA, sizes=(5, 4)):
    """Databases with enough constants that weights are well determined."""
    databases = []
    for size in sizes:
        domains = {kind: [f"{kind.upper()}{i}" for i in range(size)] for kind in schema.types}
        facts = {
            predicate.name: [
                atom
                for atom in product(*(domains[kind] for kind in predicate.types))
                if rng.random() < 0.4
            ]
            for predicate in schema.predicates
        }
        databases.append(Database.from_facts(schema, facts, domains=domains))
    return databases


def brute_wpll(databases, formulas, weights):
    """Weighted pseudo-log-likelihood, atom by atom."""
    total = 0.0
    for database in databases:
        facts = true_facts(database)
        for predicate in database.schema.predicates:
            atoms = list(product(*(database.domains[k].names for k in predicate.types)))
            for atom in atoms:
                own = facts[predicate.name]
                scores = []
                for world in (own - {atom}, own | {atom}):
                    counted = {**facts, predicate.name: world}
                    scores.append(
                        sum(
                            weight * sum(brute_count(database, formula, (), counted).values())
                            for weight, formula in zip(weights, formulas, strict=True)
                        )
                    )
                chosen = scores[atom in own]
                total += (chosen - np.logaddexp(*scores)) / len(atoms)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_flips_and_violations_equal_the_engine(seed):
    rng = np.random.default_rng(seed)
    databases = random_database_list(rng)
    engine = MemoryEngine(databases)
    grid = WeightedGrid(engine)
    for _ in range(6):
        candidate = random_clause(rng, databases[0].schema, constants=0.0)
        literals = grid.coded(candidate)
        for predicate in {literal.atom.predicate for literal in candidate}:
            dense = grid.flips(literals, predicate)
            index = tuple(
                slice(None) if place in dense.places else None for place in range(predicate.arity)
            )
            whole = np.broadcast_to(dense.values[:, *index], grid.shape(predicate))
            inside = grid.weight[predicate.name] > 0
            expected = grid.formula_flips(candidate.formula, predicate).values
            assert np.array_equal(np.where(inside, whole, 0.0), expected)
        groundings = sum(true_groundings(engine, candidate.formula))
        negated = scorer(databases, Background.of(databases, None), 100.0)
        assert negated.true_instances(candidate) == groundings


def test_engine_flips_are_laid_out_by_each_databases_own_constants():
    rng = np.random.default_rng(3)
    schema = Schema.of("p(t,t)")
    databases = random_database_list(rng, schema, most=3)
    engine = MemoryEngine(databases)
    formula = clause(schema["p"]("x", "y"), ~Literal(schema["p"]("y", "x"))).formula
    found = WeightedGrid(engine).formula_flips(formula, schema["p"]).values
    flips = flip_counts(engine, formula, schema["p"])
    for number, database in enumerate(databases):
        names = database.domains["t"].names
        for i, j in product(range(len(names)), repeat=2):
            codes = [np.array([engine.stack.code("t", names[k])]) for k in (i, j)]
            assert found[number, i, j] == flips.at(engine.stack, np.array([number]), codes)[0]


@pytest.mark.parametrize("seed", range(4))
def test_weight_and_gain_of_a_clause_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    databases = people(rng, PLAIN, sizes=(4, 3))
    found = scorer(databases, Background.of(databases, None), sigma=2.0)
    units = tuple(unit_clauses(PLAIN))
    start = found.start()
    candidate = random_clause(rng, PLAIN, constants=0.0, variables=2, most=3)
    alone = found.alone(candidate)
    longer = start.extended(candidate)
    formulas = (*units, candidate.formula)
    assert longer.formulas == formulas
    assert longer.weights[-1] == pytest.approx(alone.weight, abs=1e-4)
    before = brute_wpll(databases, units, start.weights)
    after = brute_wpll(databases, formulas, longer.weights)
    assert start.likelihood == pytest.approx(before, abs=1e-9)
    assert longer.likelihood == pytest.approx(after, abs=1e-9)
    assert alone.gain == pytest.approx(after - before, abs=1e-5)
    # the optimum is one in every direction
    for number in range(len(formulas)):
        for step in (-0.01, 0.01):
            moved = longer.weights.copy()
            moved[number] += step
            prior = -(moved @ moved - longer.weights @ longer.weights) / (2 * 2.0**2)
            assert brute_wpll(databases, formulas, moved) + prior < after


def test_reflexive_atoms_have_unit_weights_of_their_own():
    names = [f"T{i}" for i in range(8)]
    schema = Schema.of("same(t,t)", "q(t)")
    facts = {"same": [(n, n) for n in names], "q": [(n,) for n in names[:3]]}
    databases = [Database.from_facts(schema, facts, domains={"t": names})]
    found = scorer(databases, Background.of(databases, None), sigma=100.0)
    same = schema["same"]
    symmetric = clause(~Literal(same("x", "y")), same("y", "x"))
    assert found.alone(symmetric).gain == pytest.approx(0.0, abs=1e-3)
    assert [str(f) for f in found.start().formulas] == ["same(a1,a2)", "q(a1)", "same(a1,a1)"]


@pytest.mark.parametrize("seed", range(5))
def test_both_scorers_agree(seed):
    rng = np.random.default_rng(seed)
    databases = people(rng)
    given = MLN.parse(str(SCHEMA) + "\n1.0 r(x,S0) ^ q(x)\n0.5. q(x) v c\n")
    background = Background.of(databases, given)
    engine = MemoryEngine(databases)
    dense, sparse = (
        ClauseScorer(kind(engine, background), background, 3.0)
        for kind in (GridCounts, EngineCounts)
    )
    one, two = dense.start(), sparse.start()
    assert one.likelihood == pytest.approx(two.likelihood, abs=1e-9)
    assert one.weights[-1] == two.weights[-1] == 0.5
    for _ in range(3):
        candidate = random_clause(rng, SCHEMA, constants=0.0)
        left, right = dense.alone(candidate), sparse.alone(candidate)
        assert astuple(left) == pytest.approx(astuple(right), abs=1e-9)
        assert one.promise(candidate) == pytest.approx(two.promise(candidate), abs=1e-9)
        one, two = one.extended(candidate), two.extended(candidate)
        assert one.likelihood == pytest.approx(two.likelihood, abs=1e-9)
        assert one.weights == pytest.approx(two.weights, abs=1e-8)
    one, two = one.without([0, 5]), two.without([0, 5])
    assert one.likelihood == pytest.approx(two.likelihood, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_promise_is_the_gain_of_a_quadratic(seed):
    """Near the optimum the score test is exact: scale the gain down until it is."""
    rng = np.random.default_rng(seed)
    databases = people(rng, sizes=(6, 6))
    found = scorer(databases, Background.of(databases, None), 100.0)
    candidate = clause(SCHEMA["p"]("x", "y"), ~Literal(SCHEMA["q"]("y")))
    model = found.start()
    gain = model.extended(candidate).likelihood - model.likelihood
    assert gain > -1e-6
    # random data: effects are small, and the quadratic is close
    assert model.promise(candidate) == pytest.approx(gain, rel=0.2, abs=1e-4)
    fitted = model.extended(candidate)
    again = clause(SCHEMA["p"]("u", "v"), ~Literal(SCHEMA["q"]("v")))
    # only the pull of the prior is left
    assert fitted.promise(again) < 1e-4


def test_hard_rules_decide_atoms():
    schema = Schema.of("p(t)", "q(t)")
    names = [f"T{i}" for i in range(6)]
    facts = {"p": [(n,) for n in names[:3]], "q": [(n,) for n in names[:4]]}
    databases = [Database.from_facts(schema, facts, domains={"t": names})]
    given = MLN.parse(f"{schema}\np(x) => q(x).\n")
    background = Background.of(databases, given)
    engine = MemoryEngine(databases)
    dense, sparse = (
        ClauseScorer(kind(engine, background), background, 10.0).start()
        for kind in (GridCounts, EngineCounts)
    )
    assert dense.likelihood == pytest.approx(sparse.likelihood, abs=1e-9)
    assert dense.weights == pytest.approx(sparse.weights, abs=1e-8)


@pytest.mark.parametrize("kind", [GridCounts, EngineCounts])
@pytest.mark.parametrize("schema", ["p(t)\nq(t)", "p(t)\nq(t!)"])
def test_data_that_hard_rules_forbid_are_refused(kind, schema):
    facts = {"p": [("A",), ("B",)], "q": [("A",)]}
    given = MLN.parse(f"{schema}\np(x) => q(x).\n")
    databases = [Database.from_facts(given.schema, facts)]
    background = Background.of(databases, given)
    with pytest.raises(InputError, match="violate a hard formula"):
        ClauseScorer(kind(MemoryEngine(databases), background), background, 1.0).start()


def test_arrays_beyond_the_limit_are_refused():
    databases = people(np.random.default_rng(0))
    grid = WeightedGrid(MemoryEngine(databases), most_cells=40)
    p = SCHEMA["p"]
    long = grid.coded(clause(p("x", "y"), p("y", "z"), p("z", "u"), p("u", "x")))
    with pytest.raises(MemoryLimitError):
        grid.violations(long)


def test_unknown_atoms_are_refused_and_large_domains_go_to_the_engine(monkeypatch):
    schema = Schema.of("age(t,n)")
    databases = [Database.from_facts(schema, {"age": [("A", "1"), ("B", "2")]})]
    assert isinstance(scorer(databases, Background.of(databases, None), 1.0).counts, GridCounts)
    monkeypatch.setattr("mlnlearn.structure.search.scoring.MOST_CELLS", 3)
    assert isinstance(scorer(databases, Background.of(databases, None), 1.0).counts, EngineCounts)
    unknown = [Database.from_facts(schema, {}, unknown={"age": [("A", "1")]})]
    with pytest.raises(InputError, match="unknown"):
        scorer(unknown, Background.of(unknown, None), 1.0)


@pytest.mark.parametrize("seed", range(30))
def test_number_keys_agree_with_canonical_clauses(seed):
    rng = np.random.default_rng(seed)
    schema = Schema.of("p(t,t)", "q(t)", "r(t,t,t)")
    numbers = {name: place for place, name in enumerate("pqr")}

    def key(given):
        return key_of(given, lambda predicate: numbers[predicate.name])

    clauses = [random_clause(rng, schema, constants=0.0, most=4) for _ in range(12)]
    for one, two in product(clauses, repeat=2):
        assert (key(one) == key(two)) == (canonical(one) == canonical(two))


@pytest.mark.parametrize("counts", [GridCounts, EngineCounts])
def test_data_that_break_a_hard_formula_are_refused(counts):
    mln = MLN.parse("p(a)\nq\np(x) ^ q.")
    database = Database.from_facts(mln.schema, {}, domains={"a": ["A0"]})
    with pytest.raises(InputError, match="violate a hard formula"):
        counts(MemoryEngine([database]), Background(mln.schema, mln.rules))
