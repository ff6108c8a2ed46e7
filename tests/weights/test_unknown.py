"""Unknown atoms in weight learning: refused where they would have to be guessed."""

import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.model.mln import MLN
from mlnlearn.weights.conditional import learn_conditional
from mlnlearn.weights.em import learn_em
from mlnlearn.weights.generative import learn_pseudolikelihood

RULES = MLN.parse("wet(place)\nrain\nsun(place)\nrain => wet(x)\n")
FACTS = {"wet": [("A",)]}
DOMAINS = {"place": ["A", "B"]}


def data(**options):
    return Database.from_facts(RULES.schema, FACTS, domains=DOMAINS, name="may.db", **options)


LEARNERS = [
    lambda db: learn_conditional(RULES, [db], ["wet"]),
    lambda db: learn_conditional(RULES, [db], ["rain"]),
    lambda db: learn_pseudolikelihood(RULES, [db]),
]


@pytest.mark.parametrize("learn", LEARNERS)
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"unknown": {"rain": [()]}}, "rain"),
        ({"unknown": {"wet": [("B",)]}}, "wet"),
        ({"open": ["rain"]}, "rain"),
        ({"open": ["wet"]}, "wet"),
    ],
)
def test_unknown_atoms_of_the_rules_are_refused(learn, options, name):
    with pytest.raises(InputError, match=rf"may\.db has unknown atoms of {name}") as error:
        learn(data(**options))
    assert "learn_em" in error.value.hint


def test_unknown_atoms_of_no_rule_do_not_matter_to_a_conditional():
    known = learn_conditional(RULES, [data()], ["wet"])
    unknown = learn_conditional(RULES, [data(unknown={"sun": [("A",)]})], ["wet"])
    assert unknown.mln.weights.tolist() == known.mln.weights.tolist()


def test_em_takes_an_unknown_atom_without_arguments():
    rules = MLN.parse("rain\nwet\n2. rain\nrain <=> wet\n")
    db = Database.from_facts(rules.schema, {"wet": [()]}, unknown={"rain": [()]})
    assert db.incomplete == ("rain",)
    learned = learn_em(rules, [db], sigma=1.0, mode="hard")
    assert learned.mln.weights[1] > 0  # filled in as true, for it likely is


def test_em_fills_in_the_only_value_of_a_block():
    rules = MLN.parse("phase(person,step!)\nold(person)\nold(x) ^ phase(x,One)")
    facts = {"phase": [("Anna", "Two")], "old": [("Bob",)]}
    false = {"phase": [("Bob", "Two")]}
    unknown = {"phase": [("Bob", "One")]}
    db = Database.from_facts(rules.schema, facts, false=false, unknown=unknown)
    filled = Database.from_facts(
        rules.schema, {**facts, "phase": [("Anna", "Two"), ("Bob", "One")]}
    )
    expected = learn_pseudolikelihood(rules, [filled], sigma=1.0).mln.weights
    assert learn_em(rules, [db], sigma=1.0).mln.weights == pytest.approx(expected)
