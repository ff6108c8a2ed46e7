"""BUSL, HGSM, DMSP: truth tables against brute force, dependence, planted clauses."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import Marginals
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.bottom_up import truth_table as module
from mlnlearn.structure.bottom_up.busl import BUSL
from mlnlearn.structure.bottom_up.grow_shrink import (
    blanket,
    dependence,
    markov_network,
    strata,
    strongest,
)
from mlnlearn.structure.bottom_up.hgsm import DMSP, HGSM
from mlnlearn.structure.bottom_up.truth_table import TruthTable, chains_of, truth_table
from mlnlearn.structure.local_search.learn import DiscriminativeILS
from studies.planted_clauses import SHAPES, planted, recovered

SCHEMA = Schema.of("p(t)", "q(t,u)", "r(t,t)")
RNG = np.random.default_rng


def random_world(seed):
    rng = RNG(seed)
    names = {"t": [f"T{i}" for i in range(3 + seed % 2)], "u": ["U0", "U1"]}
    facts = {
        predicate.name: [
            atom for atom in product(*(names[k] for k in predicate.types)) if rng.random() < 0.4
        ]
        for predicate in SCHEMA.predicates
    }
    return Database.from_facts(SCHEMA, facts, domains=names)


def holds(world, chain, given):
    """Whether some values of the other variables make all atoms of a chain true."""
    kinds = {
        term: kind
        for number, *terms in chain
        for term, kind in zip(terms, SCHEMA.predicates[number].types, strict=True)
    }
    others = [term for term in kinds if term not in given]
    facts = {predicate.name: set(world.rows(predicate.name)) for predicate in SCHEMA.predicates}
    for values in product(*(world.domains[kinds[term]] for term in others)):
        known = {**given, **dict(zip(others, values, strict=True))}
        if all(
            tuple(known[t] for t in terms) in facts[SCHEMA.predicates[n].name]
            for n, *terms in chain
        ):
            return True
    return False


@pytest.mark.parametrize("head", range(3))
def test_truth_tables_are_those_of_all_ground_atoms(head):
    worlds = [random_world(seed) for seed in (head, head + 1)]
    predicate = SCHEMA.predicates[head]
    chains = list(chains_of(SCHEMA.predicates, head, 2, 1))[::7]
    table = truth_table(Stack(worlds), predicate, chains, RNG(0))
    expected = {}
    for world in worlds:
        true = set(world.rows(predicate.name))
        for atom in product(*(world.domains[kind] for kind in predicate.types)):
            given = dict(enumerate(atom))
            row = (atom in true, *(holds(world, chain, given) for chain in table.chains))
            expected[row] = expected.get(row, 0) + 1
    rows = map(tuple, table.rows.tolist())
    found = dict(zip(rows, table.weight.tolist(), strict=True))
    assert found == expected
    # what is left out holds nowhere, everywhere, or where another does
    for chain in set(chains) - set(table.chains):
        atoms = [
            holds(world, chain, dict(enumerate(atom)))
            for world in worlds
            for atom in product(*(world.domains[kind] for kind in predicate.types))
        ]
        assert sum(atoms) in (0, len(atoms), *(table.weight @ table.rows)[1:])


def test_chains_go_on_where_the_last_atom_led():
    found = list(chains_of(SCHEMA.predicates, 0, 2, 1))
    assert len(found) == len(set(found))
    assert ((1, 0, 1),) in found  # q(x,u)
    assert ((2, 0, 1), (1, 1, 2)) not in found  # two new variables
    assert ((2, 0, 1), (0, 1)) in found  # r(x,y), p(y)
    assert all(0 in chain[0][1:] for chain in found)
    assert all(1 in chain[1][1:] for chain in found if len(chain) == 2)
    assert ((0, 0),) not in found  # the head itself


def test_what_says_the_same_as_the_head_is_no_column():
    """Else a relation followed by an identity would explain all of the relation."""
    schema = Schema.of("q(t,t)", "same(t,t)")
    facts = {"q": [("A", "B"), ("B", "C"), ("A", "A")], "same": [(n, n) for n in "ABC"]}
    chains = list(chains_of(schema.predicates, 0, 2, 1))
    copy = ((0, 0, 2), (1, 1, 2))
    assert copy in chains
    table = truth_table(Stack([Database.from_facts(schema, facts)]), schema["q"], chains, RNG(0))
    assert copy not in table.chains
    assert table.chains
    assert not any((column == table.rows[:, 0]).all() for column in table.rows.T[1:])


def test_many_false_atoms_are_drawn(monkeypatch):
    world = random_world(1)
    chains = list(chains_of(SCHEMA.predicates, 2, 1, 1))
    whole = truth_table(Stack([world]), SCHEMA["r"], chains, RNG(0))
    monkeypatch.setattr(module, "_MOST_FALSE", 5)
    some = truth_table(Stack([world]), SCHEMA["r"], chains, RNG(0))
    for truth in (True, False):
        expected = whole.weight[whole.rows[:, 0] == truth].sum()
        assert some.weight[some.rows[:, 0] == truth].sum() == pytest.approx(expected)


def table_of(columns):
    rows, weight = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return TruthTable(((),) * (len(columns) - 1), rows, weight.astype(float))


def test_dependence_is_a_test_within_strata():
    rng = RNG(0)
    one, other, third = rng.random((3, 400)) < 0.5
    other ^= one & (rng.random(400) < 0.3)
    table = table_of([one, other, third])
    counts = [[sum((one == a) & (other == b)) for b in (0, 1)] for a in (0, 1)]
    expected = chi2_contingency(counts, correction=False).pvalue
    assert dependence(table, 0, 1, ())[0] == pytest.approx(expected)
    assert dependence(table, 0, 1, (2,))[0] != pytest.approx(expected)
    assert dependence(table, 0, 1, (0,)) == (1.0, 0.0)  # within a stratum nothing varies


def test_strata_of_many_columns_are_told_apart():
    rows = RNG(1).random((50, 70)) < 0.5
    rows = np.concatenate([rows, rows[:20]])
    _, expected = np.unique(rows, axis=0, return_inverse=True)
    for columns in (3, 62, 70):
        _, expected = np.unique(rows[:, :columns], axis=0, return_inverse=True)
        found = strata(rows[:, :columns])
        assert (np.equal.outer(found, found) == np.equal.outer(expected, expected)).all()


def test_blankets_of_a_chain():
    rng = RNG(3)
    first = rng.random(4000) < 0.5
    second = first ^ (rng.random(4000) < 0.2)
    third = second ^ (rng.random(4000) < 0.2)
    noise = rng.random(4000) < 0.5
    table = table_of([first, second, third, noise])
    assert dependence(table, 0, 2, ())[0] < 0.001
    assert blanket(table, 0, 1e-4, 5) == {1}
    assert blanket(table, 1, 1e-4, 5) == {0, 2}
    assert markov_network(table, 1e-4, 5) == [{1}, {0, 2}, {1}, set()]
    assert len(blanket(table, 1, 0.01, 1)) == 1
    assert blanket(table, 1, 1e-4, None) == {0, 2}
    assert strongest(table, 1).rows.shape[1] == 2


@pytest.mark.parametrize("shape", [2, 4])
@pytest.mark.parametrize("kind", [BUSL, HGSM])
def test_planted_clauses_are_found(kind, shape):
    planned, databases = planted(RNG(shape), SHAPES[shape], (40, 40))
    learner = kind(max_literals=3, max_variables=3, flips=None, max_clauses=100, max_nodes=10)
    assert recovered(learner.fit(databases).model, planned)


@pytest.mark.parametrize("shape", [2, 6])
def test_rules_for_a_target(shape):
    planned, databases = planted(RNG(shape), SHAPES[shape], (40, 40))
    target = SHAPES[shape].atoms[0].predicate.name
    learner = DMSP(target=target, max_literals=3, max_variables=3, flips=None, min_gain=0.01)
    model = learner.fit(databases).model
    # for the target, given the others, the sign of its literal is the sign of the weight
    head, *body = planned
    assert recovered(model, planned) or recovered(model, clause(~head, *body))
    for rule in model.rules:
        assert target in {atom.predicate.name for atom in atoms_of(rule.formula)}


def test_the_likelihood_is_that_of_the_target_alone():
    _, databases = planted(RNG(2), SHAPES[2], (20, 30))
    units = DMSP(target="b", min_gain=1e9).fit(databases)
    shares = np.array([db.count("b") / db.ground_atoms("b") for db in databases])
    mean = shares.mean()
    expected = (shares * np.log(mean) + (1 - shares) * np.log(1 - mean)).sum()
    assert [str(rule.formula) for rule in units.model.rules] == ["b(a1)"]
    assert units.notes.likelihood == pytest.approx(expected, abs=1e-4)


def test_an_unknown_target_is_refused():
    with pytest.raises(InputError, match="nobody"):
        DMSP(target="nobody").fit(random_world(0))


def department(rng, people=40, papers=30):
    """Few pairs of many are advised: a junior by a senior with whom there is a paper."""
    schema = Schema.of("advised(person,person)", "senior(person)", "wrote(paper,person)")
    names = [f"P{i}" for i in range(people)]
    seniors = names[: people // 4]
    wrote = []
    for number in range(papers):
        junior = names[people // 4 + rng.integers(people - people // 4)]
        authors = {junior, seniors[rng.integers(len(seniors))]}
        wrote += [(f"A{number}", name) for name in sorted(authors)]
    pairs = {
        (one, other)
        for paper, one in wrote
        for again, other in wrote
        if paper == again and one not in seniors and other in seniors
    }
    facts = {"advised": sorted(pairs), "senior": [(s,) for s in seniors], "wrote": wrote}
    return Database.from_facts(schema, facts, domains={"person": names})


@pytest.mark.parametrize(
    "kind", [DMSP, partial(DiscriminativeILS, max_literals=4, max_variables=3, seed=1)]
)
def test_rules_for_a_rare_predicate_are_found(kind):
    """One atom in fifty is true: a price made for all predicates would never be paid."""
    rng = np.random.default_rng(0)
    databases, test = [department(rng) for _ in range(2)], department(rng)
    model = kind(target="advised").fit(databases).model
    found = predict_examples(model, [test], positives_and_negatives([test], "advised"), Marginals())
    assert found.scores(["auc_pr"])["auc_pr"] > 0.7
    for rule in model.rules:
        assert sum(atom.predicate.name == "advised" for atom in atoms_of(rule.formula)) == 1


def test_a_target_may_stand_in_its_own_rules_where_told():
    rng = np.random.default_rng(3)
    schema = Schema.of("likes(person,person)", "old(person)")
    names = [f"P{i}" for i in range(16)]
    half = {(a, b) for a in names for b in names if a < b and rng.random() < 0.2}
    back = {(b, a) for a, b in sorted(half) if rng.random() < 0.8}
    facts = {"likes": sorted(half | back), "old": [(n,) for n in names[:8]]}
    database = Database.from_facts(schema, facts, domains={"person": names})
    plain, recursive = (
        DMSP(target="likes", recursive=told).fit(database).model.rules for told in (False, True)
    )
    counts = [len(list(atoms_of(rule.formula))) for rule in plain if "old" not in str(rule.formula)]
    assert max(counts) == 1
    assert any(str(rule.formula).count("likes") == 2 for rule in recursive)
