"""Parse, print, parse: the identity."""

import pytest
from hypothesis import given, settings

import strategies
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Constant, Predicate, Variable
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax import MlnFile, parse_formula, parse_mln, write_mln

P = Predicate("p", ("t",))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(strategies.mln_files())
def test_reading_what_was_written_gives_the_same_value(file):
    assert parse_mln(write_mln(file)) == file
    for rule in file.rules:
        assert parse_formula(str(rule), file.schema) == rule


@pytest.mark.parametrize(
    "weight", [0.1, 1e-300, -2.5e17, 1 / 3, 5e-324, 1.7976931348623157e308, 12345678901234567.0]
)
def test_weights_are_exact(weight):
    file = MlnFile(Schema((P,)), (Rule(P("x"), weight),))
    assert parse_mln(write_mln(file)).rules[0].weight == weight


def test_a_rule_that_looks_like_its_declaration_stays_a_rule():
    file = MlnFile(Schema((P,)), (Rule(P("t")),))
    assert write_mln(file) == "p(t)\n\n(p(t))\n"
    assert parse_mln(write_mln(file)) == file


def test_an_empty_file():
    assert write_mln(MlnFile(Schema())) == ""
    assert parse_mln("") == MlnFile(Schema())


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (MlnFile(Schema((Predicate("a b", ("t",)),))), "'a b' cannot be written as a name"),
        (MlnFile(Schema((Predicate("p", ("v",)),))), "'v' cannot be written as a name"),
        (MlnFile(Schema((Predicate("exist", ("t",)),))), "'exist' cannot be written as a name"),
        (MlnFile(Schema((P,)), (Rule(P(Variable("X"))),)), "'X' cannot be written as a variable"),
        (MlnFile(Schema((P,)), (Rule(P("x"), 1.0, hard=True),)), "a hard rule has no weight"),
        (MlnFile(Schema((P,)), (Rule(P("x"), locked=True),)), "a locked rule needs a weight"),
    ],
)
def test_what_the_language_cannot_say_is_refused(file, message):
    with pytest.raises(InputError, match=message):
        write_mln(file)


def test_odd_constants_are_quoted():
    names = [
        "Anna",
        "anna",
        "new york",
        'say "hi"',
        "back\\slash",
        "two\nlines",
        "\r",
        "",
        "٣",
        "\\n",
    ]
    schema = Schema((P,), {"t": tuple(names)})
    file = MlnFile(schema, tuple(Rule(P(Constant(name)), 1.0) for name in names))
    assert parse_mln(write_mln(file)) == file
