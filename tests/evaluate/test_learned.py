"""One call from data to a model with scores, asked and explained like those it was learned from."""

import sqlite3

import numpy as np
import polars as pl
import pytest

import mlnlearn as ml
from mlnlearn.files import is_ours

BOOST = ml.RelationalBoost(target="customer.left", steps=30)


def frames(rows, seed, *, known=True):
    """Customers above forty mostly leave; the plan says nothing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, rows)
    left = rng.random(rows) < np.where(age > 40, 0.9, 0.1)
    answers = np.where(left, "yes", "no").tolist() if known else [None] * rows
    plans = rng.choice(["a", "b", "c"], rows).tolist()
    cells = {"id": [f"c{n}" for n in range(rows)], "age": age, "plan": plans, "left": answers}
    return {"customer": pl.DataFrame(cells, schema_overrides={"left": pl.String})}, age, left


@pytest.fixture(scope="module")
def learned():
    return ml.learn(frames(300, 0)[0], "customer.left", learner=BOOST)


def test_scores_are_of_rows_kept_aside_beside_the_base_rate(learned):
    assert set(learned.scores) == {"auc_roc", "auc_pr", "accuracy", "cll"}
    assert learned.held_out.rows == 60
    area, base = learned.scores["auc_roc"]
    assert base == 0.5
    assert 0.8 < area < 1.0


def test_the_first_rule_is_the_planted_one(learned):
    rule = learned.rules(1)[0]
    assert len(learned.rules(1)) == 1
    assert "age" in rule.sentence
    assert str(learned).startswith(f"1. {rule.sentence}")
    assert rule.sentence in learned._repr_html_().replace("&gt;", ">")


def test_new_rows_are_read_as_those_before(learned):
    asked, age, _ = frames(80, 1, known=False)
    answers = learned.query(asked)
    chances = {row["row"]: float(row["probability"]) for row in answers.records()}
    assert len(chances) == 80
    assert np.mean([(chances[f"c{n}"] > 0.5) == (age[n] > 40) for n in range(80)]) > 0.9


def test_why_adds_up_to_the_answer(learned):
    asked, _, _ = frames(80, 1, known=False)
    reasons = learned.explain(asked, "c3")
    total = sum(part.log_odds for part in reasons.contributions)
    assert reasons.row == "c3"
    assert 1 / (1 + np.exp(-total)) == pytest.approx(reasons.probability, abs=1e-9)


def test_a_file_is_learned_from_and_the_model_kept(learned, tmp_path):
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE customer (id TEXT PRIMARY KEY, age INT, plan TEXT, left TEXT)"
        )
        rows = frames(300, 0)[0]["customer"].rows()
        connection.executemany("INSERT INTO customer VALUES (?, ?, ?, ?)", rows)
    found = ml.learn(file, "customer.left", learner=BOOST)
    assert found.scores == learned.scores
    found.save(tmp_path / "left.mln")
    assert ml.load_model(tmp_path / "left.mln").rules() == found.model.rules()


def test_a_model_that_was_kept_is_asked_and_explained_as_before(learned, tmp_path):
    asked, _, _ = frames(30, 5, known=False)
    learned.save(tmp_path / "left.mln")
    again = ml.ScoredModel.load(tmp_path / "left.mln")
    assert again.target == learned.target
    assert again.scores == {}
    assert list(again.query(asked).records()) == list(learned.query(asked).records())
    assert str(again.explain(asked, "c3")) == str(learned.explain(asked, "c3"))


def test_a_net_of_all_columns_answers_for_rows_of_one(tmp_path):
    tables, age, left = frames(300, 0)
    tables["customer"] = tables["customer"].with_columns(
        pl.Series("old", np.where(age > 40, "old", "young"))
    )
    only_net = ml.Auto(target="customer.left", portfolio=("laj-dt",))
    found = ml.learn(tables, "customer.left", learner=only_net)
    found.save(tmp_path / "net.mln")
    with pytest.raises(ml.InputError, match="no one target"):
        ml.ScoredModel.load(tmp_path / "net.mln")
    for model in (found, ml.ScoredModel.load(tmp_path / "net.mln", "customer.left")):
        answers = list(model.query(tables).records())
        assert [row["row"] for row in answers] == tables["customer"]["id"].to_list()
        said = np.array([float(row["probability"]) > 0.5 for row in answers])
        assert (said == (age > 40)).mean() > 0.95  # from the other columns, not from the label
        assert (said == left).mean() < 0.95
        assert len(model.query(tables, only_empty=True)) == 0


def friends(rows):
    """Who has friends in a bad mood is in one, too; those in one mostly leave."""
    rng = np.random.default_rng(0)
    mood, friend = rng.choice(["good", "bad", "so-so"], rows), rng.integers(0, rows, rows)
    for _ in range(3):
        mood = np.where(rng.random(rows) < 0.85, mood[friend], mood)
    left = rng.random(rows) < np.where(mood == "bad", 0.9, 0.1)
    names = np.array([f"c{n}" if n else "c(0)" for n in range(rows)])
    cells = {"id": names, "mood": mood, "left": np.where(left, "yes", "no")}
    others = [names[friend], np.roll(names, 1)]
    pairs = pl.DataFrame({"one": np.tile(names, 2), "other": np.concatenate(others)})
    return {"customer": pl.DataFrame(cells), "friends": pairs.unique(maintain_order=True)}


@pytest.fixture(scope="module")
def net():
    """Tables, and a net of all of their columns."""
    tables = friends(300)
    return tables, ml.LAJDT().fit(ml.as_data(tables)).model


@pytest.mark.parametrize("column", ["left", "mood"])
def test_a_net_says_why_of_the_answer_for_a_row(net, column):
    tables, model = net
    scored = ml.ScoredModel(f"customer.{column}", model, ml.Notes(), None)
    told = {row["row"]: row for row in scored.query(tables).records()}
    data = ml.as_data(tables).databases[0]
    by_others = 0.0
    for name in ("c(0)", *(f"c{n}" for n in range(10, 50))):
        why = scored.explain(tables, name)
        value = (told[name]["prediction"],) if column == "mood" else ()
        assert tuple(term.name for term in why.atom.terms) == (name, *value)
        assert why.probability == pytest.approx(float(told[name]["probability"]), abs=1e-5)
        assert sum(part.log_odds for part in why.contributions) == pytest.approx(why.log_odds)
        given_all = scored.explain(tables, str(why.atom))
        assert given_all == model.explain(data, why.atom)
        by_others = max(by_others, abs(given_all.probability - why.probability))
    # where an atom is named, the moods of friends are known
    assert (by_others > 0.1) == (column == "mood")


def test_a_net_says_why_where_no_value_is_known(net):
    tables, model = net
    scored = ml.ScoredModel("customer.mood", model, ml.Notes(), None)
    empty = pl.lit(None, dtype=pl.String).alias("mood")
    asked = {**tables, "customer": tables["customer"].with_columns(empty)}
    for name in ("c10", "c11", "c12"):
        assert scored.explain(asked, name) == scored.explain(tables, name)


def test_a_row_that_a_net_is_asked_about_must_be_there(net):
    tables, model = net
    scored = ml.ScoredModel("customer.mood", model, ml.Notes(), None)
    with pytest.raises(ml.InputError, match="customer has no row 'c333'") as refused:
        scored.explain(tables, "c333")
    assert "c33" in refused.value.hint
    with pytest.raises(ml.InputError, match="no row 'Anna'") as refused:
        scored.explain(tables, "Anna")
    assert refused.value.hint.startswith("there are: c(0), c1")
    by_links = ml.ScoredModel("friends", model, ml.Notes(), None)
    assert by_links.explain(tables, 'friends("c10","c11")').atom.predicate.name == "friends"


def test_atoms_of_a_database_are_asked_one_database_at_a_time():
    databases = ml.synthetic.smokers(60, rng=1).databases
    found = ml.learn(databases, "cancer", learner=ml.BoostedMLN(target="cancer", steps=2))
    answers = found.query(databases[0])
    assert len(answers) == 60
    with pytest.raises(ml.InputError, match="2 databases"):
        found.query([databases[0], databases[0]])


def test_a_column_known_only_afterwards_is_warned_of():
    tables, _, left = frames(300, 0)
    reason = ["price" if one else None for one in left]
    tables["customer"] = tables["customer"].with_columns(pl.Series("reason", reason))
    with pytest.warns(ml.DataWarning, match="reason"):
        ml.learn(tables, "customer.left", learner=BOOST)


def test_a_learner_may_be_named():
    found = ml.learn(ml.synthetic.smokers(60, rng=1).databases, "cancer", learner="mln-bc")
    assert isinstance(found.model, ml.BoostedModel)
    with pytest.raises(ml.InputError, match="no learner 'mlnbt'"):
        ml.learn(ml.synthetic.smokers(9, rng=1).databases, "cancer", learner="mlnbt")
    with pytest.raises(ml.InputError, match="gslp does not learn one target"):
        ml.learn(ml.synthetic.smokers(9, rng=1).databases, "cancer", learner="gslp")


def test_answers_come_in_the_order_of_the_table(learned, tmp_path):
    asked, _, _ = frames(40, 4, known=False)
    mixed = asked["customer"].sample(fraction=1.0, shuffle=True, seed=1)
    in_turn = [row["row"] for row in learned.query({"customer": mixed}).records()]
    assert in_turn == mixed["id"].to_list() != sorted(in_turn)
    assert sorted(in_turn) == sorted(f"c{n}" for n in range(40))
    mixed.write_csv(tmp_path / "customer.csv")
    assert [row["row"] for row in learned.query(tmp_path).records()] == in_turn
    plain = {row["row"]: row for row in learned.query(asked).records()}
    assert all(plain[row["row"]] == row for row in learned.query({"customer": mixed}).records())


def test_answers_for_rows_may_be_written_again(learned, tmp_path):
    asked, _, _ = frames(9, 5, known=False)
    learned.query(asked).save(tmp_path / "flags.csv")
    ages = {"customer": frames(200, 6)[0]["customer"].drop("left")}
    for column in ("age", "plan"):
        learner = ml.RelationalBoost(target=f"customer.{column}", steps=2)
        found = ml.learn(ages, learner.target, learner=learner)
        found.query(ages).save(tmp_path / f"{column}.csv")
    assert all(map(is_ours, tmp_path.iterdir()))
    assert len(list(tmp_path.iterdir())) == 3
