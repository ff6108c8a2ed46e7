"""CSV and Parquet files, SQL definitions, fact files and triples; every way they can be broken."""

import os
import random
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pytest

from mlnlearn.data.load.columns import Column, constant_name, sorted_names
from mlnlearn.data.load.ddl import read_ddl
from mlnlearn.data.load.facts import facts_from_csv, triples_from_csv
from mlnlearn.data.load.files import from_csv, from_parquet
from mlnlearn.data.load.tables import Keys, Table, row_ids
from mlnlearn.errors import DataWarning, InputError, InputErrors, MlnError
from mlnlearn.logic.schema import Schema

DDL = """CREATE TABLE person (id INTEGER PRIMARY KEY, age TEXT, size REAL, tall BOOLEAN);
CREATE TABLE likes (
  x INTEGER, y INTEGER, how TEXT,
  PRIMARY KEY (x, y),
  FOREIGN KEY (x) REFERENCES person (id), FOREIGN KEY (y) REFERENCES person (id)
);
"""
GOOD = {
    "person.csv": "id,age,size,tall\n1,old,1.50,yes\n2,,2,0\n3,young,,true\n",
    "likes.csv": "x,y,how\n1,2,much\n3,3,\n",
}


def write(folder, files):
    for name, text in files.items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / name).write_bytes(data)
    return folder


def load(folder, **options):
    return from_csv(folder, **({"ddl": DDL} | options))


def facts(database, name):
    return sorted(database.rows(name))


def test_a_folder_with_definitions(tmp_path):
    database, _ = load(write(tmp_path, GOOD))
    assert str(database.schema).splitlines() == [
        "age(person,age_value!)",
        "size(person,size_value!)",
        "tall(person)",
        "likes(person,person)",
        "how(person,person,how_value)",
    ]
    assert facts(database, "size") == [("1", "1.5"), ("2", "2")]
    assert facts(database, "tall") == [("1",), ("3",)]
    assert facts(database, "likes") == [("1", "2"), ("3", "3")]
    assert facts(database, "how") == [("1", "2", "much")]
    unknown = database.unknown_facts("age")
    assert list(database.decode("age", unknown)) == [("2", "old"), ("2", "young")]
    assert database.name == tmp_path.name


def test_spelling_of_headers_and_files_may_differ_from_the_definitions(tmp_path):
    files = {
        "PERSON.csv": "﻿ID,Size,AGE,tall\r\n1,1,old,f\r\n\r\n2,2,new,t\r\n".encode(),
        "Likes.csv": 'y,x,how\n"2",1,"a ""b"",\nc"\n',
    }
    database, _ = load(write(tmp_path, files))
    assert facts(database, "how") == [("1", "2", 'a "b",\nc')]
    assert facts(database, "age") == [("1", "old"), ("2", "new")]


def test_files_by_table_other_missing_marks_and_delimiters(tmp_path):
    write(tmp_path, {"a.txt": "id;age\n1;NA\n2;old\n3;?\n"})
    database, _ = from_csv(
        {"person": tmp_path / "a.txt"},
        keys={"person": "id"},
        delimiter=";",
        missing=("NA", "?"),
        name="ours",
    )
    assert facts(database, "age") == [("2", "old")]
    assert database.unknown_facts("age").tolist() == [[0, 2], [0, 0]]
    assert database.name == "ours"


BROKEN = {
    "wrong number of cells": (
        {"person.csv": "id,age,size,tall\n1,old,1\n2,old,1,1,1\n"},
        "person.csv:2: expected 4 cells, found 3\nperson.csv:3: expected 4 cells, found 5",
    ),
    "after a cell of two lines": (
        {"likes.csv": 'x,y,how\n1,2,"a\nb"\n1,3\n'},
        "likes.csv:4: expected 3 cells, found 2",
    ),
    "missing column": (
        {"person.csv": "id,age,size\n1,old,1\n"},
        "person.csv: column 'tall' is missing",
    ),
    "unknown column": (
        {"likes.csv": "x,y,how,why\n"},
        "likes.csv: column 'why' is not defined; defined are: x, y, how",
    ),
    "duplicated header": (
        {"likes.csv": "x,y,X\n1,2,3\n"},
        "likes.csv:1: column 'X' is named twice",
    ),
    "header without a name": (
        {"likes.csv": "x, ,how\n1,2,3\n"},
        "likes.csv: column 'y' is missing\n"
        "likes.csv: column 'column 2' is not defined; defined are: x, y, how",
    ),
    "empty file": (
        {"likes.csv": ""},
        "likes.csv: the file is empty\n  hint: the first line names columns",
    ),
    "blank file": (
        {"likes.csv": "\n\n"},
        "likes.csv: the file is empty\n  hint: the first line names columns",
    ),
    "bad encoding": (
        {"likes.csv": b"x,y,how\n1,2,caf\xe9 cr\xc3\xa8me\n"},
        "likes.csv:2: byte 8 of the line is not UTF-8\n  hint: save the file as UTF-8",
    ),
    "bad encoding after a mark": (
        {"likes.csv": b"\xef\xbb\xbfx,y,how\xe9\n1,2,a\n"},
        "likes.csv:1: byte 11 of the line is not UTF-8\n  hint: save the file as UTF-8",
    ),
    "open quote": (
        {"likes.csv": 'x,y,how\n1,2,"a\n'},
        "likes.csv:2: bad CSV: unexpected end of data",
    ),
    "text after a quote": (
        {"likes.csv": 'x,y,how\n1,2,"a"b\n'},
        "likes.csv:2: bad CSV: ',' expected after '\"'",
    ),
    "cell too long": (
        {"likes.csv": "x,y,how\n1,2," + "a" * 140_000 + "\n"},
        "likes.csv:2: bad CSV: field larger than field limit (131072)",
    ),
    "repeated key": (
        {"person.csv": "id,age,size,tall\n1,,,\n2,,,\n3,,,\n02,,,\n"},
        "person.csv:5: column 'id': the primary key '2' repeats that of person.csv:3",
    ),
    "repeated pair": (
        {"likes.csv": "x,y,how\n1,2,\n2,1,\n1,2,a\n"},
        "likes.csv:4: column 'x, y': the primary key '1, 2' repeats that of likes.csv:2",
    ),
    "empty key": (
        {"person.csv": "id,age,size,tall\n1,,,\n,old,,\n2,,,\n3,,,\n"},
        "person.csv:3: column 'id': the primary key is empty",
    ),
    "no integer": (
        {"likes.csv": "x,y,how\n1,two,\n1.5,2,\n"},
        "likes.csv:3: column 'x': expected an integer, found '1.5'\n"
        "likes.csv:2: column 'y': expected an integer, found 'two'",
    ),
    "no number": (
        {"person.csv": "id,age,size,tall\n1,,big,\n2,,inf,\n3,,1_0,\n"},
        "person.csv:2: column 'size': expected a number, found 'big'\n"
        "person.csv:3: column 'size': expected a number, found 'inf'\n"
        "person.csv:4: column 'size': expected a number, found '1_0'",
    ),
    "no truth": (
        {"person.csv": "id,age,size,tall\n1,,,maybe\n"},
        "person.csv:2: column 'tall': expected true or false, found 'maybe'",
    ),
    "missing file": (
        {"likes.csv": None},
        "table 'likes' has no data",
    ),
    "file of no table": (
        {"extra.csv": "a\n1\n"},
        "extra.csv: the SQL definitions have no such table",
    ),
    "two files at once": (
        {"likes.csv": "x,y\n1\n", "person.csv": ""},
        "likes.csv:2: expected 2 cells, found 1\n"
        "person.csv: the file is empty\n  hint: the first line names columns",
    ),
    "a folder for a file": (
        {"likes.csv": os.mkdir},
        "likes.csv: cannot read the file: Is a directory",
    ),
    "no files": (
        {"likes.csv": None, "person.csv": None},
        ": no .csv files found",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_tables(tmp_path, case):
    changes, expected = BROKEN[case]
    files = {name: text for name, text in (GOOD | changes).items() if text is not None}
    for name in [name for name, text in files.items() if text is os.mkdir]:
        files.pop(name)(tmp_path / name)
    with pytest.raises(InputErrors) as caught:
        load(write(tmp_path, files))
    first, rest = (
        str(caught.value).replace(f"{tmp_path}/", "").replace(str(tmp_path), "").split("\n", 1)
    )
    assert rest == expected
    count = len(caught.value.problems)
    assert first == f"{count} problem{'s' if count > 1 else ''} found"


BROKEN_KEYS = {
    "unknown key": ({"t": "c"}, "table: the primary key names no column 'c'"),
    "unknown foreign key": (
        {"t": Keys("a", {"c": "t"})},
        "table: a foreign key names no column 'c'",
    ),
    "unknown target": (
        {"t": Keys("a", {"b": "u"})},
        "table: b refers to table 'u', which is missing\n"
        "  hint: load table 'u' as well; loaded are: t",
    ),
    "unknown table": ({"u": "a", "t": "a"}, "keys: no such table 'u'; loaded are: t"),
    "empty part of a key": (
        {"t": Keys((), {"b": "t"})},
        "table: b refers to table 't', which has no primary key\n"
        "  hint: declare the primary key of 't'",
    ),
    "circle": (
        {"t": Keys("a", {"a": "t"})},
        "table: column 'a' does not lead to the single-column primary key of a table\n"
        "  hint: make the column that it refers to in 't' the primary key, or a foreign key itself",
    ),
    "composite target": (
        {"t": Keys(("a", "b"), {"b": "t"})},
        "table: b refers to the key of 't', which has 2 columns, not 1",
    ),
}


@pytest.mark.parametrize("case", BROKEN_KEYS)
def test_broken_keys(tmp_path, case):
    keys, expected = BROKEN_KEYS[case]
    write(tmp_path, {"t.csv": "a,b\n1,1\n"})
    with pytest.raises(InputErrors) as caught:
        from_csv(tmp_path, keys=keys)
    text = str(caught.value).split("\n", 1)[1]
    assert text.replace(str(tmp_path / "t.csv"), "table") == expected


def test_plain_values_can_be_related_when_asked(tmp_path):
    write(tmp_path, {"t.csv": "a,b\n1,x\n"})
    database, _ = from_csv(tmp_path, keys={"t": ("a", "b")}, mapping='t.kind = "relationship"')
    assert str(database.schema) == "t(a_value,b_value)"


def test_an_empty_link_of_a_relationship_is_a_key_only_when_filled(tmp_path):
    files = {"p.csv": "id\n1\n2\n", "r.csv": "a,b\n1,2\n2,\n"}
    keys = {"p": "id", "r": Keys((), {"a": "p", "b": "p"})}
    write(tmp_path, files)
    # rows with gaps in their foreign keys are events, unless a mapping says otherwise
    assert from_csv(tmp_path, keys=keys).mapping["r"].kind == "event"
    with pytest.raises(InputErrors, match=r"r\.csv:3: column 'b': a key column is empty"):
        from_csv(tmp_path, keys=keys, mapping='r.kind = "relationship"')
    database, _ = from_csv(
        tmp_path,
        keys=keys,
        mapping='r = { kind = "relationship", columns = { b = { as = "link", null = "absent" } } }',
    )
    assert str(database.schema).splitlines() == ["r(p)", "b(p,p)"]
    assert facts(database, "b") == [("1", "2")]


def test_many_equal_faults_are_summed_up(tmp_path):
    rows = "".join(f"{i},,,maybe\n" for i in range(100, 150))
    with pytest.raises(InputErrors) as caught:
        load(write(tmp_path, GOOD | {"person.csv": "id,age,size,tall\n" + rows}))
    assert len(caught.value.problems) == 21
    last = str(caught.value.problems[-1])
    assert last.endswith("person.csv: column 'tall': 30 more rows like these")


def test_rows_that_refer_to_nothing_are_left_out_with_a_remark(tmp_path):
    files = GOOD | {"likes.csv": "x,y,how\n1,2,\n9,8,\n"}
    with pytest.warns(DataWarning, match="1 cells of 'x' are no key of 'person': they are left"):
        database, _ = load(write(tmp_path, files))
    assert facts(database, "likes") == [("1", "2")]


def test_files_longer_than_a_chunk(tmp_path):
    rows = [f"{i},{i % 7}\n" for i in range(25_000)]
    rows[12_000] = '12000,"a\nb"\n'
    write(tmp_path, {"t.csv": "id,n\n" + "".join(rows)})
    database, _ = from_csv(tmp_path, keys={"t": "id"})
    assert facts(database, "n") == sorted(
        (str(i), "a\nb" if i == 12_000 else str(i % 7)) for i in range(25_000)
    )
    rows[20_000] = "20000\n"
    write(tmp_path, {"t.csv": "id,n\n" + "".join(rows)})
    with pytest.raises(InputErrors, match=r"t\.csv:20003: expected 2 cells, found 1"):
        from_csv(tmp_path, keys={"t": "id"})


@pytest.mark.parametrize(
    "name", ["t[1]", "t*", "t?", "t[!x]", "[", "**", "a{b,c}", "it's", "~", "k=v", "s3:"]
)
def test_files_are_read_by_their_own_name_not_as_a_pattern(tmp_path, name):
    """Beside each file lie others that its name would match as a pattern."""
    numbers = {text: str(place) for place, text in enumerate([name, "t1", "tx", "ab", "x"])}
    for within in (tmp_path, tmp_path / name):
        within.mkdir(exist_ok=True)
        for text, number in numbers.items():
            plain = tmp_path / "made.parquet"
            duckdb.sql(f"SELECT {number} AS id, 'v' AS c").write_parquet(str(plain))
            plain.rename(within / f"{text}.parquet")
            (within / f"{text}.csv").write_text(f"id,c\n{number},v\n")
        for text, number in numbers.items():
            for read, suffix in ((from_parquet, ".parquet"), (from_csv, ".csv")):
                file = within / (text + suffix)
                database, _ = read({"t": file}, keys={"t": "id"})
                assert list(database.rows("c")) == [(number, "v")]
                assert str(database.schema) == "c(t,c_value!)"


def test_sources_that_are_not_there(tmp_path):
    with pytest.raises(InputErrors, match="none: no such folder"):
        from_csv(tmp_path / "none")
    with pytest.raises(InputErrors, match=r"none.csv: cannot read the file: No such file"):
        from_csv({"t": tmp_path / "none.csv"})
    with pytest.raises(InputErrors, match=r"none.parquet: cannot read the file: No such file"):
        from_parquet({"t": tmp_path / "none.parquet"})
    write(tmp_path, {"t.parquet": "PAR1 no"})
    with pytest.raises(InputErrors, match=r"t.parquet: not a Parquet file: "):
        from_parquet(tmp_path)


BROKEN_SQL = {
    "CREATE TABLE a (x INT);\nCREATE TABEL b (y INT);": (
        '2:8: near "TABEL": syntax error\n  CREATE TABEL b (y INT);\n         ^'
    ),
    "CREATE TABLE a (x INT) ENGINE=InnoDB;": (
        '1:30: near "=": syntax error\n  CREATE TABLE a (x INT) ENGINE=InnoDB;\n'
        "                               ^"
    ),
    "CREATE TABLE a (x INT": ("1:1: incomplete input\n  CREATE TABLE a (x INT\n  ^"),
    "-- (\n\nCREATE TABLE a (x INT, x INT);": (
        "3:1: duplicate column name: x\n  CREATE TABLE a (x INT, x INT);\n  ^"
    ),
    "ATTACH DATABASE ('file.db') AS other;": (
        '1:1: near "attach": expected a table definition\n'
        "  ATTACH DATABASE ('file.db') AS other;\n  ^"
    ),
    "CREATE VIRTUAL TABLE a USING fts5(x);": (
        "1:1: not authorized\n  CREATE VIRTUAL TABLE a USING fts5(x);\n  ^"
    ),
    "-- () nothing": "no CREATE TABLE statement found",
}


@pytest.mark.parametrize("text", BROKEN_SQL)
def test_broken_sql(text):
    with pytest.raises(InputErrors) as caught:
        read_ddl(text)
    lines = str(caught.value).split("\n", 1)[1]
    separator = " " if text.startswith("-- ()") else ""
    expected = f"ddl:{separator}{BROKEN_SQL[text]}"
    assert lines.rsplit("\n", 1)[0] == expected
    assert "hint: SQL definitions are read by SQLite" in lines


def test_all_broken_statements_are_listed_and_files_located(tmp_path):
    path = tmp_path / "schema.sql"
    path.write_text("CREATE TABLE a (;\nPRAGMA x;\nCREATE TABLE b (y);\nSELECT 1;\n")
    with pytest.raises(InputErrors) as caught:
        read_ddl(path)
    assert [error.location.line for error in caught.value.problems] == [1, 4]
    assert str(path) in str(caught.value)
    with pytest.raises(MlnError, match="cannot read the file: No such file"):
        read_ddl(tmp_path / "none.sql")
    path.write_bytes(b"\xff(")
    with pytest.raises(MlnError, match="byte 0xff is not UTF-8"):
        read_ddl(path)


def test_definitions_keep_spelling_and_order_of_keys():
    text = """
    BEGIN;
    CREATE TABLE Person (Id INTEGER PRIMARY KEY, "full name" VARCHAR(45)); -- a; b
    /* ; */ CREATE TABLE knows (a INT, b INT, c INT, PRIMARY KEY (b, a),
        FOREIGN KEY (A) REFERENCES person (ID), FOREIGN KEY (b) REFERENCES PERSON,
        FOREIGN KEY (b, c) REFERENCES other (p, q));
    INSERT INTO knows VALUES (';', 2, 3);
    COMMIT;"""
    person, knows = read_ddl(text)
    assert list(person.columns) == ["Id", "full name"]
    assert knows.primary_key == ("b", "a")
    assert [(key.columns, key.table, key.references) for key in knows.foreign_keys] == [
        (("a",), "Person", ("Id",)),
        (("b",), "Person", ()),
        (("b", "c"), "other", ("p", "q")),
    ]


def test_mutated_files_raise_library_errors_only(tmp_path):
    rng = random.Random(3)
    pieces = [
        b",",
        b"\n",
        b'"',
        b"\x00",
        b"\xff",
        b"1",
        b"",
        b"\r",
        b"id",
        b"\xef\xbb\xbf",
        b"9e999",
    ]
    clean = {name: text.encode() for name, text in GOOD.items()}
    loaded = refused = 0
    write(tmp_path, clean)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2000):
            name = rng.choice(sorted(clean))
            data = bytearray(clean[name])
            for _ in range(rng.randint(1, 2)):
                start = rng.randrange(len(data) + 1)
                data[start : start + rng.randint(0, 3)] = rng.choice(pieces)
            (tmp_path / name).write_bytes(data)
            try:
                load(tmp_path, **rng.choice(OPTIONS))
                loaded += 1
            except MlnError:
                refused += 1
            (tmp_path / name).write_bytes(clean[name])
    assert loaded > 100
    assert refused > 100


OPTIONS = [
    {},
    {"mapping": "person.columns.size.bins = 2"},
    {
        "ddl": None,
        "mapping": """
        person.columns = { id.as = "key", tall.as = "flag" }
        likes.columns.x = { as = "key", references = "person" }
        likes.columns.y = { as = "key", references = "person" }
        """,
    },
]


def test_columns_of_all_kinds_of_cells():
    assert Column.of(np.array([2, 1, 2])).names == ("1", "2")
    assert Column.of(np.array([True, False])).names == ("false", "true")
    big = 2**60 + 1
    assert Column.of(np.array([big, 5]), np.array([False, True])).names == (str(big),)
    masked = np.ma.MaskedArray([1.5, 2.5], [True, False])
    assert Column.of(masked).codes.tolist() == [-1, 0]
    mixed = Column.of(["1", 1, 1.0, None, float("nan")])
    assert mixed.names == ("1",)
    assert mixed.codes.tolist() == [0, 0, 0, -1, -1]
    assert Column.of([]).names == ()
    assert constant_name(-0.0) == "0"
    assert constant_name(1e300) == "1e+300"
    assert sorted_names(["-1", "1e1", "3"]) == ["-1", "3", "1e1"]
    with pytest.raises(TypeError, match="holds bytes"):
        Column.of([b"x"])


def test_row_ids_agree_with_tuples():
    rng = np.random.default_rng(0)
    columns = [rng.integers(-1, 4, 300) for _ in range(4)]
    ids = row_ids(columns)
    tuples = list(zip(*(column.tolist() for column in columns), strict=True))
    assert len(set(tuples)) == len(set(ids.tolist())) == len(set(zip(tuples, ids, strict=True)))
    assert Table("t", {}).rows == 0


SCHEMA = Schema.of("friends(person,person)", "smokes(person)", "pos(person,rank!)")


def test_facts_from_one_file_a_predicate(tmp_path):
    write(tmp_path, {"friends.csv": "who,whom\nB,A\nA,B\nB,A\n", "pos.csv": "p,r\nA,1\n"})
    database = facts_from_csv(tmp_path, SCHEMA, domains={"person": ["C"]})
    assert database.domains["person"].names == ("A", "B", "C")
    assert facts(database, "friends") == [("A", "B"), ("B", "A")]
    assert database.count("smokes") == 0
    expected = {"friends": [("B", "A"), ("A", "B")], "pos": [("A", "1")]}
    assert {p: set(database.rows(p)) for p in expected} == {p: set(r) for p, r in expected.items()}


BROKEN_FACTS = {
    "hates.csv": ("a\n1\n", "hates.csv: no such predicate 'hates'; declared are: "),
    "smokes.csv": ("a,b\n1,2\n", "smokes.csv: smokes(person) takes 1 columns, found 2"),
    "friends.csv": ("a,b\nA,\n", "friends.csv:2: column 'b': an argument is empty"),
    "pos.csv": ("a,b\nA,9\n", "pos.csv:2: column 'b': constant 9 is not in the closed type 'rank'"),
}


@pytest.mark.parametrize("name", BROKEN_FACTS)
def test_broken_fact_files(tmp_path, name):
    text, message = BROKEN_FACTS[name]
    schema = Schema(SCHEMA.predicates, {"rank": ("1", "2")}, SCHEMA.functional)
    with pytest.raises(InputErrors) as caught:
        facts_from_csv(write(tmp_path, {name: text}), schema)
    assert message in str(caught.value)


def test_fact_folders_and_types_that_are_not_there(tmp_path):
    with pytest.raises(InputErrors, match="no such folder"):
        facts_from_csv(tmp_path / "none", SCHEMA)
    with pytest.raises(InputErrors, match="domains: no such type 'dog'"):
        facts_from_csv(tmp_path, SCHEMA, domains={"dog": []})


def test_triples_with_and_without_header_and_schema(tmp_path):
    write(tmp_path, {"kg.csv": "object,subject,predicate\nB,A,friends\nA,B,friends\n1,A,pos\n"})
    database = triples_from_csv(tmp_path / "kg.csv", schema=SCHEMA)
    assert facts(database, "friends") == [("A", "B"), ("B", "A")]
    assert database.domains["rank"].names == ("1",)
    write(tmp_path, {"kg.tsv": "A\t/people/born in\tP\nP\tpart\tA\n"})
    database = triples_from_csv(tmp_path / "kg.tsv", kind="thing")
    assert str(database.schema).splitlines() == [
        "part(thing,thing)",
        "people_born_in(thing,thing)",
    ]
    assert facts(database, "people_born_in") == [("A", "P")]


BROKEN_TRIPLES = {
    "A\tfriends\n": "kg.tsv:1: expected 3 cells, found 2",
    "A\tfriends\tB\nB\tA\n": "kg.tsv:2: expected 3 cells, found 2",
    "A\tfriends\tB\nA\tfriends\t\n": "kg.tsv:2: column 'object': the cell is empty",
    "A\thates\tB\n": "kg.tsv:1: no such predicate 'hates'",
    "A\tfriends\tB\nA\tsmokes\tB\n": "kg.tsv:2: smokes(person) takes 1 arguments, a triple has 2",
    "": "kg.tsv: the file is empty",
}


@pytest.mark.parametrize("text", BROKEN_TRIPLES)
def test_broken_triples(tmp_path, text):
    path = write(tmp_path, {"kg.tsv": text}) / "kg.tsv"
    with pytest.raises(InputError) as caught:
        triples_from_csv(path, schema=SCHEMA)
    assert BROKEN_TRIPLES[text] in str(caught.value)


def test_predicates_of_triples_must_stay_apart(tmp_path):
    path = write(tmp_path, {"kg.tsv": "A\tis a\tB\nA\tis-a\tB\n"}) / "kg.tsv"
    with pytest.raises(InputErrors, match="'is a' and 'is-a' would both be 'is_a'"):
        triples_from_csv(path)


def test_nothing_outside_the_folder_is_written(tmp_path):
    target = tmp_path / "leak.db"
    for text in (f"ATTACH ('{target}') AS x", f"VACUUM INTO ('{target}')"):
        with pytest.raises(MlnError):
            read_ddl(text)
    assert not Path(target).exists()
