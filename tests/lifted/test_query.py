"""Marginals under evidence on single objects, against enumeration of the grounded network."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.query import query
from mlnlearn.lifted.plan import NotLiftable
from mlnlearn.lifted.query import expected_counts, lifted_query
from mlnlearn.model.mln import MLN

RULES = """
smokes(person)
cancer(person)
friends(person,person)
Rain
0.9 smokes(x) => cancer(x)
1.1 friends(x,y) ^ smokes(x) => smokes(y)
-0.4 friends(x,x)
0.6 friends(x,y) ^ Rain => friends(y,x)
0.5 smokes(Anna)
"""


@pytest.mark.parametrize("seed", range(6))
def test_marginals_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    mln = MLN.parse(RULES)
    people = ["Anna", "Bob", "Carl"]
    true = {"cancer": [(p,) for p in people if rng.random() < 0.5]}
    false = {"smokes": [(p,) for p in people if rng.random() < 0.3]}
    evidence = Database.from_facts(mln.schema, true, false=false, domains={"person": people})
    opened = ["smokes", "friends", "Rain"]
    for name in ("smokes", "friends", "Rain"):
        exact = query(mln, evidence, name, open=opened, method="exact")
        lifted = lifted_query(mln, evidence, name, open=opened)
        assert len(lifted) == len(exact)
        for answer in exact:
            found = lifted[answer.atom].probability
            assert found == pytest.approx(answer.probability, abs=1e-9)


def test_evidence_on_pairs_is_refused():
    mln = MLN.parse(RULES)
    facts = {"friends": [("Anna", "Bob")]}
    with pytest.raises(NotLiftable, match="evidence on friends"):
        lifted_query(mln, Database.from_facts(mln.schema, facts), "smokes")


def test_closed_pairs_without_facts_are_false():
    mln = MLN.parse("p(t)\nr(t,t)\n2 r(x,y) v p(x)")
    db = Database.from_facts(mln.schema, {}, domains={"t": ["A", "B"]})
    answers = lifted_query(mln, db, "p", closed=["r"])
    assert answers["p(A)"].probability == pytest.approx(1.0 / (1.0 + np.exp(-4.0)))


def test_impossible_evidence():
    mln = MLN.parse("p(t)\nq(t)\np(x) => q(x).")
    db = Database.from_facts(mln.schema, {"p": [("A",)]}, false={"q": [("A",)]})
    with pytest.raises(InputError, match="no world is possible"):
        lifted_query(mln, db, "p", open=["p"])


def test_thousands_of_atoms():
    mln = MLN.parse(
        "smokes(person)\nfriends(person,person)\n0.01 friends(x,y) ^ smokes(x) => smokes(y)"
    )
    people = [f"P{i}" for i in range(200)]
    facts = {"smokes": [(p,) for p in people[:20]]}
    db = Database.from_facts(mln.schema, facts, domains={"person": people})
    answers = lifted_query(mln, db, ["smokes", "friends"])
    assert len(answers) == 180 + 200 * 200
    assert answers["friends(P1,P2)"].probability == pytest.approx(0.5)
    assert answers["friends(P1,P50)"].probability < 0.5


def test_a_known_value_decides_its_block():
    mln = MLN.parse("a = {A0, A1}\np(a!)\nq(a)\n1 p(x) ^ q(x)")
    database = Database.from_facts(mln.schema, {"p": [("A0",)]})
    asked = [str(a.atom) for a in query(mln, database, ["p", "q"])]
    assert [str(a.atom) for a in lifted_query(mln, database, ["p", "q"])] == asked
    assert asked == ["q(A0)", "q(A1)"]


def test_counts_of_no_world_are_not_expected():
    mln = MLN.parse("p\n1 p\np ^ !p.")
    with pytest.raises(InputError, match="no world is possible"):
        expected_counts(mln, {})
