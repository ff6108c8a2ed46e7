"""Triples in Parquet and DuckDB: the same graph, and the same rules, as from a file of text."""

import os
import signal
import subprocess
import sys
import time

import duckdb
import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.data.graph import Graph, sorted_triples

NAMES = ["é", "e", "E", "a b", "ß", "10", "9", "𝄞", "￿", "a'b", 'a"b']


def random_rows(seed, count=120):
    rng = np.random.default_rng(seed)
    entities = NAMES[: rng.integers(3, len(NAMES) + 1)]
    relations = ["knows", "Knows", "part of"][: rng.integers(1, 4)]
    return [
        (str(rng.choice(entities)), str(rng.choice(relations)), str(rng.choice(entities)))
        for _ in range(count)
    ]


def write_text(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return path


def write_table(path, rows, titles=("head", "relation", "tail"), name="t"):
    """Write a table of rows: Parquet, or a table of that name in a DuckDB file."""
    is_parquet = path.suffix == ".parquet"
    with duckdb.connect(":memory:" if is_parquet else str(path)) as connection:
        columns = ", ".join(f'"{title}" VARCHAR' for title in titles)
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        connection.executemany(f'INSERT INTO "{name}" VALUES (?, ?, ?)', [list(r) for r in rows])
        if is_parquet:
            connection.execute(f"COPY \"{name}\" TO '{path}' (FORMAT parquet)")
    return path


def assert_same_graph(one, other):
    assert (one.entities.names, one.relations.names) == (
        other.entities.names,
        other.relations.names,
    )
    assert np.array_equal(one.triples, other.triples)


@pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
@pytest.mark.parametrize("ending", ["parquet", "duckdb"])
@pytest.mark.parametrize("seed", range(6))
def test_a_table_gives_the_graph_and_the_rules_of_the_text(tmp_path, seed, ending):
    rows = random_rows(seed)
    text = ml.read_graph(write_text(tmp_path / "kg.tsv", rows))
    with ml.counting_with("duckdb", "256MB"):
        table = ml.read_graph(write_table(tmp_path / f"kg.{ending}", rows))
        found = ml.Paths(min_support=1, epochs=2).fit(table).model
    assert_same_graph(table.train, text.train)
    expected = ml.Paths(min_support=1, epochs=2).fit(text).model
    assert list(map(str, found.rules())) == list(map(str, expected.rules()))
    for link, weights in expected.weights.items():
        assert np.array_equal(weights.rules, found.weights[link].rules)
        assert np.array_equal(weights.shared, found.weights[link].shared)


@pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
@pytest.mark.parametrize("endings", [("parquet", "tsv"), ("tsv", "parquet"), ("duckdb", "parquet")])
def test_parts_may_be_text_and_tables(tmp_path, endings):
    parts = [random_rows(10), [*random_rows(11, 20), ("new", "likes", "e"), ("A", "Knows", "new")]]
    given, texts = [], []
    for number, (ending, rows) in enumerate(zip(endings, parts, strict=True)):
        texts.append(write_text(tmp_path / f"{number}.tsv", rows))
        table = tmp_path / f"{number}.{ending}"
        given.append(texts[-1] if ending == "tsv" else write_table(table, rows))
    found, expected = ml.read_graph(*given), ml.read_graph(*texts)
    assert_same_graph(found.train, expected.train)
    assert np.array_equal(found.valid, expected.valid)
    assert found.remarks == expected.remarks


def test_titles_and_the_order_say_which_column_is_what(tmp_path):
    turned = [(t, h, r) for h, r, t in random_rows(1, 5)]
    by_title = write_table(tmp_path / "a.parquet", turned, ("object", "subject", "predicate"))
    by_order = write_table(tmp_path / "b.parquet", turned, ("x", "y", "z"))
    plain = Graph.of(random_rows(1, 5))
    assert_same_graph(ml.read_graph(by_title).train, plain)
    assert_same_graph(ml.read_graph(by_order, order="tail head relation").train, plain)


def test_a_folder_of_parts_is_one_table(tmp_path):
    rows = sorted(set(random_rows(2)))
    (tmp_path / "kg").mkdir()
    for number in range(3):
        write_table(tmp_path / "kg" / f"{number}.parquet", rows[number::3])
    assert_same_graph(ml.read_graph(tmp_path / "kg").train, Graph.of(rows))


def test_numbers_are_names(tmp_path):
    path = tmp_path / "kg.parquet"
    duckdb.sql(f"COPY (SELECT range AS h, 7 AS r, range + 1 AS t FROM range(3)) TO '{path}'")
    assert ml.read_graph(path).train.rows() == [("0", "7", "1"), ("1", "7", "2"), ("2", "7", "3")]


@pytest.mark.parametrize(
    ("rows", "titles", "message"),
    [
        ([("a", "r", None), ("b", "r", "c")], ("h", "r", "t"), "the tail of 1 triples is empty"),
        ([("a", "r", " "), ("b", "r", "c")], ("h", "r", "t"), "is empty, or of blanks only"),
        ([], ("h", "r", "t"), "there is no triple in the table"),
    ],
)
def test_faults_of_a_table_are_said(tmp_path, rows, titles, message):
    path = tmp_path / "kg.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (" + ", ".join(f"{t} VARCHAR" for t in titles) + ")")
        for row in rows:
            connection.execute("INSERT INTO t VALUES (?, ?, ?)", list(row))
    with pytest.raises(ml.InputError, match=message):
        ml.read_graph(path)


def test_a_table_must_be_told_and_have_three_columns_of_names(tmp_path):
    two = write_table(tmp_path / "two.duckdb", [("a", "r", "b")], name="one")
    write_table(two, [("a", "r", "c")], name="other")
    with pytest.raises(ml.InputError, match=r"which table has the triples. There are: one, other"):
        ml.read_graph(two)
    write_table(two, [("a", "r", "d")], name="Triples")
    assert ml.read_graph(two).train.rows() == [("a", "r", "d")]
    path = tmp_path / "kg.parquet"
    duckdb.sql(f"COPY (SELECT 'a' AS h, 'b' AS t) TO '{path}'")
    with pytest.raises(ml.InputError, match="3 columns expected"):
        ml.read_graph(path)
    duckdb.sql(f"COPY (SELECT 'a' AS h, 'r' AS r, 0.5 AS t) TO '{path}'")
    with pytest.raises(ml.InputError, match=r"hold no names: t \(DECIMAL"):
        ml.read_graph(path)
    path.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(ml.InputError, match="DuckDB cannot read it"):
        ml.read_graph(path)


def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "kg.parquet"
    duckdb.sql(
        "COPY (SELECT range % 7 AS head, 'r' AS relation, range AS tail FROM range(1000000)) "
        f"TO '{path}'"
    )
    with (
        ml.counting_with(memory="32MB"),
        pytest.raises(ml.MemoryLimitError, match="1,000,000 triples as numbers take about 34 MB"),
    ):
        ml.read_graph(path)
    graph = ml.read_graph(path)
    with (
        ml.counting_with(memory="40MB"),
        pytest.raises(ml.MemoryLimitError, match="path rules of 1,000,000 triples take about"),
    ):
        ml.Paths().fit(graph)


FULL = """
import resource, signal, sys
import mlnlearn as ml
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
try:
    ml.read_graph(sys.argv[1])
except ml.MemoryLimitError as error:
    print(error)
"""


def test_a_full_scratch_disk_is_a_clear_error_and_scratch_goes_away(tmp_path):
    path, scratch = tmp_path / "kg.parquet", tmp_path / "scratch"
    scratch.mkdir()
    duckdb.sql(
        "COPY (SELECT 'a long name of an entity ' || range AS head, 'r' AS relation, "
        f"'another long name ' || range AS tail FROM range(50000)) TO '{path}'"
    )
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert "no room to number the names of triples" in done.stdout
    assert "TMPDIR" in done.stdout
    assert wait_until_empty(scratch)


KILLED = """
import os, signal, sys
import mlnlearn as ml
from mlnlearn.journal import Journal
record = Journal.record

def last(self, key, result):
    record(self, key, result)
    os.kill(os.getpid(), signal.SIGKILL)

Journal.record = last
with ml.counting_with("duckdb", "256MB"):
    split, run = ml.read_graph(sys.argv[1]), ml.Run(checkpoint=sys.argv[2])
    ml.Paths(min_support=1, epochs=2).fit(split, run)
"""


def test_a_killed_run_is_taken_up_again_and_leaves_no_scratch(tmp_path, monkeypatch):
    rows = sorted(set(random_rows(3)))
    path, journal = write_table(tmp_path / "kg.parquet", rows), tmp_path / "journal"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(journal)],
        env={**os.environ, "TMPDIR": str(scratch)}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert len(journal.read_text("utf-8").splitlines()) == 2  # who it is of, and one link
    learner = ml.Paths(min_support=1, epochs=2)
    fitted = []
    before = ml.Paths._fitted
    monkeypatch.setattr(
        ml.Paths, "_fitted", lambda self, *a: fitted.append(a[2]) or before(self, *a)
    )
    found = learner.fit(ml.read_graph(path), ml.Run(checkpoint=journal)).model
    assert len(fitted) == len(found.weights) - 1
    expected = learner.fit(ml.read_graph(path)).model
    found.save(tmp_path / "found.json")
    expected.save(tmp_path / "expected.json")
    assert (tmp_path / "found.json").read_bytes() == (tmp_path / "expected.json").read_bytes()
    assert wait_until_empty(scratch)


def wait_until_empty(folder):
    for _ in range(100):  # what watches the process needs a moment
        if not any(folder.iterdir()):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("names", [5, 2**22])
def test_triples_are_sorted_and_each_kept_once_however_large_their_codes_are(names):
    rng = np.random.default_rng(0)
    few = rng.integers(0, 4, (3, 300))
    triples = (few * (names // 4)).astype(np.int32)  # whose numbers would not fit in 64 bits
    expected = sorted({(r, h, t) for h, r, t in triples.T.tolist()})
    found = sorted_triples(triples)
    assert [(r, h, t) for h, r, t in found.T.tolist()] == expected
    assert found.dtype == np.int32
