"""Cross-validation on the command line."""

import json

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.evaluate.choose import choose
from mlnlearn.evaluate.significance import compare
from mlnlearn.registry import LEARNERS
from mlnlearn.structure.join_bayes.learners import MBN

FOLD = {
    "fold", "seed", "auc_pr", "ap", "auc_roc", "cll", "train_cpu_seconds", "test_cpu_seconds",
    "n_pos", "n_neg",
}  # fmt: skip
COSTS = {"train_cpu_seconds", "test_cpu_seconds", "peak_megabytes"}


def written(made, folder, monkeypatch):
    (folder / "schema.mln").write_text(f"{made.schema}\n")
    for number, database in enumerate(made.databases, start=1):
        facts = [
            f"{predicate.name}({','.join(row)})\n"
            for predicate in made.schema.predicates
            for row in database.rows(predicate.name)
        ]
        (folder / f"area{number}.db").write_text("".join(facts))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return written(ml.synthetic.university(30, areas=3, rng=0), tmp_path, monkeypatch)


@pytest.fixture
def small_folder(tmp_path, monkeypatch):
    return written(ml.synthetic.university(10, areas=2, rng=0), tmp_path, monkeypatch)


def command(*learners, more=()):
    named = [part for name in learners for part in ("--learner", name)]
    return (
        "evaluate", *named, "--schema", "schema.mln", "--db", "area1.db", "area2.db", "area3.db",
        "--query", "advisedBy", "--set", "steps=2", *more,
    )  # fmt: skip


def evaluated(program, *learners, more=()):
    code, out, err = program(*command(*learners, more=("--json", *more)))
    assert code == 0, err  # where the machine is slow, err says how far the work is
    return json.loads(out)


def without_costs(results):
    """Leave out what differs from run to run."""
    return [{k: v for k, v in fold.items() if k not in COSTS} for fold in results["folds"]]


def expected(learner, **more):
    databases = [ml.read_db(f"area{k}.db", schema="schema.mln") for k in (1, 2, 3)]
    return ml.cross_validate(learner, databases, "advisedBy", **more)


def test_json_of_one_learner(folder, program):
    found = evaluated(program, "rdn-b", more=("--out", "results.json"))
    assert set(found) == {"learner", "query", "folds", "mean", "sd"}
    assert (found["learner"], found["query"]) == ("rdn-b", "advisedBy")
    assert [(fold["fold"], fold["seed"]) for fold in found["folds"]] == [(1, 0), (2, 0), (3, 0)]
    assert all(set(fold) >= FOLD for fold in found["folds"])
    known = expected(ml.BoostedRDN(target="advisedBy", steps=2))
    for name in ("auc_pr", "ap", "auc_roc", "cll"):
        assert [fold[name] for fold in found["folds"]] == [f.scores[name] for f in known.folds]
        assert found["mean"][name] == known.mean[name]
        assert found["sd"][name] == known.sd[name]
    atoms = [fold["n_pos"] + fold["n_neg"] for fold in found["folds"]]
    assert atoms == [36 * 36] * 3
    assert json.loads((folder / "results.json").read_text()) == found


def test_the_same_numbers_with_two_processes(folder, program):
    one = evaluated(program, "mln-bt", more=("--seeds", "2"))
    two = evaluated(program, "mln-bt", more=("--seeds", "2", "--jobs", "2"))
    assert [fold["seed"] for fold in one["folds"]] == [0, 1] * 3
    assert without_costs(one) == without_costs(two)


def test_several_learners_are_compared(folder, program):
    found = evaluated(program, "mln-bt", "mln-bc", more=("--set", "beam=3"))
    assert [results["learner"] for results in found] == ["mln-bt", "mln-bc"]
    assert "compared" not in found[0]
    trees = expected(ml.BoostedMLN(target="advisedBy", steps=2, beam=3))
    clauses = expected(ml.BoostedMLN(target="advisedBy", steps=2, beam=3, representation="clauses"))
    known = compare(clauses, trees, "cll")
    [told] = [item for item in found[1]["compared"] if item["metric"] == "cll"]
    assert told == {
        "with": "mln-bt",
        "metric": "cll",
        "difference": pytest.approx(known.difference),
        "t_test": pytest.approx(known.t_test),
        "wilcoxon": known.wilcoxon,
        "wins": known.tally.wins,
        "losses": known.tally.losses,
        "ties": known.tally.ties,
    }


def test_sampled_negatives(folder, program):
    found = evaluated(program, "rdn-b", more=("--negatives", "2"))
    assert all(fold["n_neg"] == 2 * fold["n_pos"] for fold in found["folds"])


def test_several_predicates_are_predicted_together(small_folder, program):
    code, out, err = program(
        "evaluate", "--learner", "mln-bc", "--schema", "schema.mln", "--db", "area1.db", "area2.db",
        "--query", "advisedBy,student", "--set", "steps=1", "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["query"] == ["advisedBy", "student"]
    assert [fold["query"] for fold in found["folds"]] == ["advisedBy", "student"] * 2


def test_the_tables_fit_the_screen(folder, program):
    learners = ("mln-bt", "rdn-b", "mln-bc", "gslp")
    few = ("--seeds", "2", "--set", "max_literals=2", "--set", "max_clauses=5", "--set", "steps=1")
    code, out, err = program(*command(*learners, more=few))
    assert code == 0, err
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out  # nothing is cut off
    for text in ("mln-bt on advisedBy", "AUC-PR", "mln-bt – rdn-b", "Wilcoxon"):
        assert text in out
    for learner in learners:
        assert f"{learner} on advisedBy" in out
    # a mean and its deviation for each measure and learner
    assert out.count("±") == 1 + 9 * len(learners)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--learner mln-xx --db area1.db area2.db --query advisedBy", "no learner 'mln-xx'"),
        ("--learner laj-dt --db area1.db --tables shop --query student", "not both"),
        ("--learner rdn-b --query student", "--db: name one or more databases"),
        ("--learner rdn-b --db area1.db area2.db", "--query: name the predicates"),
        ("--learner rdn-b --db area1.db --query student --entities person --time year",
         "--entities and --time are different ways"),
        ("--learner rdn-b --db area1.db --query student --time year", "--time needs --cuts"),
        ("--learner rdn-b --db area1.db --query student --cuts 3", "name what holds them"),
        ("--learner rdn-b --db area1.db --query student --time year --cuts x", "expected numbers"),
        ("--learner rdn-b --db area1.db --query student --set gslp.beam=3", "gslp is not eval"),
        ("--learner rdn-b --db area1.db area2.db --query student --try steps=x", "whole number"),
        ("--learner rdn-b --db area1.db --query advisedBy", "at least two databases"),
        ("--learner rdn-b --db area1.db area2.db --query nobody", "no such predicate 'nobody'"),
        ("--learner rdn-b --db area1.db area2.db --query student --negatives no", "expected all"),
        ("--learner rdn-b --db area1.db area2.db --query student --negatives -1", "expected all"),
        ("--learner rdn-b --learner gslp --db area1.db area2.db --query student --set depth=1",
         "rdn-b and gslp have no such setting"),
    ],
)  # fmt: skip
def test_bad_commands_are_one_message(folder, program, options, message):
    code, out, err = program("evaluate", "--schema", "schema.mln", *options.split())
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err


def test_a_setting_goes_to_the_learners_that_have_it(folder, program):
    code, out, err = program(
        "evaluate", "--learner", "rdn-b", "--learner", "gslp", "--schema", "schema.mln", "--db",
        "area1.db", "area2.db", "--query", "student", "--set", "steps=1", "--set", "max_literals=2",
        "--set", "max_clauses=5", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    boosted, search = json.loads(out)
    assert (boosted["learner"], search["learner"]) == ("rdn-b", "gslp")
    assert len(boosted["folds"]) == len(search["folds"]) == 2


def test_every_learner_in_one_command(folder, program):
    """Whatever the registry has, tables or not, with settings that keep it short."""
    few = (
        "max_chain=1", "max_literals=2", "max_rounds=1", "msl.max_literals=2", "max_clauses=5",
        "walks=10", "max_links=1", "tried=3", "lsl.max_literals=1", "portfolio=mln-bt,rdn-b",
    )  # fmt: skip
    texts = [part for text in few for part in ("--set", text)]
    found = evaluated(program, "all", more=texts)
    assert [results["learner"] for results in found] == list(LEARNERS)
    for results in found:
        assert len(results["folds"]) == 3
        assert all(fold["cll"] < 0 for fold in results["folds"])
        assert all(fold["n_pos"] + fold["n_neg"] == 36 * 36 for fold in results["folds"])


def test_a_learner_that_fails_stops_no_other(tmp_path, monkeypatch, program):
    (tmp_path / "schema.mln").write_text("knows(person,person)\n")
    for name in ("one.db", "two.db"):
        (tmp_path / name).write_text("knows(A,B)\nknows(B,C)\n")
    monkeypatch.chdir(tmp_path)
    code, out, err = program(
        "evaluate", "--learner", "mbn", "--learner", "rdn-b", "--schema", "schema.mln", "--db",
        "one.db", "two.db", "--query", "knows", "--set", "steps=1", "--json",
    )  # fmt: skip
    assert code == 1
    assert json.loads(out)["learner"] == "rdn-b"
    assert "mbn: the tables have no attributes to learn about" in err
    assert "no results of mbn" in err


def test_attributes_of_databases_by_a_learner_from_tables(folder, program):
    code, out, err = program(
        "evaluate", "--learner", "mbn", "--db", "area1.db", "area2.db", "--schema", "schema.mln",
        "--query", "inPhase,student", "--set", "max_chain=1", "--conditional", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    phases = [fold for fold in found["folds"] if fold["query"] == "inPhase"]
    databases = [ml.read_db(f"area{k}.db", schema="schema.mln") for k in (1, 2)]
    model = MBN(max_chain=1).fit(databases[1:]).model
    told = model.predict(databases[0])["inPhase"]
    assert phases[0]["accuracy"] == pytest.approx(told.accuracy)
    assert phases[0]["attribute_cll"] == pytest.approx(told.cll)
    assert "accuracy" not in found["folds"][1]
    assert set(found["by_query"]) == {"inPhase", "student"}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Tables in which the size follows the colour, and what is bought the colour too."""
    rng = np.random.default_rng(0)
    place = tmp_path / "shop"
    place.mkdir()
    colours = rng.choice(["red", "blue"], 60)
    sizes = np.where(rng.random(60) < 0.9, np.where(colours == "red", "big", "small"), "big")
    rows = [f"I{i},{colours[i]},{sizes[i]},{1990 + i % 10}" for i in range(60)]
    (place / "item.csv").write_text("id,colour,size,year\n" + "\n".join(rows) + "\n")
    sales = [f"P{i % 20},I{i},{'many' if colours[i] == 'red' else 'few'}" for i in range(60)]
    (place / "sale.csv").write_text("person,item,number\n" + "\n".join(sales) + "\n")
    people = "\n".join(f"P{i},{'f' if i % 2 else 'm'}" for i in range(20))
    (place / "person.csv").write_text(f"id,sex\n{people}\n")
    (place / "schema.sql").write_text(
        "CREATE TABLE item (id TEXT PRIMARY KEY, colour TEXT, size TEXT, year TEXT);\n"
        "CREATE TABLE person (id TEXT PRIMARY KEY, sex TEXT);\n"
        "CREATE TABLE sale (person TEXT REFERENCES person, item TEXT REFERENCES item,"
        " number TEXT, PRIMARY KEY (person, item));\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables_are_split_by_entities(shop, program):
    code, out, err = program(
        "evaluate", "--learner", "laj-dt", "--learner", "mbn", "--tables", "shop", "--parts", "3",
        "--conditional", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    trees, tables = json.loads(out)
    assert set(trees["query"]) == {"colour", "size", "year", "sex", "number"}
    assert [fold["fold"] for fold in trees["folds"]] == [f for f in (1, 2, 3) for _ in range(5)]
    for results in (trees, tables):
        means = results["by_query"]
        assert means["number"]["mean"]["accuracy"] > 0.9  # it is the colour
        assert means["colour"]["mean"]["accuracy"] > 0.8
    # of a sale, only the numbers that it could have are asked for: of the pairs sold, two each
    sold = [fold for fold in trees["folds"] if fold["query"] == "number"]
    assert all(fold["n_pos"] == fold["n_neg"] for fold in sold)
    assert sum(fold["n_pos"] for fold in sold) <= 60


def test_other_learners_take_tables_too(shop, program):
    code, out, err = program(
        "evaluate", "--learner", "rdn-b", "--tables", "shop", "--parts", "2", "--set", "steps=3",
        "--query", "colour", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out)["mean"]["accuracy"] > 0.65  # of 60 items, 31 are red


def test_tables_by_groups_and_by_time(shop, program):
    common = ("evaluate", "--learner", "mbn", "--tables", "shop", "--query", "colour", "--json")
    code, out, err = program(*common, "--groups", "size")
    assert (code, err) == (0, "")
    assert [fold["name"] for fold in json.loads(out)["folds"]] == ["big", "small"]
    code, out, err = program(*common, "--time", "year", "--cuts", "1995,1998")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert [fold["n_pos"] for fold in found["folds"]] == [18, 6]


def test_labels_group_databases(folder, program):
    found = evaluated(program, "rdn-b", more=("--groups", "x,y,x"))
    assert [fold["name"] for fold in found["folds"]] == ["area1.db, area3.db", "area2.db"]


def test_settings_are_chosen_on_training_data(folder, program):
    found = evaluated(
        program,
        "rdn-b",
        more=("--try", "max_leaves=1", "--try", "max_leaves=4", "--choose-by", "cll"),
    )
    databases = [ml.read_db(f"area{k}.db", schema="schema.mln") for k in (1, 2, 3)]
    learner = ml.BoostedRDN(target="advisedBy", steps=2)
    for number, fold in enumerate(found["folds"]):
        train = databases[:number] + databases[number + 1 :]
        best = choose(learner, {"max_leaves": [1, 4]}, train, "advisedBy", metric="cll").learner
        known = ml.cross_validate(best, databases, "advisedBy", metrics=["cll"])
        assert fold["cll"] == known.folds[number].scores["cll"]
