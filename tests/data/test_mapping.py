"""From keys to predicates: the rules, the names, the TOML text and its edits."""

import warnings

import numpy as np
import pytest

from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.discretize import band_names, find_cuts
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.errors import DataWarning, InputError, InputErrors, MemoryLimitError


def table(name, primary, foreign=None, **columns):
    """Build a table from cells by column; `primary` is a string of column names."""
    keys = tuple(ForeignKey((column,), target) for column, target in (foreign or {}).items())
    cells = {title: Column.of(values) for title, values in columns.items()}
    return Table(name, cells, tuple(primary.split()), keys)


PERSON = table("person", "id", id=["a", "b", "c"], age=["old", "young", "old"])


def facts(database, name):
    return sorted(database.rows(name))


def unknown(database, name):
    return sorted(database.decode(name, database.unknown_facts(name)))


def declarations(tables, mapping=None):
    return str(build_database(tables, mapping).database.schema).splitlines()


def test_entities_relationships_and_attributes():
    paper = table("paper", "id", {"editor": "person"}, id=[1, 2], editor=["a", "c"])
    wrote = table(
        "wrote",
        "who what",
        {"who": "person", "what": "paper"},
        what=[1, 2],
        who=["a", "b"],
        share=["big", None],
    )
    database, _ = build_database([PERSON, paper, wrote])
    assert str(database.schema).splitlines() == [
        "age(person,age_value!)",
        "editor(paper,person!)",
        "wrote(paper,person)",
        "share(paper,person,share_value)",
    ]
    assert facts(database, "editor") == [("1", "a"), ("2", "c")]
    assert facts(database, "wrote") == [("1", "a"), ("2", "b")]
    assert facts(database, "share") == [("1", "a", "big")]
    assert unknown(database, "share") == [("2", "b", "big")]
    assert database.domains["person"].names == ("a", "b", "c")


def test_self_relationship_keeps_the_columns_apart():
    likes = table(
        "likes", "x y", {"x": "person", "y": "person"}, x=["a", "a", "b"], y=["b", "c", "b"]
    )
    database, _ = build_database([PERSON, likes])
    assert facts(database, "likes") == [("a", "b"), ("a", "c"), ("b", "b")]


def test_subtype_table_is_a_predicate_on_the_supertype():
    professor = table("professor", "id", {"id": "person"}, id=["b"], chair=["logic"])
    course = table("course", "id", {"by": "professor"}, id=[1], by=["b"])
    database, mapping = build_database([PERSON, professor, course])
    assert str(database.schema).splitlines() == [
        "age(person,age_value!)",
        "professor(person)",
        "chair(person,chair_value)",
        "by(course,person!)",
    ]
    assert facts(database, "professor") == [("b",)]
    again, _ = build_database([PERSON, professor, course], mapping)
    assert str(again.schema) == str(database.schema)


def test_foreign_keys_are_the_key_where_no_primary_key_is_declared():
    genre = table("tags", "", {"who": "person"}, who=["a", "a", "b"], tag=["x", "y", None])
    database, _ = build_database([PERSON, genre], 'tags.kind = "relationship"')
    assert facts(database, "tags") == [("a",), ("b",)]
    assert facts(database, "tag") == [("a", "x"), ("a", "y")]
    assert unknown(database, "tag") == [("b", "x"), ("b", "y")]
    # by default, rows that share their foreign keys are events of their own
    database, mapping = build_database([PERSON, genre])
    assert mapping["tags"].kind == "event"
    assert facts(database, "who") == [("1", "a"), ("2", "a"), ("3", "b")]
    assert facts(database, "tag") == [("1", "x"), ("2", "y")]
    assert unknown(database, "tag") == [("3", "x"), ("3", "y")]
    assert build_database([PERSON, genre], mapping).mapping == mapping


def test_an_empty_cell_never_makes_a_true_atom_unknown():
    tags = table("tags", "", {"who": "person"}, who=["a", "a", "b"], tag=["x", None, "y"])
    database, _ = build_database([PERSON, tags], 'tags.kind = "relationship"')
    assert facts(database, "tag") == [("a", "x"), ("b", "y")]
    assert unknown(database, "tag") == [("a", "y")]


def test_composite_foreign_keys_lead_to_the_entities_behind_them():
    likes = table("likes", "x y", {"x": "person", "y": "person"}, x=["a", "b"], y=["b", "c"])
    cells = {"x": Column.of(["b"]), "y": Column.of(["c"]), "when": Column.of(["now"])}
    key = ForeignKey(("x", "y"), "likes", ("x", "y"))
    since = Table("since", cells, ("x", "y"), (key,))
    database, _ = build_database([PERSON, likes, since])
    assert str(database.schema["since"]) == "since(person,person)"
    assert facts(database, "when") == [("b", "c", "now")]
    crossed = Table("since", cells | {"y": Column.of(["b"])}, ("x", "y"), (key,))
    with pytest.warns(DataWarning, match=r"1 cells of 'x, y' are no key of 'likes': they are left"):
        build_database([PERSON, likes, crossed])


def test_value_parts_of_a_key_are_arguments():
    visit = table("visit", "who year", {"who": "person"}, who=["a", "a"], year=[9, 10])
    # by default the rows are events; a mapping can relate plain values
    assert build_database([PERSON, visit]).mapping["visit"].kind == "event"
    database, _ = build_database([PERSON, visit], 'visit.kind = "relationship"')
    assert str(database.schema["visit"]) == "visit(person,year_value)"
    assert facts(database, "visit") == [("a", "10"), ("a", "9")]
    assert database.domains["year_value"].names == ("9", "10")


def test_clashing_and_unfit_names_are_qualified_or_mended():
    dog = table("dog", "id", id=[1], age=[3], v=["x"], **{"größe (cm)": [9], "2010": ["y"]})
    assert declarations([PERSON, dog]) == [
        "person_age(person,person_age_value!)",
        "dog_age(dog,dog_age_value!)",
        "n_v(dog,n_v_value!)",
        "grosse_cm(dog,grosse_cm_value!)",
        "n_2010(dog,n_2010_value!)",
    ]
    rating = table("rating", "x y", {"x": "person", "y": "person"}, x=["a"], y=["b"], rating=[1])
    assert declarations([PERSON, rating])[1:] == [
        "rating(person,person)",
        "rating_rating(person,person,rating_rating_value)",
    ]


def test_null_policy_of_values_links_and_flags():
    person = table(
        "person",
        "id",
        {"boss": "person"},
        id=["a", "b"],
        boss=["b", None],
        sex=["f", None],
        tall=["yes", None],
    )
    database, _ = build_database([person], 'person.columns.tall = { as = "flag" }')
    assert [str(p) for p in database.schema.predicates] == [
        "boss(person,person)",
        "sex(person,sex_value)",
        "tall(person)",
    ]
    assert database.schema.functional == {"sex": (1,)}
    assert not unknown(database, "boss")
    assert unknown(database, "sex") == [("b", "f")]
    assert unknown(database, "tall") == [("b",)]
    absent = {name: {"null": "absent"} for name in ("boss", "sex", "tall")}
    absent["tall"]["as"] = "flag"
    database, _ = build_database([person], {"person": {"columns": absent}})
    assert not any(unknown(database, name) for name in ("boss", "sex", "tall"))
    assert facts(database, "tall") == [("a",)]


def test_entities_without_facts_stay_in_the_domain():
    empty = table("likes", "x y", {"x": "person", "y": "person"}, x=[], y=[])
    database, _ = build_database([PERSON, empty])
    assert database.count("likes") == 0
    assert database.ground_atoms("likes") == 9


def test_flags_with_words_of_their_own():
    person = table("person", "id", id=["a", "b"], sex=["M", "F"])
    database, mapping = build_database(
        [person], 'person.columns.sex = { as = "flag", true = "F", predicate = "woman" }'
    )
    assert facts(database, "woman") == [("b",)]
    assert 'columns.sex = { as = "flag", predicate = "woman", true = "F" }' in str(mapping)
    with pytest.raises(InputErrors, match=r"table person:1: column 'sex': expected yes or no"):
        build_database([person], 'person.columns.sex = { as = "flag" }')


def test_the_printed_mapping_says_why_and_how_many_cells_are_empty():
    person = table("person", "id", id=["a", "b", "c"], tall=[1, 0, None])
    _, mapping = build_database([person])
    assert str(mapping).splitlines()[-1] == (
        'columns.tall = { as = "flag", predicate = "tall" }  # yes or no; 1 empty cell'
    )


def test_a_mapping_can_give_all_the_keys():
    person = table("people", "", id=["a", "b"], age=[1, 2])
    likes = table("likes", "", x=["a", "a"], y=["b", "b"], why=["?", "!"], junk=[0, 0])
    text = """
    [people]
    type = "person"
    columns.id = { as = "key" }
    [likes]
    columns.x = { as = "key", references = "people" }
    columns.y = { as = "key", references = "people" }
    columns.why = { predicate = "because", type = "reason" }
    columns.junk = { as = "skip" }
    """
    database, mapping = build_database([person, likes], text)
    assert str(database.schema).splitlines() == [
        "age(person,age_value!)",
        "likes(person,person)",
        "because(person,person,reason)",
    ]
    assert database.count("likes") == 1
    again, same = build_database([person, likes], mapping)
    assert same == mapping
    assert str(again.schema) == str(database.schema)


def test_the_printed_mapping_reads_back_to_itself():
    odd = table(
        'odd "table".x',
        "id",
        {"other key": "person"},
        id=[1, 2],
        **{"other key": ["a", "b"], "größe\n": [1.5, None], "\x7f'\\": ["x", "y"]},
    )
    edits = {'odd "table".x': {"columns": {"größe\n": {"cuts": [1, 2.5]}}}, "person": {"type": "p"}}
    tables = [PERSON, odd]
    database, mapping = build_database(tables, edits)
    for given in (mapping, str(mapping), mapping.as_dict()):
        again, same = build_database(tables, given)
        assert same == mapping
        assert str(same) == str(mapping)
        assert again.domains == database.domains


def test_skipped_tables_and_link_predicates_left_out():
    likes = table("likes", "x y", {"x": "person", "y": "person"}, x=["a"], y=["b"], how=["so"])
    text = '[likes]\npredicate = ""\n'
    assert declarations([PERSON, likes], text)[1:] == ["how(person,person,how_value)"]
    _, mapping = build_database([PERSON, likes], '[likes]\nkind = "skip"\n')
    assert str(mapping).endswith('[likes]\nkind = "skip"')
    assert [name for name, _, _ in mapping.predicates()] == ["age"]


def test_shared_value_types():
    person = table("person", "id", id=["a"], home=["Rome"], work=["Oslo"])
    text = '[person]\ncolumns.home = { type = "city" }\ncolumns.work = { type = "city" }'
    database, _ = build_database([person], text)
    assert database.domains["city"].names == ("Oslo", "Rome")
    assert facts(database, "work") == [("a", "Oslo")]


def test_cuts_make_bands_and_resolved_bins_are_kept():
    person = table("person", "id", id=list(range(9)), size=[1, 2, 3, 4, 5, 6, 7, 8, None])
    database, mapping = build_database([person], "person.columns.size = { bins = 4 }")
    assert mapping["person"]["size"].cuts == (2.75, 4.5, 6.25)
    names = ("(-inf,2.75)", "[2.75,4.5)", "[4.5,6.25)", "[6.25,inf)")
    assert database.domains["size_value"].names == names
    assert [row[1] for row in sorted(database.rows("size"))] == [n for n in names for _ in (0, 1)]
    assert len(unknown(database, "size")) == 4
    assert "cuts = [2.75, 4.5, 6.25]" in str(mapping)
    assert "bins" not in str(mapping)
    smaller = table("person", "id", id=[0], size=[2.75])
    other, _ = build_database([smaller], mapping)
    assert facts(other, "size") == [("0", "[2.75,4.5)")]
    assert other.domains["size_value"].names == names


def test_bands_hold_what_their_names_say():
    rng = np.random.default_rng(5)
    for method in ("quantile", "width"):
        numbers = rng.normal(size=200)
        cuts = find_cuts(numbers, 5, method)
        assert len(cuts) == 4
        assert len(band_names(cuts)) == 5
        cells = Column.of(numbers)
        person = Table("p", {"id": Column.of(range(200)), "x": cells}, ("id",))
        text = f'p.columns.x = {{ bins = 5, method = "{method}" }}'
        database, _ = build_database([person], text)
        for entity, band in database.rows("x"):
            low, high = (float(part) for part in band[1:-1].split(","))
            assert low <= numbers[int(entity)] < high
    assert find_cuts(np.full(9, 3.0), 4, "width") == ()
    assert find_cuts(np.array([1.0, 1.0, 1.0, 9.0]), 2, "quantile") == ()


def test_many_numbers_are_numbers_and_many_days_are_moments():
    days = [f"2020-01-{day:02d}" for day in range(1, 31)]
    person = table("person", "id", id=list(range(30)), size=[*range(29), 2.5], born=days)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database, mapping = build_database([person])
    assert [column.role for column in mapping["person"].columns] == ["key", "number", "time"]
    sizes, born = database.domains["size_value"], database.domains["born_value"]
    assert sizes.numbers.tolist() == [0, 1, 2, 2.5, *range(3, 29)]
    assert [float(name) for name in sizes.names] == sizes.numbers.tolist()
    assert born.time
    assert np.diff(born.numbers).tolist() == [86_400.0] * 29
    again, _ = build_database([person], mapping)
    assert again.domains == database.domains
    database, mapping = build_database([person], "person.columns.size = { bins = 3 }")
    assert database.domains["size_value"].numbers is None
    assert mapping["person"]["size"].role == "value"


def test_empty_cells_are_counted_not_listed():
    ids = [f"p{i}" for i in range(5000)]
    person = table("person", "id", {"boss": "person"}, id=ids, boss=[None] * 5000)
    unknown_bosses = 'person.columns.boss = { null = "unknown" }'
    database, _ = build_database([person], unknown_bosses)
    assert database.incomplete == ("boss",)
    assert database.empty_cells("boss").shape == (1, 5000)
    with pytest.raises(MemoryLimitError, match="5,000 empty cells times 5,000 constants of 'pers"):
        database.unknown_facts("boss")
    # an empty foreign key means that there is none, unless the mapping says otherwise
    assert not build_database([person]).database.has_unknown


BAD_MAPPINGS = {
    "[dogs]": "[dogs]: no such table; there are: person, likes",
    "person = 3": "[person]: expected settings of a table, found 3",
    "person.columns.agee = {}": "[person] columns.agee: no such column; did you mean 'age'?",
    "person.columns.age = 3": "[person] columns.age: expected settings, found 3",
    "person.columns = 3": "[person] columns: expected settings by column, found 3",
    'person.kind = "thing"': (
        "[person] kind: expected one of entity, event, relationship, skip, found 'thing'"
    ),
    "person.typ = 1": ("[person] typ: no such setting; did you mean 'type'?"),
    'person.type = "a b"': ("[person] type: expected a name of letters, digits and _, found 'a b'"),
    "person.columns.age.cuts = [2, 1]": (
        "[person] columns.age.cuts: expected rising numbers, or days, found [2, 1]"
    ),
    'person.columns.age.cuts = "2"': (
        "[person] columns.age.cuts: expected rising numbers, or days, found '2'"
    ),
    "person.columns.age.bins = 1": (
        "[person] columns.age.bins: expected a number of at least 2, found 1"
    ),
    'person.columns.age.method = "best"': (
        "[person] columns.age.method: expected one of quantile, width, found 'best'"
    ),
    'person.columns.age.as = "link"': '[person] columns.age: as = "link" needs references',
    'person.columns.age.references = "cat"': (
        "[person] columns.age.references: expected one of person, likes, found 'cat'"
    ),
    "person.columns.age.functional = 1": (
        "[person] columns.age.functional: expected a truth, found 1"
    ),
    "person.columns.age.true = 1": "[person] columns.age.true: expected a text, found 1",
    'person.columns.age.true = "old"': '[person] columns.age.true: needs as = "flag"',
    'person.columns.age = { as = "flag", true = "old", bins = 2 }': (
        '[person] columns.age: cuts and bins need as = "value", "number" or "time"'
    ),
    'person.columns.age.type = "person"': (
        "[person] columns.age.type: 'person' is the type of a table; "
        'use as = "link" and references'
    ),
    'person.columns.age.predicate = "likes"': (
        "[person] columns.age.predicate: predicate 'likes' is made by 2 columns or tables; "
        "names must differ"
    ),
    "likes.columns.x = { functional = true }": (
        "[likes] columns.x.functional: only entities have exactly one value or link"
    ),
    'likes.kind = "entity"': (
        "table likes: an entity table needs one key column that refers to nothing\n"
        '  hint: set as = "key" for the column that names the rows'
    ),
    "person.columns.age.bins = 2": "table person:1: column 'age': expected a number, "
    "found 'old'\ntable person:2: column 'age': expected a number, found 'young'\n"
    "table person:3: column 'age': expected a number, found 'old'",
}


@pytest.mark.parametrize("text", BAD_MAPPINGS)
def test_bad_mappings(text):
    likes = table("likes", "x y", {"x": "person", "y": "person"}, x=["a"], y=["b"])
    with pytest.raises(InputErrors) as caught:
        build_database([PERSON, likes], text)
    lines = str(caught.value).split("\n", 1)[1]
    assert lines.replace("mapping:1: ", "") == BAD_MAPPINGS[text]


def test_faults_of_a_mapping_are_said_with_their_lines(tmp_path):
    file = tmp_path / "mapping.toml"
    file.write_text(
        "# a remark\n[cat]\n\n[person]\nkind = 1\n"
        'columns.age.values = [\n  1,\n  2]\ncolumns.size.as = "value"\n'
        "columns.age2 = 3\n"
    )
    with pytest.raises(InputErrors) as caught:
        build_database([PERSON], file)
    lines = [problem.location.line for problem in caught.value.problems]
    assert lines == [2, 5, 6, 9, 10]
    assert {problem.location.file for problem in caught.value.problems} == {str(file)}
    # what contradicts itself is found when all is known, and is said with the line as well
    file.write_text('[person]\n[person.columns.age]\nas = "flag"\ncuts = [1]\n')
    with pytest.raises(InputErrors, match=r"mapping.toml:2: .* cuts and bins need"):
        build_database([PERSON], file)
    file.write_text('person.type = "human"\nperson.until = 3\n')
    with pytest.raises(InputError, match=r"mapping.toml:2: .* which column says"):
        build_database([PERSON], file)


def test_all_faults_of_a_mapping_come_together():
    with pytest.raises(InputErrors) as caught:
        build_database([PERSON], "[cat]\n[person]\nkind = 1\ncolumns.x.y = 2\ncolumns.age.as = 2")
    assert len(caught.value.problems) == 4


def test_mapping_files(tmp_path):
    file = tmp_path / "mapping.toml"
    file.write_text('person.type = "human"')
    assert declarations([PERSON], file) == ["age(human,age_value!)"]
    assert declarations([PERSON], str(file)) == ["age(human,age_value!)"]
    file.write_text('person.type = "human\n')
    with pytest.raises(InputError, match=r"mapping.toml:1:21: not TOML"):
        build_database([PERSON], file)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="byte 0xff is not UTF-8"):
        build_database([PERSON], file)
    with pytest.raises(InputError, match="cannot read the file: No such file"):
        build_database([PERSON], tmp_path / "none.toml")
