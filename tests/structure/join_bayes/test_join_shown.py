"""What a model of tables says: rules in words with shares to check, and reasons of single cells."""

import numpy as np
import pandas as pd
import pytest

from join_worlds import chain_tables, flag_tables, self_tables
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.infer.explain import explain
from mlnlearn.logic.atoms import Atom, Constant
from mlnlearn.structure.join_bayes import model as model_module
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN
from mlnlearn.structure.saved import load_model


def shop(seed=0, size=600, empty=0.0):
    """Orders of customers: more of those by courier are returned; old customers pay cash."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {"id": [f"c{k}" for k in range(80)], "age": rng.choice(["old", "young"], 80)}
    )
    by = rng.choice(["courier", "post", "van"], size, p=[0.3, 0.5, 0.2])
    who = rng.integers(80, size=size)
    returned = rng.random(size) < np.where(by == "courier", 0.4, 0.1)
    old = people["age"].to_numpy()[who] == "old"
    pay = np.where(rng.random(size) < np.where(old, 0.8, 0.2), "cash", "card")
    orders = pd.DataFrame(
        {
            "id": [f"o{k}" for k in range(size)],
            "customer": people["id"].to_numpy()[who],
            "sent by": by,
            "returned": np.where(returned, "yes", "no"),
            "payment": pay,
        }
    )
    if empty:
        for column in ("sent by", "returned", "payment"):
            orders[column] = orders[column].where(rng.random(size) >= empty, None)
    keys = {"customers": Keys("id"), "orders": Keys("id", {"customer": "customers"})}
    return people, orders, Loaded(*from_frames({"customers": people, "orders": orders}, keys=keys))


def test_rules_are_told_in_the_words_of_the_tables_with_shares_that_are_right():
    people, orders, tables = shop()
    rules = LAJDT().fit(tables).model.sentences()
    joined = orders.merge(people, left_on="customer", right_on="id")
    seen = {rule.rule: rule for rule in rules}
    [courier] = [rule for name, rule in seen.items() if "returned" in name and "courier" in name]
    chosen = orders[orders["sent by"] == "courier"]
    told = chosen["returned"] == "yes"
    if courier.rule == "orders: sent by courier => returned":
        assert courier.share == pytest.approx(told.mean())
        assert courier.base == pytest.approx((orders["returned"] == "yes").mean())
        assert courier.support == len(chosen)
        assert courier.sentence == (
            f"of orders with sent by courier {told.mean():.1%} have returned, "
            f"against {courier.base:.1%} of all ({len(chosen)} orders)"
        )
    else:  # the edge runs the other way
        back = orders[orders["returned"] == "yes"]
        assert courier.share == pytest.approx((back["sent by"] == "courier").mean())
        assert courier.support == len(back)
    [paid] = [rule for name, rule in seen.items() if "payment" in name and "age" in name]
    assert "customers.age" in paid.rule
    assert "(by customer)" in paid.sentence
    value = paid.rule.split()[-1]
    age = paid.rule.split("age ")[1].split()[0]
    same = joined[joined["age"] == age]
    assert paid.share == pytest.approx((same["payment"] == value).mean())
    assert paid.support == len(same)
    assert paid.sentence.endswith("orders)")


def test_shares_are_those_of_cells_that_are_there(tmp_path):
    people, orders, tables = shop(size=1500, empty=0.3)
    joined = orders.merge(people, left_on="customer", right_on="id")
    model = LAJDT().fit(tables).model
    model.save(tmp_path / "shop.mln")
    rules = model.sentences()
    assert load_model(tmp_path / "shop.mln").sentences() == rules
    checked = 0
    for rule in rules:
        about, _, text = rule.rule.partition(": ")
        asked, found, told = text.rpartition(" => ")
        if about != "orders" or not found:
            continue
        held = np.ones(len(joined), np.bool_)
        for part in asked.split(" and "):
            held &= _holds(joined, part)
        column, is_so = _column(told), _holds(joined, told)
        there = joined[column].notna()
        assert rule.support == (held & there).sum()
        assert rule.share == pytest.approx(is_so[held & there].mean())
        assert rule.base == pytest.approx(is_so[there].mean())
        checked += 1
    assert checked >= 3


def _column(text):
    text = text.removeprefix("not ").removeprefix("customers.")
    return next(name for name in ("sent by", "returned", "payment", "age") if text.startswith(name))


def _holds(joined, text):
    """Which rows have what a rule asks for, as it is written."""
    column = _column(text)
    value = text.removeprefix("not ").removeprefix("customers.").removeprefix(column).strip()
    if not value:
        value = "no" if text.startswith("not ") else "yes"
    return (joined[column] == value).to_numpy()


@pytest.mark.parametrize("learner", [LAJDT(), LAJDT(links=True), MBN()])
def test_densities_of_links_come_last_and_two_values_once(learner):
    for tables in (self_tables, flag_tables):
        model = learner.fit(Loaded(*tables(1, size=6))).model
        rules = model.sentences(max_rules=1000)
        assert len({rule.rule for rule in rules}) == len(rules)
        links = {node.predicate.name for node in model.net.nodes if node.is_link}
        told = [rule.rule.split(": ")[1].split(" => ")[-1] for rule in rules]
        about = [text.removeprefix("no ") in links for text in told]
        assert about == sorted(about)
        conditional = [" => " in rule.rule for rule in rules[: about.count(False)]]
        assert conditional == sorted(conditional, reverse=True)
        for rule in rules:
            assert 0.0 <= rule.share <= 1.0
            assert rule.support >= 0
            assert f"{rule.share:.1%}" in rule.sentence


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("tables", [chain_tables, self_tables])
def test_reasons_are_those_of_the_network(tables, links, monkeypatch):
    database, mapping = tables(2, size=4)
    model = LAJDT(links=links, pruning="none").fit(Loaded(database, mapping)).model
    found = model.predict(database)
    asked = []
    for name, prediction in found.items():
        facts = database.facts(name)
        for place in range(0, facts.shape[1], 7):
            [names] = database.decode(name, facts[:, [place]])
            atom = Atom(database.schema[name], tuple(map(Constant, names)))
            asked.append((atom, prediction, names[-1]))
    fast = [model.explain(database, atom) for atom, *_ in asked]
    for (atom, prediction, value), reasons in zip(asked, fast, strict=True):
        logs = np.exp(prediction.log_probabilities[:, prediction.node.values.index(value)])
        assert np.isclose(logs, reasons.probability).any(), atom
    monkeypatch.setattr(model_module, "explain_attribute", lambda *_: None)
    for (atom, *_), reasons in zip(asked, fast, strict=True):
        slow = model.explain(database, atom)
        assert reasons.probability == pytest.approx(slow.probability, abs=1e-9)
        assert reasons.log_odds == pytest.approx(slow.log_odds, abs=1e-9)
        assert str(reasons.against) == str(slow.against)
        mine = {part.rule: part.flips for part in reasons.contributions}
        theirs = {part.rule: part.flips for part in slow.contributions}
        assert mine == pytest.approx(theirs)


def test_empty_cells_say_nothing_in_reasons():
    database, mapping = chain_tables(2, missing=0.3, size=6)
    model = MBN(weights="log-probability", max_chain=1).fit(Loaded(database, mapping)).model
    for name, prediction in model.predict(database).items():
        known = np.flatnonzero(prediction.truth < prediction.node.size)
        if prediction.node.relationship is not None or not len(known):
            continue
        entity, value = int(known[0]), int(prediction.truth[known[0]])
        who = database.domains[prediction.node.predicate.types[0]].names[entity]
        atom = f'{name}("{who}","{prediction.node.values[value]}")'
        found = explain(model, database, atom)
        expected = np.exp(prediction.log_probabilities[entity, value])
        assert found.probability == pytest.approx(expected, abs=1e-9)
        assert found.assumed == 0
