"""Grounding equals brute force: in every world, every rule has the right number of groundings."""

from itertools import islice

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.grounding.worlds import open_predicates
from mlnlearn.logic.atoms import Comparison, Constant, Variable
from mlnlearn.logic.expand import expand_rule
from mlnlearn.logic.formulas import (
    And,
    EitherSign,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Rule,
    atoms_of,
    free_variables,
    variable_types,
)
from mlnlearn.logic.schema import Schema
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from reference import brute_worlds, network_world, true_count

pytestmark = pytest.mark.filterwarnings("ignore:the rules name constants")

SCHEMA = Schema.of(
    "rain", "smokes(person)", "friends(person,person)", "phase(person,step!)", "hard(step)"
)
NAMES = {"person": ["Anna", "Bob", "Carl"], "step": ["One", "Two", "Three"]}
MOST_WORLDS = 64
VARIABLES = {"person": ["x", "y"], "step": ["s", "t"]}


def random_database(rng):
    people = 3 if rng.random() < 0.3 else 2
    domains = {"person": NAMES["person"][:people], "step": NAMES["step"][: rng.integers(2, 4)]}
    tables = {"true": {}, "false": {}, "unknown": {}}
    for predicate in SCHEMA.predicates:
        shares = rng.dirichlet([1.0, 1.0, 0.7, 1.5]) if rng.random() < 0.8 else [0, 0, 0, 1.0]
        indices = np.ndindex(*(len(domains[kind]) for kind in predicate.types))
        taken = set()
        for index in indices:
            row = tuple(domains[k][i] for k, i in zip(predicate.types, index, strict=True))
            kind = rng.choice(["true", "false", "unknown", ""], p=shares)
            if kind == "true" and predicate.name == "phase":
                kind = "" if row[0] in taken else kind
                taken.add(row[0])
            if kind == "false" and row[1:] == ("One",):
                kind = ""  # leave every block a value
            if kind:
                tables[kind].setdefault(predicate.name, []).append(row)
    return Database.from_facts(
        SCHEMA, tables["true"], false=tables["false"], unknown=tables["unknown"], domains=domains
    )


def random_term(rng, kind):
    if rng.random() < 0.12:
        return Constant("Nowhere" if rng.random() < 0.2 else str(rng.choice(NAMES[kind])))
    return Variable(str(rng.choice(VARIABLES[kind])))


def random_atom(rng):
    predicate = SCHEMA.predicates[rng.integers(len(SCHEMA.predicates))]
    return predicate(*(random_term(rng, kind) for kind in predicate.types))


def random_formula(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return random_atom(rng)
    parts = tuple(random_formula(rng, depth - 1) for _ in range(rng.integers(2, 4)))
    match rng.integers(8):
        case 0 | 1:
            return Or(parts)
        case 2:
            return And(parts)
        case 3:
            return Implies(*parts[:2])
        case 4:
            return Iff(*parts[:2])
        case 5:
            return Not(parts[0])
        case 6:
            return with_comparison(rng, Or(parts))
    return with_quantifier(rng, parts[0])


def with_comparison(rng, formula):
    variables = [v for v, k in variable_types(formula).items() if v in free_variables(formula)]
    if not variables:
        return formula
    kind = variable_types(formula)[variables[0]]
    operator = str(rng.choice(["=", "=", "<", "<="]))
    comparison = Comparison(operator, variables[0], random_term(rng, kind))
    test = comparison if rng.random() < 0.5 else Not(comparison)
    return Or((test, formula)) if rng.random() < 0.5 else And((test, formula))


def with_quantifier(rng, formula):
    free = free_variables(formula)
    if not free:
        return formula
    chosen = tuple(free[i] for i in rng.permutation(len(free))[: rng.integers(1, 3)])
    return (Exists if rng.random() < 0.6 else Forall)(chosen, formula)


def random_rule(rng, hard=0.0):
    while True:
        formula = random_formula(rng, int(rng.integers(0, 3)))
        if rng.random() < 0.25:
            formula = with_quantifier(rng, formula)
        free, types = free_variables(formula), variable_types(formula)
        if len(free) <= 3 and all(variable in types for variable in free):
            return Rule(formula, float(rng.normal()), hard=bool(rng.random() < hard))


def random_options(rng):
    names = [predicate.name for predicate in SCHEMA.predicates]
    chosen = {
        name: rng.choice(["query", "open", "closed", ""], p=[0.2, 0.1, 0.1, 0.6]) for name in names
    }
    return {
        key: [name for name in names if chosen[name] == key] for key in ("query", "open", "closed")
    }


def check_against_brute_force(mln, database, options, soft_rules):
    """Compare counts and weights of all worlds; return the number of worlds."""
    network = ground(mln, database, **options)
    used = {a.predicate.name for rule in mln.rules for a in atoms_of(rule.formula)}
    opened = open_predicates(database, **options)
    domains = {kind: vocabulary.names for kind, vocabulary in database.domains.items()}
    hard_rules = [rule for rule in mln.rules if rule.hard]
    weights = np.array([rule.weight for rule in soft_rules])
    assert network.weights.tolist() == weights.tolist()
    seen = 0
    for facts in brute_worlds(database, used | set(options["query"]), opened):
        world = network_world(network, database, facts)
        counts = [true_count(rule.formula, facts, domains) for rule in soft_rules]
        np.testing.assert_allclose(network.counts(world), counts, atol=1e-9)
        possible = all(not true_count(Not(rule.formula), facts, domains) for rule in hard_rules)
        expected = weights @ counts if possible else -np.inf
        np.testing.assert_allclose(network.log_weight(world), expected, atol=1e-9)
        seen += 1
    assert seen == np.prod(network.cardinalities.astype(float))
    return seen


def number_of_worlds(database, mln, options):
    used = {a.predicate.name for rule in mln.rules for a in atoms_of(rule.formula)}
    opened = open_predicates(database, **options)
    worlds = brute_worlds(database, used | set(options["query"]), opened)
    return sum(1 for _ in islice(worlds, MOST_WORLDS))


@pytest.mark.parametrize("block", range(8))
def test_counts_of_random_models_in_every_world(block):
    rng = np.random.default_rng(block)
    done = 0
    while done < 40:
        database, options = random_database(rng), random_options(rng)
        mln = MLN(SCHEMA, tuple(random_rule(rng) for _ in range(rng.integers(1, 4))))
        (database,) = with_constants_of(mln, [database])
        if 2 <= number_of_worlds(database, mln, options) < MOST_WORLDS:
            check_against_brute_force(mln, database, options, mln.rules)
            done += 1


@pytest.mark.parametrize("block", range(3))
def test_hard_rules_exclude_exactly_the_worlds_that_violate_them(block):
    rng = np.random.default_rng(100 + block)
    done = refused = 0
    while done < 40:
        database, options = random_database(rng), random_options(rng)
        mln = MLN(SCHEMA, tuple(random_rule(rng, hard=0.7) for _ in range(rng.integers(1, 4))))
        (database,) = with_constants_of(mln, [database])
        if not 2 <= number_of_worlds(database, mln, options) < MOST_WORLDS:
            continue
        soft = [rule for rule in mln.rules if not rule.hard]
        if any(possible_worlds(mln, database, options)):
            check_against_brute_force(mln, database, options, soft)
            done += 1
            continue
        # grounding may see that nothing is possible, and must say it where one grounding shows it
        try:
            check_against_brute_force(mln, database, options, soft)
        except InputError:
            refused += 1
    assert refused


def test_rules_per_constant_and_both_signs():
    rng = np.random.default_rng(7)
    done = 0
    while done < 40:
        database, options = random_database(rng), random_options(rng)
        rule = random_rule(rng)
        free = [v for v in free_variables(rule.formula) if rng.random() < 0.6]
        starred = Implies(EitherSign(random_atom(rng)), rule.formula)
        if set(free_variables(starred)) - set(free_variables(rule.formula)):
            continue
        formula = starred if rng.random() < 0.5 else rule.formula
        if isinstance(formula, Forall):
            continue
        mln = MLN(SCHEMA, (Rule(formula, 0.7, per_constant=tuple(free)), random_rule(rng)))
        (database,) = with_constants_of(mln, [database])
        if not 2 <= number_of_worlds(database, mln, options) < MOST_WORLDS:
            continue
        domains = {kind: vocabulary.names for kind, vocabulary in database.domains.items()}
        expanded = [own for rule in mln.rules for own in expand_rule(rule, domains)]
        if any(
            set(free_variables(f)) - set(variable_types(f)) for f in (r.formula for r in expanded)
        ):
            continue  # a constant took the place of the variable that told the type of another
        check_against_brute_force(mln, database, options, expanded)
        assert list(ground(mln, database, **options).rules) == expanded
        done += 1


PEOPLE = Schema.of("friends(person,person)", "smokes(person)", "knows(person,person)")
FRIENDS, SMOKES, KNOWS = (PEOPLE[name] for name in ("friends", "smokes", "knows"))


def people(count, facts=None, **tables):
    domains = {"person": [f"P{i}" for i in range(count)]}
    return Database.from_facts(PEOPLE, facts or {}, domains=domains, **tables)


def model(*rules):
    return MLN(PEOPLE, rules)


def test_only_undecided_groundings_become_clauses():
    rule = Rule(Implies(And((FRIENDS("x", "y"), SMOKES("x"))), SMOKES("y")), 1.0)
    facts = {"friends": [("P0", "P1"), ("P1", "P2"), ("P2", "P2")], "smokes": [("P0",)]}
    network = ground(model(rule), people(50, facts), ["smokes"])
    assert (network.variables, network.clauses) == (49, 1)
    # P0 => P1 is P1 alone; P2 => P2 always holds, and so do 2500 - 3 groundings without friends
    assert network.constants.tolist() == [2498.0]
    assert network.unary_counts.toarray().ravel().nonzero()[0].tolist() == [1]


def test_equal_clauses_of_a_rule_are_one_with_a_multiplicity():
    rule = Rule(Or((FRIENDS("x", "y"), FRIENDS("y", "x"))), 1.0)
    network = ground(model(rule), people(4), ["friends"])
    assert network.clauses == 6
    assert network.multiplicity.tolist() == [2.0] * 6
    assert network.unary_counts.sum() == 4  # friends(x,x)


def test_groundings_that_differ_in_decided_atoms_only_are_counted():
    rule = Rule(Implies(SMOKES("x"), KNOWS("y", "z")), 1.0)
    network = ground(model(rule), people(300, {"knows": [("P1", "P2")]}), ["smokes"])
    # all but one of the 90,000 pairs leave the head false
    assert network.unary_counts.toarray()[:2].ravel().tolist() == [90000.0 - 1, 0.0]
    assert network.constants.tolist() == [300.0]


def test_an_existential_is_one_long_clause():
    rule = Rule(Implies(SMOKES("x"), Exists((Variable("y"),), FRIENDS("x", "y"))), 2.0)
    network = ground(model(rule), people(40), ["friends", "smokes"])
    assert network.clauses == 40
    assert np.diff(network.clause_starts).tolist() == [41] * 40


def test_evidence_under_a_quantifier_leaves_single_literals():
    body = And((KNOWS("x", "y"), SMOKES("y")))
    rule = Rule(Exists((Variable("y"),), body), hard=True)
    known = [(f"P{i}", f"P{(i + step) % 30}") for i in range(30) for step in (1, 2)]
    network = ground(model(rule), people(30, {"knows": known}), ["smokes"])
    assert network.clauses == 30
    assert set(np.diff(network.clause_starts).tolist()) == {2}


def test_a_quantified_conjunction_of_many_unknown_atoms_is_refused():
    rule = Rule(Exists((Variable("y"),), And((FRIENDS("x", "y"), SMOKES("y")))), 1.0)
    with pytest.raises(MemoryLimitError, match=r"EXIST y .* too many alternatives"):
        ground(model(rule), people(30), ["friends", "smokes"])


def test_hard_rules_that_evidence_contradicts_name_the_grounding():
    rule = Rule(Implies(SMOKES("x"), KNOWS("x", "y")), hard=True)
    facts = {"smokes": [("P1",)], "knows": [("P1", "P0"), ("P1", "P1")]}
    with pytest.raises(InputError, match=r"smokes\(x\) => knows\(x,y\)\. at x = P1, y = P2"):
        ground(model(rule), people(3, facts), ["friends"])


def test_hard_rules_that_leave_no_value_name_the_atom():
    rules = [Rule(SMOKES("x"), hard=True), Rule(Not(SMOKES("P1")), hard=True)]
    with pytest.raises(InputError, match=r"!smokes\(P1\)\. at smokes\(P1\)"):
        ground(model(*rules), people(3), ["smokes"])


def test_rules_over_an_empty_type():
    some = Exists((Variable("x"),), SMOKES("x"))
    rules = [
        Rule(SMOKES("x"), 1.0),
        Rule(some, 1.0),
        Rule(Not(some), 1.0),
        Rule(SMOKES("x"), hard=True),
    ]
    network = ground(model(*rules), people(0), ["smokes"])
    assert network.variables == 0
    assert network.constants.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(InputError, match="its only grounding"):
        ground(model(Rule(some, hard=True)), people(0), ["smokes"])


def test_variables_without_a_type_are_refused():
    x, y = Variable("x"), Variable("y")
    with pytest.raises(InputError, match="no type for variable x"):
        ground(model(Rule(Or((SMOKES("P0"), Comparison("=", x, Constant("P0")))), 1.0)), people(2))
    same = Exists((y,), Comparison("=", y, Constant("P0")))
    with pytest.raises(InputError, match="no type for the quantified variable y"):
        ground(model(Rule(Or((SMOKES("P0"), same)), 1.0)), people(2))


def test_ground_clauses_beyond_memory_name_their_rule(monkeypatch):
    rule = Rule(Or((SMOKES("x"), SMOKES("y"), SMOKES("z"))), 1.0)
    literals = 3 * 6 * 5 * 4 + 2 * 3 * 6 * 5  # three different people, or two
    monkeypatch.setattr("mlnlearn.infer.grounding.assemble.MOST_LITERALS", literals)
    ground(model(rule), people(6), ["smokes"])
    monkeypatch.setattr("mlnlearn.infer.grounding.assemble.MOST_LITERALS", literals - 1)
    with pytest.raises(MemoryLimitError, match=r"smokes\(z\) has too many groundings"):
        ground(model(rule), people(6), ["smokes"])


def test_all_rules_without_a_weight_are_reported():
    rules = [Rule(SMOKES("x")), Rule(SMOKES("x"), 1.0), Rule(FRIENDS("x", "y"))]
    with pytest.raises(InputError) as caught:
        ground(model(*rules), people(2), ["smokes"])
    assert len(caught.value.problems) == 2
    assert "friends(x,y)" in str(caught.value)


def test_a_database_of_another_schema_is_refused():
    database = Database.from_facts(Schema.of("smokes(thing)"), {"smokes": [("A",)]})
    with pytest.raises(InputError) as caught:
        ground(model(Rule(Or((SMOKES("x"), FRIENDS("x", "x"))), 1.0)), database, ["smokes"])
    assert "smokes(thing), not smokes(person)" in str(caught.value)
    assert "no predicate friends" in str(caught.value)


def possible_worlds(mln, database, options):
    used = {a.predicate.name for rule in mln.rules for a in atoms_of(rule.formula)}
    opened = open_predicates(database, **options)
    domains = {kind: vocabulary.names for kind, vocabulary in database.domains.items()}
    for facts in brute_worlds(database, used | set(options["query"]), opened):
        yield all(
            not true_count(Not(rule.formula), facts, domains) for rule in mln.rules if rule.hard
        )
