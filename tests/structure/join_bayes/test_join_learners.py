"""Learn-and-join from end to end: constraints, rules, known nets, saving."""

import os
import re

import numpy as np
import pandas as pd
import pytest

from join_worlds import chain_tables, counter_of, flag_tables, self_tables
from mlnlearn.data.catalog import VARIABLE, benchmark_tables
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.errors import InputError
from mlnlearn.model.mln import MLN
from mlnlearn.structure.join_bayes.features import averages
from mlnlearn.structure.join_bayes.folds import entity_folds
from mlnlearn.structure.join_bayes.lattice import LearnAndJoin
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from mlnlearn.structure.join_bayes.score import bdeu


def learned_edges(tables, seed, links, **options):
    database, mapping = tables(seed, **options)
    counter = counter_of([database], mapping)
    return counter, LearnAndJoin(counter, links=links, sample_size=50.0).edges()


@pytest.mark.parametrize("tables", [chain_tables, self_tables])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_rules_of_the_lattice_hold(tables, links, seed):
    counter, edges = learned_edges(tables, seed, links, size=8)
    layout = counter.data.layout
    for parent, child in edges:
        assert child.main  # nothing is learned about copies
        of_entities = parent.relationship is None and child.relationship is None
        if of_entities and parent.variables != child.variables and not links:
            linked = {p for p, c in edges if c == child and p.is_link}
            assert linked  # an edge between entities needs the links that join them
    for relationship in layout.relationships:
        for attribute in relationship.attributes:
            assert (relationship.link, attribute) in edges


@pytest.mark.parametrize("links", [True, False])
def test_edges_within_a_table_are_those_of_the_table_alone(links):
    for seed in range(2):
        counter, edges = learned_edges(chain_tables, seed, links, size=9)
        learner = LearnAndJoin(counter, links=links, sample_size=50.0)
        for variable in counter.data.layout.types:
            alone = learner._entity_table(variable)
            own = {e for e in edges if e[0] in alone.nodes and e[1] in alone.nodes}
            assert own == alone.edges


def test_learning_again_gives_the_same_model():
    database, mapping = chain_tables(2, size=8)
    first, second = (MBN(links=True).fit(Loaded(database, mapping)).model for _ in range(2))
    assert str(first.net) == str(second.net)
    assert first.weights == pytest.approx(second.weights)


@pytest.mark.parametrize("links", [True, False])
def test_rules_read_as_they_should(links):
    database, mapping = self_tables(3, size=8)
    for learner in (MBN(links=links), LAJDT(links=links)):
        model = learner.fit(Loaded(database, mapping)).model
        text = str(model)
        assert "N/A" not in text
        assert MLN.parse(text).rules == model.mln().rules
        assert len(model.mln().rules) == model.parameter_counts()["leaf_values"]
        for line in text.split("\n\n")[1].splitlines():
            if "since(" in line:
                assert re.search(r"since\(person0,person1,", line)
                assert "knows(person0,person1)" in line or links


def test_log_probability_weights_are_those_of_the_net():
    database, mapping = chain_tables(0, size=8)
    model = (
        MBN(links=True, weights="log-probability", own_rules=False)
        .fit(Loaded(database, mapping))
        .model
    )
    start = 0
    for family in model.families:
        weights = model.weights[start : start + family.size].reshape(-1, family.child.size)
        start += family.size
        place = model.net.place(family.child)
        table = model.net.conditional(place)
        names = [model.net.nodes[p] for p in model.net.tables[place].parents]
        for leaf, path in enumerate(family.leaves):
            values = {family.parents[p]: v for p, v in path}
            # the link of a relationship's attribute is given, so not asked for
            index = tuple(values.get(node, 1) for node in names)
            first = int(family.child.relationship is not None and family.child.is_attribute)
            assert weights[leaf][first:] == pytest.approx(np.log(table[index][first:]))


def test_trees_are_no_larger_than_tables():
    database, mapping = chain_tables(1, size=9)
    settings = {"links": True, "sample_size": 50.0}
    table = MBN(**settings).fit(Loaded(database, mapping)).model.parameter_counts()
    tree = LAJDT(**settings).fit(Loaded(database, mapping)).model.parameter_counts()
    assert table["table_rows"] == tree["table_rows"] >= table["observed_rows"]
    assert tree["leaves"] <= table["leaves"]
    assert tree["leaf_values"] <= table["leaf_values"]


def test_a_model_is_the_same_after_saving(tmp_path):
    database, mapping = self_tables(1, size=8)
    model = LAJDT().fit(Loaded(database, mapping)).model
    model.save(tmp_path / "model.json")
    again = JoinBayesModel.load(tmp_path / "model.json")
    assert str(again) == str(model)
    assert str(again.net) == str(model.net)
    for name, found in again.predict(database).items():
        assert found.log_probabilities == pytest.approx(
            model.predict(database)[name].log_probabilities
        )
    model.save(tmp_path / "model.mln")
    assert MLN.read(tmp_path / "model.mln").rules == model.mln().rules
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError):
        JoinBayesModel.load(tmp_path / "other.json")


def test_layouts_are_read_off_the_nodes():
    for tables in (chain_tables, self_tables):
        database, mapping = tables(0)
        layout = NetLayout.of([database], mapping)
        assert NetLayout.from_nodes(layout.nodes) == layout


def test_folds_deal_out_all_entities_and_keep_links_within():
    database, mapping = chain_tables(5, size=10)
    parts = entity_folds(database, mapping, 3, np.random.default_rng(1))
    for kind in "abcd":
        names = [name for part in parts for name in part.domains[kind].names]
        assert sorted(names) == sorted(database.domains[kind].names)
    links = set(database.rows("ab"))
    for part in parts:
        inside = set(part.domains["a"].names), set(part.domains["b"].names)
        expected = {(a, b) for a, b in links if a in inside[0] and b in inside[1]}
        assert set(part.rows("ab")) == expected
        assert part.domains["ay_value"] == database.domains["ay_value"]


def test_flags_and_foreign_keys_become_nodes_and_literals():
    database, mapping = flag_tables(0, size=12)
    layout = NetLayout.of([database], mapping)
    assert {str(r.link) for r in layout.relationships} == {
        "home(person,town)",
        "visits(person,town)",
    }
    for links in (True, False):
        text = str(LAJDT(links=links).fit(Loaded(database, mapping)).model)
        assert " fan(person)" in text
        assert "!fan(person)" in text
        assert "often(person,town)" in text


def test_tables_without_links_or_with_empty_ones():
    person = pd.DataFrame({"id": list("ABCD"), "sex": list("ffmm")})
    empty = pd.DataFrame({"one": pd.Series([], dtype=str), "two": pd.Series([], dtype=str)})
    keys = {"person": "id", "knows": Keys(("one", "two"), {"one": "person", "two": "person"})}
    database, mapping = from_frames({"person": person, "knows": empty}, keys=keys)
    for learner in (MBN(links=True), LAJDT()):
        model = learner.fit(Loaded(database, mapping)).model
        assert model.net.joint(["knows(person0,person1)"])[0] > 0.5
        found = model.predict(database)["sex"].log_probabilities
        assert np.exp(found) == pytest.approx(np.full((4, 2), 0.5), abs=1e-6)


@pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set")
class TestMovieLens:
    def test_the_net_is_as_good_as_the_published_one(self):
        database, mapping = benchmark_tables("movielens")
        counter = counter_of([database], mapping)
        edges = LearnAndJoin(counter, links=True).edges()
        layout = counter.data.layout
        total = 0.0
        for child in layout.nodes:
            family = [child, *(p for p in layout.nodes if (p, child) in edges)]
            total += bdeu(counter.count(family, scope=layout.types))
        assert total >= -4_910_549

    def test_rules_predict_better_than_marginals(self):
        database, mapping = benchmark_tables("movielens")
        parts = entity_folds(database, mapping, 5, np.random.default_rng(0))
        model = LAJDT().fit(Data(tuple(parts[:4]), mapping)).model
        accuracy, cll = averages(model.predict(parts[4]))
        assert accuracy > 0.6
        assert cll > -0.8
