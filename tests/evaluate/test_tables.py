"""Learners from tables, evaluated like any other: by brute force and by their own answers."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.declared import declared_mapping
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.population import all_atoms
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import Conditionals, Marginals, atom_probabilities
from mlnlearn.evaluate.attributes import accuracy, attribute_examples
from mlnlearn.evaluate.choose import Tuned, choose
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.evaluate.cross_validate import cross_validate
from mlnlearn.evaluate.folds import entity_folds
from mlnlearn.evaluate.tables import WithMapping
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN

SCHEMA = Schema.of("tall(person)", "hair(person,colour!)", "knows(person,person)")


def people(seed, count=15):
    """People who know each other; hair goes with height."""
    rng = np.random.default_rng([3, seed])
    names = [f"P{i}" for i in range(count)]
    tall = rng.random(count) < 0.5
    hair = np.where(rng.random(count) < 0.8, np.where(tall, "Red", "Brown"), "Grey")
    facts = {
        "tall": [(name,) for name, yes in zip(names, tall, strict=True) if yes],
        "hair": list(zip(names, hair.tolist(), strict=True)),
        "knows": [(a, b) for a in names for b in names if rng.random() < 0.2],
    }
    return Database.from_facts(SCHEMA, facts, domains={"colour": ["Red", "Brown", "Grey"]})


FOLDS = [people(seed) for seed in range(3)]


def shop(seed=0, items=24):
    """Tables with an attribute of a relationship, and one cell left empty."""
    rng = np.random.default_rng([5, seed])
    colours = rng.choice(["red", "blue"], items).tolist()
    names = [f"I{i}" for i in range(items)]
    buyers = [f"B{i}" for i in range(6)]
    marks = ["good" if colour == "red" else "bad" for colour in colours]
    who = [buyers[i] for i in rng.integers(0, 6, items)]
    return build_database(
        [
            Table("item", {"id": Column.of(names), "colour": Column.of([None, *colours[1:]])},
                  ("id",)),
            Table("buyer", {"id": Column.of(buyers)}, ("id",)),
            Table(
                "sale",
                {"buyer": Column.of(who), "item": Column.of(names), "mark": Column.of(marks)},
                ("buyer", "item"),
                (ForeignKey(("buyer",), "buyer"), ForeignKey(("item",), "item")),
            ),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("learner", [MBN(), LAJDT(), LAJDT(links=True)])
def test_conditionals_are_those_of_the_network_of_rules(learner):
    """Two ways to the same: predictions of the net, and flip counts of its rules."""
    model = learner.fit(FOLDS[1:]).model
    for name in ("hair", "tall"):
        atoms = all_atoms(FOLDS[0], name)
        found = atom_probabilities(model, FOLDS[0], name, atoms, Conditionals())
        known = conditional_probabilities(model.mln(), FOLDS[0], name)
        np.testing.assert_allclose(found, known, atol=1e-9)


def test_links_are_asked_of_the_rules_as_a_network():
    model = MBN(links=True, weights="log-probability").fit(FOLDS[1:]).model
    atoms = all_atoms(FOLDS[0], "knows")
    found = atom_probabilities(model, FOLDS[0], "knows", atoms, Conditionals())
    np.testing.assert_allclose(found, conditional_probabilities(model.mln(), FOLDS[0], "knows"))
    marginal = atom_probabilities(model, FOLDS[0], "knows", atoms, Marginals())
    assert abs(marginal.mean() - FOLDS[0].count("knows") / atoms.shape[1]) < 0.1


@pytest.mark.parametrize("name", ["hair", "tall"])
def test_hidden_values_make_no_difference(name):
    """What is hidden by the protocol cannot show in the answers, whatever it was."""
    model = LAJDT(links=True).fit(FOLDS[1:]).model
    test = FOLDS[0]
    atoms = all_atoms(test, name)
    other = test.without_facts([name])
    first = atom_probabilities(model, test, name, atoms, Marginals())
    second = atom_probabilities(model, other, name, atoms, Marginals())
    np.testing.assert_array_equal(first, second)
    total = first.reshape(15, -1).sum(axis=1)
    if name == "hair":
        np.testing.assert_allclose(total, 1.0)


def test_values_never_seen_in_training_have_no_chance():
    train = Database.from_facts(SCHEMA, {"hair": [("A", "Red"), ("B", "Brown")]})
    test = Database.from_facts(SCHEMA, {"hair": [("C", "Red"), ("D", "Blue")]})
    model = MBN().fit([train]).model
    examples = attribute_examples([test], "hair")
    found = atom_probabilities(model, test, "hair", examples.columns, Conditionals())
    np.testing.assert_allclose(found, [0.5, 0.0, 0.5, 0.0])


def test_attributes_of_tables():
    database, mapping = shop()
    assert mapping.with_role("value") == ("colour", "mark")
    assert mapping.with_role("flag") == ()
    examples = attribute_examples([database, database], "mark")
    assert len(examples) == 2 * 24 * 2  # two databases, each sale, two marks
    assert examples.positives == 48
    assert len(attribute_examples([database], "colour")) == 23 * 2  # one cell is empty


def test_cross_validation_equals_the_models_own_scores():
    database, mapping = shop()
    folds = entity_folds(database, ["item"], 3)
    learner = LAJDT(max_chain=1)
    results = cross_validate(
        WithMapping(learner, mapping),
        folds,
        ["mark", "colour"],
        given=Conditionals(),
        attributes=mapping.with_role("value"),
    )
    for number, fold in enumerate(folds):
        told = learner.fit(Data(tuple(fold.train), mapping)).model.predict(fold.test[0])
        for name in ("mark", "colour"):
            scores = results.of(name).folds[number].scores
            assert scores["accuracy"] == pytest.approx(told[name].accuracy)
            assert scores["attribute_cll"] == pytest.approx(told[name].cll)
    # the mark is the colour, which is not known of one item: half a point of eight in one fold
    assert results.of("mark").mean["accuracy"] == pytest.approx(1 - 0.5 / 8 / 3)
    with pytest.raises(InputError, match="all values of the attribute mark"):
        cross_validate(
            WithMapping(learner, mapping), folds, "mark", attributes=["mark"], negatives=2
        )


def test_pairs_that_are_not_linked_have_no_attribute():
    database, mapping = shop()
    model = MBN().fit(Loaded(database, mapping)).model
    atoms = all_atoms(database, "mark")
    found = atom_probabilities(model, database, "mark", atoms, Conditionals())
    sold = set(database.rows("sale"))
    pairs = [row[:2] for row in database.decode("mark", atoms)]
    assert all(value == 0.0 for pair, value in zip(pairs, found, strict=True) if pair not in sold)
    linked = [value for pair, value in zip(pairs, found, strict=True) if pair in sold]
    assert sum(linked) == pytest.approx(len(sold))


def test_settings_of_a_learner_with_its_mapping_are_chosen():
    database, mapping = shop()
    folds = entity_folds(database, ["item"], 2)
    learner = WithMapping(LAJDT(max_chain=1), mapping)
    grid = {"max_parents": [0, 2]}
    chosen = choose(
        learner, grid, folds, "mark", metric="accuracy", given=Conditionals(), attributes=["mark"]
    )
    assert chosen.settings == {"max_parents": 2}
    assert chosen.learner.learner == LAJDT(max_chain=1, max_parents=2)
    tuned = Tuned(
        learner, grid, "mark", "accuracy", given=Conditionals(), attributes=("mark",),
        entities=("item",), parts=2,
    )  # fmt: skip
    assert len(tuned.fit([database]).model.net.nodes) == 3


def test_ties_up_to_rounding_are_ties():
    nearly = 0.1 + 0.2
    assert accuracy([True, False], [0.3, nearly], [0, 0]) == 0.5


def test_tables_read_off_declarations():
    schema = Schema.of(
        "tall(person)", "boss(person,person!)", "in(person,town!)", "of(town,land!)", "raining()",
        "gift(person,person,thing!)", "movie(movie,person)",
    )  # fmt: skip
    mapping = declared_mapping(schema)
    kinds = {table.name: table.kind for table in mapping}
    # a town is an entity, as it has a land; the type movie keeps its name
    assert kinds == {
        "person": "entity", "town": "entity", "thing": "entity", "movie": "entity",
        "boss": "relationship", "in": "relationship", "gift": "relationship",
        "movie_2": "relationship",
    }  # fmt: skip
    assert mapping.with_role("value") == ("of",)
    assert mapping.with_role("flag") == ("tall",)
    assert mapping.as_dict()["movie_2"]["predicate"] == "movie"
