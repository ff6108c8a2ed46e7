"""Rules as other systems write them: each line, and the plain rule that it means."""

import math
import warnings

import pytest

from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.dialect import DIALECT
from mlnlearn.errors import DataWarning, InputError, InputErrors
from mlnlearn.infer.query import query
from mlnlearn.logic.expand import expand_rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.syntax import parse_mln, write_mln
from mlnlearn.syntax.mln import parse_formula, read_mln

DECLARED = """
hot(time)
at(place,time)
knows(person,person)
old(person)
score(person,number)
event walk(person)
happens(event,time)
"""

# A line of another system, and the same in plain words.
LINES = {
    # Alchemy
    "1 hot(t)\n  ^ hot(u)\n => at(p,t)": "1 hot(t) ^ hot(u) => at(p,t)",
    "1 (hot(t) v\n hot(u)\n)": "1 hot(t) v hot(u)",
    "1 hot(t) | hot(u)": "1 hot(t) v hot(u)",
    "1 hot(t) => hot(t+1)": "1 t + 1 = v1 => (hot(t) => hot(v1))",
    "1 hot(t) => hot(t - 1)": "1 t - 1 = v1 => (hot(t) => hot(v1))",
    "1 hot(t-1) => hot(t)": "1 t - 1 = v1 => (hot(v1) => hot(t))",
    "1 hot(t) => hot(t++)": "1 t + 1 = v1 => (hot(t) => hot(v1))",
    "1 hot(t) => hot(t--)": "1 t - 1 = v1 => (hot(t) => hot(v1))",
    "1 hot(t) => hot(succ(t))": "1 t + 1 = v1 => (hot(t) => hot(v1))",
    "1 hot(plus(times(t,2),1)) v hot(t)": "1 (t * 2) + 1 = v1 => hot(v1) v hot(t)",
    "1 hot(mod(t,2)) v hot(dividedBy(t,2))": ("1 t % 2 = v1 ^ t / 2 = v2 => hot(v1) v hot(v2)"),
    "1 hot(t) ^ hot(u) ^ greaterThan(t,u)": "1 hot(t) ^ hot(u) ^ t > u",
    "1 hot(t) ^ lessThanEq(t,5)": "1 hot(t) ^ t <= 5",
    "1 hot(t) ^ hot(u) => (t + u) < (t * u)": "1 hot(t) ^ hot(u) => t + u < t * u",
    "happens(w,t) v !isReturnValueOfwalk(w,p).": "happens(w,t) v !(walk(p) = w).",
    # Tuffy and rockIt
    "1 hot(t), at(p,t) => hot(u)": "1 hot(t) ^ at(p,t) => hot(u)",
    "1 hot(t), at(p,u), [t != u] => hot(u)": "1 hot(t) ^ at(p,u) ^ t != u => hot(u)",
    "1 hot(t), at(p,u), t <> u => hot(u)": "1 hot(t) ^ at(p,u) ^ t != u => hot(u)",
    "@1.5 hot(t)": "1.5. hot(t)",
    "1 !hot(t) v hot([t+1])": "1 t + 1 = v1 => !hot(t) v hot(v1)",
    "hot(t) :- at(p,t), at(q,t).": "at(p,t) ^ at(q,t) => hot(t).",
    "2 hot(t) :- at(p,t) ^ !at(q,t)": "2 at(p,t) ^ !at(q,t) => hot(t)",
    "near(x,y) := [x - y < 3 && y - x < 3]\n1 hot(t) ^ hot(u) ^ near(t,u)": (
        "1 hot(t) ^ hot(u) ^ (t - u < 3 ^ u - t < 3)"
    ),
    "gap(x,y,z) := [x-y == z]\n1 hot(t) ^ hot(u) ^ gap(t,u,2)": "1 hot(t) ^ hot(u) ^ t - u = 2",
    "1 hot(max(t,2)) v hot(min(t,u))": "1 max(t,2) = v1 ^ min(t,u) = v2 => hot(v1) v hot(v2)",
    "near(x,y) := fn:abs(x-y) < 3\n1 hot(t) ^ hot(u) ^ near(t,u)": (
        "1 hot(t) ^ hot(u) ^ max(t - u,0 - (t - u)) < 3"
    ),
    "|p| !hot(t) v at(p,t) <= 1": "hot(t) ^ at(p,t) ^ at(p_2,t) => p = p_2.",
    "|x,y| knows(x,y) <= 1": "knows(x,y) ^ knows(x_2,y_2) => x = x_2 ^ y = y_2.",
    # pracmln
    "log(0.9/0.1) hot(t)": "2.1972245773362196 hot(t)",
    "log(4)/2 hot(t)": "0.6931471805599453 hot(t)",
    "logx(0) hot(t)": "-100 hot(t)",
    "-1.5+2*0.25 hot(t)": "-1 hot(t)",
    "#fixweight\n0.5 hot(t)": "0.5. hot(t)",
    "0.5 knows(?x,anna)": '0.5 knows(x,"anna")',
    "0.5 knows(?x,?y) ^ ?x=/=?y": "0.5 knows(x,y) ^ x != y",
    "0.5 old(+?x)": "0.5 old(+x)",
    "EXIST ?x (knows(?x,bob)).": 'EXIST x knows(x,"bob").',
    "#unique{+?x,+?y}\n0.5 knows(+?x,+?y)": "0.5 knows(+x,+y) ^ +x <= +y",
    "#unique{+?X,+?Y}\n0.5 knows(+?X,+?Y)": "0.5 knows(+x,+y) ^ +x <= +y",
    "0.5 EXIST ?y knows(?x,?y) ^ old(?x)": "0.5 (EXIST y knows(x,y)) ^ old(x)",
    "0.5 EXIST y knows(x,y) ^ old(x)": "0.5 EXIST y (knows(x,y) ^ old(x))",
    "hot(2*t) v hot(t).": "(2 * t = v1 => hot(v1) v hot(t)).",
    "0.5 knows|score(?x,?y)": "0.5 knows(x,y)\n0.5 score(x,y)",
}


def rules(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return parse_mln(DECLARED + text).rules


@pytest.mark.parametrize("line", LINES)
def test_a_line_means_what_the_plain_rule_says(line):
    plain = rules(LINES[line])
    assert [str(rule) for rule in rules(line)] == [str(rule) for rule in plain]


@pytest.mark.parametrize("line", LINES)
def test_what_is_read_can_be_written_and_read_again(line):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        file = parse_mln(DECLARED + line)
        assert parse_mln(write_mln(file)) == file


# What another system has and this one has not, and words of the complaint.
REFUSED = {
    "SE(hot(1)) = 0.8": "soft evidence",
    "count(at(p,t)|p) = 6.": "count constraints",
    "|t| hot(t) v at(p,t) <= 1": "the one literal of a clause that is not negated",
    "|p| at(p,t) <= 2": "supported for '|x| F <= 1' alone",
    "|p| at(p,t) >= 1": "supported for '|x| F <= 1' alone",
    "hot(t) * (score(p) = 0.5)": "numeric features",
    "#AdaptiveMLNDependency:at:place\n0.5 hot(t)": "weights that depend on the size of a domain",
    "#fixUnitary:hot": "set by how often an atom is true",
    "(walk(p) = w) * hot(t)": "numeric features",
    "0.5+0.1*domSize(person) old(x)": "the weight depends on 'domSize'",
    "log(0) hot(t)": "has no value",
    "1 substr(x,y) ^ knows(x,y)": "'substr' is not supported",
    "1 hot(sqrt(t))": "'sqrt' is not supported",
    "near(x,y) := fn:sqrt(x) < 3": "functions 'fn:sqrt' are not supported",
    "at(p,t) := hot(t), old(p).": "scoping rules",
    "1 hot(t+Noon)": "Noon is no whole number",
    "#unique{+?x,+?z}\n0.5 knows(+?x,?z)": "#unique names 'z'",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_lacking_is_refused_by_name_with_a_remedy(text):
    with pytest.raises(InputErrors) as caught:
        parse_mln(DECLARED + text)
    said = str(caught.value)
    assert REFUSED[text] in said
    assert "hint: " in said


def test_a_star_before_a_new_predicate_closes_it():
    mln = MLN.parse("*seen(x)\nred(x)\n1 !seen(x) v red(x)\n*seen(x) v red(x)")
    assert mln.schema.closed == {"seen"}
    assert str(mln.schema) == "*seen(x)\nred(x)"
    assert str(mln.rules[1]) == "*seen(x) v red(x)"  # declared by now: both signs
    open_world = MLN.parse("seen(x)\nred(x)\n1 !seen(x) v red(x)")
    domains = {"x": ["A"]}
    closed = query(
        MLN(mln.schema, mln.rules[:1]),
        Database.from_facts(mln.schema, {}, domains=domains),
        ["red"],
    )
    opened = query(open_world, Database.from_facts(open_world.schema, {}, domains=domains), ["red"])
    assert list(closed.by_atom().values()) == pytest.approx([0.5])  # nothing is seen
    assert opened.by_atom()["red(A)"] > 0.5


def test_a_weight_may_be_a_variable():
    (rule,) = parse_mln("redness(x,number)\nred(x)\nconf: !redness(x,conf) v red(x)").rules
    found = expand_rule(rule, {"number": ["0.5", "-2"]})
    assert [str(each) for each in found] == [
        "0.5. !redness(x,0.5) v red(x)",
        "-2.0. !redness(x,-2) v red(x)",
    ]
    with pytest.raises(InputError, match="Low is no number"):
        expand_rule(rule, {"number": ["Low"]})
    with pytest.raises(InputErrors, match="no free variable"):
        parse_mln("red(x)\nconf: red(x)")


def test_a_weight_that_is_a_variable_bears_on_the_answer():
    mln = MLN.parse("*redness(x,number)\nred(x)\nconf: !redness(x,conf) v red(x)")
    facts = {"redness": [("A", "2"), ("B", "-1")]}
    answers = query(mln, Database.from_facts(mln.schema, facts), ["red"])
    # the clause of A is worth 2 if red, else nothing; the one of 'other' values holds anyway
    assert answers.by_atom() == pytest.approx({"red(A)": 0.880797, "red(B)": 0.268941}, abs=1e-5)


def test_a_rule_with_a_variable_for_a_weight_is_not_split():
    mln = MLN.parse("p(x,n)\nq(x)\nr(x)\nc: p(x,c) => q(x) ^ r(x)\n1 q(x) ^ r(x)")
    assert [str(rule) for rule in mln.clausal().rules] == [
        "c: p(x,c) => q(x) ^ r(x)",
        "0.5 q(x)",
        "0.5 r(x)",
    ]


def test_at_most_one_is_a_hard_rule():
    file = parse_mln("label(thing,name?)")
    assert not file.schema.functional
    assert [str(rule) for rule in file.rules] == ["label(x0,x1) ^ label(x0,y1) => x1 = y1."]


def test_utilities_are_read_and_left_out_with_a_word():
    with pytest.warns(DataWarning, match="the utility 20 is left out"):
        file = parse_mln("buys(person)\nasked(person)\n-2:20 buys(x)\n:-1 asked(x)")
    assert [str(rule) for rule in file.rules] == ["-2.0 buys(x)"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#fuzzy\nwarm(time)", "degrees of truth are not supported"),
        ("#fixWeightFreq\n0.5 hot(t)", "the weight is the one written"),
    ],
)
def test_lines_for_another_system_are_passed_over_with_a_word(line, said):
    with pytest.warns(DataWarning, match=said):
        file = parse_mln(DECLARED + line)
    assert ["warm" in file.schema, *(str(rule) for rule in file.rules)] in (
        [True],
        [False, "0.5. hot(t)"],
    )


def test_a_definition_is_read_as_an_implication_with_a_word():
    with pytest.warns(DataWarning, match="'head :- body' is read as 'body => head'"):
        parse_mln("p(x)\nq(x)\n1 p(x) :- q(x)")


def test_names_of_arguments_are_no_matter():
    assert str(parse_mln("wrote(person author, paper item!)").schema) == "wrote(person,paper!)"


def test_lower_case_constants_of_a_type_are_not_mixed_up_with_variables():
    text = "role = {theme, goal}\nplays(word,role)\n"
    assert parse_mln(text).schema.declared == {"role": ("theme", "goal")}
    with pytest.raises(InputErrors, match="'theme' reads as a variable, but is a constant"):
        parse_mln(text + "1 plays(w,theme)")
    (rule,) = parse_mln(text + "1 plays(?w,theme)").rules
    assert str(rule) == '1.0 plays(w,"theme")'


def test_a_part_of_another_file_is_read_with_the_types_of_its_rules():
    text = """
        // no declaration: another file includes this one
        1.4 Starts(meet(p1,p2),t) :- Seen(p1,p2,25,t) ^ !Acts(runs(p2),t)
        Acts(leaves(p1),t) => Stops(meet(p1,p2),succ(t)).
        !Starts(meet(p,p),t).
        """
    with pytest.warns(DataWarning, match="the file declares no predicate; types are taken from"):
        file = parse_mln(text)
    declared = [file.schema.declaration(predicate.name) for predicate in file.schema.predicates]
    assert declared == [
        *("Starts(meet,t)", "meet meet(p,p)", "Seen(p,p,seen_3,t)", "Acts(runs,t)", "runs runs(p)"),
        *("runs leaves(p)", "Stops(meet,t)"),
    ]
    whole = parse_mln("\n".join([str(file.schema), text]))
    assert whole.rules == file.rules


def test_types_of_a_part_with_marked_variables_and_values():
    with pytest.warns(DataWarning, match="declares no predicate"):
        file = parse_mln("1 knows(?a,?b) ^ ?b = boss(?a) ^ ?a =/= ?c => knows(?c,theme)")
    assert str(file.schema) == "knows(a,b)\nb boss(a)"


def test_a_part_with_a_mistake_is_told_that_it_declares_nothing():
    with pytest.raises(InputErrors, match="the file declares no predicate") as raised:
        parse_mln("1 p(x) => q(x)\n2 p(x,y)")
    assert "'p' takes 1 argument, not 2" in str(raised.value)
    assert "no such predicate" not in str(raised.value)


def test_one_declaration_is_enough_for_all_to_be_asked_for():
    with pytest.raises(InputErrors, match="no such predicate 'smoke'"):
        parse_mln("smokes(person)\n1 smoke(x)")


def test_names_of_numbers():
    text = "takes(who,what)\n$all = 50 // courses\n$rest = $all-6\nlog(12/($rest)) takes(x,y)"
    (rule,) = parse_mln(text).rules
    assert rule.weight == pytest.approx(math.log(12 / 44))
    with pytest.raises(InputErrors, match="must stand above it"):
        parse_mln("p(x)\n$missing p(x)")


def test_words_for_operators_in_conditions():
    text = "near(id,id)\n1 near(a,b), [a = b OR NOT (a < b AND b != 3)] => near(b,a)"
    (rule,) = parse_mln(text).rules
    assert str(rule.formula) == "near(a,b) ^ (a = b v !(a < b ^ b != 3)) => near(b,a)"


def test_functions_of_strings_are_refused_by_name():
    with pytest.raises(InputErrors, match="the built-in 'contains' is not supported"):
        parse_mln("word(id,string)\n1 word(a,s) ^ word(b,t) ^ [contains(s,t)]")


def test_points_in_constants_where_variables_are_marked():
    (rule,) = parse_mln("is_a(sense,concept)\n1 is_a(?s,milk.n.01)").rules
    assert str(rule) == '1.0 is_a(s,"milk.n.01")'


def test_a_dialect_may_be_said():
    text = "plays(word,role)\n1 plays(w,theme)"
    (rule,) = parse_mln(text, dialect="pracmln").rules
    assert str(rule) == '1.0 plays("w","theme")'
    with pytest.raises(InputErrors, match="dialect pracmln"):
        parse_mln("plays(word,role)\n1 plays(?w,theme)", dialect="alchemy")
    with pytest.raises(InputError, match="no such dialect 'prolog'"):
        parse_mln(text, dialect="prolog")


def test_declared_names_are_stronger_than_built_in_ones():
    file = parse_mln("time succ(time)\nhot(time)\n1 hot(succ(t))")
    assert str(file.rules[0]) == "1.0 succ(t) = v1 => hot(v1)"


@pytest.mark.parametrize(
    "test", ["max(t,2) <= u", "min(t,u) = 2", "fn:abs(t - u) < 2", "abs(t) > 2"]
)
def test_functions_of_numbers_count_as_python_does(test):
    schema = Schema.of("hot(time)")
    numbers = [-3, -1, 0, 1, 2, 3]
    db = Database.from_facts(schema, {}, domains={"time": [str(n) for n in numbers]})
    source = test.replace("fn:", "").replace(" = ", " == ")
    formula = f"(hot(t) v !hot(t)) ^ (hot(u) v !hot(u)) ^ {test}"
    counted = true_groundings(MemoryEngine([db]), parse_formula(formula, schema).formula)
    pairs = [(t, u) for t in numbers for u in numbers]
    expected = sum(bool(eval(source, {"t": t, "u": u})) for t, u in pairs)
    assert counted == [expected]
    assert 0 < expected < len(numbers) ** 2


def test_the_program_says_once_which_system_files_are_from():
    text = "knows(person,person)\n0.5 knows(anna,bob)"
    assert str(parse_mln(text).rules[0]) == "0.5 knows(anna,bob)"  # two variables
    token = DIALECT.set("pracmln")
    try:
        assert str(parse_mln(text).rules[0]) == '0.5 knows("anna","bob")'
        assert str(parse_mln(text, dialect="alchemy").rules[0]) == "0.5 knows(anna,bob)"
    finally:
        DIALECT.reset(token)


@pytest.mark.parametrize("text", ["goal(x) != goal(y)", "3 = goal(x) ^ Walks(x)", "goal(x) = Here"])
@pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
def test_parts_of_networks_may_compare_values_that_no_variable_names(text):
    used = parse_mln(f"1 {text}\n", "part.mln").schema
    assert used["goal"].function


def test_a_predicate_declared_below_its_use_is_known_and_keeps_its_place():
    found = parse_mln("1 !a(x) v b(f(x))\nc(t)\n*a(t)\nb(t)\nt f(t)\n")
    assert [each.name for each in found.schema.predicates] == ["c", "a", "b", "f"]
    assert found.schema.closed == {"a"}
    assert str(found.rules[0]) == "1.0 f(x) = v1 => !a(x) v b(v1)"
    with pytest.raises(InputErrors, match="no such predicate 'd'"):
        parse_mln("1 a(x) => d(x)\na(t)")


def test_a_probability_that_is_asked_for_is_left_out_with_a_warning():
    with pytest.warns(DataWarning, match=r"'P\(F\) = p' is left out"):
        found = parse_mln("odd(t)\n0 odd(x)\nP(odd(x)) = 0.4\n")
    assert [rule.weight for rule in found.rules] == [0]
    with pytest.warns(DataWarning, match=r"'R\(F\) = p' is left out"):
        assert not parse_mln("odd(t)\nR(odd(Coin)) = 0.8\n").rules
    assert len(parse_mln("P(t)\n2 P(x)\n").rules) == 1  # a predicate may have that name


def test_the_size_of_a_type_stands_for_the_number_of_its_constants():
    found = parse_mln("t = {A,B,C}\nodd(t)\n1.5+(0.5*domSize(t)) odd(x)\nlog(domSize(t)) odd(x)")
    assert [rule.weight for rule in found.rules] == [3.0, pytest.approx(math.log(3))]
    with pytest.raises(InputErrors, match="list the constants of the type above it"):
        parse_mln("odd(t)\n1.5+(0.5*domSize(t)) odd(x)\n")


def test_rules_that_differ_in_names_alone_are_told_of():
    text = "size(wheel)\nsold(sold)\n{}1 size(big) ^ sold(yes)\n2 size(big) ^ sold(no)\n"
    with pytest.warns(DataWarning, match="lines 3 and 4 differ in names alone: they are read as v"):
        parse_mln(text.format(""))
    no_sense = text.format("seats(rows)\n") + "1 size(big) ^ seats(big)\n"
    with pytest.warns(DataWarning, match="names in lower case are read as constants, as pracmln"):
        found = parse_mln(no_sense)
    assert str(found.rules[0]) == '1.0 size("big") ^ sold("yes")'
    with pytest.raises(InputErrors, match="two types"):
        parse_mln(no_sense, dialect="alchemy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_mln(text.format(""), dialect="alchemy")
        parse_mln("a(t)\nb(t)\n1 a(x)\n2 a(x)\n3 b(y)\n")


def test_an_included_file_below_a_variable_is_looked_for_in_the_folders_above(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "names.mln").write_text("odd(t)\n")
    deep = tmp_path / "models" / "first"
    deep.mkdir(parents=True)
    rules = deep / "rules.mln"
    rules.write_text('#include "$SOME_HOME/shared/names.mln"\n1 odd(x)\n')
    assert len(read_mln(rules).rules) == 1
    rules.write_text('#include "$SOME_HOME/shared/none.mln"\nodd(t)\n1 odd(x)\n')
    with pytest.raises(InputErrors, match=r"cannot include .*\$SOME_HOME"):
        read_mln(rules)
