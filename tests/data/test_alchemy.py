"""Databases from .db files."""

import gzip
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.load.alchemy import parse_db, read_databases, read_db
from mlnlearn.errors import DataWarning, InputError, InputErrors
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax import parse_mln, read_mln, write_mln

SCHEMA = parse_mln(
    """
    smokes(person)
    friends(person,person)
    lives(person,place)
    age(person,num!)
    Rain
    person motherOf(person)
    """
).schema
BENCHMARKS = os.environ.get("MLNLEARN_DATA")


def rows(database, name):
    return list(database.rows(name))


def facts(database):
    """All atoms by name, however the constants are coded."""
    return {
        truth: {
            name: set(database.decode(name, codes))
            for name, codes in getattr(database, truth).items()
            if codes.shape[1]
        }
        for truth in ("true", "false", "unknown")
    }


def test_every_form_of_an_atom():
    text = """\
smokes(Anna)
!smokes(Bob)  // denied
?smokes( Carl )
Rain
/* two
   lines */ friends(Anna , Bob)
lives("Anna Bell","new // york")
lives("Anna Bell", "a \\"b\\", c")
Anna = motherOf(Bob)
motherOf(Anna) = Bob
\tlives(-3,2.5)\t

lives(3D,É-1)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        database = parse_db(text, SCHEMA)
    assert facts(database) == {
        "true": {
            "smokes": {("Anna",)},
            "Rain": {()},
            "friends": {("Anna", "Bob")},
            "lives": {
                ("Anna Bell", "new // york"),
                ("Anna Bell", 'a "b", c'),
                ("-3", "2.5"),
                ("3D", "É-1"),
            },
            "motherOf": {("Bob", "Anna"), ("Anna", "Bob")},
        },
        "false": {"smokes": {("Bob",)}},
        "unknown": {"smokes": {("Carl",)}},
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends(end, last, mark):
    text = mark + ("smokes(Anna)\nsmokes(Bob)" + last).replace("\n", end)
    assert rows(parse_db(text, SCHEMA), "smokes") == [("Anna",), ("Bob",)]


def test_an_empty_text():
    database = parse_db("", SCHEMA)
    assert database.true_atoms == 0
    assert database.size("person") == 0


def test_quoted_and_bare_names_are_the_same_constant():
    database = parse_db('smokes("Anna")\nfriends(Anna,"Anna")', SCHEMA)
    assert database.size("person") == 1


def random_text(rng, plain):
    """Return random atoms as text, and as facts for `Database.from_facts`."""
    names = [f"P{i}" for i in range(12)] + ([] if plain else ["new york", "a,b", 'q"q', "lower"])
    kept = {"smokes": {}, "friends": {}, "lives": {}}
    lines = []
    for _ in range(60):
        name = str(rng.choice(list(kept)))
        row = tuple(str(rng.choice(names)) for _ in SCHEMA[name].types)
        if row in kept[name]:
            continue
        kept[name][row] = None
        quoted = [n if n[0] == "P" else '"' + n.replace('"', '\\"') + '"' for n in row]
        lines.append(f"{name}({str(rng.choice([',', ', '])).join(quoted)})")
    return "\n".join(lines), kept


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_bulk_reading_equals_building_from_facts(seed, plain):
    text, expected = random_text(np.random.default_rng(seed), plain)
    assert facts(parse_db(text, SCHEMA)) == facts(Database.from_facts(SCHEMA, expected))


def test_plain_text_gets_the_same_codes_as_facts():
    text = "friends(Anna,Bob)\nsmokes(Dan)\nfriends(Carl,Anna)\nlives(Eve,Rome)"
    expected = Database.from_facts(
        SCHEMA,
        {
            "friends": [("Anna", "Bob"), ("Carl", "Anna")],
            "smokes": [("Dan",)],
            "lives": [("Eve", "Rome")],
        },
    )
    database = parse_db(text, SCHEMA)
    assert database.domains == expected.domains
    for name in ("friends", "smokes", "lives"):
        np.testing.assert_array_equal(database.facts(name), expected.facts(name))


def test_long_texts_are_read_in_pieces(monkeypatch):
    monkeypatch.setattr("mlnlearn.syntax.db._CHUNK", 10)
    text = "".join(f"smokes(P{i})\n" for i in range(100)) + "smokes(+)"
    with pytest.raises(InputErrors, match=r"<text>:101:8: expected a constant"):
        parse_db(text, SCHEMA)
    assert parse_db(text[:-9], SCHEMA).count("smokes") == 100


def test_closed_types_keep_their_order():
    schema = Schema(SCHEMA.predicates, {"person": ("Bob", "Anna", "Carl")})
    database = parse_db("smokes(Anna)", schema)
    assert list(database.domains["person"]) == ["Bob", "Anna", "Carl"]
    assert database.facts("smokes").tolist() == [[1]]


def test_repeated_atoms_are_taken_once_with_a_warning():
    with pytest.warns(DataWarning) as caught:
        database = parse_db("smokes(Bob)\nRain\nsmokes(Anna)\nsmokes(Bob)\nRain", SCHEMA, "a.db")
    assert rows(database, "smokes") == [("Anna",), ("Bob",)]
    assert [str(warning.message) for warning in caught] == [
        "2 repeated atoms, taken once: smokes(Bob) at a.db:1 and a.db:4; Rain at a.db:2 and a.db:5"
    ]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("age(Anna,3)\nage(Bob,3)", []),
        ("smokes(Anna)", []),
        ("age(Anna,3)\n?age(Bob,3)", []),
        (
            "age(Anna,3)\nsmokes(Bob)",
            ["age has no value in 1 of 2 cases, though age(person,num!) promises one"],
        ),
        (
            "age(Anna,3)\nage(Bob,3)\nage(Anna,4)",
            [
                "age has more than one value, though age(person,num!) promises one: "
                "age(Anna,3) at <text>:1 and age(Anna,4) at <text>:3"
            ],
        ),
        (
            "Anna = motherOf(Anna)\nBob = motherOf(Anna)\nAnna = motherOf(Bob)",
            [
                "motherOf has more than one value, though person motherOf(person) promises one: "
                "motherOf(Anna) = Anna at <text>:1 and motherOf(Anna) = Bob at <text>:2"
            ],
        ),
    ],
)
def test_marked_places_with_other_than_one_value(text, messages):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        database = parse_db(text, SCHEMA)
    assert [str(warning.message) for warning in caught] == messages
    assert database.true_atoms == text.count("\n") + 1 - text.count("?")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_db(text, SCHEMA.without_functional())


def test_several_files_make_one_database(tmp_path):
    first, second = tmp_path / "a.db", tmp_path / "b.db.gz"
    schema = tmp_path / "s.mln"
    schema.write_text("smokes(person)\nfriends(person,person)")
    first.write_text("smokes(Anna)\nsmokes(Bob)")
    second.write_bytes(gzip.compress(b"\nfriends(Anna,Carl)\n"))
    database = read_db(first, second, schema=schema, name="both")
    assert str(database) == "both: 3 true atoms over 3 person"
    assert read_db(first, schema=read_mln(schema)).name == str(first)

    second.write_bytes(gzip.compress(b"\n!smokes(Bob)\nlikes(Bob)"))
    with pytest.raises(InputErrors) as caught:
        read_db(first, second, schema=schema)
    assert str(caught.value) == (
        f"2 problems found\n{second}:2:1: smokes(Bob) is false here, but true at {first}:2\n"
        "  !smokes(Bob)\n  ^\n  hint: keep one of the two lines\n"
        f"{second}:3:1: no such predicate 'likes'\n  likes(Bob)\n  ^\n"
        "  hint: declare it first, with the types of its arguments"
    )


def test_missing_files():
    with pytest.raises(InputError, match=r"none\.db: cannot read the file"):
        read_db("none.db", schema=SCHEMA)


def test_places_of_problems_in_lines_with_comments():
    schema = Schema(SCHEMA.predicates, {"person": ("Anna",)})
    text = "/* (\n ( */ friends(Anna, /* ( */ Bob)\nCarl /* = */ = motherOf(Anna)"
    with pytest.raises(InputErrors) as caught:
        parse_db(text, schema)
    places = [(p.location.line, p.location.column) for p in caught.value.problems]
    assert places == [(2, 29), (3, 1)]


def test_atoms_past_64_bits_are_still_told_apart():
    schema = Schema.of("wide(" + ",".join(f"t{i}" for i in range(16)) + ")")
    lines = [f"wide({','.join(f'A{(i + j) % 20}' for j in range(16))})" for i in range(20)]
    with pytest.warns(DataWarning, match="1 repeated atom"):
        database = parse_db("\n".join([*lines, lines[3]]), schema)
    assert database.count("wide") == 20
    with pytest.raises(InputErrors, match=r"is false here, but true at <text>:5"):
        parse_db("\n".join([*lines, "!" + lines[4]]), schema)


@pytest.mark.skipif(not BENCHMARKS, reason="MLNLEARN_DATA names no benchmark folder")
def test_all_benchmark_files_read():
    folder = Path(BENCHMARKS or "")
    schemas = sorted(folder.rglob("*.mln"))
    for path in schemas:
        file = read_mln(path)
        assert parse_mln(write_mln(file)) == file
    files = sorted(folder.rglob("*.db"))
    assert schemas
    assert files
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in files:
            split = path.parent / f"{path.stem.split('_')[0]}_schema.mln"
            schema = split if split.exists() else path.parent / "schema.mln"
            lines = [line for line in path.read_text().splitlines() if line.strip()]
            assert read_db(path, schema=schema).true_atoms == len(lines)


@pytest.mark.skipif(not BENCHMARKS, reason="MLNLEARN_DATA names no benchmark folder")
def test_all_benchmark_example_lists_read():
    folder = Path(BENCHMARKS or "")
    paths = [p for p in sorted(folder.rglob("examples/*")) if p.suffix in (".txt", ".gz")]
    assert paths
    for path in paths:
        schema = read_mln(path.parent.parent / "schema.mln").schema.without_functional()
        assert read_db(path, schema=schema).true_atoms > 0


def test_the_order_of_lines_changes_nothing():
    schema = Schema.of("likes(person,year)", "year(year)", "Rain", "phase(person,step)")
    schema = replace(schema, declared={"step": ("Two", "One")})
    lines = ["likes(Bob,10)", "likes(Anna,9)", "year(9)", "Rain", "?likes(Zoe,9)", "phase(Bob,One)"]
    one, other = (parse_db("\n".join(order), schema) for order in (lines, lines[::-1]))
    assert one.domains["person"].names == ("Anna", "Bob", "Zoe")
    assert one.domains["year"].names == ("9", "10")
    assert one.domains["step"].names == ("Two", "One")
    assert one.domains == other.domains
    for truth in ("true", "unknown"):
        first, second = getattr(one, truth), getattr(other, truth)
        assert {name: codes.tolist() for name, codes in first.items()} == {
            name: codes.tolist() for name, codes in second.items()
        }


def test_databases_of_other_systems_are_read():
    """Lower-case constants, full stops, several atoms on a line, constants that no atom has."""
    plain = "smokes(anna). friends(anna, bob).\n1.0 smokes(bob)\n0.0 smokes(carl)\nperson = {dan}"
    database = parse_db(plain, SCHEMA)
    assert set(database.rows("smokes")) == {("anna",), ("bob",)}
    assert set(database.rows("friends")) == {("anna", "bob")}
    assert database.false_facts("smokes").shape[1] == 1
    assert database.domains["person"].names == ("anna", "bob", "carl", "dan")
    with pytest.raises(InputErrors, match="no such type 'town'"):
        parse_db("town = {rome}", SCHEMA)


def test_a_line_of_dashes_stands_between_databases(tmp_path):
    path = tmp_path / "people.db"
    path.write_text("smokes(Anna)\n// one\n---\nsmokes(Bob)\nsmokes(Carl)\n")
    first, second = read_databases(path, SCHEMA)
    assert (first.count("smokes"), second.count("smokes")) == (1, 2)
    assert second.name == f"{path}#2"
    assert list(second.domains["person"].names) == ["Bob", "Carl"]
    with pytest.raises(InputError, match="the file holds 2 databases"):
        read_db(path, schema=SCHEMA)
    path.write_text("smokes(Anna)\n---\nsmoks(Bob)\n")
    with pytest.raises(InputErrors, match=r"people\.db:3:1: no such predicate 'smoks'"):
        read_databases(path, SCHEMA)


def test_points_and_colons_in_constants(tmp_path):
    path = tmp_path / "words.db"
    path.write_text("is_a(milk-1, milk.n.01)\nis_a(3-way,ns:way).\n!is_a(x.1, y) is_a(x.1,z)\n")
    db = read_db(path, schema=Schema.of("is_a(word,concept)"))
    concepts = ["milk.n.01", "ns:way", "y", "z"]
    assert sorted(db.domains["concept"].names) == concepts
