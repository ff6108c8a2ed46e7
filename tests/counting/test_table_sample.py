"""A mapping derived from a sample, and by asking, is that of a loader, from all rows."""

import re
import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest

import mlnlearn as ml
from mlnlearn.counting.duck import DuckServer
from mlnlearn.counting.sampled_table import SampledTable
from mlnlearn.counting.table_sample import derived_mapping
from mlnlearn.data.load.build import map_tables
from mlnlearn.data.load.read import read_tables
from mlnlearn.data.synthetic import messy
from mlnlearn.data.synthetic.messy_causes import CAUSES
from mlnlearn.errors import DataWarning, InputError
from table_sets import definitions, table_set, write_file, write_folder, write_server

ROWS = 20
WAYS = ("folder", "folder with keys", "file", "file with keys")


def plain(mapping):
    """The text of a mapping without its remarks, which count what they saw."""
    return re.sub(r"  # .*", "", str(mapping))


def loaded(source, mapping=None, ddl=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return map_tables(read_tables(source, ddl=ddl), mapping).mapping


def outcome(function, *arguments):
    """What a loader says of tables: how it reads them, or that it does not."""
    try:
        return plain(function(*arguments))
    except InputError:
        return "refused"


def derived(source):
    return derived_mapping(source, rows=ROWS)


def written(way, folder, rng, most=1500):
    tables, primary, foreign = table_set(rng, sound=way == "file with keys", most=most)
    if way == "folder":
        return write_folder(folder, tables)
    if way == "folder with keys":
        statements = definitions(tables, primary, foreign).values()
        return write_folder(folder, tables, ";\n".join(statements) + ";\n")
    folder.mkdir()
    keys = (primary, foreign) if way == "file with keys" else ()
    return write_file(folder / "tables.duckdb", tables, *keys)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", range(5))
def test_random_tables_are_read_as_a_loader_reads_them(way, part, tmp_path):
    for seed in range(10):
        rng = np.random.default_rng([WAYS.index(way), part, seed])
        source = written(way, tmp_path / str(seed), rng)
        assert outcome(derived, source) == outcome(loaded, source), (way, part, seed)


@pytest.mark.parametrize("part", range(3))
def test_random_tables_on_postgresql(part, postgres):
    import psycopg  # noqa: PLC0415 - an extra

    for seed in range(5):
        rng = np.random.default_rng([part, seed])
        declared = bool(seed % 2)
        tables, primary, foreign = table_set(rng, sound=declared, most=1500)
        name = f"sampled_{part}_{seed}"
        with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
            connection.execute(f"SET search_path TO {name}")
            write_server(connection, tables, *((primary, foreign) if declared else ()))
        address = f"{postgres}/postgres?schema={name}"
        assert outcome(derived, address) == outcome(loaded, address), (part, seed)


@pytest.mark.parametrize("kind", list(CAUSES)[:4])
@pytest.mark.parametrize("declared", [False, True])
def test_a_messy_shop_is_read_as_a_loader_reads_it(kind, declared, tmp_path):
    shop = messy.messy_shop(kind, 300)
    with duckdb.connect() as connection:
        for name, columns in shop.tables.items():
            connection.register("cells", pd.DataFrame(columns))
            connection.execute(f"COPY (SELECT * FROM cells) TO '{tmp_path / name}.parquet'")
    if declared:
        questions = ", ".join(f"q{number} TEXT" for number in range(1, messy._QUESTIONS + 1))
        text = messy._DEFINITIONS.format(questions=questions)
        (tmp_path / "schema.sql").write_text(text)
    assert plain(derived_mapping(tmp_path, rows=50)) == plain(loaded(tmp_path))


def people(folder, select, rows=5000, **others):
    """A table of people, whose columns a select adds to their numbers, and perhaps others."""
    folder.mkdir(exist_ok=True)
    texts = {"person": f"SELECT range AS id, {select} FROM range({rows})", **others}
    for name, text in texts.items():
        duckdb.execute(f"COPY ({text}) TO '{folder}/{name}.parquet'")
    return folder


@pytest.mark.parametrize(
    ("cells", "setting"),
    [
        ("CASE WHEN range <> 3517 THEN 'EUR' END AS c", 'as = "flag"'),
        ("CASE WHEN range <> 3517 THEN 'EUR' ELSE 'USD' END AS c", 'as = "value"'),
        ("CASE WHEN range <> 3517 THEN 'EUR' ELSE '  ' END AS c", 'true = "EUR"'),
        ("CASE WHEN range = 3517 THEN 'EUR' END AS c", 'as = "flag"'),
        ("CASE WHEN range = 3517 THEN 'maybe' ELSE 'no' END AS c", 'as = "value"'),
        ("CASE WHEN range = 3517 THEN '13/31/2020' ELSE '01/02/2020' END AS c", 'as = "value"'),
        ("strftime(DATE '1990-01-01' + to_months(range::INT % 300) + to_days(range::INT % 12 "
         "+ CASE WHEN range = 3517 THEN 12 ELSE 0 END), '%m/%d/%Y') AS c",
         'spelled = "%m/%d/%Y"'),
        ("CASE WHEN range = 3517 THEN 'none' ELSE '' || range END AS c", 'as = "skip"'),
        ("1500000000 + range * (CASE WHEN range = 3517 THEN 10**12 ELSE 1 END) AS c", '"number"'),
        ("range + (range = 3517)::INT / 2 AS zip", 'as = "number"'),
        ("range % 11 AS c", 'as = "number"'),
        ("'w' || CASE WHEN range % 3 THEN range % 31 ELSE 50 + range // 25 END AS c",
         'values = ["w0'),
        ("'w' || range % 1500 AS c", 'as = "skip"'),
    ],
)  # fmt: skip
def test_what_one_row_outside_the_sample_says_is_heard(cells, setting, tmp_path):
    source = people(tmp_path / "f", cells)
    found = derived(source)
    assert plain(found) == plain(loaded(source))
    assert setting in str(found)


def test_a_key_that_repeats_outside_the_sample_is_none(tmp_path):
    source = people(tmp_path / "f", "'a' || range % 5 AS sex")
    assert derived(source)["person"].kind == "entity"
    again = people(
        tmp_path / "g", "1 AS one", 10, person="SELECT range % 4999 AS id FROM range(5000)"
    )
    assert derived(again)["person"].kind == "event"


def linked(folder, lost, extra=""):
    """Visits of people, of which some are of nobody; definitions may say that they refer."""
    visit = f"SELECT range AS id, 2 * (range % 5000) + ({lost})::INT AS person_id FROM range(8000)"
    person = "SELECT 2 * range AS id, range % 3 AS sex FROM range(5000)"
    people(folder, "1 AS one", person=person, visit=visit)
    if extra:
        (folder / "schema.sql").write_text(extra)
    return folder


DECLARED = (
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex INTEGER);\n"
    "CREATE TABLE visit (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person);\n"
)


@pytest.mark.parametrize("text", ["", DECLARED])
def test_one_link_that_leads_nowhere_is_seen(text, tmp_path):
    sound = derived(linked(tmp_path / "f", "FALSE", text))["visit"]["person_id"]
    assert (sound.role, sound.functional) == ("link", True)
    lost = derived(linked(tmp_path / "g", "range = 7001", text))["visit"]["person_id"]
    assert (lost.role, lost.functional) == ("link", False)


@pytest.mark.parametrize(("share", "role"), [(25, "link"), (19, "skip")])
def test_how_many_links_lead_nowhere_is_asked(share, role, tmp_path):
    source = linked(tmp_path / "f", f"range % {share} = 0")
    assert plain(derived(source)) == plain(loaded(source))
    assert derived(source)["visit"]["person_id"].role == role


def test_of_two_tables_with_one_key_that_of_all_things_is_told_by_all_rows(tmp_path):
    folder = people(
        tmp_path / "f",
        "1 AS one",
        50,
        best="SELECT 'k' || range AS name, range % 3 AS b FROM range(200)",
        things="SELECT 'k' || range AS name, range % 2 AS a FROM range(3000)",
        visit="SELECT range AS id, 'k' || range % 150 AS who FROM range(4000)",
    )
    found = derived(folder)
    assert plain(found) == plain(loaded(folder))
    assert found["best"]["name"].references == "things"
    assert found["visit"]["who"].references == "things"


def test_the_smaller_of_two_tables_is_told_by_all_rows(tmp_path):
    """Its sample is the larger one, with rows that show its many columns."""
    cells = ", ".join(f"hash(range + {k}000) % 97 AS c{k}" for k in range(6))
    folder = people(
        tmp_path / "f",
        "1 AS one",
        50,
        club="SELECT CASE WHEN range < 150 THEN range ELSE 10000 + range END AS team_id, 1 AS one "
        "FROM range(3000)",
        squad=f"SELECT range AS team_id, {cells} FROM range(400)",
        visit="SELECT range AS id, range % 150 AS team_id FROM range(4000)",
    )
    found = derived(folder)
    assert plain(found) == plain(loaded(folder))
    assert found["visit"]["team_id"].references == "squad"


def test_rows_that_are_left_out_do_not_count(tmp_path):
    """A word is frequent by one row too few, since that row refers to nobody."""
    word = "CASE WHEN range < 5 THEN 'rare' WHEN range < 9 THEN 'rarer' ELSE 'w' || range % 29 END"
    rated = (
        f"SELECT CASE WHEN range = 2 THEN -1 ELSE range END AS person_id, range % 50 AS thing_id, "
        f"{word} AS word FROM range(3000)"
    )
    folder = people(
        tmp_path / "f", "1 AS one", rated=rated, thing="SELECT range AS id FROM range(50)"
    )
    (folder / "schema.sql").write_text(
        "CREATE TABLE person (id INTEGER PRIMARY KEY, one INTEGER);\n"
        "CREATE TABLE thing (id INTEGER PRIMARY KEY);\n"
        "CREATE TABLE rated (person_id INTEGER REFERENCES person, thing_id INTEGER REFERENCES "
        "thing, word TEXT, PRIMARY KEY (person_id, thing_id));\n"
    )
    found = derived(folder)
    assert plain(found) == plain(loaded(folder))
    assert len(found["rated"]["word"].values) == 29


def spied(monkeypatch):
    """Collect the samples that are read."""
    found, read = [], SampledTable.read

    def spy(self):
        found.append((self.name, read(self)))
        return found[-1][1]

    monkeypatch.setattr(SampledTable, "read", spy)
    return found


def test_a_chain_of_links_does_not_pull_all_rows(tmp_path, monkeypatch):
    cells = "CASE WHEN range THEN range - 1 END AS parent"
    source = people(tmp_path / "f", f"{cells}, range % 3 AS sex", 40_000)
    expected = loaded(source)
    samples = spied(monkeypatch)
    assert plain(derived(source)) == plain(expected)
    assert expected["person"]["parent"].role == "link"
    assert max(table.rows for _, table in samples) < 10_000


def test_the_sample_is_the_same_whatever_draws_it(tmp_path, monkeypatch):
    source = people(tmp_path / "f", "hash(range) % 1000 AS code, 'w' || range % 50 AS c", 300_000)
    start, drawn = DuckServer.__init__, []
    for threads in (1, 4):
        monkeypatch.setattr(
            DuckServer, "__init__", lambda self, *a, t=threads, **k: start(self, *a, threads=t, **k)
        )
        samples = spied(monkeypatch)
        derived_mapping(source, rows=500)
        drawn.append([table.columns["id"].names for _, table in samples])
        assert samples[0][1].rows < 700
    assert drawn[0] == drawn[1]


def test_edits_are_those_of_the_derived_mapping(tmp_path):
    source = linked(tmp_path / "f", "range = 7001")
    edits = 'visit.columns.person_id = { as = "value" }\nperson.type = "somebody"'
    found = derived_mapping(source, edits, rows=ROWS)
    assert plain(found) == plain(loaded(source, edits))
    with pytest.raises(InputError, match="no such column; did you mean 'sex'"):
        derived_mapping(source, "person.columns.sexx.as = 'value'", rows=ROWS)


def test_links_that_edits_add_are_followed_too(tmp_path):
    folder = people(
        tmp_path / "f", "1 AS one", visit="SELECT range AS id, range AS zip FROM range(5000)"
    )
    edits = 'visit.columns.zip = { as = "link", references = "person" }'
    assert loaded(folder)["visit"]["zip"].role == "skip"
    found = derived_mapping(folder, edits, rows=ROWS)
    assert plain(found) == plain(loaded(folder, edits))
    assert found["visit"]["zip"].functional


def test_parts_of_a_table_in_a_folder_are_one_table(tmp_path):
    source = people(tmp_path / "f", "range % 3 AS sex")
    (source / "part.parquet").mkdir()
    for part in range(3):
        select = f"SELECT {part} * 1000 + range AS id, range % 2 AS b FROM range(1000)"
        duckdb.execute(f"COPY ({select}) TO '{source}/part.parquet/{part}.parquet'")
    assert plain(derived(source)) == plain(loaded(source))
    assert derived(source)["part"].kind == "entity"


def test_empty_cells_are_counted_in_all_rows(tmp_path):
    source = people(tmp_path / "f", "CASE WHEN range % 10 THEN range % 3 END AS sex")
    assert derived(source)["person"]["sex"].empty == loaded(source)["person"]["sex"].empty == 500


def test_what_cannot_be_sampled_is_refused(tmp_path):
    source = people(tmp_path / "f", "1 AS one", 10)
    (source / "more.csv").write_text("id\n1\n")
    with pytest.raises(InputError, match=r"there is also 'more\.csv'"):
        derived_mapping(source)
    with pytest.raises(InputError, match="no such file or folder"):
        derived_mapping(tmp_path / "away")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.parquet files found"):
        derived_mapping(tmp_path / "empty")
    file = write_file(tmp_path / "x.duckdb", {"a": pd.DataFrame({"id": [1, 2]})})
    with pytest.raises(InputError, match="SQL definitions are for folders"):
        derived_mapping(file, ddl="CREATE TABLE a (id INTEGER)")
    repeated = people(
        tmp_path / "g", "range AS x", person="SELECT range % 4999 AS id FROM range(5000)"
    )
    with pytest.raises(InputError, match="the primary key '0' repeats that of"):
        derived_mapping(repeated, ddl="CREATE TABLE person (id INTEGER PRIMARY KEY)", rows=ROWS)


def test_tables_in_place_need_no_mapping(tmp_path):
    source = linked(tmp_path / "f", "FALSE")
    with ml.counting_with("duckdb", "200MB"):
        database, mapping = ml.tables_in_place(source)
        assert plain(mapping) == plain(loaded(source))
        assert database.count("person_id") == 8000
        part = ml.left_in_place(source, mapping='person.columns.sex = { as = "skip" }')
        assert part.mapping["person"]["sex"].role == "skip"
        assert part.databases[0].count("person_id") == 8000
