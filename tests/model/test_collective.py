"""Labels that are not known, answered together: against the stationary distribution of a sweep."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.relational import FLAGS, Place, relational
from mlnlearn.model.relational import trees
from mlnlearn.model.relational.collective import Sweeps, unknown_rows, with_labels
from mlnlearn.model.relational.features import Backward, Feature, Forward
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.model.relational.own import FOLDS
from mlnlearn.model.relational.trees import FeatureNode

SCHEMA = ml.Schema.of("smokes(person)", "friends(person,person)")
NAMES = [f"P{number}" for number in range(9)]
OPEN = [1, 2, 3, 5, 6, 7]
HOME = Place("person", "smokes")


def friends():
    """A ring of people, of whom three are known to smoke or not."""
    facts = {
        "smokes": [("P0",), ("P4",)],
        "friends": [(NAMES[n], NAMES[(n + 1) % 9]) for n in range(9)],
    }
    database = ml.Database.from_facts(SCHEMA, facts, domains={"person": NAMES})
    unknown = {"smokes": np.array([OPEN], np.int32)}
    return ml.Database.from_codes(SCHEMA, database.domains, database.true, database.false, unknown)


def by_share():
    """A model by which those smoke whose friends do."""
    steps = (
        Backward("friends", "person1", "mean"),
        Forward("person2"),
    )
    there = Feature(steps, "smokes", FLAGS[1])
    tree = FeatureNode((0.0,), trees.Test(there, 0.5), FeatureNode((1.6,)), FeatureNode((-1.1,)))
    model = RelationalModel(
        "smokes",
        "logistic",
        FLAGS,
        (0.2,),
        (tree,),
        schema=SCHEMA,
        row_set="person",
        column="smokes",
    )
    return replace(model, alone=replace(model, trees=(), start=(0.0,)))


def stationary(model, database):
    """The chances of labels where sweeps settle, from the matrix of a sweep over all states."""
    view = relational([database])
    base = view["person"].without("smokes")
    rows = np.array(OPEN)
    folds = np.arange(len(rows)) % FOLDS
    states = list(product((0, 1), repeat=len(rows)))
    place = {state: at for at, state in enumerate(states)}
    whole = np.eye(len(states))
    means = np.zeros((len(states), len(rows)))
    plain = replace(model, collective=False)
    for fold in range(FOLDS):
        own = np.flatnonzero(folds == fold)
        step, chances = np.zeros_like(whole), np.zeros((len(states), len(own)))
        for state in states:
            others = np.flatnonzero(folds != fold)
            told = with_labels(view, HOME, base, rows[others], np.array(state)[others], FLAGS)
            found = plain.probabilities(told, base)[rows[own], 1]
            chances[place[state]] = found
            for drawn in product((0, 1), repeat=len(own)):
                after = list(state)
                for at, value in zip(own, drawn, strict=True):
                    after[at] = value
                odds = np.prod([p if v else 1 - p for p, v in zip(found, drawn, strict=True)])
                step[place[state], place[tuple(after)]] += odds
        means[:, own] = whole @ chances
        whole = whole @ step
    values, vectors = np.linalg.eig(whole.T)
    settled = np.real(vectors[:, np.argmax(np.real(values))])
    return settled / settled.sum() @ means


def test_sampled_answers_are_those_where_sweeps_settle():
    database, model = friends(), by_share()
    expected = stationary(model, database)
    answers = model.query(database, query_evidence=True, method="gibbs")
    (table,) = answers.tables
    assert set(table.method) == {"gibbs"}
    order = np.argsort(table.columns[0])
    found, error = table.probability[order], table.standard_error[order]
    assert (error > 0).any()
    assert np.abs(found - expected).max() < 0.05
    view = relational([database])
    long = model.together(view, view["person"].without("smokes"), Sweeps(4, 20, 600))
    assert np.abs(long.values[OPEN, 1] - expected).max() < 0.02
    closed = model.query(database, query_evidence=True, method="exact").tables[0]
    assert np.abs(closed.probability[np.argsort(closed.columns[0])] - expected).max() > 0.1


def test_known_labels_are_as_in_closed_form_and_atoms_of_relations_are_told():
    database, model = friends(), by_share()
    view = relational([database])
    base = view["person"].without("smokes")
    both = model.together(view, base, Sweeps(2, 1, 2))
    known = ~both.sampled
    assert np.flatnonzero(both.sampled).tolist() == OPEN
    assert (both.values[known] == model.probabilities(view, base)[known]).all()
    assert (both.error[known] == 0).all()
    pairs = ml.Database.from_codes(
        SCHEMA,
        database.domains,
        database.true,
        unknown={"friends": np.array([[0, 3], [2, 5]], np.int32)},
    )
    seen = relational([pairs])
    home = Place("friends", None)
    rows = seen["friends"].taken(np.array([0, 1]))
    codes = {
        name: replace(column, codes=np.array(ends, np.int32))
        for (name, column), ends in zip(rows.columns.items(), ([0, 0], [2, 1]), strict=True)
    }
    asked = replace(rows, columns=codes)
    assert unknown_rows(seen, home, asked).tolist() == [True, False]
    told = with_labels(seen, home, asked, np.array([0, 1]), np.array([1, 0]), FLAGS)
    assert told["friends"].rows == 10
    assert [c.codes[-1] for c in told["friends"].columns.values()] == [0, 2]


@pytest.mark.parametrize("together", [False, True])
def test_the_choice_is_saved_and_kept(together, tmp_path):
    model = replace(by_share(), collective=together)
    model.save(tmp_path / "m.mln")
    read = ml.load_model(tmp_path / "m.mln")
    assert read.collective == together
    table = read.query(friends(), query_evidence=True).tables[0]
    assert set(table.method) == {"gibbs" if together else "closed form"}
