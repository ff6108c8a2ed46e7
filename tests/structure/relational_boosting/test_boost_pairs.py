"""Relations to one of a few values, several a row: each pair of names has a rate of its own."""

import numpy as np
import pytest

from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import NAME, relational
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.relational.evaluate import Evaluator
from mlnlearn.model.relational.features import Backward, Between, Both, Feature, Forward
from mlnlearn.model.relational.trees import features_of
from mlnlearn.structure.relational_boosting.candidates import named_together
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from mlnlearn.structure.saved import load_model

TOPICS, JOBS = 10, 5
SCHEMA = Schema.of("job(person,work!)", "interest(person,topic)")


def interests(seed, people=250):
    """Whom a topic interests depends on the job, in another way for every topic."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, JOBS, people)
    chance = 1 / (1 + np.exp(1.5 - 2.0 * rng.standard_normal((JOBS, TOPICS))))[job]
    true = rng.random(chance.shape) < chance
    facts = {
        "job": [(f"P{person}", f"J{code}") for person, code in enumerate(job)],
        "interest": [(f"P{person}", f"V{topic}") for person, topic in np.argwhere(true)],
    }
    return Database.from_facts(SCHEMA, facts), chance, true


@pytest.fixture(scope="module")
def fitted():
    database, chance, true = interests(3)
    return RelationalBoost(target="interest", own_facts=False).fit(database), chance, true


def test_rates_of_pairs_are_learned(fitted):
    model, database = fitted[0].model, interests(3)[0]
    view = relational([database])
    examples = examples_of(view, find_place(view, "interest"))
    said = model.probabilities(view, examples.base)[:, 1]
    person, topic = (
        np.array([int(names[at][1:]) for at in examples.base.columns[kind].codes])
        for kind, names in ((kind, view[kind].columns[NAME].names) for kind in ("person", "topic"))
    )
    chance, rate = fitted[1][person, topic], fitted[2].mean(axis=0)[topic]
    surprise = {
        name: -np.mean(chance * np.log(told) + (1 - chance) * np.log(1 - told))
        for name, told in (("best", chance), ("model", said), ("topic", rate))
    }
    assert surprise["model"] - surprise["best"] < 0.25 * (surprise["topic"] - surprise["best"])
    both = [one for one in features_of(model.trees) if isinstance(one, Both)]
    assert [str(one) for one in both] == ["its topic and job of its person"]


def test_the_model_survives_a_file(fitted, tmp_path):
    model, database = fitted[0].model, interests(4)[0]
    view = relational([database])
    examples = examples_of(view, find_place(view, "interest"))
    path = tmp_path / "interest.mln"
    model.save(path)
    again = load_model(path)
    assert np.array_equal(
        again.probabilities(view, examples.base), model.probabilities(view, examples.base)
    )


def test_two_names_are_known_together_where_both_are():
    facts = {"job": [("A", "cook"), ("B", "×")], "interest": [("A", "art"), ("C", "art")]}
    view = relational([Database.from_facts(SCHEMA, facts)])
    base = view["interest"]
    topic, job = Feature((Forward("topic"),), NAME), Feature((Forward("person"),), "job")
    values = Evaluator(view, False).values(Both(topic, job), base)
    assert values.names == ["art × cook"]
    assert values.values[0] == 0
    assert np.isnan(values.values[1])
    assert Both(topic, job).name("×", "a") != Both(topic, job).name("", "×a")
    many = Feature((Backward("interest", "person", "count"),))
    with pytest.raises(InputError, match="only names go together"):
        Evaluator(view, False).values(Both(Feature((), "job"), many), view["person"])


def test_what_a_row_is_of_goes_with_what_its_links_tell():
    topic, job = Feature((), "topic"), Feature((Forward("person"),), "job")
    town = Feature((Forward("person"), Forward("town")), "climate")
    name = Feature((Forward("person"),), NAME)
    found = list(named_together([topic, job, town, name, Between("person", "topic", ())]))
    assert found == [Both(topic, job), Both(topic, town)]
