"""The classifier over atoms: no leak, no copies, and at home in scikit-learn's tools."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import cpu_count
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.sklearn import MLNClassifier, TableError, target_table
from mlnlearn.structure.boosting.learners import BoostedMLN

SCHEMA = Schema.of("friends(person,person)", "smokes(person)")


def people(name, count=20, seed=0):
    """Smokers are those whom at least three people call a friend."""
    rng = np.random.default_rng([9, seed])
    names = [f"{name}{i}" for i in range(count)]
    pairs = [(a, b) for a in names for b in names if a != b and rng.random() < 0.15]
    called = [b for _, b in pairs]
    smokers = [(name,) for name in names if called.count(name) >= 3]
    facts = {"friends": pairs, "smokes": smokers}
    return Database.from_facts(SCHEMA, facts, domains={"person": names}, name=name)


DATABASES = [people(name, seed=seed) for seed, name in enumerate("ABC")]
X, Y = target_table(DATABASES, "smokes")


@dataclass(frozen=True)
class Popularity:
    """Learns from how many friends on one is a smoker: the best cut on the training rows."""

    target: str = "smokes"
    steepness: float = 2.0
    seen: list = field(default_factory=list, compare=False)

    def fit(self, databases):
        examples = positives_and_negatives(databases, self.target)
        self.seen.append([db.without_facts([]) for db in databases])
        degree = np.empty(len(examples))
        for number, database in enumerate(databases):
            inside = examples.database == number
            degree[inside] = degrees(database)[examples.columns[0, inside]]
        cuts = np.arange(10) - 0.5
        right = [((degree > cut) == examples.labels).mean() for cut in cuts]
        return PopularityModel(cuts[int(np.argmax(right))], self.steepness)


@dataclass(frozen=True)
class PopularityModel:
    cut: float
    steepness: float

    def predict(self, database, predicate, columns):
        assert not database.count(predicate)
        shown = degrees(database)[columns[0]]
        return 1 / (1 + np.exp(-self.steepness * (shown - self.cut)))


def degrees(database):
    return np.bincount(database.facts("friends")[1], minlength=database.size("person"))


def classifier(**settings):
    return MLNClassifier(Popularity(**settings), "smokes", DATABASES)


def test_tables_of_atoms():
    assert X.shape == (60, 2)
    assert set(X[:, 1]) == {"A", "B", "C"}
    assert Y.sum() == sum(db.count("smokes") for db in DATABASES)
    single, truth = target_table(DATABASES[0], "friends", ratio=2, rng=1)
    assert single.shape == (3 * truth.sum(), 2)
    facts = set(DATABASES[0].rows("friends"))
    assert [tuple(row) in facts for row in single.tolist()] == truth.tolist()
    nameless = [Database.from_facts(SCHEMA, {"smokes": [("P",)]}) for _ in range(2)]
    assert target_table(nameless, "smokes")[0].tolist() == [["P", "0"], ["P", "1"]]


def test_it_learns_and_predicts():
    model = classifier().fit(X[::2], Y[::2])
    assert model.classes_.tolist() == [False, True]
    assert model.score(X[1::2], Y[1::2]) == 1.0
    found = model.predict_proba(X)
    assert found.sum(axis=1) == pytest.approx(np.ones(60))
    assert (found[:, 1] > 0.5).tolist() == model.predict(X).tolist()
    words = np.where(Y, "yes", "no")
    assert classifier().fit(X, words).predict(X).tolist() == words.tolist()


def test_only_the_labelled_rows_of_the_target_are_seen():
    learner = Popularity()
    some = np.arange(0, 60, 3)
    wrong = ~Y[some]
    MLNClassifier(learner, "smokes", DATABASES).fit(X[some], wrong)
    [databases] = learner.seen
    for database, whole in zip(databases, DATABASES, strict=True):
        rows = [
            (row[0], label)
            for row, label in zip(X[some].tolist(), wrong.tolist(), strict=True)
            if row[1] == whole.name
        ]
        assert {name for (name,) in database.rows("smokes")} == {n for n, label in rows if label}
        false = database.decode("smokes", database.false_facts("smokes"))
        assert {name for (name,) in false} == {n for n, label in rows if not label}
        assert database.open == {"smokes"}
        assert set(database.rows("friends")) == set(whole.rows("friends"))
        assert whole.count("smokes") > 0


def test_clones_share_databases_and_learner():
    first = classifier()
    second = clone(first)
    assert second is not first
    assert second.databases is first.databases
    assert second.learner is first.learner
    inside = clone(make_pipeline("passthrough", first))
    assert inside[-1].databases is first.databases
    assert not hasattr(clone(first.fit(X, Y)), "model_")


def test_cross_val_score_and_groups():
    scores = cross_val_score(classifier(), X, Y, cv=3, scoring="average_precision")
    assert scores.tolist() == [1.0, 1.0, 1.0]
    groups = X[:, -1]
    learner = Popularity()
    by_group = cross_val_score(
        MLNClassifier(learner, "smokes", DATABASES), X, Y, cv=GroupKFold(3), groups=groups
    )
    assert len(by_group) == 3
    # each time one database has no labelled atom at all
    empty = [
        sum(not db.count("smokes") and not db.false_facts("smokes").size for db in databases)
        for databases in learner.seen
    ]
    assert empty == [1, 1, 1]
    found = cross_val_predict(classifier(), X, Y, cv=3, method="predict_proba")
    assert found.shape == (60, 2)


def test_grid_search_over_the_learner():
    grid = {"learner__steepness": [-2.0, 0.001, 3.0]}
    search = GridSearchCV(classifier(), grid, scoring="neg_log_loss", cv=3).fit(X, Y)
    assert search.best_params_ == {"learner__steepness": 3.0}
    assert search.best_estimator_.learner.steepness == 3.0
    assert search.best_estimator_.databases is DATABASES
    learners = {"learner": [Popularity(steepness=-1.0), Popularity(steepness=1.0)]}
    search = GridSearchCV(classifier(), learners, cv=3).fit(X, Y)
    assert search.best_params_["learner"].steepness == 1.0


def test_pipelines():
    names = FunctionTransformer(lambda table: np.char.upper(table.astype(str)))
    pipeline = Pipeline([("names", names), ("model", classifier())])
    lower = np.char.lower(X.astype(str))
    assert cross_val_score(pipeline, lower, Y, cv=3).tolist() == [1.0, 1.0, 1.0]
    pipeline.set_params(model__learner__steepness=7.0)
    assert pipeline["model"].learner.steepness == 7.0


def test_same_scores_in_two_processes():
    one = cross_val_score(classifier(), X, Y, cv=3, scoring="neg_log_loss", n_jobs=1)
    two = cross_val_score(classifier(), X, Y, cv=3, scoring="neg_log_loss", n_jobs=2)
    assert one.tolist() == two.tolist()


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames(library):
    frame = library.DataFrame({"person": X[:, 0].tolist(), "database": X[:, 1].tolist()})
    model = classifier().fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["person", "database"]
    assert model.predict(frame).tolist() == classifier().fit(X, Y).predict(X).tolist()


def test_numbers_are_names_too():
    schema = Schema.of("big(number)", "above(number,number)")
    facts = {"above": [("2", "1"), ("3", "1"), ("3", "2")]}
    database = Database.from_facts(schema, facts)

    class Fixed:
        def fit(self, databases):
            return MLN.parse(f"{databases[0].schema}\n2.0 above(x,y) => big(x)\n-1.5 big(x)")

    model = MLNClassifier(Fixed(), "big", database).fit([[1], [2], [3]], [0, 0, 1])
    assert model.predict([[1], [2], [3]]).tolist() == [0, 1, 1]
    assert model.predict_proba([[2]])[0, 1] == pytest.approx(1 / (1 + np.exp(-0.5)))


def test_databases_by_place():
    by_place = X.copy()
    by_place[:, 1] = ["ABC".index(name) for name in X[:, 1]]
    model = classifier().fit(X, Y)
    assert model.predict_proba(by_place).tolist() == model.predict_proba(X).tolist()


def test_parameters_reach_into_the_learner():
    model = classifier()
    assert model.get_params()["learner__steepness"] == 2.0
    own = {"learner", "target", "databases", "random_state", "n_jobs", "tables", "keys", "links"}
    assert set(model.get_params(deep=False)) == own
    model.set_params(learner=Popularity(steepness=1.0), learner__steepness=5.0, target="friends")
    assert (model.learner.steepness, model.target) == (5.0, "friends")
    with pytest.raises(ValueError, match="Invalid parameter 'depth' for learner Popularity"):
        model.set_params(learner__depth=3)
    with pytest.raises(ValueError, match="Invalid parameter 'trees'"):
        model.set_params(trees=3)


def test_seed_and_processes_go_to_the_learner(monkeypatch):
    asked = []

    def fit(learner, databases, run=None):
        asked.append((learner.seed, run and run.workers))
        return MLN.parse("smokes(person)\n0 smokes(x)")

    monkeypatch.setattr(BoostedMLN, "fit", fit)
    for settings in ({}, {"random_state": 5, "n_jobs": 2}, {"n_jobs": -1}):
        MLNClassifier(BoostedMLN(target="smokes", seed=3), databases=DATABASES, **settings).fit(
            X, Y
        )
    assert asked == [(3, None), (5, 2), (3, cpu_count())]


def test_the_learners_own_target_is_the_default():
    model = MLNClassifier(Popularity(), databases=DATABASES).fit(X, Y)
    assert model.score(X, Y) == 1.0
    with pytest.raises(InputError, match="has no target"):
        MLNClassifier(databases=DATABASES).fit(X, Y)
    with pytest.raises(InputError, match="has no target"):
        MLNClassifier(object(), databases=DATABASES).fit(X, Y)


def test_bad_rows_are_all_reported():
    rows = [["A0", "A"], ["Zoe", "A"], ["A0", "Q"], ["B1", "C"]]
    with pytest.raises(TableError) as caught:
        classifier().fit(rows, [0, 1, 0, 1])
    assert str(caught.value).splitlines() == [
        "row 2: no database 'Q'; there are: 0, 1, 2, A, B, C",
        "row 1: no constant 'Zoe' of type 'person'",
        "row 3: no constant 'B1' of type 'person'",
    ]
    assert isinstance(caught.value, ValueError)
    with pytest.raises(TableError, match=r"X has 1 columns, but smokes.person. takes 1"):
        classifier().fit([["A0"], ["A1"]], [0, 1])
    many = [[f"Nobody{i}", "A"] for i in range(30)]
    with pytest.raises(TableError, match="… and 20 more"):
        classifier().fit(many, [0, 1] * 15)


def test_an_atom_cannot_be_true_and_false():
    rows = [["A0", "A"], ["A1", "A"], ["A0", "A"]]
    with pytest.raises(TableError, match=r"smokes\('A0',\) is in X with both labels"):
        classifier().fit(rows, [0, 1, 1])
    twice = classifier().fit(rows, [0, 1, 0])
    assert twice.predict(rows).shape == (3,)
