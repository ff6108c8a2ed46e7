"""Databases and vocabularies."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic.names import NumberedVocabulary
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, InputErrors
from mlnlearn.infer.grounding.worlds import open_predicates
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.weights.generative import learn_pseudolikelihood

SCHEMA = Schema.of("smokes(person)", "friends(person,person)", "Rain", "born(person,town!)")


def test_vocabulary_codes_are_places():
    words = Vocabulary(["B", "A"])
    assert [words.code(name) for name in ("B", "A", "C")] == [0, 1, -1]
    assert list(words) == ["B", "A"]
    assert "A" in words
    assert words == Vocabulary(("B", "A"))
    assert words != Vocabulary(("A", "B"))
    with pytest.raises(ValueError, match="each name once"):
        Vocabulary(["A", "A"]).code("A")


def test_numbered_vocabulary_is_a_vocabulary():
    plain, numbered = Vocabulary([f"P{i}" for i in range(12)]), NumberedVocabulary("P", 12)
    assert numbered == plain
    assert plain == numbered
    assert hash(plain) == hash(numbered)
    assert list(numbered) == list(plain)
    assert numbered.codes == plain.codes
    assert repr(numbered) == repr(plain)
    for name in ("P0", "P11", "P12", "P011", "P", "P-1", "Q3", "P+3", "P３"):
        assert numbered.code(name) == plain.code(name)
        assert (name in numbered) == (name in plain)
    assert numbered != NumberedVocabulary("P", 13)
    assert numbered != Vocabulary([*plain.names[:-1], "X"])


def test_facts_are_sorted_and_distinct():
    rng = np.random.default_rng(1)
    for size in (1, 5, 40, 3_000_000):
        rows = rng.integers(0, min(size, 40), (2, 300))
        domains = {"person": NumberedVocabulary("P", size)}
        db = Database.from_codes(SCHEMA, domains, {"friends": rows})
        expected = sorted(set(map(tuple, rows.T.tolist())))
        assert list(map(tuple, db.facts("friends").T.tolist())) == expected
        assert db.facts("friends").dtype == np.int32


def test_facts_too_wide_for_a_key_are_sorted_too():
    schema = Schema.of("wide(a,a,a,a)")
    domains = {"a": NumberedVocabulary("A", 10**6)}
    rows = np.random.default_rng(2).integers(0, 3, (4, 500))
    db = Database.from_codes(schema, domains, {"wide": rows})
    expected = sorted(set(map(tuple, rows.T.tolist())))
    assert list(map(tuple, db.facts("wide").T.tolist())) == expected


def test_domains_are_given_names_then_found_ones():
    db = Database.from_facts(
        SCHEMA,
        {"friends": [("Carl", "Anna")]},
        false={"smokes": [("Dora",)]},
        domains={"person": ["Bob"]},
    )
    assert db.domains["person"].names == ("Bob", "Carl", "Anna", "Dora")
    assert db.size("town") == 0
    assert list(db.rows("friends")) == [("Carl", "Anna")]
    assert list(db.decode("smokes", db.false_facts("smokes"))) == [("Dora",)]
    assert db.unknown_facts("born").shape == (2, 0)


def test_counts_and_ground_atoms():
    db = Database.from_facts(
        SCHEMA, {"friends": [("A", "B"), ("B", "C"), ("A", "B")], "Rain": [(), ()]}
    )
    assert (db.count("friends"), db.count("Rain"), db.count("smokes")) == (2, 1, 0)
    assert db.ground_atoms("friends") == 9
    assert db.ground_atoms("Rain") == 1
    assert db.true_atoms == 3
    assert list(db.rows("Rain")) == [()]
    assert str(db) == "database: 3 true atoms over 3 person, 0 town"


def test_all_problems_are_listed_at_once():
    schema = Schema(SCHEMA.predicates, {"town": ("Rome",)})
    with pytest.raises(InputErrors) as caught:
        Database.from_facts(
            schema,
            {"likes": [("A",)], "smokes": [("A", "B")], "born": [("A", "Paris"), ("B", "Rome")]},
            false={"friends": [("A",)]},
            domains={"planet": ["Mars"]},
        )
    assert [problem.message for problem in caught.value.problems] == [
        "no such type 'planet'",
        "no such predicate 'likes'",
        "smokes takes 1 arguments, not 2: ('A', 'B')",
        "constant Paris is not in the closed type 'town'",
        "friends takes 2 arguments, not 1: ('A',)",
    ]


@pytest.mark.parametrize("pair", [("true", "false"), ("true", "unknown"), ("false", "unknown")])
def test_contradictions_are_refused(pair):
    facts = {kind: {"friends": [("A", "B"), ("C", kind)]} for kind in pair}
    facts.setdefault("true", {})
    with pytest.raises(InputErrors, match="1 problem") as caught:
        Database.from_facts(SCHEMA, **facts)
    assert f"both {pair[0]} and {pair[1]}" in str(caught.value)


def test_a_propositional_contradiction_is_refused():
    with pytest.raises(InputErrors, match="Rain is both true and unknown"):
        Database.from_facts(SCHEMA, {"Rain": [()]}, unknown={"Rain": [()]})


def test_codes_outside_the_domain_are_refused():
    domains = {"person": Vocabulary(["A", "B"])}
    for codes in ([[0, 2]], [[-1, 0]]):
        with pytest.raises(ValueError, match="outside its domain"):
            Database.from_codes(SCHEMA, domains, {"smokes": np.array(codes)})
    with pytest.raises(ValueError, match="shape"):
        Database.from_codes(SCHEMA, domains, {"friends": np.array([[0, 1]])})


def test_restriction_keeps_domains_and_drops_the_rest():
    db = Database.from_facts(
        SCHEMA,
        {"smokes": [("A",)], "born": [("B", "Rome")]},
        unknown={"smokes": [("B",)], "friends": [("A", "B")]},
        open=["smokes", "friends"],
        name="people",
    )
    kept = db.restricted(["smokes"])
    assert kept.domains == {"person": Vocabulary(["A", "B"])}
    assert (kept.true_atoms, kept.open, kept.name) == (1, frozenset({"smokes"}), "people")
    assert set(kept.unknown) == {"smokes"}
    assert db.true_atoms == 2


def test_open_predicates_must_exist():
    with pytest.raises(InputError, match="no such predicate 'likes'"):
        Database.from_facts(SCHEMA, {}, open=["likes"])


def test_a_proposition_can_be_unknown():
    schema = Schema.of("Rain", "smokes(person)")
    assert not Database.from_facts(schema, {"Rain": [()]}, unknown={"Rain": []}).has_unknown
    hidden = Database.from_facts(schema, {}, unknown={"Rain": [()]})
    assert hidden.has_unknown
    assert not hidden.closed().has_unknown
    assert Database.from_facts(schema, {}, open=["smokes"]).has_unknown
    with pytest.raises(InputError, match="unknown atoms"):
        learn_pseudolikelihood(MLN(schema), [hidden])
    assert open_predicates(hidden, ["Rain"], query_evidence=True, closed=["smokes"]) == set()
