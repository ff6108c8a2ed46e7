"""Facts that stay in files or at a server count as those in memory do, and are not loaded."""

import os
import subprocess
import sys

import duckdb
import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting import auto
from mlnlearn.counting.duck import DuckServer
from mlnlearn.counting.sql_engine import FullServerError
from mlnlearn.data.placed import PlacedFacts
from mlnlearn.errors import DataWarning, InputError, InputErrors
from mlnlearn.logic.formulas import free_variables
from worlds import random_clause, random_database, random_schema

ADVISE = "publication(t,s) ^ publication(t,p) ^ professor(p) => advisedBy(s,p)"


@pytest.fixture(scope="module")
def campus(tmp_path_factory):
    database = ml.synthetic.university(60, 1, rng=0).databases[0]
    folder = tmp_path_factory.mktemp("campus") / "facts"
    ml.write_parquet(database, folder)
    return database, folder


def in_duckdb(folder, file):
    with duckdb.connect(str(file)) as connection:
        for path in folder.glob("*.parquet"):
            connection.execute(f"CREATE TABLE \"{path.stem}\" AS SELECT * FROM '{path}'")
    return file


@pytest.fixture(params=["parquet", "duckdb", "postgresql", "spark"])
def placed(request, campus, tmp_path):
    """The facts in place, and what counts there."""
    _, folder = campus
    schema = folder / "schema.mln"
    if request.param == "parquet":
        with ml.counting_with("duckdb", "64MB"):
            yield ml.facts_in_place(folder)
    elif request.param == "duckdb":
        with ml.counting_with("duckdb", "64MB"):
            yield ml.facts_in_place(in_duckdb(folder, tmp_path / "facts.duckdb"), schema)
    elif request.param == "postgresql":
        address = f"{request.getfixturevalue('postgres')}/postgres"
        fill_postgres(address, folder)
        with ml.counting_with("postgresql"):
            yield ml.facts_in_place(f"{address}?schema=campus", schema)
    else:
        with ml.counting_with("spark", master=request.getfixturevalue("spark_master")):
            yield ml.facts_in_place(folder)


def fill_postgres(address, folder):
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS campus CASCADE")
        connection.execute("CREATE SCHEMA campus")
        for path in folder.glob("*.parquet"):
            rows = duckdb.sql(f"SELECT * FROM '{path}'")
            titles = ", ".join(f'"{title}" TEXT' for title in rows.columns)
            connection.execute(f'CREATE TABLE campus."{path.stem.lower()}" ({titles})')
            with connection.cursor().copy(f'COPY campus."{path.stem.lower()}" FROM STDIN') as copy:
                for row in rows.fetchall():
                    copy.write_row(row)


def named_rows(engine, table, types):
    names = [
        [engine.stack.vocabularies[types[variable]][code] for code in column.tolist()]
        for variable, column in zip(table.variables, table.columns, strict=True)
    ]
    return dict(zip(zip(*names, strict=True), table.counts.tolist(), strict=True))


def test_counts_are_those_of_memory_and_nothing_is_loaded(campus, placed):
    database, _ = campus
    formula = ml.parse_formula(ADVISE, database.schema).formula
    memory, engine = ml.MemoryEngine([database]), ml.open_engine([placed])
    assert ml.true_groundings(engine, formula) == ml.true_groundings(memory, formula)
    assert ml.groundings(engine, formula) == ml.groundings(memory, formula)
    advised = database.schema["advisedBy"]
    flips = [ml.flip_counts(each, formula, advised) for each in (engine, memory)]
    assert flips[0].constant.tolist() == flips[1].constant.tolist()
    assert [sorted(t.values.tolist()) for t in flips[0].tables] == [
        sorted(t.values.tolist()) for t in flips[1].tables
    ]
    assert placed.true_atoms == database.true_atoms
    assert str(placed).partition(":")[2] == str(database).partition(":")[2]
    assert isinstance(placed.true, PlacedFacts)
    assert placed.true._loaded == {}


def test_counts_by_name_are_those_of_memory(campus, placed):
    database, _ = campus
    atom = ml.parse_formula("taughtBy(c,p,q) ^ ta(c,s,q)", database.schema).formula
    by = free_variables(atom)[:2]
    types = {by[0]: "course", by[1]: "person"}
    memory, engine = ml.MemoryEngine([database]), ml.open_engine([placed])
    found = named_rows(engine, ml.count_by(engine, atom, by), types)
    assert found == named_rows(memory, ml.count_by(memory, atom, by), types)
    assert len(found) > 10


def test_weights_are_those_of_memory(campus, placed):
    database, _ = campus
    rules = "\n".join(["0 advisedBy(s,p)", f"0 {ADVISE}", "0 !advisedBy(s,s)"])
    text = "\n".join(database.schema.declaration(p.name) for p in database.schema.predicates)
    mln = ml.MLN.parse(f"{text}\n{rules}")
    with ml.counting_with("memory"):
        expected = ml.learn_pseudolikelihood(mln, [database]).mln.weights
    found = ml.learn_pseudolikelihood(mln, [placed]).mln.weights
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_learners_that_need_the_facts_have_them_loaded(campus):
    database, folder = campus
    placed = ml.facts_in_place(folder)
    learner = ml.BoostedRDN(target="advisedBy", steps=1)
    rules = [learner.fit([data]).model.rules() for data in (database, placed)]
    assert [str(rule) for rule in rules[0]] == [str(rule) for rule in rules[1]]
    assert set(placed.true._loaded)


@pytest.mark.parametrize("seed", range(5))
def test_random_worlds_in_place_equal_those_in_memory(seed, tmp_path):
    rng = np.random.default_rng([9, seed])
    made = 0
    while made < 3:
        schema = random_schema(rng)
        database = random_database(rng, schema)
        database = ml.Database.from_codes(schema, database.domains, database.true)
        made += 1
        ml.write_parquet(database, tmp_path / str(made))
        placed = ml.facts_in_place(tmp_path / str(made))
        memory = ml.MemoryEngine([database])
        with ml.DuckEngine([placed], threads=1) as engine:
            for _ in range(10):
                formula = random_clause(rng, schema, variables=2, most=3).formula
                assert ml.true_groundings(engine, formula) == ml.true_groundings(memory, formula)


@pytest.mark.parametrize("loading", [16, 1 << 40])
def test_auto_loads_what_fits_and_leaves_the_rest(campus, loading, monkeypatch):
    database, folder = campus
    formula = ml.parse_formula(ADVISE, database.schema).formula
    placed = ml.facts_in_place(folder)
    engine = ml.AutoEngine([placed], memory_limit=64 << 20)
    monkeypatch.setattr(auto, "_LOADING", loading)
    expected = ml.true_groundings(ml.MemoryEngine([database]), formula)
    assert ml.true_groundings(engine, formula) == expected
    assert bool(placed.true._loaded) == (loading == 16)


def test_the_command_line_counts_in_place(campus, program):
    database, folder = campus
    expected = ml.true_groundings(
        ml.MemoryEngine([database]), ml.parse_formula(ADVISE, database.schema).formula
    )
    options = ("--tables", str(folder), "--engine", "duckdb", "--memory", "64MB")
    code, out, _ = program("count", ADVISE, *options)
    assert code == 0
    assert f"{expected[0]:,} of" in out
    code, out, _ = program("count", "advisedBy(s,p) ^ professor(p)", "--by", "p", *options)
    assert code == 0
    assert "true groundings" in out
    code, _, err = program("count", ADVISE)
    assert (code, "--tables" in err) == (2, True)


def test_constants_of_rules_come_after_those_of_the_tables(campus):
    database, folder = campus
    placed = ml.facts_in_place(folder).extended({"person": ["Nobody"]})
    assert placed.size("person") == database.size("person") + 1
    assert placed.domains["person"].code("Nobody") == database.size("person")
    assert placed.domains["person"][database.size("person")] == "Nobody"
    formula = ml.parse_formula("!advisedBy(Nobody,p)", database.schema).formula
    with ml.DuckEngine([placed], threads=1) as engine:
        assert ml.true_groundings(engine, formula) == [placed.size("person")]


def facts(folder, schema, **tables):
    folder.mkdir()
    (folder / "schema.mln").write_text(schema)
    for name, select in tables.items():
        duckdb.sql(f"COPY ({select}) TO '{folder / name}.parquet'")
    return folder


def test_repeated_rows_are_one_fact(tmp_path):
    twice = "SELECT 'A' AS x UNION ALL SELECT 'A'"
    placed = ml.facts_in_place(facts(tmp_path / "f", "p(a)\n", p=twice))
    assert placed.count("p") == 1


def test_numbers_and_truth_values_are_names(tmp_path):
    select = "SELECT 7 AS x, true AS y, DATE '2020-01-02' AS z"
    placed = ml.facts_in_place(facts(tmp_path / "f", "p(a,b,c)\n", p=select))
    assert list(placed.rows("p")) == [("7", "true", "2020-01-02")]


def test_propositions_are_true_where_their_table_has_rows(tmp_path):
    folder = facts(tmp_path / "f", "rain\nsun\n", rain="SELECT 1 AS x", sun="SELECT 1 LIMIT 0")
    placed = ml.facts_in_place(folder)
    assert (placed.count("rain"), placed.count("sun")) == (1, 0)
    assert placed.facts("rain").shape == (0, 1)


@pytest.mark.parametrize(
    ("schema", "select", "reason"),
    [
        ("p(a,b)\n", "SELECT 'A' AS x", "2 columns expected, 1 found"),
        ("p(a)\n", "SELECT 1.5::DOUBLE AS x", "hold no names: x"),
        ("p(a)\n", "SELECT NULL::VARCHAR AS x", "1 rows have an empty argument"),
        ("a = {A}\np(a)\n", "SELECT 'B' AS x", "B: not in the closed type 'a'"),
        ("q(a)\n", "SELECT 'B' AS x", "no table is named as a predicate; there are: p"),
    ],
)
def test_tables_that_are_no_facts_are_refused(tmp_path, schema, select, reason):
    folder = facts(tmp_path / "f", schema, p=select)
    with pytest.raises((InputError, InputErrors), match=reason):
        ml.facts_in_place(folder).count("p")


def test_a_predicate_without_a_table_is_said(tmp_path):
    folder = facts(tmp_path / "f", "p(a)\nq(a)\n", p="SELECT 'A' AS x")
    with pytest.warns(DataWarning, match="no table for q"):
        placed = ml.facts_in_place(folder)
    assert placed.count("q") == 0


def test_what_is_no_table_of_facts_is_said(tmp_path):
    with pytest.raises(InputError, match=r"There is no schema\.mln"):
        ml.facts_in_place(tmp_path)
    (tmp_path / "schema.mln").write_text("p(a)\n")
    with pytest.raises(InputError, match="no such file or folder"):
        ml.facts_in_place(tmp_path / "away", tmp_path / "schema.mln")
    (tmp_path / "x.duckdb").write_text("no database at all")
    with pytest.raises(InputError, match="DuckDB cannot read it"):
        ml.facts_in_place(tmp_path / "x.duckdb", tmp_path / "schema.mln")


def test_constants_that_no_fact_names_are_kept(tmp_path):
    facts = {"p": [("A",)]}
    lost = ml.Database.from_facts(ml.Schema.of("p(a)"), facts, domains={"a": ["B"]})
    ml.write_parquet(lost, tmp_path / "f")
    placed = ml.facts_in_place(tmp_path / "f")
    assert sorted(placed.domains["a"].names) == ["A", "B"]


def test_facts_that_files_cannot_hold_are_not_written(tmp_path):
    schema = ml.Schema.of("p(a)")
    unknown = ml.Database.from_facts(schema, {"p": [("A",)]}, unknown={"p": [("B",)]})
    with pytest.raises(InputError, match="unknown atoms"):
        ml.write_parquet(unknown, tmp_path / "f")
    (tmp_path / "file").write_text("precious")
    known = ml.Database.from_facts(schema, {"p": [("A",)]})
    with pytest.raises(InputError, match="not empty"):
        ml.write_parquet(known, tmp_path)


FULL = """
import resource, sys
import mlnlearn as ml
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    ml.facts_in_place(sys.argv[1]).count("p")
except ml.MemoryLimitError as error:
    print(error)
"""


def test_a_full_scratch_disk_is_a_clear_error(tmp_path):
    many = "SELECT 'constant number ' || range AS x FROM range(300000)"
    folder = facts(tmp_path / "f", "p(a)\n", p=many)
    place = tmp_path / "scratch"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(folder)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "no room to number the constants of" in done.stdout, done.stderr
    assert "make room on the disk of temporary files" in done.stdout
    assert list(place.iterdir()) == []


def test_boosting_in_place_says_what_there_is_no_room_for(campus, monkeypatch):
    fetch = DuckServer.fetch

    def full(self, statement):
        if "ORDER BY c0" in statement:  # facts are read sorted, which may spill
            raise FullServerError("disk full")
        return fetch(self, statement)

    monkeypatch.setattr(DuckServer, "fetch", full)
    learner = ml.BoostedRDN(target="advisedBy", steps=1)
    with (
        ml.counting_with("duckdb", "200MB"),
        pytest.raises(ml.MemoryLimitError, match="no room to look at the tables") as told,
    ):
        learner.fit([ml.facts_in_place(campus[1])])
    assert "TMPDIR" in str(told.value)
