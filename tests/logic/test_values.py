"""The values of the language: atoms, literals, clauses, schema."""

import dataclasses

import pytest

from mlnlearn.errors import InputError, InputErrors, Location
from mlnlearn.logic.atoms import Comparison, Constant, Literal, Predicate, Variable
from mlnlearn.logic.clauses import Clause, as_clause, clause
from mlnlearn.logic.formulas import (
    And,
    EitherSign,
    Exists,
    Iff,
    Implies,
    Not,
    Or,
    atoms_of,
    free_variables,
    variable_types,
)
from mlnlearn.logic.schema import Schema

SMOKES, FRIENDS = Predicate("smokes", ("person",)), Predicate("friends", ("person", "person"))
MOTHER = Predicate("motherOf", ("person", "person"), function=True)
RAIN = Predicate("Rain")
X, Y = Variable("x"), Variable("y")


def test_values_are_equal_by_content_hashable_and_frozen():
    one, other = FRIENDS("x", "Anna"), FRIENDS(Variable("x"), Constant("Anna"))
    assert one == other
    assert len({one, other}) == 1
    assert one != FRIENDS("x", "y")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.terms = ()


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("Anna", "Anna"),
        ("O'Neill-2", "O'Neill-2"),
        ("-3.5", "-3.5"),
        ("anna", '"anna"'),
        ("New York", '"New York"'),
        ("", '""'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("Anna\n", '"Anna\\n"'),
    ],
)
def test_constants_that_do_not_read_as_such_are_quoted(name, printed):
    assert str(Constant(name)) == printed


def test_lower_case_strings_are_variables():
    atom = Predicate("p", ("t",) * 4)("x", "_y", "Anna", "7")
    assert [type(term) for term in atom.terms] == [Variable, Variable, Constant, Constant]


def test_wrong_number_of_arguments_is_an_error():
    with pytest.raises(InputError, match="friends takes 2 arguments, not 1"):
        FRIENDS("x")


@pytest.mark.parametrize(
    ("literal", "printed"),
    [
        (Literal(SMOKES("x")), "smokes(x)"),
        (~Literal(SMOKES("x")), "!smokes(x)"),
        (Literal(RAIN()), "Rain"),
        (~Literal(Comparison("=", X, Y)), "x != y"),
        (~Literal(Comparison("<", X, Y)), "!(x < y)"),
        (Literal(MOTHER("x", "y")), "motherOf(x) = y"),
        (~Literal(MOTHER("x", "y")), "!(motherOf(x) = y)"),
    ],
)
def test_literals_print_as_in_files(literal, printed):
    assert str(literal) == printed
    assert ~~literal == literal


@pytest.mark.parametrize(
    ("formula", "printed"),
    [
        (Or((And((RAIN(), SMOKES("x"))), SMOKES("y"))), "Rain ^ smokes(x) v smokes(y)"),
        (And((Or((RAIN(), SMOKES("x"))), SMOKES("y"))), "(Rain v smokes(x)) ^ smokes(y)"),
        (Not(And((RAIN(), SMOKES("x")))), "!(Rain ^ smokes(x))"),
        (Implies(RAIN(), Implies(RAIN(), RAIN())), "Rain => (Rain => Rain)"),
        (Iff(RAIN(), Implies(RAIN(), SMOKES("x"))), "Rain <=> Rain => smokes(x)"),
        (Not(Comparison("=", X, Y)), "x != y"),
        (Not(MOTHER("x", "y")), "!(motherOf(x) = y)"),
        (Or((EitherSign(SMOKES("x")), RAIN())), "*smokes(x) v Rain"),
        (Exists((Y,), And((RAIN(), SMOKES("y")))), "EXIST y Rain ^ smokes(y)"),
    ],
)
def test_formulas_print_with_the_parentheses_they_need(formula, printed):
    assert str(formula) == printed


def test_free_variables_and_types():
    inner = Exists((Y,), And((FRIENDS("x", "y"), Not(Comparison("=", X, Y)))))
    formula = Implies(inner, SMOKES("z"))
    assert free_variables(formula) == (X, Variable("z"))
    assert variable_types(formula) == {X: "person", Y: "person", Variable("z"): "person"}
    assert [str(atom) for atom in atoms_of(formula)] == ["friends(x,y)", "smokes(z)"]


def test_a_variable_free_outside_and_bound_inside_is_free():
    formula = Or((Exists((X,), SMOKES("x")), RAIN(), SMOKES("x")))
    assert free_variables(formula) == (X,)


def test_clauses_drop_repeats_and_keep_order():
    made = clause(SMOKES("y"), ~Literal(FRIENDS("x", "y")), SMOKES("y"))
    assert str(made) == "smokes(y) v !friends(x,y)"
    assert len(made) == 2
    assert made.variables == (Y, X)
    assert made.formula == Or((SMOKES("y"), Not(FRIENDS("x", "y"))))
    with pytest.raises(InputError, match="empty clause"):
        _ = Clause(()).formula


def test_a_formula_reads_as_a_clause_only_where_it_is_one():
    rule = Implies(And((FRIENDS("x", "y"), SMOKES("x"))), SMOKES("y"))
    found = as_clause(rule)
    assert str(found) == "!friends(x,y) v !smokes(x) v smokes(y)"
    assert as_clause(found.formula) == found
    assert as_clause(Not(And((RAIN(), SMOKES("x"))))) == clause(
        ~Literal(RAIN()), ~Literal(SMOKES("x"))
    )
    for other in (And((RAIN(), SMOKES("x"))), Iff(RAIN(), RAIN()), Exists((X,), SMOKES("x"))):
        assert as_clause(other) is None


def test_schema_declarations_round_trip():
    lines = ["Rain", "smokes(person)", "inPhase(person,phase!)"]
    schema = Schema.of(*lines)
    assert str(schema).splitlines() == lines
    assert schema.types == ("person", "phase")
    assert schema.functional == {"inPhase": (1,)}
    assert str(schema.without_functional()).splitlines()[2] == "inPhase(person,phase)"


def test_schema_types_include_declared_ones():
    schema = Schema((SMOKES,), {"day": ("Monday", "two words")})
    assert schema.types == ("person", "day")
    assert str(schema) == 'day = {Monday, "two words"}\nsmokes(person)'


def test_schema_lookup_and_restriction():
    schema = Schema.of("smokes(person)", "inPhase(person,phase!)", "Rain")
    assert "smokes" in schema
    assert "Smokes" not in schema
    with pytest.raises(InputError, match=r"no such predicate 'cancer'; declared are: smokes, inP"):
        schema["cancer"]
    kept = schema.restricted(["smokes", "Rain"])
    assert [p.name for p in kept.predicates] == ["smokes", "Rain"]
    assert kept.functional == {}
    with pytest.raises(InputError, match="no such predicate"):
        schema.restricted(["cancer"])


def test_errors_show_place_line_caret_and_hint():
    place = Location("a.mln", 3, 5, "P(x)\tv Q")
    error = InputError("unknown predicate 'Q'", place, hint="declare it")
    assert str(error) == (
        "a.mln:3:5: unknown predicate 'Q'\n  P(x) v Q\n      ^\n  hint: declare it"
    )
    several = InputErrors([error, InputError("second")])
    assert str(several).startswith("2 problems found\na.mln:3:5")
