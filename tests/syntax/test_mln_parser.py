"""Each word of the language, in and out."""

import gzip

import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, InputErrors
from mlnlearn.logic.atoms import Comparison, Constant, Predicate, Variable
from mlnlearn.logic.formulas import And, Implies, Not, Or
from mlnlearn.syntax import parse_formula, parse_mln, read_mln, write_mln

DECLARATIONS = """
smokes(person)
cancer(person)
friends(person,person)
age(person,num)
Rain
person motherOf(person)
"""
SCHEMA = parse_mln(DECLARATIONS).schema
SMOKES, FRIENDS, RAIN = SCHEMA["smokes"], SCHEMA["friends"], SCHEMA["Rain"]
X, Y = Variable("x"), Variable("y")


def formula(text):
    return parse_formula(text, SCHEMA).formula


def printed(text):
    return str(parse_formula(text, SCHEMA))


@pytest.mark.parametrize(
    ("text", "kind", "constants"),
    [
        ("person = {Anna, Bob}", "person", ("Anna", "Bob")),
        ("person={Anna,Bob}", "person", ("Anna", "Bob")),
        ("num = {1,...,5}", "num", ("1", "2", "3", "4", "5")),
        ("num = { -1 , ... , 1 }", "num", ("-1", "0", "1")),
        ("num = {0, 3,...,5, 9}", "num", ("0", "3", "4", "5", "9")),
        ("num = {3,...,3}", "num", ("3",)),
        ('person = {"Anna Bell", "bob"}', "person", ("Anna Bell", "bob")),
        ("person = {}", "person", ()),
        ("person = {Anna,\n  Bob,\n\n  Carl}", "person", ("Anna", "Bob", "Carl")),
        ("person = {\n Anna, Bob\n}", "person", ("Anna", "Bob")),
        ("person = {Anna}\nperson = {Bob, Anna}", "person", ("Anna", "Bob")),
        ("person = {Anna, // one ...\n /* two ... */ Bob}", "person", ("Anna", "Bob")),
        ("x = {3D, A-1, B', 2.5}", "x", ("3D", "A-1", "B'", "2.5")),
        ("person = {Zoë}", "person", ("Zoë",)),
    ],
)
def test_types_with_constants(text, kind, constants):
    assert parse_mln(text).schema.declared == {kind: constants}


@pytest.mark.parametrize(
    ("text", "declared", "listed"),
    [
        ("num = {1, 2, ...}", {}, {"num": ("1", "2")}),
        ("num = {1,...,3,...}", {}, {"num": ("1", "2", "3")}),
        ("num = {1}\nnum = {2, ...}", {}, {"num": ("1", "2")}),
        ("num = {1, ...}\nnum = {2}", {}, {"num": ("1", "2")}),
        ("num = {1, ...}\nperson = {Anna}", {"person": ("Anna",)}, {"num": ("1",)}),
    ],
)
def test_a_type_that_ends_in_dots_is_open(text, declared, listed):
    schema = parse_mln(text).schema
    assert (schema.declared, schema.listed) == (declared, listed)
    assert parse_mln(str(schema)).schema == schema


def test_a_listed_type_takes_constants_of_rules_and_data():
    file = parse_mln("num = {1, 2, ...}\nodd(num)\nodd(7).")
    assert Database.from_facts(file.schema, {"odd": [("9",)]}).domains["num"].names == (
        "1",
        "2",
        "9",
    )


@pytest.mark.parametrize(
    ("text", "predicate", "marked"),
    [
        ("smokes(person)", Predicate("smokes", ("person",)), ()),
        ("advisedBy( person , person )", Predicate("advisedBy", ("person", "person")), ()),
        ("Rain", Predicate("Rain"), ()),
        ("rain", Predicate("rain"), ()),
        ("Rain()", Predicate("Rain"), ()),
        ("pos(person,position!)", Predicate("pos", ("person", "position")), (1,)),
        ("pos(person!,position!)", Predicate("pos", ("person", "position")), (0, 1)),
        ("person motherOf(person)", Predicate("motherOf", ("person", "person"), True), (1,)),
        ("person boss()", Predicate("boss", ("person",), True), (0,)),
        ("project(project,person)", Predicate("project", ("project", "person")), ()),
        ("lives(person,\n Place)", Predicate("lives", ("person", "Place")), ()),
    ],
)
def test_declarations(text, predicate, marked):
    schema = parse_mln(text).schema
    assert schema.predicates == (predicate,)
    assert schema.functional == ({predicate.name: marked} if marked else {})


def test_a_type_and_a_predicate_may_share_a_name():
    text = "project = {P1}\nproject(project,person)\nperson(person)\n1 project(project,person)"
    file = parse_mln(text + "\nproject(P1,person) => person(person)")
    assert [str(rule) for rule in file.rules] == [
        "1.0 project(project,person)",
        "project(P1,person) => person(person)",
    ]


def test_weights_by_constant_are_a_rule_for_each():
    text = """kind = {Folk, "hard rock", 7}
genre(track,kind)
tag(track,kind)
{Folk: 0.5, "hard rock": -1e-05,
 7: +2} tag(t,k) ^ k != Folk => genre(t,+k)
"""
    rules = parse_mln(text).rules
    assert [str(rule) for rule in rules] == [
        "0.5 tag(t,Folk) ^ Folk != Folk => genre(t,Folk)",
        '-1e-05 tag(t,"hard rock") ^ "hard rock" != Folk => genre(t,"hard rock")',
        "2.0 tag(t,7) ^ 7 != Folk => genre(t,7)",
    ]


def test_weights_by_constant_can_be_locked():
    text = "genre(track,kind)\n#fixweight\n{Folk: 0.5} genre(t,+k)\n{Jazz: 0.5} genre(t,+k)"
    assert [rule.locked for rule in parse_mln(text).rules] == [True, False]


def test_a_bare_atom_declares_a_new_predicate_and_is_a_formula_afterwards():
    file = parse_mln("smokes(person)\nsmokes(person)\nsmokes(x)\n(smokes(person))\nRain\nRain")
    assert len(file.schema.predicates) == 2
    assert [str(rule) for rule in file.rules] == ["smokes(x)", "smokes(person)", "Rain"]


def test_declarations_known_beforehand():
    file = parse_mln("smokes(person)\n2 smokes(x)", schema=SCHEMA)
    assert file.schema == SCHEMA
    assert [rule.weight for rule in file.rules] == [2.0]


@pytest.mark.parametrize(
    ("text", "weight", "hard", "locked"),
    [
        ("smokes(x)", None, False, False),
        ("2 smokes(x)", 2.0, False, False),
        ("-1.5e-3 smokes(x)", -1.5e-3, False, False),
        ("1E3 smokes(x)", 1000.0, False, False),
        (".5 smokes(x)", 0.5, False, False),
        ("+1.5 smokes(x)", 1.5, False, False),
        ("-.5 smokes(x)", -0.5, False, False),
        ("smokes(x).", None, True, False),
        ("smokes(x) .", None, True, False),
        ("1.5. smokes(x)", 1.5, False, True),
        ("-2.0. smokes(x)", -2.0, False, True),
        ("2 . smokes(x)", 2.0, False, True),
        ("2. smokes(x)", 2.0, False, False),
        ("2.. smokes(x)", 2.0, False, True),
        ("1 [smokes(x) ^ Rain]", 1.0, False, False),
        ("[smokes(x) ^ Rain].", None, True, False),
        ("1.5. 3 < n ^ age(x,n)", 1.5, False, True),
        ("3 < n ^ age(x,n)", None, False, False),
        ("1 -3 < n ^ age(x,n)", 1.0, False, False),
        ("age(x,n) ^ n = 2.", None, True, False),
        ("age(x,n) ^ n = 2.5.", None, True, False),
    ],
)
def test_weights(text, weight, hard, locked):
    rule = parse_formula(text, SCHEMA)
    assert (rule.weight, rule.hard, rule.locked) == (weight, hard, locked)
    assert rule.whole == ("[" in text)
    assert parse_formula(str(rule), SCHEMA) == rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!smokes(x) ^ smokes(y)", And((Not(SMOKES("x")), SMOKES("y")))),
        ("!(smokes(x) ^ smokes(y))", Not(And((SMOKES("x"), SMOKES("y"))))),
        ("Rain ^ Rain ^ Rain", And((RAIN(), RAIN(), RAIN()))),
        ("(Rain ^ Rain) ^ Rain", And((And((RAIN(), RAIN())), RAIN()))),
        ("Rain ^ Rain v Rain", Or((And((RAIN(), RAIN())), RAIN()))),
        ("Rain v Rain ^ Rain", Or((RAIN(), And((RAIN(), RAIN()))))),
        ("Rain => Rain v Rain", Implies(RAIN(), Or((RAIN(), RAIN())))),
        ("Rain => Rain => Rain", Implies(Implies(RAIN(), RAIN()), RAIN())),
        ("Rain => (Rain => Rain)", Implies(RAIN(), Implies(RAIN(), RAIN()))),
        ("!!Rain", Not(Not(RAIN()))),
        ("x != y ^ friends(x,y)", And((Not(Comparison("=", X, Y)), FRIENDS("x", "y")))),
        ("!x = y ^ friends(x,y)", And((Not(Comparison("=", X, Y)), FRIENDS("x", "y")))),
        ("smokes(x)^smokes(y)", And((SMOKES("x"), SMOKES("y")))),
        ("smokes(v) v smokes(x)", Or((SMOKES("v"), SMOKES("x")))),
        ('smokes("anna")', SMOKES(Constant("anna"))),
        ("motherOf(x) = y", SCHEMA["motherOf"]("x", "y")),
        ("y = motherOf(x)", SCHEMA["motherOf"]("x", "y")),
        ("motherOf(x) != Anna", Not(SCHEMA["motherOf"]("x", "Anna"))),
    ],
)
def test_connectives_and_terms(text, expected):
    assert formula(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rain <=> (Rain => Rain)", "Rain <=> Rain => Rain"),
        ("(Rain <=> Rain) => Rain", "(Rain <=> Rain) => Rain"),
        ("Rain <=> Rain <=> Rain", "(Rain <=> Rain) <=> Rain"),
        ("EXIST x smokes(x) ^ Rain", "EXIST x smokes(x) ^ Rain"),
        ("(EXIST x smokes(x)) ^ Rain", "(EXIST x smokes(x)) ^ Rain"),
        ("Rain ^ exist x smokes(x) v Rain", "Rain ^ (EXIST x smokes(x) v Rain)"),
        ("ForAll x,y friends(x,y)", "friends(x,y)"),
        ("!(ForAll x,y friends(x,y))", "!(FORALL x,y friends(x,y))"),
        ("EXISTS x,\n y friends(x,y)", "EXIST x,y friends(x,y)"),
        ("!Exist x smokes(x)", "!(EXIST x smokes(x))"),
        ("FORALL x (EXIST y friends(x,y))", "EXIST y friends(x,y)"),
        ("FORALL x FORALL y friends(x,y) v Rain", "friends(x,y) v Rain"),
        ("EXIST y (FORALL x friends(x,y))", "EXIST y (FORALL x friends(x,y))"),
        ("age(x,n) ^ n >= 18", "age(x,n) ^ n >= 18"),
        ("age(x,n) ^ age(y,m) ^ n < m", "age(x,n) ^ age(y,m) ^ n < m"),
        ("age(x,n) ^ 3 <= n ^ n > 1", "age(x,n) ^ 3 <= n ^ n > 1"),
        ("friends(x,y) ^ x = z ^ z != y", "friends(x,y) ^ x = z ^ z != y"),
        ("age(+x,n)", "age(+x,n)"),
        ("age(x,+n) ^ n = 3", "age(x,+n) ^ +n = 3"),
        ("*smokes(x) v *cancer(x)", "*smokes(x) v *cancer(x)"),
        ("smokes(x) =>\n\n  cancer(x) ^ // why\n Rain", "smokes(x) => cancer(x) ^ Rain"),
        ("smokes(x) /* a ... b \n c */ => Rain", "smokes(x) => Rain"),
        ("friends(x,\n y)", "friends(x,y)"),
        ("\tsmokes( x )\t=>\tRain\r\n", "smokes(x) => Rain"),
        ("smokes(x_1) ^ smokes(x') ^ smokes(_y)", "smokes(x_1) ^ smokes(x') ^ smokes(_y)"),
    ],
)
def test_printed_forms(text, expected):
    assert printed(text) == expected
    assert printed(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smokes(motherOf(x))", "motherOf(x) = v1 => smokes(v1)"),
        ("smokes(motherOf(v1))", "motherOf(v1) = v2 => smokes(v2)"),
        (
            "friends(motherOf(x),motherOf(motherOf(x)))",
            "motherOf(x) = v1 ^ motherOf(v1) = v2 => friends(v1,v2)",
        ),
        ("motherOf(x) = motherOf(y)", "motherOf(y) = v1 => motherOf(x) = v1"),
        ("EXIST x smokes(motherOf(x))", "EXIST x,v1 motherOf(x) = v1 ^ smokes(v1)"),
        ("FORALL x smokes(motherOf(x))", "motherOf(x) = v1 => smokes(v1)"),
        (
            "EXIST x friends(x,motherOf(y))",
            "motherOf(y) = v1 => (EXIST x friends(x,v1))",
        ),
        (
            "FORALL x EXIST y friends(motherOf(x),motherOf(y))",
            "motherOf(x) = v1 => (EXIST y,v2 motherOf(y) = v2 ^ friends(v1,v2))",
        ),
    ],
)
def test_functions_inside_atoms_are_taken_out(text, expected):
    assert printed(text) == expected
    assert printed(expected) == expected


def test_marked_variables_come_in_order_of_occurrence():
    rule = parse_formula("friends(x,+z) ^ age(+x,n) ^ smokes(z)", SCHEMA)
    assert rule.per_constant == (Variable("x"), Variable("z"))
    assert str(rule) == "friends(+x,+z) ^ age(+x,n) ^ smokes(+z)"


def test_a_quantifier_hides_a_marked_name():
    rule = parse_formula("smokes(+x) ^ (EXIST x cancer(x))", SCHEMA)
    assert str(rule) == "smokes(+x) ^ (EXIST x cancer(x))"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(end, mark):
    text = mark + "smokes(person)\n\n// a comment\n1 smokes(x) ^\n smokes(y)".replace("\n", end)
    assert [str(rule) for rule in parse_mln(text).rules] == ["1.0 smokes(x) ^ smokes(y)"]


def test_all_problems_of_a_text_are_reported_at_once():
    with pytest.raises(InputErrors) as caught:
        parse_mln("p(t)\np(x) ^\n^ p(y)\n1 q(A)\np(x,y) v r(x)\n1 p(x)\n)")
    places = [(p.location.line, p.location.column) for p in caught.value.problems]
    assert places == [(3, 1), (4, 3), (5, 1), (5, 10), (7, 1)]


def test_a_type_may_be_declared_after_its_use():
    with pytest.raises(InputErrors, match="2:3: constant B is not in the closed type 't'"):
        parse_mln("p(t)\np(B)\np(A)\nt = {A}")


def test_rules_know_their_places():
    file = parse_mln("p(t)\n\n1 p(x) ^\n p(y)\n p(A)", "a.mln")
    assert [str(place) for place in file.locations] == ["a.mln:3:1", "a.mln:5:2"]


def test_includes(tmp_path):
    (tmp_path / "types.mln").write_text('#include "rules.mln"\nt = {A}\np(t)\n')
    (tmp_path / "rules.mln").write_text('#include "types.mln"\n1 p(A)\n#include "types.mln"\n')
    file = read_mln(tmp_path / "rules.mln")
    assert write_mln(file) == "t = {A}\np(t)\n\n1.0 p(A)\n"


def test_problems_in_an_included_file_name_that_file(tmp_path):
    (tmp_path / "types.mln").write_text("p(t\n")
    (tmp_path / "rules.mln").write_text('#include "types.mln"\n')
    with pytest.raises(InputErrors) as caught:
        read_mln(tmp_path / "rules.mln")
    assert str(caught.value.problems[0].location) == f"{tmp_path / 'types.mln'}:1:4"


def test_files_may_be_gzip_and_must_be_utf8(tmp_path):
    packed, latin = tmp_path / "a.mln.gz", tmp_path / "b.mln"
    packed.write_bytes(gzip.compress(b"p(t)"))
    assert "p" in read_mln(packed).schema
    latin.write_bytes(b"p(t)\n// caf\xe9")
    with pytest.raises(InputError, match=r"b\.mln:2: byte 0xe9 is not UTF-8 text"):
        read_mln(latin)
    packed.write_bytes(gzip.compress(b"p(t)")[:-9])
    with pytest.raises(InputError, match="cannot read the file"):
        read_mln(packed)


@pytest.mark.parametrize("opening", ["(", "!", "!(", "EXIST x (smokes(x) ^ ", "Rain ^ (Rain v "])
def test_deep_nesting_is_an_error_with_its_place(opening):
    with pytest.raises(InputError, match="nests deeper than 50 levels"):
        formula(opening * 5000 + "Rain")


@pytest.mark.parametrize("more", [" - 1", "-0", " * 2 % 3 + 1"])
def test_long_calculations_are_deep_ones(more):
    with pytest.raises(InputError, match="nests deeper than 50 levels"):
        formula("smokes(x) ^ x = 1" + more * 5000)
    assert str(formula("smokes(x) ^ x = 1" + more * 10)).count(more.split()[0][0]) == 10


def test_deepest_formulas_can_be_printed_and_hashed():
    text = "Rain <=> Rain => Rain v Rain ^ (" * 50 + "Rain" + ")" * 50
    deep = formula(text)
    assert formula(str(deep)) == deep
    assert hash(deep) == hash(formula(text))


def test_long_flat_formulas_are_fine():
    assert len(formula(" ^ ".join(["smokes(x)"] * 5000)).parts) == 5000
    with pytest.raises(InputError, match="more than 50 '=>' in a row"):
        formula(" => ".join(["Rain"] * 5000))
