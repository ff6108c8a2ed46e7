"""Cross-validation on the command line."""

import json

import pytest

import mlnlearn as ml
from mlnlearn.evaluate.significance import compare

FOLD = {
    "fold", "seed", "auc_pr", "ap", "auc_roc", "cll", "train_cpu_seconds", "test_cpu_seconds",
    "n_pos", "n_neg",
}  # fmt: skip
COSTS = {"train_cpu_seconds", "test_cpu_seconds", "peak_megabytes"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = ml.synthetic.university(30, areas=3, rng=0)
    (tmp_path / "schema.mln").write_text(f"{made.schema}\n")
    for number, database in enumerate(made.databases, start=1):
        facts = [
            f"{predicate.name}({','.join(row)})\n"
            for predicate in made.schema.predicates
            for row in database.rows(predicate.name)
        ]
        (tmp_path / f"area{number}.db").write_text("".join(facts))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def command(*learners, more=()):
    named = [part for name in learners for part in ("--learner", name)]
    return (
        "evaluate", *named, "--schema", "schema.mln", "--db", "area1.db", "area2.db", "area3.db",
        "--query", "advisedBy", "--set", "steps=2", *more,
    )  # fmt: skip


def evaluated(program, *learners, more=()):
    code, out, err = program(*command(*learners, more=("--json", *more)))
    assert (code, err) == (0, "")
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


def test_several_predicates_are_predicted_together(folder, program):
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
    few = ("--seeds", "2", "--set", "max_length=2", "--set", "max_clauses=5", "--set", "steps=1")
    code, out, err = program(*command(*learners, more=few))
    assert (code, err) == (0, "")
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
        ("--learner laj-dt --db area1.db area2.db --query advisedBy", "it learns from tables"),
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
        "area1.db", "area2.db", "--query", "student", "--set", "steps=1", "--set", "max_length=2",
        "--set", "max_clauses=5", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    boosted, search = json.loads(out)
    assert (boosted["learner"], search["learner"]) == ("rdn-b", "gslp")
    assert len(boosted["folds"]) == len(search["folds"]) == 2
