"""One suite for all counting engines: equal to brute force, exactly."""

import gc
import os
import signal
import tempfile
import threading

import duckdb
import numpy as np
import pytest

from mlnlearn.cache import ByteCache
from mlnlearn.counting import sparse
from mlnlearn.counting.auto import AutoEngine
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.memory import MemoryEngine, PlanRun
from mlnlearn.counting.postgres import PostgresEngine
from mlnlearn.counting.query import Query
from mlnlearn.counting.spark import SparkEngine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import CountOverflowError, InputError, MemoryLimitError
from mlnlearn.logic.atoms import Constant, Predicate, Variable
from mlnlearn.logic.schema import Schema
from worlds import (
    brute_table,
    named_table,
    random_atoms,
    random_database_list,
    random_query,
    variables_of,
)

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def memory_engine(databases, **options):
    return MemoryEngine(databases, **options)


@pytest.fixture
def duck_engine():
    made = []

    def make(databases, **options):
        made.append(DuckEngine(databases, threads=1, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def moving_engine(databases, **options):
    """An engine in whose memory nothing fits, so that DuckDB answers whatever is not known."""
    engine = AutoEngine(databases, **options)
    engine.budget.room = 0
    return engine


@pytest.fixture
def spark_engine(spark_master):
    made = []

    def make(databases, **options):
        made.append(SparkEngine(databases, master=spark_master, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def postgres_engine(postgres):
    made = []

    def make(databases, **options):
        made.append(PostgresEngine(databases, master=f"{postgres}/postgres", **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture(params=["memory", "duck", "auto", "moving", "spark", "postgres"])
def make_engine(request):
    if request.param in ("duck", "spark", "postgres"):
        return request.getfixturevalue(f"{request.param}_engine")
    made = {"memory": memory_engine, "auto": AutoEngine}
    return made.get(request.param, moving_engine)


def assert_equals_brute(engine, query):
    got = named_table(engine.stack, query, engine.table(query))
    assert got == brute_table(engine.stack.databases, query.atoms, query.group), str(query)


def full_database(schema, size):
    """Every unary predicate true of all constants, every binary one on the whole diagonal."""
    codes = {p.name: np.tile(np.arange(size), (p.arity, 1)) for p in schema.predicates}
    vocabulary = Vocabulary(map(str, range(size)))
    return Database.from_codes(schema, dict.fromkeys(schema.types, vocabulary), codes)


@pytest.mark.parametrize("seed", range(10))
def test_random_queries_equal_brute_force(make_engine, seed):
    rng = np.random.default_rng(seed)
    for _ in range(6):
        engine = make_engine(random_database_list(rng))
        for _ in range(10):
            assert_equals_brute(engine, random_query(rng, engine.stack))


def test_every_grouping_of_one_query_agrees(make_engine):
    rng = np.random.default_rng(3)
    schema = Schema.of("p(a,b)", "q(b,a)", "r(a)")
    for _ in range(10):
        engine = make_engine(random_database_list(rng, schema))
        atoms = random_atoms(rng, schema)
        found = variables_of(atoms)
        for chosen in range(2 ** len(found)):
            group = tuple(v for i, v in enumerate(found) if chosen >> i & 1)
            assert_equals_brute(engine, Query(atoms, group))
            assert_equals_brute(engine, Query(atoms[::-1], group[::-1]))


def test_renamed_queries_are_answered_from_the_cache(make_engine, monkeypatch):
    schema = Schema.of("p(a,a)", "q(a)")
    engine = make_engine(random_database_list(np.random.default_rng(5), schema))
    p, q = schema["p"], schema["q"]
    assert_equals_brute(engine, Query((p("x", "y"), q("y")), (X, Y)))
    monkeypatch.setattr(engine, "plan" if isinstance(engine, MemoryEngine) else "_run", None)
    assert_equals_brute(engine, Query((q("x"), p("z", "x")), (X, Z)))
    assert_equals_brute(engine, Query((q("x"), p("z", "x")), (Z, X)))


def test_empty_relations_and_empty_domains(make_engine):
    schema = Schema.of("p(a,b)", "q(b)", "rain")
    engine = make_engine([Database.from_facts(schema, {"q": [("B",)]})])
    for group in ((), (X,), (Y, X)):
        assert len(engine.table(Query((schema["p"]("x", "y"), schema["q"]("y")), group))) == 0
    assert len(engine.table(Query((schema["rain"](),)))) == 0


def test_propositions_hold_per_database(make_engine):
    schema = Schema.of("rain", "wet(thing)")
    wet = {"wet": [("A",), ("B",)]}
    dry, rainy = (Database.from_facts(schema, facts) for facts in (wet, {**wet, "rain": [()]}))
    engine = make_engine([dry, rainy])
    rain = schema["rain"]()
    assert engine.table(Query((rain,))).per_database(2) == [0, 1]
    assert engine.table(Query((rain, schema["wet"]("x")))).per_database(2) == [0, 2]
    assert_equals_brute(engine, Query((schema["wet"]("x"), rain), (X,)))


def test_no_atoms_are_true_once_in_every_database(make_engine):
    schema = Schema.of("p(a)")
    engine = make_engine([Database.from_facts(schema, {})] * 3)
    assert engine.table(Query(())).per_database(3) == [1, 1, 1]


def test_constants_of_one_database_or_of_none(make_engine):
    schema = Schema.of("p(a,a)")
    first = Database.from_facts(schema, {"p": [("A", "B"), ("B", "B")]})
    second = Database.from_facts(schema, {"p": [("C", "B"), ("B", "C")]})
    engine = make_engine([first, second])
    p = schema["p"]
    assert engine.table(Query((p("A", "y"), p("y", "z")))).per_database(2) == [1, 0]
    assert engine.table(Query((p("x", "B"),))).per_database(2) == [2, 1]
    for atom in (p("Nowhere", "y"), p(Constant("x"), "y")):
        assert len(engine.table(Query((atom, p("y", "z")), (Z,)))) == 0


def test_facts_of_different_databases_never_meet(make_engine):
    schema = Schema.of("p(a,a)")
    first = Database.from_facts(schema, {"p": [("A", "B")]})
    second = Database.from_facts(schema, {"p": [("B", "C")]})
    p = schema["p"]
    engine = make_engine([first, second])
    assert len(engine.table(Query((p("x", "y"), p("y", "z"))))) == 0
    assert engine.table(Query((p("x", "y"), p("u", "v")))).per_database(2) == [1, 1]


def test_derived_relations_can_be_counted(make_engine):
    schema = Schema.of("p(a)")
    engine = make_engine([Database.from_facts(schema, {"p": [("A",), ("B",)]})])
    pair = Predicate("pair", ("a", "a"))
    numbers, codes = np.zeros(1, np.int32), np.array([1], np.int32)
    engine.stack.derive(pair, numbers, (codes, codes))
    assert engine.table(Query((schema["p"]("x"), pair("x", "y")), (Y,))).columns[0].tolist() == [1]


def test_tables_have_the_standard_types(make_engine):
    schema = Schema.of("p(a,b)", "q(b)")
    engine = make_engine([full_database(schema, 3)])
    for atoms in ((schema["p"]("x", "y"),), (schema["p"]("x", "y"), schema["q"]("y"))):
        for group in ((), (X,), (X, Y)):
            table = engine.table(Query(atoms, group))
            assert table.counts.dtype == np.int64
            assert {c.dtype for c in (table.database, *table.columns)} == {np.dtype(np.int32)}


def test_domains_too_wide_for_packed_keys(make_engine):
    """Six constants spread over a domain of three million count as they do in a domain of six."""
    rng = np.random.default_rng(7)
    schema = Schema.of("p(a,a,a)", "q(a,a)")
    facts = {p.name: rng.integers(6, size=(p.arity, 40)) for p in schema.predicates}
    spread = np.sort(rng.choice(3_000_000, 6, replace=False))
    wide = {name: spread[codes] for name, codes in facts.items()}
    small, large = (
        make_engine([Database.from_codes(schema, {"a": Vocabulary(map(str, range(size)))}, codes)])
        for size, codes in ((6, facts), (3_000_000, wide))
    )
    p, q = schema["p"], schema["q"]
    for atoms in ((p("x", "y", "z"), p("y", "z", "x")), (p("x", "y", "u"), q("u", "z"))):
        for group in ((X, Y, Z), (Z, X)):
            one, two = (engine.table(Query(atoms, group)) for engine in (small, large))
            expected = zip(*(spread[c].tolist() for c in one.columns), one.counts, strict=True)
            got = zip(*(column.tolist() for column in two.columns), two.counts, strict=True)
            assert sorted(got) == sorted(expected)


# 55108^4 < 2^63 < 55109^4
@pytest.mark.parametrize("size", [55108, 55109])
def test_counts_are_exact_up_to_64_bits_and_refused_beyond(make_engine, size):
    schema = Schema.of("p(a)", "q(a)", "r(a)", "s(a)")
    engine = make_engine([full_database(schema, size)])
    query = Query(tuple(p(f"x{i}") for i, p in enumerate(schema.predicates)))
    if size**4 < 2**63:
        assert engine.table(query).counts.tolist() == [size**4]
    else:
        with pytest.raises(CountOverflowError, match=r"about 9\.22e\+18 does not fit in 64 bits"):
            engine.table(query)


def test_counts_beyond_128_bits_are_refused(make_engine):
    schema = Schema.of(*(f"p{i}(a)" for i in range(8)))
    engine = make_engine([full_database(schema, 2**16)])
    with pytest.raises(CountOverflowError):
        engine.table(Query(tuple(p(f"x{i}") for i, p in enumerate(schema.predicates))))


def test_sums_that_would_wrap_around_are_refused(make_engine):
    """256 groups of 2^120 groundings are 2^128, which is 0 to who adds up in 128 bits."""
    schema = Schema.of("p(a,a)")
    grid = np.stack([np.repeat(np.arange(256), 256), np.tile(np.arange(256), 256)])
    names = {"a": Vocabulary(map(str, range(256)))}
    engine = make_engine([Database.from_codes(schema, names, {"p": grid})])
    with pytest.raises(CountOverflowError):
        engine.table(Query(tuple(schema["p"]("z", f"x{i}") for i in range(15))))


def test_the_cache_stays_within_its_limit(make_engine):
    rng = np.random.default_rng(11)
    for limit in (0, 2_000):
        cache = ByteCache(limit)
        engine = make_engine(random_database_list(rng), cache=cache)
        for _ in range(40):
            assert_equals_brute(engine, random_query(rng, engine.stack))
            assert cache.used <= limit
        kept = cache._kept.values()
        assert cache.used == sum(table.nbytes + 512 for table in kept)


@pytest.mark.parametrize("chunk", [1, 3, 16])
def test_memory_joins_in_chunks(monkeypatch, chunk):
    monkeypatch.setattr(sparse, "_CHUNK", chunk)
    rng = np.random.default_rng(chunk)
    for _ in range(10):
        engine = MemoryEngine(random_database_list(rng))
        for _ in range(10):
            assert_equals_brute(engine, random_query(rng, engine.stack))


def test_memory_refuses_answers_beyond_its_limit():
    schema = Schema.of("p(a)", "q(b)")
    engine = MemoryEngine([full_database(schema, 1500)], memory_limit=10 << 20)
    query = Query((schema["p"]("x"), schema["q"]("y")), (X, Y))
    with pytest.raises(MemoryLimitError) as caught:
        engine.table(query)
    assert str(caught.value) == (
        "count of p(x) ^ q(y) by x,y needs room for 2,250,000 rows, 46 MB; the limit is 10 MB\n"
        "  hint: raise the limit (--memory), use DuckDB (--engine duckdb), or drop the formula"
    )
    assert engine.table(Query(query.atoms)).counts.tolist() == [2_250_000]


def test_duck_takes_any_predicate_name(duck_engine):
    names = ['p"; DROP TABLE r0; --', "select", "Knows", "knows", ""]
    schema = Schema(tuple(Predicate(name, ("a",)) for name in names))
    facts = {name: [(str(i),) for i in range(n)] for n, name in enumerate(names, start=1)}
    engine = duck_engine([Database.from_facts(schema, facts)])
    counts = [engine.table(Query((p("x"),))).counts.tolist() for p in schema.predicates]
    assert counts == [[1], [2], [3], [4], [5]]


def test_duck_never_joins_more_than_the_answer_needs(duck_engine):
    """A chain of five full relations has 60^6 groundings; each step joins 60^3 rows at most."""
    schema = Schema.of("p(a,a)")
    grid = np.stack([np.repeat(np.arange(60), 60), np.tile(np.arange(60), 60)])
    names = Vocabulary(map(str, range(60)))
    engine = duck_engine([Database.from_codes(schema, {"a": names}, {"p": grid})])
    chain = tuple(schema["p"](f"x{i}", f"x{i + 1}") for i in range(5))
    assert engine.table(Query(chain)).counts.tolist() == [60**6]


def test_duck_spills_and_its_files_go_away(tmp_path):
    schema = Schema.of("p(a,a)")
    size = 200_000
    rng = np.random.default_rng(2)
    names = Vocabulary(map(str, range(size)))
    codes = {"p": rng.integers(size, size=(2, 2 * size))}
    stack = Stack([Database.from_codes(schema, {"a": names}, codes)])
    query = Query((schema["p"]("x", "y"), schema["p"]("y", "z")), (X, Z))
    file, spill = tmp_path / "facts.duckdb", tmp_path / "spill"
    small = {"memory_limit": 96 << 20, "threads": 1, "cache": ByteCache(0)}
    with DuckEngine(stack, path=file, temp_directory=spill, **small) as engine:
        engine.server.limit(32 << 20, 1)  # of what is given, less than its half for DuckDB
        engine.server.connection.execute("SET max_temp_directory_size = '1KB'")
        with pytest.raises(MemoryLimitError):
            engine.table(query)
        engine.server.connection.execute("RESET max_temp_directory_size")
        table = engine.table(query)
        assert file.exists()
    assert not file.exists()
    assert not any(spill.iterdir()) if spill.exists() else True
    expected = MemoryEngine(stack).table(query)
    order = np.lexsort((expected.column(Z), expected.column(X)))
    mine = np.lexsort((table.column(Z), table.column(X)))
    for got, wanted in zip(
        (*table.columns, table.counts), (*expected.columns, expected.counts), strict=True
    ):
        np.testing.assert_array_equal(got[mine], wanted[order])


def test_duck_refuses_what_fits_nowhere():
    schema = Schema.of("p(a)", "q(b)")
    query = Query((schema["p"]("x"), schema["q"]("y")), (X, Y))
    with DuckEngine([full_database(schema, 3000)], memory_limit="16MB", threads=1) as engine:
        engine.server.connection.execute("SET max_temp_directory_size = '1MB'")
        with pytest.raises(
            MemoryLimitError, match=r"count of p\(x\) \^ q\(y\) by x,y does not fit"
        ):
            engine.table(query)


def test_duck_leaves_existing_files_alone(tmp_path):
    file = tmp_path / "mine.duckdb"
    file.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        DuckEngine([Database.from_facts(Schema.of("p"), {})], path=file)
    assert file.read_text() == "precious"


def test_duck_stops_at_an_interrupt_and_goes_on_afterwards(duck_engine, monkeypatch):
    schema = Schema.of("p(a)")
    engine = duck_engine([full_database(schema, 3)])
    endless = "SELECT sum(a.range) FROM range(1e9::BIGINT) a, range(1e9::BIGINT) b"
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_statement", lambda query: (endless, 1))
        # where tests run in worker processes, these may be deaf to the signal
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                engine.table(Query((schema["p"]("x"),)))
        finally:
            timer.join()
            signal.signal(signal.SIGINT, before)
    assert engine.table(Query((schema["p"]("x"),))).counts.tolist() == [3]


def test_duck_passes_on_other_errors(duck_engine, monkeypatch):
    engine = duck_engine([Database.from_facts(Schema.of("p"), {})])
    monkeypatch.setattr(engine, "_statement", lambda query: ("SELECT nonsense", 1))
    with pytest.raises(duckdb.BinderException):
        engine.table(Query((Predicate("p")(),)))


def test_duck_refuses_answers_beyond_its_limit():
    """The join is DuckDB's affair; the 2,250,000 rows of the answer are ours."""
    schema = Schema.of("p(a)", "q(b)")
    query = Query((schema["p"]("x"), schema["q"]("y")), (X, Y))
    with DuckEngine([full_database(schema, 1500)], memory_limit="128MB", threads=1) as engine:
        with pytest.raises(MemoryLimitError, match=r"by x,y needs room for 2,250,000 rows"):
            engine.table(query)
        assert engine.table(Query(query.atoms)).counts.tolist() == [2_250_000]


def test_auto_moves_what_does_not_fit_and_nothing_else(monkeypatch):
    """All links of a star meet in its centre, which a plan made of sizes does not see: a step that
    seems to have a few thousand rows has more than a million.
    """
    p = Predicate("p", ("a", "a"))
    rays = 1200
    star = np.stack([np.zeros(rays, np.int32), np.arange(1, rays + 1)])
    codes = {"p": np.concatenate([star, star[::-1]], axis=1)}
    names = {"a": Vocabulary(map(str, range(rays + 1)))}
    stack = Stack([Database.from_codes(Schema((p,)), names, codes)])
    wide = Query((p("x", "y"), p("y", "z"), p("z", "u"), p("u", "x")))
    narrow = Query((p("x", "y"),), (Y,))
    with pytest.raises(MemoryLimitError):
        MemoryEngine(stack, memory_limit=20 << 20).table(wide)
    engine = AutoEngine(stack, memory_limit=128 << 20)
    engine.budget.room = 15 << 20  # DuckDB itself needs more
    assert all(step.size.nbytes < 1 << 20 for step in engine.plan(wide).steps)
    assert engine.table(narrow).counts.sum() == 2 * rays
    assert "beyond" not in vars(engine)
    (found,) = engine.table(wide).counts.tolist()
    assert "beyond" in vars(engine)
    assert found == 2 * rays**2
    monkeypatch.setattr(engine, "beyond", None)  # what DuckDB answered is kept as anything else
    assert engine.table(wide).counts.tolist() == [found]


def test_auto_takes_the_way_that_the_plan_promises(monkeypatch):
    """Where the plan says that a step does not fit, nothing is tried in memory."""
    schema = Schema.of("p(a)", "q(b)")
    query = Query((schema["p"]("x"), schema["q"]("y")), (X, Y))
    engine = AutoEngine([full_database(schema, 1500)], memory_limit=40 << 20)
    monkeypatch.setattr(PlanRun, "answer", None)
    with pytest.raises(MemoryLimitError, match="2,250,000 rows"):
        engine.table(query)
    assert "beyond" in vars(engine)


def test_scratch_files_go_with_an_engine_that_nobody_closes(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = DuckEngine([full_database(Schema.of("p(a)"), 3)], threads=1)
    assert len(list(tmp_path.iterdir())) == 1
    del engine
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_clear_error(duck_engine, monkeypatch):
    def full(statement):
        raise duckdb.IOException("Could not write file: No space left on device")

    engine = duck_engine([full_database(Schema.of("p(a)"), 3)])
    monkeypatch.setattr(engine.server, "_run", full)
    with pytest.raises(MemoryLimitError, match="make room on the disk of temporary files"):
        engine.table(Query((Predicate("p", ("a",))("x"),)))


def test_engines_share_one_cache_within_its_limit():
    schema = Schema.of("p(a)")
    cache = ByteCache(100_000)
    engines = [MemoryEngine([full_database(schema, 4000)], cache=cache) for _ in range(3)]
    for engine in engines:
        engine.table(Query((schema["p"]("x"),), (X,)))
        assert 64_000 <= cache.used <= 100_000
    # only the answer that was used last has room, and goes with its engine
    assert sum(size.nbytes for size in cache._kept.values()) >= 64_000
    del engine, engines
    gc.collect()
    assert cache.used == 0
