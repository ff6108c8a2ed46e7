"""Pseudo-likelihood equals brute force; gradients equal differences; known faults are absent."""

import math
from itertools import product

import numpy as np
import pytest

from brute import UNLINKED_SCHEMA, brute_count, unlinked_formulas
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.weights.generative import learn_pseudolikelihood
from mlnlearn.weights.objective import GaussianPrior
from mlnlearn.weights.optimize import maximise
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood
from worlds import random_clause, random_database_list, random_schema, true_facts


def with_blocks(rng, databases, functional):
    """Make the facts of functional predicates hold exactly one value a block."""
    schema = Schema(databases[0].schema.predicates, {}, functional)
    changed = []
    for database in databases:
        facts = {name: list(rows) for name, rows in true_facts(database).items()}
        for name, marked in functional.items():
            blocks = {}
            for atom in product(*(database.domains[k].names for k in schema[name].types)):
                blocks.setdefault(outside(atom, marked), []).append(atom)
            facts[name] = [b[rng.integers(len(b))] for b in blocks.values()]
        changed.append(Database.from_facts(schema, facts, domains=database.domains))
    return changed


def outside(atom, marked):
    return tuple(c for place, c in enumerate(atom) if place not in marked)


def brute_pll(databases, formulas, weights, weighted):
    total = 0.0
    for database in databases:
        facts = true_facts(database)

        def score(name, atoms, database=database, facts=facts):
            world = {**facts, name: atoms}
            return sum(
                weight * sum(brute_count(database, formula, (), world).values())
                for weight, formula in zip(weights, formulas, strict=True)
            )

        for predicate in database.schema.predicates:
            name, own = predicate.name, facts[predicate.name]
            marked = database.schema.functional.get(name, ())
            values = []
            blocks = {}
            for atom in product(*(database.domains[k].names for k in predicate.types)):
                blocks.setdefault(outside(atom, marked) if marked else atom, []).append(atom)
            for block in blocks.values():
                rest = own - set(block)
                options = [rest | {atom} for atom in block] if marked else [rest, rest | set(block)]
                scores = np.array([score(name, option) for option in options])
                values.append(scores[options.index(own)] - np.logaddexp.reduce(scores))
            if values:
                total += math.fsum(values) / (len(values) if weighted else 1)
    return total


@pytest.mark.parametrize("weighted", [False, True], ids=["pll", "wpll"])
@pytest.mark.parametrize("blocks", [False, True], ids=["atoms", "blocks"])
def test_value_and_gradient_equal_brute_force(weighted, blocks):
    rng = np.random.default_rng([6, weighted, blocks])
    for _ in range(40):
        schema = random_schema(rng, arity=2)
        databases = random_database_list(rng, schema, most=2)
        if blocks:
            marked = {p.name: (p.arity - 1,) for p in schema.predicates if p.arity}
            filled = all(d.size(k) for d in databases for k in schema.types)
            if not filled:
                continue
            databases = with_blocks(rng, databases, marked)
        formulas = tuple(random_clause(rng, schema, variables=2, most=3).formula for _ in range(3))
        objective = PseudoLikelihood(MemoryEngine(databases), formulas, weighted)
        weights = rng.normal(size=3)
        value, gradient = objective(weights)
        assert value == pytest.approx(brute_pll(databases, formulas, weights, weighted), abs=1e-9)
        for place in range(3):
            step = np.eye(3)[place] * 1e-5
            slope = (objective(weights + step)[0] - objective(weights - step)[0]) / 2e-5
            assert gradient[place] == pytest.approx(slope, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("listed", [1 << 20, -1], ids=["tables", "products"])
def test_counts_in_product_form_are_compressed_exactly(listed, monkeypatch):
    monkeypatch.setattr("mlnlearn.counting.flip_products._LISTED", listed)
    rng = np.random.default_rng(12)
    formulas = tuple(unlinked_formulas())
    for _ in range(10):
        databases = random_database_list(rng, UNLINKED_SCHEMA, most=2)
        weights = rng.normal(size=len(formulas))
        objective = PseudoLikelihood(MemoryEngine(databases), formulas)
        expected = brute_pll(databases, formulas, weights, weighted=True)
        assert objective(weights)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("listed", [1 << 20, -1], ids=["tables", "products"])
def test_three_places_are_compressed_exactly(listed, monkeypatch):
    monkeypatch.setattr("mlnlearn.counting.flip_products._LISTED", listed)
    rng = np.random.default_rng(7)
    for _ in range(25):
        schema = Schema.of("r(a,b,a)", "s(a,b)", "t(b)")
        databases = [_random_ternary(rng, schema) for _ in range(2)]
        formulas = (
            MLN.parse(f"{schema}\nr(x,y,z) v !s(x,y) v s(z,y)").rules[0].formula,
            MLN.parse(f"{schema}\nr(x,y,x) v t(y)").rules[0].formula,
            MLN.parse(f"{schema}\nr(x,y,z) v !t(y) v !s(x,w) v !s(z,w2)").rules[0].formula,
        )
        weights = rng.normal(size=3)
        objective = PseudoLikelihood(MemoryEngine(databases), formulas, weighted=False)
        expected = brute_pll(databases, formulas, weights, weighted=False)
        assert objective(weights)[0] == pytest.approx(expected, abs=1e-9)


def _random_ternary(rng, schema):
    domains = {"a": ["A1", "A2", "A3"][: rng.integers(1, 4)], "b": ["B1", "B2"]}
    facts = {
        p.name: [t for t in product(*(domains[k] for k in p.types)) if rng.random() < 0.3]
        for p in schema.predicates
    }
    return Database.from_facts(schema, facts, domains=domains)


def test_databases_with_different_constants_do_not_mix():
    """Alchemy scrambles facts of two and more arguments when several databases are given."""
    mln = MLN.parse("r(t,t)\nr(x,y) => r(y,x)")
    facts = [[("A", "B"), ("B", "A")], [("C", "D"), ("D", "D"), ("E", "A")]]
    databases = [Database.from_facts(mln.schema, {"r": rows}) for rows in facts]
    formulas = (mln.rules[0].formula,)
    together = PseudoLikelihood(MemoryEngine(databases), formulas)(np.ones(1))
    apart = [PseudoLikelihood(MemoryEngine([d]), formulas)(np.ones(1)) for d in databases]
    assert together[0] == pytest.approx(sum(value for value, _ in apart), abs=1e-12)


def test_a_conjunction_keeps_the_sign_of_its_prior_mean():
    """Alchemy flips the sign of a given prior mean for conjunctions."""
    mln = MLN.parse("p(t)\nq(t)\np(x) ^ q(x)")
    database = Database.from_facts(mln.schema, {"p": [("A",)], "q": [("B",)]})
    likelihood = PseudoLikelihood(MemoryEngine([database]), (mln.rules[0].formula,))
    strong = maximise(likelihood, np.zeros(1), prior=GaussianPrior(sigma=1e-3, mean=2.0))
    assert strong.weights[0] == pytest.approx(2.0, abs=1e-3)


def test_hard_formulas_decide_atoms():
    schema = Schema.of("p(t)", "q(t)")
    database = Database.from_facts(schema, {"p": [("A",)], "q": [("A",), ("B",)]})
    mln = MLN.parse(f"{schema}\np(x) => q(x).")
    engine = MemoryEngine([database])
    units = (schema["p"]("x"), schema["q"]("x"))
    hard = tuple(rule.formula for rule in mln.hard)
    value, _ = PseudoLikelihood(engine, units, weighted=False, hard=hard)(np.zeros(2))
    assert value == pytest.approx(3 * math.log(0.5))  # q(A) must hold since p(A) does
    broken = Database.from_facts(schema, {"p": [("A",)]})
    with pytest.raises(InputError, match="violate a hard formula"):
        PseudoLikelihood(MemoryEngine([broken]), units, hard=hard)(np.zeros(2))


def test_hard_formulas_exclude_values_of_a_block():
    schema = Schema.of("colour(t,c!)", "dark(t)")
    facts = {"colour": [("A", "Red"), ("B", "Blue")], "dark": [("B",)]}
    domains = {"c": ["Red", "Blue", "Grey"]}
    database = Database.from_facts(schema, facts, domains=domains)
    hard = tuple(r.formula for r in MLN.parse(f"{schema}\ndark(x) => !colour(x,Grey).").rules)
    objective = PseudoLikelihood(
        MemoryEngine([database]), (schema["dark"]("x"),), False, (schema["colour"],), hard
    )
    assert objective(np.zeros(1))[0] == pytest.approx(math.log(1 / 3) + math.log(1 / 2))


def test_unknown_atoms_are_refused():
    schema = Schema.of("p(t)")
    database = Database.from_facts(schema, {"p": [("A",)]}, unknown={"p": [("B",)]})
    formulas = (schema["p"]("x"),)
    with pytest.raises(InputError, match="has unknown atoms"):
        PseudoLikelihood(MemoryEngine([database]), formulas)(np.zeros(1))
    value, _ = PseudoLikelihood(MemoryEngine([database.closed()]), formulas, False)(np.zeros(1))
    assert value == pytest.approx(2 * math.log(0.5))


def test_a_block_without_exactly_one_value_is_refused():
    schema = Schema.of("colour(t,c!)")
    facts = {"colour": [("A", "Red"), ("A", "Blue"), ("B", "Red")]}
    engine = MemoryEngine([Database.from_facts(schema, facts)])
    with pytest.raises(InputError, match=r"1 blocks of colour\(t,c!\) .* colour\(A,Red\) has 2"):
        PseudoLikelihood(engine, (schema["colour"]("x", "y"),))(np.zeros(1))


def test_learned_weights_are_the_closed_form_of_units():
    mln = MLN.parse("p(t)\nq(t,t)")
    facts = {"p": [("A",), ("B",)], "q": [("A", "B")]}
    database = Database.from_facts(mln.schema, facts, domains={"t": ["A", "B", "C", "D", "E"]})
    learned = learn_pseudolikelihood(mln, [database], sigma=1e6)
    np.testing.assert_allclose(learned.mln.weights, [math.log(2 / 3), -math.log(24)], atol=1e-5)


def test_locked_and_hard_rules_keep_their_place():
    text = "p(t)\nq(t)\n0.7. p(x)\n1 q(x) => p(x)\nq(x) v p(x)."
    mln = MLN.parse(text)
    database = Database.from_facts(mln.schema, {"p": [("A",), ("B",)], "q": [("C",), ("A",)]})
    learned = learn_pseudolikelihood(mln, [database], units=False).mln
    assert learned.rules[0].weight == 0.7
    assert learned.rules[0].locked
    assert learned.rules[1].weight != 1.0
    assert learned.rules[2].hard


def test_l1_removes_useless_rules():
    rng = np.random.default_rng(9)
    mln = MLN.parse("p(t)\nq(t)\nr(t)\np(x) ^ q(x)\np(x) ^ r(x)")
    names = [f"C{i}" for i in range(200)]
    p = {n for n in names if rng.random() < 0.5}
    q = {n for n in names if (n in p) == (rng.random() < 0.9)}
    r = {n for n in names if rng.random() < 0.5}
    facts = {"p": [(n,) for n in p], "q": [(n,) for n in q], "r": [(n,) for n in r]}
    database = Database.from_facts(mln.schema, facts, domains={"t": names})
    weights = learn_pseudolikelihood(mln, [database], l1=0.05).mln.weights
    assert weights[0] > 1.0
    assert weights[1] == 0.0


def test_a_hard_formula_that_no_single_atom_mends_is_refused():
    mln = MLN.parse("p\nq\n1 p\np ^ q.")
    with pytest.raises(InputError, match=r"violate a hard formula.*p \^ q"):
        learn_pseudolikelihood(mln, [Database.from_facts(mln.schema, {})])
    mln = MLN.parse("p\nq\n1 p\np ^ !p.")
    with pytest.raises(InputError, match="violate a hard formula"):
        learn_pseudolikelihood(mln, [Database.from_facts(mln.schema, {"p": [()]})])


def test_a_block_without_any_constant_is_refused():
    mln = MLN.parse("a = {A0, A1}\np(b!,a)\n1 p(x,y)")
    with pytest.raises(InputError, match=r"2 blocks of p.* there is no b at all"):
        learn_pseudolikelihood(mln, [Database.from_facts(mln.schema, {})])
