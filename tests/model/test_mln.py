"""Markov logic networks: reading, writing, tables and sentences."""

import numpy as np
import pytest

from mlnlearn.errors import InputError
from mlnlearn.model.mln import MLN
from mlnlearn.model.sentence import sentence

TEXT = """
person = {Anna, Bob}
smokes(person)
friends(person,person)
born(person,town!)
1.5 friends(x,y) ^ smokes(x) => smokes(y)
-0.25. smokes(x)
friends(x,y) => friends(y,x).
[smokes(x) <=> friends(x,x)]
"""


def test_saved_networks_read_back_equal(tmp_path):
    mln = MLN.parse(TEXT)
    mln.save(tmp_path / "model.mln")
    assert MLN.read(tmp_path / "model.mln") == mln
    assert [path.name for path in tmp_path.iterdir()] == ["model.mln"]


def test_weights_are_those_of_soft_rules():
    mln = MLN.parse(TEXT)
    with pytest.raises(InputError, match=r"1 rules have no weight, the first is: smokes\(x\) <=>"):
        mln.weights  # noqa: B018
    full = mln.with_weights([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(full.weights, [1.0, 2.0, 3.0])
    assert full.hard == mln.hard
    with pytest.raises(ValueError, match="3 weights are needed, not 2"):
        mln.with_weights([1.0, 2.0])
    with pytest.raises(InputError, match="a weight must be a finite number, not inf"):
        mln.with_weights([1.0, 2.0, float("inf")])


def test_unit_clauses_are_added_once():
    units = MLN.parse(TEXT).with_unit_clauses()
    added = [str(rule.formula) for rule in units.rules[4:]]
    assert added == ["friends(a1,a2)", "born(a1,a2)"]  # smokes has one
    assert units.with_unit_clauses() == units


def test_shorthands_are_written_out():
    mln = MLN.parse("p(t)\nq(t,u)\n1 p(x) ^ q(x,+u)\n2 *p(x)")
    rules = [str(r) for r in mln.expanded({"u": ["A", "B"], "t": []}).rules]
    assert rules == ["1.0 p(x) ^ q(x,A)", "1.0 p(x) ^ q(x,B)", "2.0 p(x)", "2.0 !p(x)"]


def test_clausal_splits_weights_and_respects_brackets():
    mln = MLN.parse("p(t)\nq(t)\n2 p(x) <=> q(x)\n1 [p(x) <=> q(x)]\np(x) ^ q(x).")
    rules = [str(rule) for rule in mln.clausal().rules]
    assert rules == [
        "1.0 !p(x) v q(x)",
        "1.0 p(x) v !q(x)",
        "1.0 [p(x) <=> q(x)]",
        "p(x).",
        "q(x).",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 smokes(x)", "x is smokes (likely)."),
        ("0 smokes(x)", "x is smokes (of no influence)."),
        ("smokes(x)", "x is smokes."),
        ("-2 friends(x,y) v !smokes(x)", "x friends y or x is not smokes (unlikely)."),
        ("1 x != y => friends(x,y)", "If x is not y, then x friends y (likely)."),
        ("(smokes(x) ^ rain) v sun.", "(x is smokes and rain) or sun (always)."),
    ],
)
def test_sentences(text, expected):
    mln = MLN.parse(f"smokes(person)\nfriends(person,person)\nrain\nsun\n{text}")
    assert [sentence(rule) for rule in mln.rules] == [expected]


def test_the_table_of_a_notebook_has_the_strongest_rules_first_and_escapes_html():
    mln = MLN.parse("age(p,n)\nold(p)\n0.5 old(x)\n2 age(x,m) ^ age(y,n) ^ m < n => old(y)")
    titles, rows = mln.table()
    assert titles == ("weight", "rule", "meaning")
    assert [row[0] for row in rows] == ["2.000", "0.500"]
    page = mln._repr_html_()
    assert "m &lt; n" in page
    assert page.count("<tr>") == 3
    assert repr(mln) == "<MLN: 2 rules over 2 predicates>"
