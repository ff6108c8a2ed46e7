"""The demonstration finds again what was planted."""

import sys

import pytest

import mlnlearn as ml
from mlnlearn.cli.demo_graph import _popularity_ranks
from mlnlearn.cli.demo_university import learn_rules, rank_rules
from mlnlearn.cli.main import run


def test_planted_rules_come_out_on_top():
    ranked = rank_rules(ml.synthetic.university(1000, areas=5, rng=1))
    assert [rule.planted for rule in ranked] == [True] * 4 + [False] * 7
    assert [rule.body for rule in ranked[:2]] == [
        "publication(t,s) ^ publication(t,p)",
        "ta(c,s,q) ^ taughtBy(c,p,q)",
    ]


def test_ranking_counts_pairs():
    made = ml.synthetic.university(20, areas=2, rng=3)
    pairs, advised, everyone, true = set(), set(), 0, 0
    for area, database in enumerate(made.databases):
        students = {name for (name,) in database.rows("student")}
        professors = {name for (name,) in database.rows("professor")}
        papers = list(database.rows("publication"))
        for title, one in papers:
            for other_title, other in papers:
                if title == other_title and one in students and other in professors:
                    pairs.add((area, one, other))
        advised |= {(area, *pair) for pair in database.rows("advisedBy")}
        everyone += len(students) * len(professors)
        true += database.count("advisedBy")
    [rule] = [r for r in rank_rules(made) if r.body == "publication(t,s) ^ publication(t,p)"]
    assert (rule.pairs, rule.advised) == (len(pairs), len(pairs & advised))
    assert rule.lift == pytest.approx(len(pairs & advised) / len(pairs) / (true / everyone))


def run_demo(monkeypatch, tmp_path, *arguments):
    monkeypatch.setattr(sys, "argv", ["mlnlearn", "demo", *arguments])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 0


def scores(out, name):
    """Return the numbers of a line of the table of scores."""
    [line] = [line for line in out.splitlines() if line.startswith(name)]
    return [float(cell) for cell in line.removeprefix(name).split()]


@pytest.mark.parametrize("columns", [80, 120])
def test_university(monkeypatch, capsys, tmp_path, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("mlnlearn.cli.demo_university._FEWER_STUDENTS", 30)
    run_demo(monkeypatch, tmp_path, "university", "--report", "page.html", "--data", "campus")
    out, err = capsys.readouterr()
    assert err == ""
    assert max(map(len, out.splitlines())) <= columns
    assert "publication(t,s) ^ publication(t,p)  *" in out
    assert "the true model" in out
    assert "page.html" in out
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert "The first 4 of the list are all planted." in out.replace(" \n", " ").replace("\n", " ")
    campus = tmp_path / "campus"
    area = ml.read_db(campus / "area1.db", schema=campus / "schema.mln")
    assert area.count("student") == 30


def test_shop_is_the_default_and_writes_a_page_and_its_data(monkeypatch, capsys, tmp_path):
    run_demo(monkeypatch, tmp_path, "--data", "shop.sqlite")
    out, err = capsys.readouterr()
    assert err == ""
    assert "  1. if at least 3 orders by customer: churned in" in out
    model, base = scores(out, "area under the ROC curve")
    assert model > 0.7 > base == 0.5
    assert "at least 3 orders by customer" in (tmp_path / "demo.html").read_text()
    assert {table.name for table in ml.read_tables(tmp_path / "shop.sqlite")} > {"customer"}


def test_graph_finds_uncles(monkeypatch, capsys, tmp_path):
    run_demo(monkeypatch, tmp_path, "graph", "--data", "kin")
    out, err = capsys.readouterr()
    assert err == ""
    assert "if X is brother of A and A is parent of Y: X is uncle of Y in" in out
    rules, popular = scores(out, "mean reciprocal rank")
    assert rules > 0.9 > 0.2 > popular
    split = ml.read_graph(
        *(tmp_path / "kin" / f"{part}.tsv" for part in ("train", "valid", "test"))
    )
    assert split.train.size > 500


def test_popularity_ranks_by_hand():
    train = [("a", "r", "x"), ("b", "r", "x"), ("c", "r", "y")]
    test = [("c", "r", "x")]
    # heads: a and b are known answers of x, so only x and y rank with c, which has more; tails: y
    # is known for c, and x is the most frequent of the others
    ranks = _popularity_ranks(train, test, {*train, *test})
    assert ranks.tolist() == [1.0, 1.0]


def test_learned_rules_are_the_planted_ones():
    learned = learn_rules(ml.synthetic.university(100, areas=5, rng=1))
    weights = dict(learned.clauses.rules())
    together = [
        w for rule, w in weights.items() if "publication(t1,p1) ^ publication(t1,p2)" in rule
    ]
    assert sum(together) > 1
    # it was planted with 1.2; that so few steps end far below is shown with the learners' tests
    assert weights["ta(c1,p1,q1) ^ taughtBy(c1,p2,q1) => advisedBy(p1,p2)"] > 0
    true = learned.scores.pop("the true model")
    base = learned.scores.pop("base rate")
    assert base["auc_pr"] < 0.01 < true["auc_pr"]
    assert learned.scores
    for scores in learned.scores.values():
        assert scores["cll"] > true["cll"] - 0.02
        assert scores["auc_pr"] > 0.6 * true["auc_pr"]
