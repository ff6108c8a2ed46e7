"""Engines on servers: the same counts as in memory, several in one job, where the address says."""

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.spark import SparkEngine, SparkServer, spark_session
from mlnlearn.counting.sql_engine import FullServerError
from mlnlearn.data.synthetic import university
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.formulas import free_variables
from mlnlearn.logic.schema import Schema
from servers import has_all_of_spark, sail_server
from worlds import random_clause, random_database_list, random_schema

SMOKERS = """
friends(person,person)
smokes(person)
1 friends(x,y) ^ smokes(x) => smokes(y)
1 smokes(x)
1 friends(x,y)
"""
FORMULA = "friends(x,y) ^ smokes(x) => smokes(y)"


@pytest.fixture
def smokers():
    rng = np.random.default_rng(1)
    mln = ml.MLN.parse(SMOKERS)
    names = [f"P{i}" for i in range(12)]
    pairs = [(a, b) for a in names for b in names if rng.random() < 0.2]
    facts = {"friends": pairs, "smokes": [(a,) for a in names if rng.random() < 0.4]}
    return mln, ml.Database.from_facts(mln.schema, facts, domains={"person": names})


@pytest.fixture
def statements(monkeypatch):
    """What is sent to Spark."""
    sent, fetch = [], SparkServer.fetch

    def noted(server, text):
        sent.append(text)
        return fetch(server, text)

    monkeypatch.setattr(SparkServer, "fetch", noted)
    return sent


def by_rows(table):
    rows = zip(table.database.tolist(), *(c.tolist() for c in table.columns), strict=True)
    return dict(zip(rows, table.counts.tolist(), strict=True))


def assert_equal_flips(one, two):
    assert one.constant.tolist() == two.constant.tolist()
    assert len(one.tables) == len(two.tables)
    for left, right in zip(one.tables, two.tables, strict=True):
        assert left.places == right.places
        for mine, other in zip(
            (left.database, *left.columns, left.values),
            (right.database, *right.columns, right.values),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, other)


def test_clauses_and_flips_equal_those_in_memory(spark_master):
    rng = np.random.default_rng(7)
    for _ in range(4):
        schema = random_schema(rng)
        databases = random_database_list(rng, schema, most=2)
        memory = ml.MemoryEngine(databases)
        with SparkEngine(databases, master=spark_master) as spark:
            for _ in range(3):
                formula = random_clause(rng, schema, variables=2, most=3).formula
                assert ml.true_groundings(spark, formula) == ml.true_groundings(memory, formula)
                by = free_variables(formula)[:2]
                found, expected = (ml.count_by(e, formula, by) for e in (spark, memory))
                assert by_rows(found) == by_rows(expected)
                for predicate in schema.predicates:
                    one, two = (ml.flip_counts(e, formula, predicate) for e in (spark, memory))
                    assert_equal_flips(one, two)


def test_the_products_of_a_formula_are_one_job(spark_master, smokers, statements):
    mln, database = smokers
    formula = ml.parse_formula(FORMULA, mln.schema).formula
    expected = ml.MemoryEngine([database])
    with SparkEngine([database], master=spark_master) as engine:
        found = ml.true_groundings(engine, formula)
        assert len(statements) == 1
        assert statements[0].count("UNION ALL") == 1  # the empty product needs no query
        statements.clear()
        flips = ml.flip_counts(engine, formula, mln.schema["smokes"])
        assert len(statements) == 1
    assert found == ml.true_groundings(expected, formula)
    assert_equal_flips(flips, ml.flip_counts(expected, formula, mln.schema["smokes"]))


def test_answers_too_large_to_come_together_come_one_by_one(spark_master, smokers, statements):
    mln, database = smokers
    formula = ml.parse_formula(FORMULA, mln.schema).formula
    with SparkEngine([database], master=spark_master) as engine:
        room = engine.budget.room
        engine.budget.room = 3 * 64
        flips = ml.flip_counts(engine, mln.schema["smokes"]("x"), mln.schema["smokes"])
        engine.budget.room = room
        assert flips.constant.tolist() == [1]
        engine.cache.cache.limit = 0
        found = ml.true_groundings(engine, formula)
    assert not any("UNION ALL" in text for text in statements)
    assert found == ml.true_groundings(ml.MemoryEngine([database]), formula)


def test_weights_learned_on_spark_are_those_of_memory(spark_master, smokers):
    mln, database = smokers
    expected = ml.learn_pseudolikelihood(mln, [database]).mln.weights
    with ml.counting_with(
        "spark", master=spark_master, config={"spark.sql.shuffle.partitions": "2"}
    ):
        found = ml.learn_pseudolikelihood(mln, [database]).mln.weights
    assert list(found) == list(expected)


def test_the_command_line_counts_on_spark(spark_master, program, tmp_path, statements):
    (tmp_path / "schema.mln").write_text("friends(person,person)\nsmokes(person)\n")
    file = tmp_path / "people.db"
    file.write_text("friends(Anna,Bob)\nfriends(Carl,Bob)\nsmokes(Bob)\n")
    options = [
        "--engine",
        "spark",
        "--master",
        spark_master,
        "--spark-conf",
        "spark.app.name=count",
    ]
    code, out, _ = program("count", "friends(x,y) ^ smokes(y)", str(file), *options)
    assert (code, len(statements)) == (0, 1)
    assert "2 of 9 groundings are true" in out


@pytest.mark.parametrize(
    ("master", "reason"),
    [
        (None, "which server?"),
        ("here", "'here' is no address of Spark"),
        ("sc://127.0.0.1:1", "nobody answers at sc://127.0.0.1:1"),
        ("sc://127.0.0.1:many", "is no address of Spark"),
    ],
)
def test_an_address_without_a_server_is_refused(master, reason):
    database = ml.Database.from_facts(Schema.of("p(a)"), {})
    with pytest.raises(InputError, match=reason):
        SparkEngine([database], master=master)


def test_each_address_has_a_session_of_its_own(spark_master, smokers):
    mln, database = smokers
    formula = ml.parse_formula(FORMULA, mln.schema).formula
    with sail_server() as other, SparkEngine([database], master=spark_master) as one:
        expected = ml.true_groundings(one, formula)
        with SparkEngine([database], master=other) as two:
            assert two.server.session is not one.server.session
            assert ml.true_groundings(two, formula) == expected
        with SparkEngine([database], master=spark_master) as again:
            assert again.server.session is one.server.session


@pytest.mark.parametrize(
    "reason",
    [
        "Not enough memory to build and broadcast the table to all worker nodes.",
        "[TASK_WRITE_FAILED] Task failed.\n\nJVM stacktrace:\njava.lang.OutOfMemoryError",
        "Job aborted.\n\nJVM stacktrace:\njava.lang.StackOverflowError",
        "Resources exhausted: Failed to allocate additional 20.0 MB",
        "java.io.IOException: No space left on device",
    ],
)
def test_a_server_without_room_says_what_to_do(smokers, spark_master, monkeypatch, reason):
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    def full(*_):
        raise PySparkException(reason)

    mln, database = smokers
    formula = ml.parse_formula(FORMULA, mln.schema).formula
    with SparkEngine([database], master=spark_master) as engine:
        monkeypatch.setattr(type(engine.server.session), "sql", full)
        for ask in (engine.server.fetch, lambda text: engine.server.create("table", text)):
            with pytest.raises(FullServerError) as refused:
                ask("SELECT 1 AS one")
            assert "JVM" not in str(refused.value)
        with pytest.raises(MemoryLimitError, match=r"spark\.driver\.memory"):
            ml.true_groundings(engine, formula)


def test_settings_that_stay_as_they_are_need_not_be_set_again(smokers, spark_master, monkeypatch):
    _, database = smokers
    config = {"spark.sql.shuffle.partitions": "2"}
    SparkEngine([database], master=spark_master, config=config).close()

    def cannot_change(*_):
        raise RuntimeError("CANNOT_MODIFY_CONFIG")

    conf = type(spark_session(spark_master, config).conf)
    monkeypatch.setattr(conf, "set", cannot_change)
    SparkEngine([database], master=spark_master, config=config).close()
    with pytest.raises(InputError, match="CANNOT_MODIFY_CONFIG"):
        SparkEngine([database], master=spark_master, config={"spark.sql.shuffle.partitions": "3"})


def test_settings_need_a_value(program, tmp_path):
    (tmp_path / "schema.mln").write_text("smokes(person)\n")
    (tmp_path / "people.db").write_text("smokes(Bob)\n")
    code, _, err = program("count", "smokes(x)", str(tmp_path / "people.db"), "--spark-conf", "a")
    assert code == 1
    assert "--spark-conf a: expected NAME=VALUE" in err


@pytest.mark.skipif(not has_all_of_spark(), reason="Java, or all of pyspark, is not installed")
def test_spark_itself_counts_as_memory_does(smokers):
    mln, database = smokers
    formula = ml.parse_formula(FORMULA, mln.schema).formula
    with (
        sail_server() as sail,  # whose session is open, and would be given for that of Spark
        SparkEngine([database], master=sail) as other,
        SparkEngine([database], master="local[2]") as engine,
    ):
        assert engine.server.session is not other.server.session
        found = ml.true_groundings(engine, formula)
        flips = ml.flip_counts(engine, formula, mln.schema["smokes"])
    memory = ml.MemoryEngine([database])
    assert found == ml.true_groundings(memory, formula)
    assert_equal_flips(flips, ml.flip_counts(memory, formula, mln.schema["smokes"]))


def test_trees_learned_on_spark_are_those_of_memory_in_few_jobs(spark_master, statements):
    database = university(30, areas=1, rng=2).databases[0]
    learner = ml.BoostedRDN(
        target="advisedBy", steps=1, max_leaves=3, bodies=("publication", "professor", "inPhase")
    )

    def learned():
        return [(str(rule), weight) for rule, weight in learner.fit([database]).model.rules()]

    expected = learned()
    with ml.counting_with(
        "spark", master=spark_master, config={"spark.sql.shuffle.partitions": "2"}
    ):
        assert learned() == expected
    nodes = 3  # the last is a leaf; of each other, the sums, and the examples of its test
    assert 0 < len(statements) <= 2 * nodes
