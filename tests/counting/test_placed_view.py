"""Tables in place are read as the same row sets as tables in memory, and learned from alike."""

import errno
import os

import duckdb
import numpy as np
import pytest

import mlnlearn as ml
from join_worlds import chain_tables, flag_tables, self_tables, write
from mlnlearn.counting import placed_view
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.placed_view import ArrayRoom
from mlnlearn.counting.relational import Nominal, Number, relational
from mlnlearn.data.identity import fingerprint
from mlnlearn.data.load.ddl import read_ddl
from mlnlearn.data.synthetic.messy import messy_shop
from mlnlearn.errors import DataWarning, MemoryLimitError
from mlnlearn.evaluate.held_out_data import withheld
from mlnlearn.model.relational.evaluate import Evaluator
from typed_tables import write_typed

pytestmark = pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
TARGETS = ("customer.churned", "customer.plan", "orders.amount", "visit.page")
TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "BOOLEAN": "BOOLEAN"}


def in_parquet(tables, folder, *, dated):
    """Write tables as a folder of Parquet files, days and moments as such or as texts."""
    csv = folder / "csv"
    ml.save_tables(tables, csv)
    found = folder / "parquet"
    found.mkdir()
    for table in read_ddl(csv / "schema.sql"):
        types = {title: TYPES.get(kind, "VARCHAR") for title, kind in table.columns.items()}
        given = "" if dated else f", types={types}"
        read = f"read_csv('{csv}/{table.name}.csv', header=true, nullstr=''{given})"
        duckdb.execute(f"COPY (SELECT * FROM {read}) TO '{found}/{table.name}.parquet'")
    (found / "schema.sql").write_text((csv / "schema.sql").read_text())
    return found


def in_one_file(folder, names):
    """The same tables in a DuckDB file."""
    file = folder / "tables.duckdb"
    with duckdb.connect(str(file)) as connection:
        for name in names:
            rows = f"SELECT * FROM '{folder}/{name}.parquet'"
            connection.execute(f'CREATE TABLE "{name}" AS {rows}')
    return file


@pytest.fixture(scope="module", params=[True, False], ids=["days", "texts"])
def shop(request, tmp_path_factory):
    """A shop with events, empty cells, odd names and moments: in memory, and where it lies."""
    folder = tmp_path_factory.mktemp("shop")
    file = folder / "shop.sqlite"
    messy_shop("share of linked value", 150, rng=3).write(file)
    placed = in_parquet(ml.read_tables(file), folder, dated=request.param)
    return ml.tables_data(placed).data, placed


@pytest.fixture
def little():
    with ml.counting_with("duckdb", "200MB"):
        yield


def placed_data(shop):
    data, folder = shop
    return ml.as_data(ml.tables_in_place(folder, data.mapping))


def assert_same_column(found, expected, where):
    assert type(found) is type(expected), where
    if isinstance(expected, Number):
        assert found.is_time == expected.is_time
        np.testing.assert_array_equal(found.values, expected.values, err_msg=where)
        return
    np.testing.assert_array_equal(found.codes, expected.codes, err_msg=where)
    if isinstance(expected, Nominal):
        assert list(found.names) == list(expected.names), where
    else:
        assert found.to == expected.to, where


def assert_same(found, expected):
    assert found.types == expected.types
    assert found.places == expected.places
    assert list(found.row_sets) == list(expected.row_sets)
    for row_set in expected:
        other = found[row_set.name]
        assert other.rows == row_set.rows, row_set.name
        assert list(other.columns) == list(row_set.columns)
        for name, column in row_set.columns.items():
            assert_same_column(other.columns[name], column, f"{row_set.name}.{name}")
        assert (other.times is None) == (row_set.times is None)
        if row_set.times is not None:
            np.testing.assert_array_equal(other.times, row_set.times)
        np.testing.assert_array_equal(other.part, row_set.part)
        assert list(other.dated) == list(row_set.dated)
        assert (other.unknown is None) == (row_set.unknown is None)
        if row_set.unknown is not None:
            np.testing.assert_array_equal(other.unknown, row_set.unknown)


def test_row_sets_are_those_of_tables_in_memory(shop, little):
    data, _ = shop
    placed = placed_data(shop)
    expected = relational(data.databases, data.mapping)
    assert {entry.kind for entry in data.mapping} >= {"entity", "event"}
    assert any(row_set.times is not None for row_set in expected)
    assert_same(relational(placed.databases, placed.mapping), expected)
    assert placed.databases[0].true.loaded == ()


def test_a_duckdb_file_is_read_as_its_tables(shop, little):
    data, folder = shop
    file = in_one_file(folder, [table.name for table in data.mapping])
    try:
        placed = ml.tables_in_place(file, data.mapping)
        memory = ml.tables_data(file, mapping=data.mapping).data
        expected = relational(memory.databases, memory.mapping)
        assert_same(relational([placed.database], placed.mapping), expected)
    finally:
        file.unlink()


def test_texts_without_a_letter_are_empty_cells_of_a_duckdb_file(tmp_path, little):
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as connection:
        cells = "CASE WHEN i % 3 = 0 THEN ' ' WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS mood"
        rows = f"SELECT 'k' || i AS id, {cells} FROM range(60) t(i)"
        connection.execute(f"CREATE TABLE person AS {rows}")
        connection.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    data = ml.tables_data(file).data
    placed = ml.tables_in_place(file, data.mapping)
    view = relational([placed.database], placed.mapping)
    assert_same(view, relational(data.databases, data.mapping))
    assert (view["person"].columns["mood"].codes < 0).sum() == 20


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
def test_relations_with_columns_are_read_as_in_memory(tables, tmp_path, little):
    for seed in range(4):
        memory = tables(seed, 0.3, 7)
        folder = tmp_path / str(seed)
        data = write(memory, folder)
        placed = ml.tables_in_place(folder, memory.mapping)
        assert_same(
            relational([placed.database], placed.mapping), relational(data.databases, data.mapping)
        )


@pytest.mark.parametrize("seed", range(12))
def test_cells_of_all_types_are_read_as_in_memory(seed, tmp_path, little):
    write_typed(tmp_path, seed)
    data = ml.tables_data(tmp_path).data
    placed = ml.tables_in_place(tmp_path, data.mapping)
    assert_same(
        relational([placed.database], placed.mapping), relational(data.databases, data.mapping)
    )


def test_the_same_model_is_learned_and_answers_alike(shop, little, tmp_path):
    data, folder = shop
    boost = ml.RelationalBoost(target="customer.churned")
    expected, found = boost.fit(data).model, boost.fit(placed_data(shop)).model
    assert str(found) == str(expected)
    assert found.trees == expected.trees
    model = ml.ScoredModel("customer.churned", found, ml.Notes(), None)
    in_memory = ml.predict_rows(expected, data)
    in_place = model.query(folder)
    assert list(in_place.names) == list(in_memory.names)
    np.testing.assert_array_equal(in_place.values, in_memory.values)


def test_rows_that_are_answered_part_by_part_get_the_same_answers(shop, monkeypatch):
    data, _ = shop
    model = ml.RelationalBoost(target="customer.churned").fit(data).model
    whole = ml.predict_rows(model, data).values
    asked = []
    columns = Evaluator.values

    def counted(self, feature, base, rows=None):
        asked.append(len(rows))
        return columns(self, feature, base, rows)

    monkeypatch.setattr("mlnlearn.model.relational.model._FEWEST_AT_ONCE", 40)
    monkeypatch.setattr(Evaluator, "values", counted)
    with ml.counting_with(memory="1MB"):
        width = 8 * len(model.features())
        monkeypatch.setattr("mlnlearn.model.relational.model._BYTES", (1 << 20) // width)
        parts = ml.predict_rows(model, data).values
    np.testing.assert_array_equal(parts, whole)
    assert max(asked) <= 40 < len(whole)


def test_learning_by_default_scores_as_in_memory_would_by_boost(shop, little):
    data, _ = shop
    with ml.counting_with("memory"):
        expected = ml.learn(data, "customer.churned", learner="boost")
    found = ml.learn(placed_data(shop), "customer.churned")
    assert found.notes.chosen == "boost"
    assert found.scores == expected.scores
    assert found.rules() == expected.rules()
    left_out = [tried for tried in found.held_out.notes.tried if tried.failed]
    assert [(one.learner, "in memory" in one.failed) for one in left_out] == [("laj-dt", True)]


@pytest.mark.parametrize("target", TARGETS)
def test_labels_kept_aside_are_hidden_as_in_memory(shop, little, target):
    data, _ = shop
    placed, views = placed_data(shop), []
    for each in (placed, data):
        view = relational(each.databases, each.mapping)
        examples = examples_of(view, find_place(view, target))
        rows = np.arange(examples.base.rows) % 3 == 0
        hidden = withheld(each, view, examples, rows)
        views.append(relational(hidden.databases, hidden.mapping))
        column = views[-1][examples.home.row_set].columns[examples.home.column]
        cells = column.values if isinstance(column, Number) else column.codes
        empty = np.isnan(cells) if isinstance(column, Number) else cells < 0
        assert empty[rows].all()
        assert not empty[~rows].all()
    assert_same(*views)


def test_hidden_labels_are_hidden_from_whoever_asks_the_server(shop, little):
    placed = placed_data(shop)
    view = relational(placed.databases, placed.mapping)
    examples = examples_of(view, find_place(view, "customer.churned"))
    hidden = withheld(placed, view, examples, examples.known)
    with pytest.raises(ml.InputError, match="of rows only"):
        ml.LAJDT().fit(hidden)
    with pytest.raises(ml.InputError, match="of rows only"):
        hidden.databases[0].facts("churned")


def test_rows_of_a_relation_are_hidden_as_in_memory(tmp_path, little):
    memory = self_tables(1, 0.0, 9)
    loaded, views = write(memory, tmp_path), []
    for data in (ml.as_data(ml.tables_in_place(tmp_path, memory.mapping)), loaded):
        view = relational(data.databases, data.mapping)
        examples = examples_of(view, find_place(view, "knows"))
        hidden = withheld(data, view, examples, np.arange(examples.base.rows) % 2 == 0)
        views.append(relational(hidden.databases, hidden.mapping))
    assert 0 < views[0]["knows"].rows < memory.database.count("knows")
    np.testing.assert_array_equal(*(np.unique(v["knows"].unknown, axis=1) for v in views))
    assert_same(*(v.with_row_set(v["knows"].taken(np.arange(0))) for v in views[::-1]))


def test_numbers_are_cut_into_the_bands_of_memory(shop, little):
    data, _ = shop
    expected, found = data.banded(), placed_data(shop).banded()
    assert found.mapping.as_dict() == expected.mapping.as_dict()
    database = found.databases[0]
    domains = expected.databases[0].domains
    kinds = [kind for kind in domains if "(-inf" in str(domains[kind].names[:1])]
    assert len(kinds) > 2
    for kind in kinds:
        assert list(database.domains[kind]) == list(domains[kind])
    for name in ("amount", "joined"):
        assert sorted(database.rows(name)) == sorted(expected.databases[0].rows(name))


def test_what_leads_nowhere_is_taken_as_empty_with_a_word(tmp_path, little):
    duckdb.execute(f"COPY (SELECT 'a' AS id, 1.5 AS size) TO '{tmp_path}/dog.parquet'")
    rows = (
        "SELECT 'w' || i AS id, CASE WHEN i < 3 THEN 'a' ELSE 'lost' END AS who FROM range(5) t(i)"
    )
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/walk.parquet'")
    mapping = (
        '[dog]\nkind = "entity"\ntype = "dog"\ncolumns.id = { as = "key" }\n'
        'columns.size = { as = "number", predicate = "size", type = "size_value" }\n'
        '[walk]\nkind = "entity"\ntype = "walk"\ncolumns.id = { as = "key" }\n'
        'columns.who = { as = "link", predicate = "who", references = "dog", functional = true }'
    )
    placed = ml.tables_in_place(tmp_path, mapping)
    with pytest.warns(DataWarning, match="2 cells of 'who' refer to rows that are not there"):
        view = relational([placed.database], placed.mapping)
    assert view["walk"].columns["who"].codes.tolist() == [0, 0, 0, -1, -1]


def test_names_are_loaded_block_by_block(shop, little, monkeypatch):
    monkeypatch.setattr("mlnlearn.data.placed._BLOCK", 16)
    monkeypatch.setattr("mlnlearn.data.placed._MOST_BLOCKS", 2)
    data, _ = shop
    names = placed_data(shop).databases[0].domains["customer"].names
    expected = data.databases[0].domains["customer"].names
    assert list(names) == list(expected)
    assert names[-1] == expected[-1]
    assert names[20:40] == list(expected[20:40])
    assert len(names._blocks) == 2
    with pytest.raises(IndexError):
        names[len(expected)]


def test_what_is_learned_from_tells_checkpoints_apart(shop, little, tmp_path):
    data, folder = shop
    first = fingerprint(placed_data(shop).databases)
    assert first == fingerprint(placed_data(shop).databases)
    other = tmp_path / "other"
    other.mkdir()
    (other / "schema.sql").write_text((folder / "schema.sql").read_text())
    for path in folder.glob("*.parquet"):
        cells = "* REPLACE (amount + 1 AS amount)" if path.stem == "orders" else "*"
        duckdb.execute(f"COPY (SELECT {cells} FROM '{path}') TO '{other}/{path.name}'")
    second = fingerprint([ml.tables_in_place(other, data.mapping).database])
    assert [part for part in first if first[part] != second[part]] == [
        "rows of orders in database 1"
    ]


def test_a_run_that_was_stopped_goes_on_to_the_same_model(shop, little, tmp_path):
    boost = ml.RelationalBoost(target="customer.churned", steps=30)
    whole = boost.fit(placed_data(shop)).model
    run = ml.Run(checkpoint=tmp_path / "run.json", max_seconds=0.2)
    boost.fit(placed_data(shop), run)
    found = boost.fit(placed_data(shop), ml.Run(checkpoint=tmp_path / "run.json")).model
    assert found.trees == whole.trees


def test_columns_past_the_limit_are_kept_in_scratch_files(shop, little, monkeypatch):
    data, _ = shop
    made = []

    class Small(ArrayRoom):
        def array(self, length, kind):
            made.append((self.left, length * np.dtype(kind).itemsize))
            return super().array(length, kind)

    monkeypatch.setattr(placed_view, "ArrayRoom", lambda nbytes: Small(1000))
    placed = placed_data(shop)
    assert_same(
        relational(placed.databases, placed.mapping), relational(data.databases, data.mapping)
    )
    assert sum(left < asked for left, asked in made) > 5
    assert not [name for name in os.listdir("/tmp") if name.startswith("mlnlearn-") and "." in name]


def test_room_is_taken_on_any_system(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    found = ArrayRoom(0).array(300_000, np.int64)
    found[:] = np.arange(len(found))
    assert found[-1] == len(found) - 1


def test_a_full_disk_is_said(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(MemoryLimitError, match="no room for 8,000 bytes"):
        ArrayRoom(0).array(1000, np.float64)


def test_tables_at_postgresql_are_read_as_in_memory(postgres):
    import psycopg  # noqa: PLC0415 - an extra

    address = f"{postgres}/postgres"
    people = "generate_series(0, 79) k"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS clinic CASCADE")
        connection.execute("CREATE SCHEMA clinic")
        connection.execute(
            "CREATE TABLE clinic.person AS SELECT k AS id, 20 + k % 31 AS age, "
            "CASE WHEN k % 7 > 0 THEN 150 + k / 3.0 END::double precision AS height, "
            "DATE '1990-01-01' + k AS born, (ARRAY['f', 'm', 'x'])[1 + k % 3] AS sex, "
            f"k % 2 = 0 AS member FROM {people}"
        )
        connection.execute(
            "CREATE TABLE clinic.visit AS SELECT 'v' || k AS id, k % 40 AS person, "
            "TIMESTAMP '2020-01-01 10:00:00.25' + k * INTERVAL '1 hour' AS at, "
            f"(k * 1.25)::numeric(8, 2) AS cost FROM {people}"
        )
        connection.execute("ALTER TABLE clinic.person ADD PRIMARY KEY (id)")
        connection.execute("ALTER TABLE clinic.visit ADD PRIMARY KEY (id)")
        connection.execute(
            "ALTER TABLE clinic.visit ADD FOREIGN KEY (person) REFERENCES clinic.person (id)"
        )
    source = f"{address}?schema=clinic"
    memory = ml.tables_data(source).data
    with ml.counting_with("postgresql"):
        placed = ml.tables_in_place(source, memory.mapping)
        view = relational([placed.database], placed.mapping)
        assert_same(view, relational(memory.databases, memory.mapping))
        boost = ml.RelationalBoost(target="person.member", steps=20)
        assert boost.fit(placed).model.trees == boost.fit(memory).model.trees
