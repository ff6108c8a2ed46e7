"""Data of pure chance: a model of them says the base rate, and so does its short list."""

import numpy as np
import pytest

from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import FLAGS, Link, Nominal, Number, Place, Relational, RowSet
from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.run import drive
from mlnlearn.structure.relational_boosting.blend import believed
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from mlnlearn.structure.relational_boosting.losses import Loss

ASKED = 1500
SHAPES = {
    "wide and short": {"rows": 200, "columns": 300},
    "few rows": {"rows": 30, "columns": 100},
    "a rare label": {"rows": 800, "columns": 60, "classes": (0.95, 0.05)},
    "several classes": {"rows": 200, "columns": 60, "classes": (0.4, 0.3, 0.2, 0.1)},
    "a number": {"rows": 200, "columns": 200, "classes": ()},
    "linked tables": {"rows": 200, "columns": 4, "linked": 3},
}


def random_columns(rng, rows, number, names=5):
    return {
        f"c{k}": Number(rng.standard_normal(rows))
        if k % 2
        else Nominal(rng.integers(0, names, rows).astype(np.int32), tuple(map(str, range(names))))
        for k in range(number)
    }


def chance(seed, rows, columns, classes=(0.5, 0.5), linked=0):
    """Return data, examples of which only the first are known, and all labels."""
    rng = np.random.default_rng(seed)
    every = rows + ASKED
    sets = {
        "task": RowSet("task", every, random_columns(rng, every, columns), None, zeros(every)),
    }
    for number in range(linked):
        size = 3 * every
        cells = random_columns(rng, size, 6, 12)
        cells["good"] = Nominal(
            rng.integers(0, 60, size).astype(np.int32), tuple(f"G{k}" for k in range(60))
        )
        cells["of"] = Link(rng.integers(0, every, size).astype(np.int32), "task")
        sets[f"linked{number}"] = RowSet(f"linked{number}", size, cells, None, zeros(size))
    if classes:
        label = rng.choice(len(classes), every, p=classes).astype(float)
    else:
        label = rng.standard_normal(every)
    names = FLAGS if len(classes) == 2 else tuple(f"C{k}" for k in range(len(classes)))
    known = np.where(np.arange(every) < rows, label, np.nan)
    home = Place("task", "label")
    return (
        Relational(sets, {}, {}),
        RowExamples(sets["task"], known, names, np.ones(every), home),
        label,
    )


def zeros(number):
    return np.zeros(number, np.int32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES)
def test_chance_is_not_worse_than_the_base_rate(shape, seed):
    view, examples, label = chance(seed, **SHAPES[shape])
    learner = RelationalBoost(target="label", seed=seed)
    model = drive(None, lambda course: learner.learn_examples(view, examples, course)).model
    number = len(examples.classes)
    loss = Loss("squares" if not number else "logistic" if number == 2 else "classes", number)
    asked = ~examples.known
    base = loss.start(label[~asked], np.ones((~asked).sum()))
    rate = loss.each(np.repeat(base[None], asked.sum(), axis=0), label[asked])
    for said in (model, model.distilled()):
        lost = loss.each(said.scores(view, examples.base)[asked], label[asked]) - rate
        assert lost.mean() < 0.005 + 0.01 * rate.mean()


def test_a_gain_is_believed_by_how_certain_it_is():
    rng = np.random.default_rng(0)
    gains = rng.standard_normal(100)
    gains += 0.1 - gains.mean()  # as large as its error
    assert believed(gains, np.ones(100)) == 0.0
    many = 0.1 + rng.standard_normal(100_000)
    assert 0.99 < believed(many, np.ones(100_000)) < 1.0
    assert believed(-many, np.ones(100_000)) == 0.0
    # examples that stand for many are no more of them
    assert believed(many, np.full(100_000, 7.0)) == pytest.approx(believed(many, np.ones(100_000)))


def random_relations(seed):
    """Return twenty-five relations of fourteen entities, each by the toss of a coin."""
    rng = np.random.default_rng(seed)
    names = [f"E{number}" for number in range(14)]
    facts = {
        f"r{number}": [(names[i], names[j]) for i, j in np.argwhere(rng.random((14, 14)) < 0.15)]
        for number in range(25)
    }
    return Database.from_facts(Schema.of(*(f"{name}(e,e)" for name in facts)), facts), "r0"


def random_colours(seed):
    """Return colours by chance of people who know each other by chance."""
    rng = np.random.default_rng(seed)
    names = [f"P{number}" for number in range(200)]
    facts = {
        "knows": [(names[i], names[j]) for i, j in rng.integers(0, 200, (800, 2))],
        "colour": [(name, f"C{c}") for name, c in zip(names, rng.integers(0, 4, 200), strict=True)],
    }
    return Database.from_facts(Schema.of("knows(p,p)", "colour(p,c!)"), facts), "colour"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("made", [random_relations, random_colours])
def test_paths_and_labels_of_neighbours_by_chance_say_nothing(made, seed):
    # a label that is held out must not be learned from as that of a neighbour, nor choose paths
    database, target = made(seed)
    fitted = RelationalBoost(target=target, seed=seed, patience=5).fit(database)
    assert fitted.notes.by_trees <= 0.1
    assert fitted.notes.by_tests <= 0.1
