"""Cross-validation and the choice of settings, with tiny learners."""

import json
import os
from dataclasses import dataclass, replace

import numpy as np
import pytest

from learners import Degree, Noisy, Rules, people
from mlnlearn.data.catalog import benchmark
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import Conditionals
from mlnlearn.evaluate.choose import Tuned, choose
from mlnlearn.evaluate.cross_validate import cross_validate
from mlnlearn.evaluate.folds import entity_folds
from mlnlearn.evaluate.metrics import scores
from mlnlearn.evaluate.parallel import run_all
from mlnlearn.evaluate.results import results_table
from mlnlearn.model.mln import MLN
from mlnlearn.weights.generative import learn_pseudolikelihood

needs_data = pytest.mark.skipif(
    not os.environ.get("MLNLEARN_DATA"), reason="MLNLEARN_DATA names no benchmark folder"
)
FOLDS = [people(seed) for seed in range(4)]
FRIENDS = Rules("1.1 friends(x,y) ^ smokes(x) => smokes(y)\n-0.3 smokes(x)\n0.5 age(x,1)")


def numbers(results):
    """All that must not depend on where and when the work is done."""
    return [(f.fold, f.name, f.seed, f.query, f.scores, f.n_pos, f.n_neg) for f in results.folds]


def test_scores_are_those_of_each_fold():
    results = cross_validate(Degree(), FOLDS, "smokes")
    assert results.learner == "Degree"
    for fold, database in zip(results.folds, FOLDS, strict=True):
        examples = positives_and_negatives([database], "smokes")
        predicted = Degree().predict(database, "smokes", examples.columns)
        assert fold.scores == pytest.approx(scores(examples.labels, predicted), abs=1e-12)
        assert (fold.n_pos, fold.n_neg) == (examples.positives, 12 - examples.positives)
        assert fold.name == database.name
        assert fold.train_cpu_seconds >= 0
        assert fold.peak_megabytes > 1
    values = [fold.scores["cll"] for fold in results.folds]
    assert results.mean["cll"] == pytest.approx(np.mean(values))
    assert results.sd["cll"] == pytest.approx(np.std(values, ddof=1))


@pytest.mark.parametrize("negatives", ["all", 2])
def test_the_same_with_one_and_two_processes(negatives):
    options = {"negatives": negatives, "seeds": 2}
    for learner, query in ((Noisy(), "smokes"), (FRIENDS, ["smokes", "friends"])):
        one = cross_validate(learner, FOLDS[:3], query, jobs=1, **options)
        two = cross_validate(learner, FOLDS[:3], query, jobs=2, **options)
        assert numbers(one) == numbers(two)


def test_seeds_reach_the_learner():
    results = cross_validate(Noisy(), FOLDS[:2], "smokes", seeds=[5, 6])
    assert [(fold.fold, fold.seed) for fold in results.folds] == [(1, 5), (1, 6), (2, 5), (2, 6)]
    by_seed = [fold.scores["cll"] for fold in results.folds]
    assert by_seed[0] != by_seed[1]
    alone = cross_validate(Noisy(), FOLDS[:2], "smokes", seeds=[6])
    assert [fold.scores for fold in alone.folds] == [f.scores for f in results.folds[1::2]]


def test_twice_the_negatives():
    results = cross_validate(Noisy("friends"), FOLDS, "friends", negatives=2, repeats=3)
    for fold, database in zip(results.folds, FOLDS, strict=True):
        assert fold.n_pos == database.count("friends")
        assert fold.n_neg == 2 * fold.n_pos
    # all samples together estimate what the mean over all pairs is
    steady = Rules("-1.0 friends(x,y)\n0.8 friends(x,y) ^ smokes(x)")
    found = cross_validate(steady, FOLDS, "friends", negatives=2, repeats=400, metrics=["brier"])
    for fold, database in zip(found.folds, FOLDS, strict=True):
        examples = positives_and_negatives([database], "friends")
        smokes = np.isin(examples.columns[0], database.facts("smokes")[0])
        predicted = 1 / (1 + np.exp(1.0 - 0.8 * smokes))
        error = (predicted - examples.labels) ** 2
        expected = (error[examples.labels].mean() + 2 * error[~examples.labels].mean()) / 3
        assert fold.scores["brier"] == pytest.approx(expected, abs=0.005)


def test_reweighted_samples_estimate_scores_over_all():
    steady = Rules("-1.0 friends(x,y)\n0.8 friends(x,y) ^ smokes(x)")
    options = {"metrics": ["cll", "brier", "auc_roc"]}
    every = cross_validate(steady, FOLDS, "friends", **options)
    some = cross_validate(
        steady, FOLDS, "friends", negatives=1, reweight=True, repeats=300, **options
    )
    for one, other in zip(every.folds, some.folds, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=0.01)


def test_several_predicates_and_protocols():
    queries = ["smokes", "age"]
    results = cross_validate(FRIENDS, FOLDS, queries, given=Conditionals(), metrics=["cll"])
    assert results.query == ("smokes", "age")
    assert len(results.folds) == 8
    assert len(results.of("age").folds) == 4
    both = [results.of(name).mean["cll"] for name in queries]
    assert results.mean["cll"] == pytest.approx(np.mean(both))
    marginal = cross_validate(FRIENDS, FOLDS, "smokes", metrics=["cll"])
    assert numbers(marginal) != numbers(results.of("smokes"))
    with pytest.raises(InputError, match="no results for 'friends'"):
        results.of("friends")


def test_accuracy_of_attributes():
    sure = Rules("5 age(x,1)")
    results = cross_validate(sure, FOLDS, "age", metrics=["accuracy", "attribute_cll"])
    for fold, database in zip(results.folds, FOLDS, strict=True):
        share = np.mean([value == "1" for _, value in database.rows("age")])
        assert fold.scores["accuracy"] == pytest.approx(share)
    with pytest.raises(InputError, match="needs all its values"):
        cross_validate(sure, FOLDS, "age", metrics=["accuracy"], negatives=2)
    with pytest.raises(InputError, match="no attribute with one value"):
        cross_validate(sure, FOLDS, "smokes", metrics=["accuracy"])


def test_json_shape():
    results = cross_validate(Noisy(), FOLDS[:2], "smokes", seeds=2)
    found = json.loads(json.dumps(results.to_dict(), allow_nan=False))
    assert set(found) == {"learner", "query", "folds", "mean", "sd"}
    assert (found["learner"], found["query"]) == ("Noisy", "smokes")
    wanted = {"fold", "seed", "auc_pr", "ap", "auc_roc", "cll"}
    wanted |= {"train_cpu_seconds", "test_cpu_seconds", "n_pos", "n_neg"}
    for fold in found["folds"]:
        assert wanted <= set(fold)
    for summary in (found["mean"], found["sd"]):
        assert {"auc_pr", "ap", "auc_roc", "cll", "train_cpu_seconds"} <= set(summary)


def test_a_fold_without_positives_is_left_out_of_the_mean():
    none = replace(FOLDS[0], true={k: v for k, v in FOLDS[0].true.items() if k != "smokes"})
    results = cross_validate(Degree(), [none, *FOLDS[1:3]], "smokes")
    assert np.isnan(results.folds[0].scores["auc_pr"])
    rest = [fold.scores["auc_pr"] for fold in results.folds[1:]]
    assert results.mean["auc_pr"] == pytest.approx(np.mean(rest))
    assert results.to_dict()["folds"][0]["auc_pr"] is None


def test_predictions_are_kept_and_pooled():
    results = cross_validate(Degree(), FOLDS, "smokes", keep_predictions=True)
    found = results.pooled()["smokes"]
    examples = positives_and_negatives(FOLDS, "smokes")
    assert len(found) == 48
    assert found.label.sum() == examples.positives
    assert set(found.scores()) == set(results.metrics)
    with pytest.raises(InputError, match="were not kept"):
        cross_validate(Degree(), FOLDS, "smokes").pooled()


def test_folds_made_otherwise():
    folds = entity_folds(people(9, count=30), ["person"], 3)
    results = cross_validate(Degree(), folds, "smokes")
    assert [fold.name for fold in results.folds] == ["part 1", "part 2", "part 3"]
    assert sum(fold.n_pos + fold.n_neg for fold in results.folds) == 30


def test_progress_and_table():
    seen = []
    results = cross_validate(
        Degree(), FOLDS, "smokes", name="by degree", progress=lambda *done: seen.append(done)
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    table = results_table([results, cross_validate(Noisy(), FOLDS, "smokes", metrics=["ap"])])
    first, *lines = table.splitlines()
    assert first.split() == ["by", "degree", "Noisy"]
    assert [line.split()[0] for line in lines][:3] == ["auc_pr", "ap", "auc_roc"]
    assert lines[0].endswith("–")
    assert str(results).splitlines()[0].split() == ["by", "degree"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "drinks"}, "no such predicate 'drinks'"),
        ({"query": []}, "name a predicate"),
        ({"seeds": 0}, "at least one seed"),
        ({"negatives": 0}, "'all' or a number above 0, not 0"),
        ({"negatives": "some"}, "'all' or a number above 0, not 'some'"),
        ({"metrics": ["f1"]}, "no metric 'f1'"),
        ({"databases": FOLDS[:1]}, "at least two folds"),
    ],
)
def test_wrong_questions_are_refused(options, message):
    arguments = {"databases": FOLDS, "query": "smokes"} | options
    with pytest.raises(InputError, match=message):
        cross_validate(Degree(), **arguments)


def fail(number):
    raise InputError(f"number {number} is wrong", hint="take another")


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_come_back_from_workers(jobs):
    with pytest.raises(InputError, match=r"number \d is wrong\n  hint: take another"):
        run_all(fail, [1, 2, 3], jobs=jobs)


def test_results_keep_the_order_of_tasks():
    done = []
    found = run_all(abs, range(-20, 0), jobs=2, progress=lambda n, total: done.append((n, total)))
    assert found == list(range(20, 0, -1))
    assert done == [(n, 20) for n in range(1, 21)]


def test_the_best_settings_are_chosen():
    """The steepness with the best likelihood, found among all by hand."""
    grid = {"steepness": [-1.0, 0.2, 5.0]}
    choice = choose(Degree(), grid, FOLDS, "smokes", metric="cll")
    by_hand = [cross_validate(Degree(s), FOLDS, "smokes").mean["cll"] for s in grid["steepness"]]
    assert [score for _, score in choice.table] == by_hand
    assert choice.score == max(by_hand)
    assert choice.learner == Degree(grid["steepness"][int(np.argmax(by_hand))])
    worst = choose(Degree(), grid, FOLDS, "smokes", metric="brier")
    assert worst.score == min(score for _, score in worst.table)


def test_wrong_grids_are_refused():
    with pytest.raises(InputError, match="Degree does not take the settings trees"):
        choose(Degree(), {"trees": [1]}, FOLDS, "smokes")
    with pytest.raises(InputError, match="no settings to try"):
        choose(Degree(), {"steepness": []}, FOLDS, "smokes")
    with pytest.raises(InputError, match="no metric 'f1'"):
        choose(Degree(), {"steepness": [1.0]}, FOLDS, "smokes", metric="f1")


def test_nested_validation_sees_training_data_only(monkeypatch):
    tested = []
    predict = Degree.predict

    def watch(self, database, predicate, columns):
        tested.append(database.name)
        return predict(self, database, predicate, columns)

    monkeypatch.setattr(Degree, "predict", watch)
    tuned = Tuned(Degree(), {"steepness": [0.5, 2.0]}, "smokes")
    cross_validate(tuned, FOLDS[:3], "smokes")
    # per outer fold: two settings on the two training databases, then the test database once
    assert tested == [
        *["people 1", "people 2"] * 2, "people 0",
        *["people 0", "people 2"] * 2, "people 1",
        *["people 0", "people 1"] * 2, "people 2",
    ]  # fmt: skip


def test_one_training_database_is_split_by_entities():
    tuned = Tuned(Degree(), {"steepness": [0.1, 1.0]}, "smokes", metric="cll", entities=("person",))
    model = tuned.fit([people(0, count=30)])
    assert model in (Degree(0.1), Degree(1.0))
    with pytest.raises(InputError, match="name the types of the entities"):
        replace(tuned, entities=()).fit([people(0)])


@dataclass(frozen=True)
class PseudoLikelihood:
    """Weights for given rules."""

    rules: str
    query: str

    def fit(self, databases):
        mln = MLN.parse(f"{databases[0].schema}\n{self.rules}")
        return learn_pseudolikelihood(mln, databases, query=[self.query])


@needs_data
def test_advisers_in_one_and_two_processes():
    """Two rules find most advisers; nothing in them needs another adviser to be known."""
    folds = [replace(db, schema=db.schema.without_functional()) for db in benchmark("uwcse")]
    rules = "professor(p) ^ student(s) => advisedBy(s,p)\n"
    rules += "publication(t,s) ^ publication(t,p) => advisedBy(s,p)"
    learner = PseudoLikelihood(rules, "advisedBy")
    one, two = (cross_validate(learner, folds, "advisedBy", jobs=jobs) for jobs in (1, 2))
    assert numbers(one) == numbers(two)
    assert sum(fold.n_pos for fold in one.folds) == 113
    assert one.mean["auc_roc"] > 0.9
    each = cross_validate(learner, folds, "advisedBy", given=Conditionals())
    for first, second in zip(one.folds, each.folds, strict=True):
        assert first.scores == pytest.approx(second.scores, abs=1e-9)
