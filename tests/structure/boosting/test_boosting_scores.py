"""Scores, splits, leaf weights and clauses against enumeration."""

from itertools import permutations

import numpy as np
import pytest

from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import EQUALS, Pattern
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.model.boosted.rules import Leaf
from mlnlearn.structure.boosting import features as room
from mlnlearn.structure.boosting.clauses import ClauseSettings, find_clause
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.language import language_of
from mlnlearn.structure.boosting.scoring import (
    Regression,
    clause_gains,
    node_sums,
    split_gains,
)
from mlnlearn.structure.boosting.trees import TreeSettings, grow_tree
from structure.boosting.boosting_reference import Reference, as_arrays, small_world

BODIES = ("aim", "link", "part", "colour", "three", "big", "weather")


def setting(seed, existential, target="goal", bodies=BODIES, modes=()):
    rng = np.random.default_rng(seed)
    databases = small_world(rng)
    examples = positives_and_negatives(databases, target)
    world = Objects(databases)
    rows = world.numbered(examples.predicate, examples.database, examples.columns)
    language = language_of(world, target, bodies, modes, max_constants=3)
    features = Features(world, rows, examples.predicate.types, language)
    gradient, weight = as_arrays(rng, len(examples))
    return rng, Reference(databases, examples, existential), features, gradient, weight


@pytest.fixture(params=["all examples apart", "by views"], autouse=True)
def views(request, monkeypatch):
    if request.param == "by views":
        monkeypatch.setattr(room, "_VIEWED", 0)


@pytest.mark.parametrize("existential", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_counts_and_errors_of_all_candidates(seed, existential):
    rng, reference, features, gradient, weight = setting(seed, existential)
    body = ()
    for _ in range(2):
        units = features.units(body, True)
        check_candidates(rng, reference, features, body, gradient, weight, existential)
        tests = [unit.listed.test(int(rng.integers(unit.listed.size))) for unit in units]
        holding = [test for test in tests if features.groundings(body + test).any()]
        body += holding[rng.integers(len(holding))]
    assert len(body) >= 2


def check_candidates(rng, reference, features, body, gradient, weight, existential):
    size = len(gradient)
    counts = np.array([reference.groundings(body, i) for i in range(size)], float)
    inside = (counts > 0) & (rng.random(size) < 0.8)
    path = None if existential else counts
    regression = Regression(gradient, weight, inside, path, existential)
    everyone = Regression(gradient, weight, rng.random(size) < 0.8, np.ones(size), existential)
    members, all_members = (np.flatnonzero(r.inside).tolist() for r in (regression, everyone))
    total, whole = regression.moments[2], everyone.moments[2]
    splits = list(node_sums(features, body, regression, pairs=True, rest=True))
    clauses = list(node_sums(features, body, everyone, pairs=True, rest=False))
    assert [block.rank(0) for block, _ in splits] == [block.rank(0) for block, _ in clauses]
    for (block, sums), (_, alone) in zip(splits, clauses, strict=True):
        tested = rng.permutation(block.size)[:2].tolist()
        for number in tested:
            test = block.test(number)
            found = features.groundings(body + test)
            found = np.minimum(found, 1) if existential else found
            assert found.tolist() == [reference.groundings(body + test, i) for i in range(size)]
            error, _, (yes, _) = reference.split_error(body, test, members, gradient, weight)
            assert total - split_gains(sums)[number] == pytest.approx(error, abs=1e-9)
            assert sums.examples[number] == yes
            clause, best, _ = reference.clause_error(body + test, all_members, gradient, weight)
            assert whole - clause_gains(alone)[number] == pytest.approx(clause, abs=1e-9)
            if alone.square[number]:
                assert alone.moment[number] / alone.square[number] == pytest.approx(best)


def test_single_candidates_are_all_there():
    _, _, features, _, _ = setting(1, False)
    found = {
        unit.listed.test(i) for unit in features.units((), False) for i in range(unit.listed.size)
    }
    names = {(test[0].predicate.name, test[0].terms) for test in found}
    shades = tuple(features.world.values("shade")[0])
    expected = {(EQUALS, (0, 1)), ("weather", ())}
    for name in ("aim",):
        expected |= {(name, (0,)), (name, (1,))}
    for head in (0, 1):
        expected |= {("link", (head, 2)), ("link", (2, head)), ("link", (head, 1 - head))}
        expected |= {("part", (head, 2)), ("colour", (head, 2)), ("three", (2, head, 3))}
        expected |= {("colour", (head, shade)) for shade in shades}
        expected |= {("three", (2, head, shade)) for shade in shades}
    assert names == expected


@pytest.mark.parametrize("existential", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_trees_are_greedy_and_their_leaves_exact(seed, existential):
    rng, reference, features, gradient, weight = setting(seed, existential)
    chosen = rng.random(len(gradient)) < 0.8
    settings = TreeSettings(leaves=4, min_examples=2, existential=existential)
    grown = grow_tree(features, gradient, weight, chosen, settings)
    values = grown.values(grown.tree)
    leaves = {}
    for number in range(len(gradient)):
        value, groundings, path = reference.route(grown.tree.root, number)
        assert values[number] == pytest.approx(value * groundings)
        assert grown.tree.paths[grown.leaf[number]].body == path
        if chosen[number]:
            leaves.setdefault(int(grown.leaf[number]), []).append((number, groundings, value))
    for members in leaves.values():
        top = sum(weight[i] * gradient[i] * n for i, n, _ in members)
        bottom = sum(weight[i] * n * n for i, n, _ in members)
        assert members[0][2] == pytest.approx(top / bottom)
    best = best_root_error(reference, features, chosen, gradient, weight, settings)
    test = () if isinstance(grown.tree.root, Leaf) else grown.tree.root.test
    error = reference.split_error((), test, np.flatnonzero(chosen), gradient, weight)[0]
    assert error == pytest.approx(best)


def best_root_error(reference, features, chosen, gradient, weight, settings):
    members = np.flatnonzero(chosen).tolist()
    errors = [reference.split_error((), (), members, gradient, weight)[0]]
    for unit in features.units((), True):
        for number in range(unit.listed.size):
            test = unit.listed.test(number)
            error, _, sizes = reference.split_error((), test, members, gradient, weight)
            if min(sizes) >= settings.min_examples:
                errors.append(error)
    return min(errors)


@pytest.mark.parametrize("existential", [False, True])
def test_a_wide_beam_finds_the_best_clause_it_can_reach(existential):
    _, reference, features, gradient, weight = setting(5, existential, "aim", ("link", "colour"))
    members = list(range(len(gradient)))
    settings = ClauseSettings(length=2, beam=10_000, min_examples=2, existential=existential)
    everyone = np.ones(len(gradient), bool)
    found = find_clause(features, gradient, weight, everyone, settings)
    error, best, _ = reference.clause_error(found.clause.body, members, gradient, weight)
    assert found.clause.weight == pytest.approx(best)
    for number in members:
        assert found.counts[number] == reference.groundings(found.clause.body, number)
    reachable = [reference.clause_error((), members, gradient, weight)[0]]
    waiting = [((), reachable[0])]
    while waiting:
        body, parent = waiting.pop()
        for unit in features.units(body, not body):
            for number in range(unit.listed.size):
                longer = body + unit.listed.test(number)
                value, _, covered = reference.clause_error(longer, members, gradient, weight)
                if covered >= 2 and value <= parent + 1e-12:
                    reachable.append(value)
                    if len(longer) < 2:
                        waiting.append((longer, value))
    assert error == pytest.approx(min(reachable))


def test_pairs_come_once_and_chains_are_among_them():
    _, _, features, _, _ = setting(2, False)
    bodies = [
        unit.listed.test(i)
        for unit in features.units((), True)
        if unit.listed.prefix
        for i in range(unit.listed.size)
    ]
    names = [features.forms.of(body) for body in bodies]
    assert len(set(names)) == len(names)
    assert all(pattern.predicate.name != "goal" for body in bodies for pattern in body)
    schema = features.world.schema
    for one, other in permutations((0, 1)):
        chain = (Pattern(schema["link"], (one, 2)), Pattern(schema["link"], (2, other)))
        assert features.forms.of(chain) in names
    common = (Pattern(schema["part"], (0, 2)), Pattern(schema["part"], (1, 2)))
    assert features.forms.of(common) in names


def test_a_mode_may_ask_for_several_constants():
    modes = ("three(#item,+thing,#shade)", "colour(+,-)")
    rng, reference, features, gradient, weight = setting(3, False, "aim", modes=modes)
    check_candidates(rng, reference, features, (), gradient, weight, False)
    items, shades = (tuple(features.world.values(kind)[0]) for kind in ("item", "shade"))
    found = [
        unit.listed.test(number)[0].terms
        for unit in features.units((), False)
        for number in range(unit.listed.size)
        if unit.listed.test(number)[0].predicate.name == "three"
    ]
    assert sorted(found) == sorted((item, 0, shade) for item in items for shade in shades)
    facts = [fact for database in features.world.databases for fact in database.rows("three")]
    counts = {
        unit.listed.test(number)[0].terms: int(features.groundings(unit.listed.test(number)).sum())
        for unit in features.units((), False)
        for number in range(unit.listed.size)
    }
    for item, _, shade in found:
        expected = sum(fact[0] == item and fact[2] == shade for fact in facts)
        assert counts[item, 0, shade] == expected
