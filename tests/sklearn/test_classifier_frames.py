"""Classes of rows of data frames: through links, for rows and entities never seen."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import smokers
from mlnlearn.sklearn import MLNClassifier, target_table


def shop(seed=0):
    """Return orders, what became of them, and customers, whose level decides it."""
    rng = np.random.default_rng(seed)
    customers = {"id": [f"C{k}" for k in range(40)], "level": rng.integers(1, 10, 40).tolist()}
    who = rng.integers(0, 40, 200)
    orders = {"customer": [f"C{k}" for k in who]}
    level = np.array(customers["level"])[who]
    return customers, orders, np.select([level < 4, level < 7], ["kept", "returned"], "lost")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_classes_are_learned_through_a_link_and_for_new_customers(frame):
    customers, orders, fate = shop()
    links = {"customer": "customer"}
    classifier = MLNClassifier(
        tables={"customer": frame(customers)}, keys={"customer": "id"}, links=links, random_state=1
    )
    classifier.fit(frame(orders), fate)
    assert classifier.classes_.tolist() == ["kept", "lost", "returned"]
    assert classifier.score(frame(orders), fate) > 0.95
    more = {"id": [*customers["id"], "New1", "New2"], "level": [*customers["level"], 1, 9]}
    classifier.set_params(tables={"customer": frame(more)})
    new = frame({"customer": ["New2", "New1", "Nobody"]})
    assert classifier.predict(new)[:2].tolist() == ["lost", "kept"]
    chances = classifier.predict_proba(new)
    assert chances.shape == (3, 3)
    assert np.allclose(chances.sum(axis=1), 1.0)


def test_labels_may_be_numbers_and_one_class_is_refused():
    rows = pd.DataFrame({"size": range(80)})
    label = np.where(rows["size"] > 40, 7, -3)
    found = MLNClassifier().fit(rows, label)
    assert found.predict(pd.DataFrame({"size": [2, 75]})).tolist() == [-3, 7]
    with pytest.raises(ValueError, match="one class"):
        MLNClassifier().fit(rows, np.ones(80, int))


def test_atoms_are_learned_by_auto_where_no_learner_is_named():
    database: Database = smokers(30, rng=0).databases[0]
    atoms, truth = target_table(database, "smokes")
    classifier = MLNClassifier(target="smokes", databases=database).fit(atoms, truth)
    assert classifier.predict_proba(atoms).shape == (30, 2)
