"""Which types lend their constants to rules."""

import pytest

from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.boosting import BoostedRDN
from mlnlearn.structure.boosting.language import language_of

SCHEMA = Schema.of("happy(person)", "mood(person,colour)")


def database(name, happy, colours, people=100):
    facts = {
        "mood": [(f"{name}{i}", f"C{i % colours}") for i in range(people)],
        "happy": [(f"{name}{i}",) for i in range(happy)],
    }
    return Database.from_facts(SCHEMA, facts)


@pytest.mark.parametrize(
    ("happy", "colours", "most", "lends"),
    [
        (59, 12, None, False),  # 118 true atoms are fewer than ten for each of 12 colours
        (60, 12, None, True),
        (59, 12, 12, True),  # who asks for constants gets them
        (59, 12, 11, False),
        (100, 20, None, True),
        (100, 21, None, False),
    ],
)
def test_constants_need_true_atoms(happy, colours, most, lends):
    world = Objects([database("a", happy, colours), database("b", happy, colours)])
    language = language_of(world, "happy", ["mood"], max_constants=most)
    assert language.counted == (("colour",) if lends else ())


def test_the_learner_takes_the_number_of_constants():
    databases = [database("a", 5, 3), database("b", 5, 3)]
    texts = {
        most: str(
            BoostedRDN(target="happy", steps=3, min_examples=1, max_constants=most)
            .fit(databases)
            .model
        )
        for most in (None, 3)
    }
    assert "C0" not in texts[None]
    assert any(f"mood(p1,C{number})" in texts[3] for number in range(3))
