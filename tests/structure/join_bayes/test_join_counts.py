"""Family counts: exactly those of enumeration, on random schemas; known totals on real data."""

import os

import numpy as np
import pytest

from join_worlds import as_counter, brute_counts, chain_tables, counter_of, flag_tables, self_tables
from mlnlearn.data.catalog import VARIABLE, benchmark_tables
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter, _FamilyJob
from mlnlearn.structure.join_bayes.folds import entity_folds
from mlnlearn.structure.join_bayes.score import bdeu


def random_family(rng, layout, most=4):
    nodes = list(layout.nodes)
    size = int(rng.integers(1, most + 1))
    return [nodes[k] for k in rng.choice(len(nodes), size, replace=False)]


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_random_families_are_counted_exactly(tables, missing, seed):
    database, mapping = tables(seed, missing)
    counter = counter_of([database], mapping)
    layout = counter.data.layout
    rng = np.random.default_rng(seed)
    for _ in range(12):
        nodes = random_family(rng, layout)
        expected = brute_counts([database], layout, nodes)
        assert as_counter(counter.count(nodes)) == expected


def test_three_relationships_in_a_chain_with_all_their_attributes():
    database, mapping = chain_tables(7)
    counter = counter_of([database], mapping)
    layout = counter.data.layout
    nodes = [r.link for r in layout.relationships] + list(layout.relationships[0].attributes)
    nodes += [layout.attributes[0], layout.attributes[-1]]
    found = counter.count(nodes)
    assert as_counter(found) == brute_counts([database], layout, nodes)
    assert found.counts.sum() == np.prod([database.size(kind) for kind in "abcd"])


@pytest.mark.parametrize("seed", range(3))
def test_given_links_kept_entities_and_wider_scopes(seed):
    database, mapping = chain_tables(seed)
    counter = counter_of([database], mapping)
    layout = counter.data.layout
    rng = np.random.default_rng(seed)
    for _ in range(6):
        nodes = random_family(rng, layout, 3)
        true = [layout.relationships[int(rng.integers(3))]]
        scope = list(layout.types)
        keep = tuple(nodes[0].variables)
        expected = brute_counts([database], layout, nodes, scope, true, keep)
        found = counter.count(nodes, scope=scope, true=true, keep=keep)
        assert as_counter(found) == expected


def test_links_are_summed_once_for_several_families_and_anew_for_other_values(monkeypatch):
    database, mapping = chain_tables(2, size=8)
    data = counter_of([database], mapping).data
    ab, bc, _ = data.layout.relationships
    [ax] = [node for node in data.layout.attributes if str(node) == "ax(a)"]
    made, true = [], _FamilyJob._true
    monkeypatch.setattr(_FamilyJob, "_true", lambda job, r: made.append(r) or true(job, r))
    counter = FamilyCounter(data)
    whole = counter.count([ax, *ab.attributes], true=[ab, bc])
    before, spent = len(made), counter.work.spent
    again = FamilyCounter(data)
    assert as_counter(again.count([ax, *ab.attributes], true=[ab, bc])) == as_counter(whole)
    assert len(made) == before  # nothing was summed again, though it is as much work
    assert again.work.spent == spent
    turned = data.completed({"ax": 1 - data.values["ax"]})
    other = FamilyCounter(turned).count([ax, *ab.attributes], true=[ab, bc])
    assert len(made) > before
    assert as_counter(other) == {(1 - x, *rest): n for (x, *rest), n in as_counter(whole).items()}


def test_databases_are_counted_apart_and_pools_together():
    database, mapping = chain_tables(3, size=6)
    parts = entity_folds(database, mapping, 2, np.random.default_rng(0))
    layout = counter_of(parts, mapping).data.layout
    nodes = [layout.attributes[0], layout.relationships[0].link, layout.relationships[1].link]
    apart = counter_of(parts, mapping).count(nodes)
    assert as_counter(apart) == brute_counts(parts, layout, nodes)
    pooled = counter_of(parts, mapping, pooled=True).count(nodes)
    assert pooled.counts.sum() == np.prod([database.size(kind) for kind in "abc"])
    true = layout.relationships[:2]
    within = counter_of(parts, mapping).count(nodes, true=true)
    assert as_counter(within) == as_counter(
        counter_of(parts, mapping, pooled=True).count(nodes, true=true)
    )


def test_a_variable_merged_with_its_copy():
    database, mapping = self_tables(1, size=6)
    counter = counter_of([database], mapping)
    layout = counter.data.layout
    knows = layout.relationships[0]
    one, two = knows.variables
    sex = [n for n in layout.attributes if n.predicate.name == "sex"]
    found = counter.count([*sex, knows.link], merged=[(two, one)])
    expected = {}
    links = set(map(tuple, database.facts("knows").T.tolist()))
    for entity, value in database.facts("sex").T.tolist():
        key = (value, value, int((entity, entity) in links))
        expected[key] = expected.get(key, 0) + 1
    assert as_counter(found) == expected


@pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set")
def test_movielens_with_true_and_false_links():
    database, mapping = benchmark_tables("movielens")
    counter = counter_of([database], mapping)
    nodes = counter.data.layout.nodes
    table = counter.count(nodes)
    assert len(table) == 239
    assert table.counts.sum() == 1_582_762
    parents = {
        "action": ["Gender", "rating"], "Age": ["action", "rating"], "Gender": ["rating"],
        "drama": ["action", "horror", "rating"], "rating": ["horror", "u2base"],
        "horror": [], "u2base": [],
    }  # fmt: skip
    by_name = {node.predicate.name: node for node in nodes}
    total = sum(
        bdeu(counter.count([by_name[n] for n in (child, *above)], scope=counter.data.layout.types))
        for child, above in parents.items()
    )
    assert round(total) == -4_910_548  # FactorBase gives the same net -4,910,549
