"""Untidy tables: what each column is taken for, keys that are found, links of any shape."""

import contextlib
import os
import re
import sqlite3
import warnings
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from msgspec.structs import fields as fields_of

import mlnlearn as ml
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.guess import guess_keys
from mlnlearn.data.load.mapping import ColumnFile, TableFile
from mlnlearn.data.load.read import read_tables
from mlnlearn.data.load.reading import OTHER, moments_spelled, read_column
from mlnlearn.data.load.spelling import (
    digits_spelling,
    moment_spelling,
    number_spelling,
    read_moments,
    read_numbers,
)
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.synthetic import messy_shop
from mlnlearn.errors import DataWarning, InputError

RNG = np.random.default_rng(0)
N = 200
SPELLED = "200 different numbers, written "
CASES = {
    # name of the column: its cells, the role, and how the reason begins
    "photo": (Column.unreadable(N, "BLOB"), "skip", "holds BLOB"),
    "fax": ([None] * N, "skip", "empty"),
    "currency": (["EUR"] * N, "skip", "always 'EUR'"),
    "vip": (["x", None] * (N // 2), "flag", "'x' or empty"),
    "paid": (["Yes", "no"] * (N // 2), "flag", "yes or no"),
    "signup": ([1_500_000_000 + 7 * n for n in range(N)], "time", "days or moments, written sec"),
    "seen_at": ([978_300_760_000 + n for n in range(N)], "time", "days or moments, written mil"),
    "views": ([1_500_000 + 7 * n for n in range(N)], "number", "200 different numbers"),
    "stay": (pd.to_timedelta(range(N), unit="h"), "number", SPELLED + "h:m:s"),
    "male": ([0, 1] * (N // 2), "flag", "yes or no"),
    "grade": ([n % 5 for n in range(N)], "value", "5 values"),
    "height": (RNG.normal(170, 9, N).round(1), "number", ""),
    "population": (RNG.permutation(10**6)[:N], "number", "200 different numbers"),
    "zip": (1000 + RNG.integers(150, size=N), "skip", "identifiers"),
    "status_id": ([n % 40 for n in range(N)], "value", "30 frequent of 40 values"),
    "price": ([f"1.{n:03d},50 €" for n in range(N)], "number", "200 different numbers, written"),
    "mass": ([f"{n},{n % 10} kg" for n in range(N)], "number", SPELLED + "1.234,5 kg"),
    "people": ([f"{n},000" for n in range(N)], "number", "200 different numbers, written 1,234.5"),
    "lap": ([f"1:{n % 60:02d}.{n}" for n in range(N)], "number", SPELLED + "h:m:s"),
    "since": ([f"2020-01-{1 + n % 28:02d}" for n in range(N)], "time", "days or moments"),
    "seit": ([f"{1 + n % 28:02d}.12.2020" for n in range(N)], "time", "days or moments, written"),
    "site": ([f"https://example.org/{n}" for n in range(N)], "skip", "addresses (URL)"),
    "mail": ([f"a{n}@example.org" for n in range(N)], "skip", "e-mail addresses"),
    "remark": ([f"came late and left early no {n}" for n in range(N)], "skip", "free text"),
    "surname": ([f"Name{n}" for n in range(N)], "skip", "nearly every row has its own"),
    "street": ([f"S{n}" for n in range(N // 3)] * 3 + ["T"] * 2, "skip", "67 values, none of them"),
    "town": ([*"AB"] * 55 + [f"T{n // 2}" for n in range(N - 110)], "value", "2 frequent of 47"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_column_is_taken_for_what_it_is(name):
    cells, role, why = CASES[name]
    column = cells if isinstance(cells, Column) else Column.of(cells)
    found = read_column(name, column)
    assert found.role == role
    assert found.why.startswith(why)


def test_few_rows_leave_nothing_out():
    for cells in (
        ["x"] * 5,
        ["a", "b", "c"],
        ["some longer text of words", "another one of words"],
    ):
        assert read_column("c", Column.of(cells)).role == "value"


def test_rare_values_become_other_and_stay_so():
    towns = ["A"] * 60 + ["B"] * 50 + [f"T{n // 2}" for n in range(90)]
    people = Table("p", {"id": Column.of(range(200)), "town": Column.of(towns)}, ("id",))
    database, mapping = build_database([people])
    assert set(database.domains["town_value"].names) == {"A", "B", OTHER}
    assert mapping["p"]["town"].values == ("A", "B")
    # other data are read alike, though there T1 is frequent
    few = Table("p", {"id": Column.of(range(30)), "town": Column.of(["T1"] * 29 + ["A"])}, ("id",))
    again, _ = build_database([few], mapping)
    assert set(again.domains["town_value"].names) == {"A", OTHER}


def test_numbers_are_read_as_they_were_spelled_when_the_model_was_learned():
    cells = Column.of([f"{n},5" for n in range(60)])
    table = Table("p", {"id": Column.of(range(60)), "size": cells}, ("id",))
    database, mapping = build_database([table])
    assert database.domains["size_value"].numbers[:2].tolist() == [0.5, 1.5]
    # alone, 1,500 would be fifteen hundred
    new = Table("p", {"id": Column.of([1]), "size": Column.of(["1,500"])}, ("id",))
    assert build_database([new], mapping).database.domains["size_value"].numbers.tolist() == [1.5]


@pytest.mark.parametrize(
    ("cells", "spelled", "numbers"),
    [
        (["1,000", "20"], "1,234.5", [1000, 20]),
        (["1.000,5", "20"], "1.234,5", [1000.5, 20]),
        (["$ 1,000.25", "$2"], "$ 1,234.5", [1000.25, 2]),
        (["30%", "4 %"], "1234.5 %", [30, 4]),
        (["-3 °C", "4 °C"], "1234.5 °C", [-3, 4]),
        (["1e3", "4"], "", [1000, 4]),
        (["A1", "A2"], None, None),
        (["1 kg", "2 g"], None, None),
        (["1_000"], None, None),
        (["inf", "nan"], None, None),
        (["1,00,0", "2"], None, None),
    ],
)
def test_spellings_of_numbers(cells, spelled, numbers):
    assert number_spelling(cells) == spelled
    if numbers is not None:
        assert read_numbers(cells, spelled).tolist() == numbers


def test_spellings_of_moments():
    assert moment_spelling(["13/01/2020", "01/02/2020"]) == "%d/%m/%Y"
    assert moment_spelling(["01/13/2020", "01/02/2020"]) == "%m/%d/%Y"
    assert moment_spelling(["13/13/2020"]) is None
    assert moment_spelling([]) is None
    days = read_moments(["2020/01/02", "2020/01/03"], "%Y/%m/%d")
    assert np.diff(days).tolist() == [86_400.0]


def frames():
    drivers = pd.DataFrame({"driverId": range(1, 31), "nation": ["AT", "CZ", "DE"] * 10})
    races = pd.DataFrame({"raceId": range(1, 11), "lat": np.linspace(1, 2, 10)})
    pairs = [(d, r) for d in range(1, 31) for r in range(1, 11) if (d + r) % 3]
    results = pd.DataFrame(pairs, columns=["driverId", "raceId"])
    results.insert(0, "resultId", range(1, len(pairs) + 1))
    laps = results.drop(columns="resultId")
    pits = pd.DataFrame({"driver": [1, 1, 2], "seconds": [2.5, 3.1, 2.2]})
    staff = pd.DataFrame(
        {"id": range(1, 21), "manager_id": [None, *[1 + n // 3 for n in range(19)]]}
    )
    return {
        "drivers": drivers,
        "races": races,
        "results": results,
        "laps": laps,
        "pits": pits,
        "staff": staff,
    }


def test_keys_are_found_and_shown_as_guesses():
    database, mapping = ml.from_frames(frames())
    kinds = {table.name: table.kind for table in mapping}
    assert kinds == {
        "drivers": "entity", "races": "entity", "results": "entity", "laps": "relationship",
        "pits": "event", "staff": "entity",
    }  # fmt: skip
    links = {
        f"{table.name}.{column.name}": column.references
        for table in mapping
        for column in table.columns
        if column.references
    }
    assert links == {
        "results.driverId": "drivers", "results.raceId": "races", "laps.driverId": "drivers",
        "laps.raceId": "races", "pits.driver": "drivers", "staff.manager_id": "staff",
    }  # fmt: skip
    assert mapping["results"]["driverId"].note.startswith("a guess")
    assert database.count("laps") == 200
    # whole numbers that happen to be keys elsewhere refer to nothing
    odd = [*frames().items(), ("x", pd.DataFrame({"id": [5, 6], "points": [1, 2]}))]
    _, mapping = ml.from_frames(dict(odd))
    assert mapping["x"]["points"].role == "value"
    assert ml.from_frames(dict(odd), mapping=mapping).mapping == mapping


def test_declared_foreign_keys_are_not_guessed_at():
    people = Table("people", {"id": Column.of([1, 2])}, ("id",))
    pets = Table("pets", {"people_id": Column.of([1, 2])})
    toys = Table("toys", {"of": Column.of([1])}, (), (ForeignKey(("of",), "people"),))
    assert guess_keys([people, pets, toys]) == [people, pets, toys]
    # many databases declare what names a row, and not what refers to it
    guessed = guess_keys([people, pets])
    assert guessed[1].foreign_keys == (ForeignKey(("people_id",), "people"),)
    assert guessed[1].primary_key == ()


WRITTEN = {
    # how a file is written: its bytes, and the cells of its last column
    "semicolons": (b"id;area\na;1,5\nb;2,5\n", ("1,5", "2,5")),
    "tabs": (b"id\tarea\na\t1,5\nb\t2,5\n", ("1,5", "2,5")),
    "bars": (b"id|area, km\na|1\nb|2\n", ("1", "2")),
    "a mark": ("\ufeffid;Größe\na;1\nb;2\n".encode(), ("1", "2")),
    "said": (b"sep=;\r\nid;area\r\na;1,5\r\nb;x\r\n", ("1,5", "x")),
    "UTF-16": ("id\tOrt\na\tKöln\nb\tUlm\n".encode("utf-16"), ("Köln", "Ulm")),
    "latin-1": ("id;Ort\na;Köln\nb;Ulm\n".encode("latin-1"), ("Köln", "Ulm")),
    "empty columns and lines": (b"id;area;;\na;1;;\n;;;\nb;2;;\n", ("1", "2")),
    "a comma in a cell": (b'id,a;b\na,"1;2"\nb,"3;4"\n', ("1;2", "3;4")),
    "one column": (b"id\na;1\nb\n", ("a;1", "b")),
}


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
def test_how_a_file_is_written(tmp_path, kind):
    written, cells = WRITTEN[kind]
    path = tmp_path / "towns.csv"
    path.write_bytes(written)
    [table] = read_tables(path)
    assert list(table.columns.values())[-1].names == cells


def test_text_that_is_not_utf8_is_said_to_be_so(tmp_path):
    (tmp_path / "towns.tsv").write_bytes("id\tOrt\na\tKöln\n".encode("cp1252"))
    with pytest.warns(DataWarning, match="Windows-1252"):
        [table] = read_tables(tmp_path)
    assert table.columns["Ort"].names == ("Köln",)


def test_a_column_without_a_name_is_called_by_its_place(tmp_path):
    (tmp_path / "towns.csv").write_text(",name\n0,Brno\n1,Linz\n")
    assert list(read_tables(tmp_path)[0].columns) == ["column 1", "name"]


def test_folders_of_parquet_files_are_tables(tmp_path):
    with duckdb.connect() as connection:
        for year in (2020, 2021):
            part = tmp_path / "sales" / f"year={year}"
            part.mkdir(parents=True)
            connection.execute(f"COPY (SELECT {year} - 2000 AS sold) TO '{part}/part-0.parquet'")
        (tmp_path / "shops").mkdir()
        for n in (1, 2):
            connection.execute(f"COPY (SELECT {n} AS id) TO '{tmp_path}/shops/{n}.parquet'")
        sales, shops = read_tables(tmp_path)
        assert sorted(sales.columns["year"].names) == ["2020", "2021"]
        assert (sales.name, sales.rows, shops.name, shops.rows) == ("sales", 2, "shops", 2)
        assert [table.name for table in read_tables(tmp_path / "sales")] == ["sales"]
        connection.execute(f"COPY (SELECT 1 AS x) TO '{tmp_path}/shops/3.parquet'")
        with pytest.raises(InputError, match="different columns"):
            read_tables(tmp_path)


def test_every_schema_of_a_duckdb_file_is_read(tmp_path):
    with duckdb.connect(str(tmp_path / "lab.duckdb")) as connection:
        connection.execute("""
            CREATE SCHEMA lab; CREATE TABLE probe (id INT PRIMARY KEY); USE lab.lab;
            CREATE TABLE probe (id INT PRIMARY KEY);
            CREATE TABLE reading (probe INT REFERENCES probe (id), level DOUBLE)""")
    tables = {table.name: table for table in read_tables(tmp_path / "lab.duckdb")}
    assert list(tables) == ["main.probe", "lab.probe", "reading"]
    assert tables["reading"].foreign_keys[0].table == "lab.probe"


def test_a_database_that_declares_nothing(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "old.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE tblKunde (KundeID, Ort); CREATE TABLE Rechnung (Nr, KundeID, Betrag)"
        )
        connection.executemany(
            "INSERT INTO tblKunde VALUES (?, ?)", [(n, ["", "Ulm"][n % 2]) for n in range(9)]
        )
        bills = [(n, n % 9, "" if n % 3 else n) for n in range(60)]
        connection.executemany("INSERT INTO Rechnung VALUES (?, ?, ?)", bills)
        connection.commit()
    _, mapping = build_database(read_tables(tmp_path / "old.sqlite"))
    assert mapping["Rechnung"]["KundeID"].references == "tblKunde"
    # a blank text is an empty cell, and no value
    assert (mapping["Rechnung"]["Betrag"].role, mapping["Rechnung"]["Betrag"].empty) == (
        "number",
        40,
    )
    assert (mapping["tblKunde"]["Ort"].empty, mapping["tblKunde"]["KundeID"].role) == (5, "key")


def test_the_parts_of_a_link_of_several_columns_say_nothing_new():
    room = {"house": Column.of(["N", "N", "S"]), "floor": Column.of([0, 1, 0])}
    stay = {"house": Column.of(["N", "S"]), "floor": Column.of([1, 0])}
    both = (ForeignKey(("house", "floor"), "room"),)
    rooms = Table("room", room, ("house", "floor"))
    _, mapping = build_database([rooms, Table("stay", stay, (), both)])
    assert mapping["stay"]["house"].role == mapping["stay"]["floor"].role == "skip"
    assert mapping["stay"]["house, floor"].references == "room"
    # and a mapping that speaks of the link is understood by whoever reads the tables again
    again = ml.tables_data([rooms, Table("stay", stay, (), both)], mapping=mapping).data
    assert again.mapping == mapping


def test_a_foreign_key_to_another_unique_column_and_one_of_several_columns():
    town = Table("town", {"id": Column.of([7, 8]), "name": Column.of(["Brno", "Linz"])}, ("id",))
    flight = Table(
        "flight",
        {"line": Column.of(["OS", "OS", "LH"]), "no": Column.of([1, 2, 1])},
        ("line", "no"),
    )
    person = Table(
        "person",
        {
            "id": Column.of(["Anna", "Bob"]),
            "home": Column.of(["Linz", None]),
            "line": Column.of(["LH", "OS"]),
            "no": Column.of([1, 3]),
        },
        ("id",),
        (
            ForeignKey(("home",), "town", ("name",)),
            ForeignKey(("line", "no"), "flight", ("line", "no")),
        ),
    )
    database, mapping = build_database([town, flight, person])
    assert list(database.rows("home")) == [("Anna", "8")]
    assert list(database.rows("line_no")) == [("Anna", "3")]
    assert mapping["flight"].kind == "event"
    assert list(build_database([town, flight, person], mapping).database.rows("line_no")) == [
        ("Anna", "3")
    ]


def test_nothing_untidy_stops_a_database(tmp_path):
    shop = messy_shop(customers=150, rng=2)
    shop.write(tmp_path / "shop.sqlite")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database, mapping = ml.from_sql(tmp_path / "shop.sqlite")
    assert len(mapping.tables) == 11
    customer = mapping["customer"]
    roles = {column.name: column.role for column in customer.columns}
    assert [name for name, role in roles.items() if role == "skip"] == [
        "e-mail", "remark", "photo", "currency", "fax",
    ]  # fmt: skip
    assert (roles["recommended_by"], roles["churned"], roles["joined"]) == ("link", "flag", "time")
    assert (customer.time, mapping["visit"].time) == ("joined", "at")
    assert {mapping[name].kind for name in ("visit", "support call", "log")} == {"event"}
    assert database.size("visit") == len(shop.tables["visit"]["at"])
    assert list(database.rows("churned")) == [
        (str(n + 1),) for n, left in enumerate(shop.tables["customer"]["churned"]) if left
    ]
    # read by its own mapping, it is the same
    again = ml.from_sql(tmp_path / "shop.sqlite", mapping=str(mapping))
    assert again.mapping == mapping
    assert again.database.domains == database.domains


def test_dangling_links_of_entities_are_taken_as_empty(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "a.sqlite")) as file:
        file.executescript("""
            CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES b);
            CREATE TABLE b (id INTEGER PRIMARY KEY);
            INSERT INTO a VALUES (1, 1), (2, 9), (3, NULL); INSERT INTO b VALUES (1);""")
    with pytest.warns(
        DataWarning, match="1 cells of 'b' are no key of 'b': they are taken as empty"
    ):
        database, _ = ml.from_sql(tmp_path / "a.sqlite")
    assert list(database.rows("b")) == [("1", "1")]
    assert database.size("a") == 3


def test_words_for_null_in_csv(tmp_path):
    rows = "".join(f"{n},{'NA' if n % 3 else 'x'},{'NULL' if n % 2 else n}\n" for n in range(40))
    (tmp_path / "t.csv").write_text("id,kind,size\n" + rows)
    (tmp_path / "lands.csv").write_text("code,size\nNA,big\nAT,small\n")
    tables = {table.name: table for table in read_tables(tmp_path)}
    assert tables["t"].columns["kind"].names == ("x",)
    assert tables["t"].columns["size"].missing.sum() == 20
    # what has no repeats may be a key, and Namibia is a land
    assert tables["lands"].columns["code"].names == ("NA", "AT")


PAGE = Path(__file__).resolve().parents[2] / "docs" / "mapping.md"


def test_the_page_on_mappings_says_all_and_its_examples_are_sound():
    text = PAGE.read_text("utf-8")
    settings = {field.encode_name for kind in (ColumnFile, TableFile) for field in fields_of(kind)}
    assert all(f"`{name}`" in text for name in settings - {"columns"})
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    names = (
        "id",
        "recommended_by",
        "town",
        "Größe (cm)",
        "age",
        "income",
        "joined",
        "vip",
        "photo",
    )
    cells = ("1", None, "Brno", "1,5", 30, 9.5, "31.12.2020", "x", None)
    other = ("2", "1", "Graz", "2,5", 70, 99.5, "01.01.2021", None, None)
    columns = {name: Column.of(pair) for name, *pair in zip(names, cells, other, strict=True)}
    visits = {"day": Column.of(["2025-01-01", "2025-12-31"]), "page": Column.of(["a", "b"])}
    tables = [
        Table("customer", columns),
        Table("visits", visits),
        Table("log", {"x": Column.of([1])}),
    ]
    database, mapping = build_database(tables, "\n".join(blocks))
    assert database.size("visit") == 1
    assert database.domains["height_value"].numbers.tolist() == [1.5, 2.5]
    assert set(database.domains["town_value"].names) == {"Brno", "other"}
    assert list(database.rows("vip")) == [("1",)]
    assert mapping["customer"].time == "joined"


@pytest.mark.skipif("MLNLEARN_DATA" not in os.environ, reason="needs benchmark data")
@pytest.mark.parametrize(
    ("name", "kinds", "links"),
    [
        ("f1", {"entity": 9}, 13),
        ("movielens", {"entity": 2, "relationship": 1}, 2),
        ("hepatitis", {"entity": 4, "relationship": 3}, 6),
        ("mutagenesis", {"entity": 2, "relationship": 2}, 4),
        ("university", {"entity": 3, "relationship": 2}, 4),
    ],
)
def test_real_databases_need_no_mapping(name, kinds, links):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database, mapping = build_database(read_tables(Path(os.environ["MLNLEARN_DATA"], name)))
    assert Counter(table.kind for table in mapping) == kinds
    assert sum(bool(column.references) for table in mapping for column in table.columns) == links
    if name == "f1":
        assert {table.name for table in mapping if not table.time} == {
            "circuits", "constructors", "drivers",
        }  # fmt: skip
        empty = sum(column.empty for column in mapping["results"].columns)
        assert empty == 66_332  # as its description says
        assert database.size("results") == 25_860


def test_what_cannot_be_copied_is_said(tmp_path):
    cells = {"id": Column.of([1, 2]), "photo": Column.unreadable(2, "BLOB")}
    with pytest.warns(DataWarning, match="'photo' holds BLOB, which is not copied"):
        ml.save_tables([Table("person", cells, ("id",))], tmp_path / "copy.sqlite")
    (again,) = read_tables(tmp_path / "copy.sqlite")
    assert again.columns["photo"].missing.all()


def test_days_of_one_number_are_days_where_nothing_speaks_against_it():
    days = [f"2020{month:02}{day:02}" for month in range(1, 13) for day in (1, 28)]
    assert moments_spelled("opened", Column.of(days)) == "%Y%m%d"
    assert moments_spelled("opened", Column.of([*days, "20201399"])) is None
    assert moments_spelled("opened", Column.of([*days, "30201231"])) is None  # not of our time
    short = [day[2:] for day in days]
    assert moments_spelled("trans_date", Column.of(short)) == "%y%m%d"
    assert moments_spelled("amount", Column.of(short)) is None
    assert digits_spelling("date", []) is None
    assert read_moments(["19700102"], "%Y%m%d").tolist() == [86_400.0]
    assert np.isnan(read_moments(["2020111", "1970 1 2", "soon"], "%Y%m%d")).all()


def test_a_table_of_some_things_refers_to_the_one_of_all():
    basics = {"tconst": Column.of([f"t{n}" for n in range(30)]), "year": Column.of(range(30))}
    crew = {"tconst": Column.of([f"t{n}" for n in range(30)]), "size": Column.of(range(30))}
    ratings = {"tconst": Column.of([f"t{n}" for n in range(9)]), "votes": Column.of(range(9))}
    tables = [Table("ratings", ratings), Table("basics", basics), Table("crew", crew)]
    found = {table.name: table for table in guess_keys(tables)}
    assert [key.table for key in found["ratings"].foreign_keys] == ["basics"]
    assert [key.table for key in found["crew"].foreign_keys] == ["basics"]
    assert found["basics"].foreign_keys == ()
    # the table that a key is called after has all of them, whatever its size
    homes = [
        Table("vip", {"basic_id": Column.of(range(1, 9))}),
        Table("basics", {"basic_id": Column.of(range(1, 9)), "a": Column.of(range(8))}),
    ]
    found = {table.name: table for table in guess_keys(homes)}
    assert [key.table for key in found["vip"].foreign_keys] == ["basics"]
    assert found["basics"].foreign_keys == ()


def test_calculated_columns_of_sqlite_are_read():
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE box (id INTEGER PRIMARY KEY, w INT, kept INT AS (w + 1) STORED, "
        "heavy INT GENERATED ALWAYS AS (w > 5) VIRTUAL);"
        "INSERT INTO box (id, w) VALUES (1, 3), (2, 9);"
    )
    (box,) = ml.read_tables(connection)
    assert box.columns["heavy"].names == ("0", "1")
    assert box.columns["kept"].names == ("4", "10")


@pytest.mark.parametrize("pair", [("ja", "nein"), ("J", "N"), ("oui", "non"), ("on", "off")])
def test_yes_and_no_are_flags_in_other_languages_(pair):
    cells = Column.of([pair[n % 3 > 0] for n in range(30)])
    people = Table("people", {"id": Column.of(range(30)), "vip": cells}, ("id",))
    database, mapping = build_database([people], None, "")
    assert mapping["people"]["vip"].role == "flag"
    assert database.facts("vip").shape[1] == 10


def test_days_of_several_spellings_are_days_where_none_is_in_doubt():
    days = [f"2020-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(40)]
    others = [f"{1 + n % 28:02d}.{1 + n % 12:02d}.2021" for n in range(40)]
    spelled = moment_spelling(days + others)
    assert spelled == "%Y-%m-%d or %d.%m.%Y"
    seconds = read_moments(["2020-01-02", "02.01.2020", "soon"], spelled)
    assert seconds[0] == seconds[1]
    assert np.isnan(seconds[2])
    assert moment_spelling(["13/01/2020", "01/13/2020"]) is None  # which is the day of 02/03?
    assert moment_spelling(["1.12.10", "2.4.11"]) is None  # versions


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("931107 00:00:00", "1993-11-07"),
        ("20201231235959", "2020-12-31"),
        ("7-Nov-2020", "2020-11-07"),
        ("Nov 07, 2020", "2020-11-07"),
        ("11/07/20", "2020-07-11"),
        ("11/27/2020 11:05:00 PM", "2020-11-27"),
        ("07.11.20", "2020-11-07"),
    ],
)
def test_moments_of_common_programs_are_read(cell, day):
    spelled = moment_spelling([cell]) or digits_spelling("issued_date", [cell])
    seconds = read_moments([cell, day], spelled)
    assert str(np.datetime64(int(seconds[0]), "s"))[:10] == day


def test_a_day_that_all_rows_share_still_says_when_they_are_from():
    rows = {"id": Column.of(range(30)), "day": Column.of(["2021-02-03"] * 30)}
    _, mapping = build_database([Table("claim", rows, ("id",))], None, "")
    assert mapping["claim"].time == "day"
    assert mapping["claim"]["day"].note == "always the same day"
