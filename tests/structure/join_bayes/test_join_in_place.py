"""Learn-and-join on tables that stay where they lie: the same nets, rules and weights."""

import os
import signal
import subprocess
import sys
import time

import duckdb
import numpy as np
import pandas as pd
import pytest

import mlnlearn as ml
from join_worlds import (
    as_counter,
    campus_tables,
    chain_tables,
    counter_of,
    flag_tables,
    frames_of,
    self_tables,
    write,
)
from mlnlearn.counting import table_place
from mlnlearn.errors import DataWarning
from mlnlearn.structure.join_bayes import placed_counts
from mlnlearn.structure.join_bayes.features import attribute_rows
from mlnlearn.structure.join_bayes.lattice import LearnAndJoin
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.placed_counts import PlacedCounter
from mlnlearn.structure.join_bayes.placed_data import PlacedData
from mlnlearn.structure.join_bayes.placed_features import placed_rows
from mlnlearn.structure.join_bayes.rules import Family, table_rules


def parts_of(model):
    rules = [(str(rule.formula)) for rule in model.mln().rules]
    return str(model.net), rules, [table.counts.tolist() for table in model.net.tables]


def assert_same(one, other):
    assert parts_of(one) == parts_of(other)
    assert np.allclose(one.weights, other.weights, rtol=1e-9, atol=1e-9)


LEARNERS = [
    ml.LAJDT(),
    ml.LAJDT(links=True, max_work=None),
    ml.MBN(max_work=None),
    ml.MBN(links=True, weights="log-probability"),
]


def complete(tables):
    return lambda seed: tables(seed, missing=0.0, size=9)


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_model_as_in_memory(tables, learner, tmp_path):
    for seed in range(2):
        loaded = complete(tables)(seed)
        folder = tmp_path / str(seed)
        expected = learner.fit(write(loaded, folder)).model
        with ml.counting_with("duckdb", "200MB"):
            placed = ml.tables_in_place(folder, loaded.mapping)
            found = learner.fit(placed).model
            assert placed.database.true.loaded == ()
        assert_same(found, expected)


def placed(loaded, folder):
    found = ml.tables_in_place(folder, loaded.mapping)
    layout = NetLayout.of([found.database], found.mapping)
    return PlacedCounter(PlacedData(found.database, layout, found.mapping))


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize("few", [0, 1 << 18])
def test_families_are_counted_as_in_memory(tables, few, tmp_path, monkeypatch):
    monkeypatch.setattr(placed_counts, "FEW_CELLS", few)
    loaded = complete(tables)(3)
    data = write(loaded, tmp_path)
    counter, memory = placed(loaded, tmp_path), counter_of(data.databases, data.mapping)
    assert counter.data.layout == memory.data.layout
    layout, rng = memory.data.layout, np.random.default_rng(0)
    variables = list(layout.types)
    for _ in range(40):
        nodes = [layout.nodes[k] for k in rng.permutation(len(layout.nodes))[: rng.integers(1, 5)]]
        where = {
            "scope": [v for v in variables if rng.random() < 0.3],
            "true": [r for r in layout.relationships if rng.random() < 0.4],
        }
        found, expected = counter.count(nodes, **where), memory.count(nodes, **where)
        assert as_counter(found) == as_counter(expected)


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize("links", [False, True])
def test_features_are_those_in_memory(tables, links, tmp_path):
    loaded = complete(tables)(4)
    data = write(loaded, tmp_path)
    counter, memory = placed(loaded, tmp_path), counter_of(data.databases, data.mapping)
    layout, rng = memory.data.layout, np.random.default_rng(1)
    families = []
    for _ in range(8):
        chosen = [layout.nodes[k] for k in rng.permutation(len(layout.nodes))[:4]]
        if chosen[0].is_attribute:
            family = Family.of(chosen[0], tuple(chosen[1:]), layout, links=links)
            families.append(table_rules(family, family.count(memory)))
    assert len(families) > 2
    pairs = zip(placed_rows(counter, families), attribute_rows(memory, families), strict=True)
    for found, expected in pairs:
        assert found.true.tolist() == expected.true.tolist()
        assert found.groundings.tolist() == expected.groundings.tolist()
        assert abs(found.matrix - expected.matrix).max() < 1e-12


def test_a_planted_net_is_found(tmp_path):
    """Grades that go with students and courses, in Parquet and in a DuckDB file."""
    loaded = campus_tables(0, 300)
    expected = ml.LAJDT().fit(write(loaded, tmp_path)).model
    assert "grade(course,student) <- easy(course), bright(student)" in str(expected.net)
    with duckdb.connect(str(tmp_path / "campus.duckdb")) as connection:
        for name in ("course", "hired", "prof", "student", "taken"):
            file = tmp_path / f"{name}.parquet"
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM '{file}'")
    for source in (tmp_path, tmp_path / "campus.duckdb"):
        with ml.counting_with("duckdb", "200MB"):
            assert_same(ml.LAJDT().fit(ml.tables_in_place(source, loaded.mapping)).model, expected)


def test_facts_in_place_are_counted_there(tmp_path):
    """One table a predicate, read as the tables that facts could have come from."""
    database = facts_of_people()
    ml.write_parquet(database, tmp_path / "facts")
    for learner in (ml.MBN(max_work=None), ml.LAJDT(links=True)):
        with ml.counting_with("memory"):
            expected = learner.fit(ml.facts_in_place(tmp_path / "facts")).model
        with ml.counting_with("duckdb", "200MB"):
            placed = ml.facts_in_place(tmp_path / "facts")
            assert_same(learner.fit(placed).model, expected)
            assert placed.true.loaded == ()


def facts_of_people():
    rng = np.random.default_rng(2)
    schema = ml.Schema.of("sex(person,sex!)", "fan(person)", "likes(person,person)")
    names = [f"P{k}" for k in range(20)]
    sexes = {name: "fm"[rng.integers(2)] for name in names}
    facts = {
        "sex": list(sexes.items()),
        "fan": [(name,) for name in names if (sexes[name] == "f") ^ (rng.random() < 0.2)],
        "likes": [(a, b) for a in names for b in names if rng.random() < 0.2],
    }
    return ml.Database.from_facts(schema, facts)


def test_tables_on_postgresql(postgres):
    import psycopg  # noqa: PLC0415 - an extra

    loaded, address = campus_tables(1, 100), f"{postgres}/campus_in_place"
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE campus_in_place")
    with psycopg.connect(address, autocommit=True) as connection:
        for name, frame in frames_of(loaded).items():
            titles = ", ".join(f"{title} TEXT" for title in frame)
            connection.execute(f"CREATE TABLE {name} ({titles})")
            with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in frame.itertuples(index=False):
                    copy.write_row(row)
    for learner in (ml.LAJDT(), ml.MBN(links=True, max_chain=1)):
        expected = learner.fit(loaded).model
        with ml.counting_with("postgresql"):
            data = ml.left_in_place(address, mapping=loaded.mapping)
            assert_same(learner.fit(data).model, expected)
            assert data.databases[0].true.loaded == ()


def test_facts_on_spark(spark_master, tmp_path):
    ml.write_parquet(facts_of_people(), tmp_path / "facts")
    expected = ml.MBN(max_chain=1).fit(ml.facts_in_place(tmp_path / "facts")).model
    with ml.counting_with("spark", master=spark_master):
        placed = ml.facts_in_place(tmp_path / "facts")
        assert_same(ml.MBN(max_chain=1).fit(placed).model, expected)
        assert placed.true.loaded == ()


def test_numbers_are_cut_by_the_server(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(200), "age": rng.integers(0, 90, 200)})
    frame["fee"] = np.where(frame["age"] < 18, 1.5, 20.0 + rng.random(200))
    frame["name"] = [f"n{k % 3}" for k in range(200)]
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        connection.execute(f"COPY (SELECT * FROM rows) TO '{tmp_path}/person.parquet'")
    mapping = (
        '[person]\nkind = "entity"\ntype = "person"\ncolumns.id = { as = "key" }\n'
        'columns.age = { as = "value", predicate = "age", type = "age", functional = true, '
        "cuts = [18.0, 65.0] }\n"
        'columns.fee = { as = "value", predicate = "fee", type = "fee", functional = true, '
        "cuts = [1.5, 20.5] }\n"
        'columns.name = { as = "value", predicate = "name", type = "name", functional = true, '
        'values = ["n1"] }'
    )
    expected = ml.MBN().fit(ml.tables_data(tmp_path, mapping=mapping).data).model
    with ml.counting_with("duckdb", "200MB"):
        found = ml.MBN().fit(ml.tables_in_place(tmp_path, mapping)).model
    assert "[18,65)" in found.net.nodes[0].values
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("rows", "change", "reason"),
    [
        ("('A', 'f'), ('B', NULL)", {}, "sex: 1 cells are empty"),
        ("('A', 'f'), ('B', ' ')", {}, "sex: 1 cells are empty"),
        ("('A', 'f'), ('A', 'm')", {}, "repeat the key"),
        ("('A', 'f'), (NULL, 'm')", {}, "1 cells of a key are empty"),
        ("('A', 'f')", {'as = "value"': 'as = "number"'}, "1 cells are no numbers"),
        ("('A', 'inf'::DOUBLE)", {'as = "value"': 'as = "number"'}, "1 cells are no numbers"),
        ("('A', 'soon')", {'as = "value"': 'as = "time"'}, "1 cells are no moments"),
        ("('A', TRUE)", {'as = "value"': 'as = "number"'}, "BOOLEAN holds no numbers"),
        ("('A', [1])", {}, "holds no names"),
        ("('A', 'f')", {', type = "sex_value"': ""}, "names no type"),
        ("('A', 'f')", {"columns.sex": "columns.gender"}, "no such column; there are: id, sex"),
        ("('A', 'f')", {"[person]": "[people]"}, "no such table; there are: person"),
        ("('A', 'perhaps')", {'as = "value"': 'as = "flag"'}, "neither yes nor no"),
    ],
)
def test_what_is_not_done_in_place_is_refused(tmp_path, rows, change, reason):
    mapping = (
        '[person]\nkind = "entity"\ntype = "person"\ncolumns.id = { as = "key" }\n'
        'columns.sex = { as = "value", predicate = "sex", type = "sex_value" }'
    )
    for old, new in change.items():
        mapping = mapping.replace(old, new)
    select = f"SELECT * FROM (VALUES {rows}) t(id, sex)"
    duckdb.execute(f"COPY ({select}) TO '{tmp_path}/person.parquet'")
    with (
        pytest.raises((ml.InputError, ml.InputErrors), match=reason),
        ml.counting_with("duckdb", "200MB"),
    ):
        ml.MBN().fit(ml.tables_in_place(tmp_path, mapping))


def test_weights_by_likelihood_are_refused(tmp_path):
    loaded = campus_tables(1, 40)
    write(loaded, tmp_path)
    with (
        pytest.raises(ml.InputError, match="worlds that are drawn in memory"),
        ml.counting_with("duckdb", "200MB"),
    ):
        ml.MBN(weights="likelihood").fit(ml.tables_in_place(tmp_path, loaded.mapping))


def test_links_that_lead_nowhere_are_left_out_with_a_word(tmp_path):
    loaded = campus_tables(1, 60)
    write(loaded, tmp_path)
    half = "SELECT * FROM prof WHERE id < 'p4'"
    prof = str(tmp_path / "prof.parquet")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE prof AS SELECT * FROM '{prof}'")
        connection.execute(f"COPY ({half}) TO '{prof}'")
    with pytest.warns(DataWarning):
        expected = ml.LAJDT().fit(ml.tables_data(tmp_path, mapping=loaded.mapping).data).model
    with ml.counting_with("duckdb", "200MB"):
        placed = ml.tables_in_place(tmp_path, loaded.mapping)
        with pytest.warns(DataWarning, match="rows refer to rows that are not there"):
            assert_same(ml.LAJDT().fit(placed).model, expected)


def test_which_tables_stay(tmp_path, monkeypatch):
    loaded = campus_tables(1, 60)
    write(loaded, tmp_path)
    whole = str(loaded.mapping)
    with ml.counting_with("memory"):
        assert ml.left_in_place(tmp_path, mapping=whole) is None
    with ml.counting_with("auto"):
        assert ml.left_in_place(tmp_path, mapping=whole) is None
        monkeypatch.setattr(table_place, "BYTES_OF_ARGUMENT", 1 << 40)
        assert ml.left_in_place(tmp_path, mapping=whole) is not None
        assert ml.left_in_place(tmp_path).mapping["prof"].kind == "entity"
        (tmp_path / "more.csv").write_text("id\n1\n")
        assert ml.left_in_place(tmp_path) is None
    with ml.counting_with("duckdb"), pytest.raises(ml.InputError, match=r"also 'more\.csv'"):
        ml.left_in_place(tmp_path)


def test_the_command_line_leaves_tables_in_place(tmp_path, monkeypatch):
    loaded = campus_tables(1, 100)
    write(loaded, tmp_path / "campus")
    mapping, models = tmp_path / "mapping.toml", []
    mapping.write_text(str(loaded.mapping))
    monkeypatch.chdir(tmp_path)
    for engine in ("memory", "duckdb"):
        program = [sys.executable, "-m", "mlnlearn", "learn", "--learner", "laj-dt"]
        program += ["--tables", "campus", "--mapping", str(mapping), "--engine", engine]
        program += ["--memory", "1GB", "--out", f"{engine}.mln"]
        subprocess.run(program, check=True, capture_output=True)
        models.append(ml.load_model(tmp_path / f"{engine}.mln"))
    assert_same(*models)


KILLED = """
import os, signal, sys
import mlnlearn as ml
from mlnlearn.structure.join_bayes.lattice import LearnAndJoin
longer = LearnAndJoin._longer

def last(self, length, *more):
    os.kill(os.getpid(), signal.SIGKILL)

LearnAndJoin._longer = last
with ml.counting_with("duckdb", "400MB"):
    ml.LAJDT().fit(ml.tables_in_place(sys.argv[1], sys.argv[2]), ml.Run(checkpoint=sys.argv[3]))
"""


def test_a_killed_run_is_taken_up_again_and_leaves_no_scratch(tmp_path, monkeypatch):
    loaded = campus_tables(1, 100)
    folder, journal, scratch = tmp_path / "campus", tmp_path / "journal", tmp_path / "scratch"
    write(loaded, folder)
    scratch.mkdir()
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(str(loaded.mapping))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(mapping), str(journal)],
        env={**os.environ, "TMPDIR": str(scratch)}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    begun = len(journal.read_text("utf-8").splitlines())
    searched = []
    found_net = LearnAndJoin._found
    monkeypatch.setattr(
        LearnAndJoin, "_found", lambda self, *a: searched.append(a) or found_net(self, *a)
    )
    with ml.counting_with("duckdb", "400MB"):
        placed = ml.tables_in_place(folder, mapping)
        found = ml.LAJDT().fit(placed, ml.Run(checkpoint=journal)).model
        again = len(searched)
        expected = ml.LAJDT().fit(placed).model
    assert begun == 6  # three tables and two relationships, below the head
    assert again == 1
    assert len(searched) == 1 + 6
    assert_same(found, expected)
    assert found.weights.tolist() == expected.weights.tolist()
    for _ in range(100):  # what watches the process needs a moment
        if not any(scratch.iterdir()):
            break
        time.sleep(0.05)
    assert not any(scratch.iterdir())


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    loaded = campus_tables(1, 60)
    write(loaded, tmp_path / "campus")
    run = ml.Run(checkpoint=tmp_path / "journal")
    with ml.counting_with("duckdb", "200MB"):
        ml.LAJDT().fit(ml.tables_in_place(tmp_path / "campus", loaded.mapping), run)
        file = str(tmp_path / "campus" / "taken.parquet")
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE taken AS SELECT * FROM '{file}'")
            connection.execute("DELETE FROM taken WHERE rowid = 3")
            connection.execute(f"COPY taken TO '{file}'")
        with pytest.raises(ml.InputError, match="rows"):
            ml.LAJDT().fit(ml.tables_in_place(tmp_path / "campus", loaded.mapping), run)


FULL = """
import resource, sys
import mlnlearn as ml
with ml.counting_with("duckdb", "100MB"):
    found = ml.tables_in_place(sys.argv[1], sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        ml.LAJDT().fit(found)
    except ml.MemoryLimitError as error:
        print(error)
"""


def test_a_full_scratch_disk_is_a_clear_error(tmp_path):
    rows = "SELECT 'person number ' || range AS id, 'v' || (range % 3) AS x FROM range(300000)"
    (tmp_path / "t").mkdir()
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/t/person.parquet'")
    mapping, place = tmp_path / "mapping.toml", tmp_path / "scratch"
    mapping.write_text(
        '[person]\nkind = "entity"\ntype = "person"\ncolumns.id = { as = "key" }\n'
        'columns.x = { as = "value", predicate = "x", type = "x_value" }'
    )
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "t"), str(mapping)],
        env={**os.environ, "TMPDIR": str(place)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "no room" in done.stdout, done.stderr
    assert "make room on the disk of temporary files" in done.stdout
    assert list(place.iterdir()) == []
