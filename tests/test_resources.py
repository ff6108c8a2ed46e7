"""What counting may use: set in one place, the same answers with any of it."""

import gc
import weakref

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.bindings import Bindings
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.resources import byte_size, carried, in_use
from mlnlearn.run import Fitted, Notes, Run, drive
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.layout import NetLayout

RULES = """
friends(person,person)
smokes(person)
1 friends(x,y) ^ smokes(x) => smokes(y)
1 smokes(x)
1 friends(x,y)
"""


@pytest.fixture
def smokers():
    rng = np.random.default_rng(1)
    mln = ml.MLN.parse(RULES)
    names = [f"P{i}" for i in range(12)]
    pairs = [(a, b) for a in names for b in names if rng.random() < 0.2]
    facts = {"friends": pairs, "smokes": [(a,) for a in names if rng.random() < 0.4]}
    return mln, ml.Database.from_facts(mln.schema, facts, domains={"person": names})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_learning_counts_with_the_engine_in_use(smokers, engine, monkeypatch):
    mln, database = smokers
    expected = ml.learn_pseudolikelihood(mln, [database]).mln.weights
    other = {"memory": "duck:DuckEngine", "duckdb": "memory:MemoryEngine"}[engine]
    module, _, name = other.partition(":")
    monkeypatch.setattr(f"mlnlearn.counting.{module}.{name}.table", None)  # the other is not asked
    with ml.counting_with(engine):
        found = ml.learn_pseudolikelihood(mln, [database]).mln.weights
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_run_says_what_its_learner_counts_with():
    seen = []

    def learn(course):
        seen.append((in_use().engine, in_use().nbytes))
        yield Fitted("model", Notes())

    with ml.counting_with("duckdb"):
        drive(Run(memory="64MB"), learn)
        drive(Run(engine="memory"), learn)
    drive(None, learn)
    assert seen == [("duckdb", 64 << 20), ("memory", 2 << 30), ("auto", 2 << 30)]
    assert in_use().engine == "auto"


def test_all_who_count_within_a_run_share_one_cache(smokers):
    _, database = smokers
    with ml.counting_with("memory", "64MB") as resources:
        engines = [open_engine([database]) for _ in range(2)]
        for engine in engines:
            ml.true_groundings(engine, ml.parse_formula("friends(x,y)", database.schema).formula)
        assert {id(engine.cache.cache) for engine in engines} == {id(resources.cache)}
        assert resources.cache.limit == 16 << 20
        assert len(resources.cache._kept) == 2


def test_a_function_carries_what_is_in_use():
    with ml.counting_with("duckdb", "8MB"):
        function = carried(in_use)
    assert (function().engine, function().nbytes) == ("duckdb", 8 << 20)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "abacus"}, "no engine 'abacus'"),
        ({"memory": "plenty"}, "'plenty' is no size of memory"),
        ({"memory": 1000}, "too little"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(settings, message):
    with pytest.raises(InputError, match=message):
        Run(**settings)
    with pytest.raises(InputError, match=message), ml.counting_with(**settings):
        pass


def test_sizes_of_memory():
    texts = {"2GB": 2 << 30, "1.5 GiB": 3 << 29, "300k": 300 << 10, "77": 77, "4TB": 4 << 40}
    assert {text: byte_size(text) for text in texts} == texts
    for text in ("", "GB", "-1GB", "1 PB", "1e9"):
        with pytest.raises(InputError):
            byte_size(text)


def test_memory_limits_tables_of_learn_and_join():
    """The same family fits in the usual memory, and not in a little."""
    rng = np.random.default_rng(2)
    names = [f"P{i}" for i in range(300)]
    sexes = Column.of([("f", "m")[i % 2] for i in range(300)])
    keys = (ForeignKey(("a",), "person"), ForeignKey(("b",), "person"))

    def links(name):
        chosen = rng.choice(300 * 300, 20_000, replace=False)
        columns = {"a": Column.of([names[i // 300] for i in chosen]),
                   "b": Column.of([names[i % 300] for i in chosen])}  # fmt: skip
        return Table(name, columns, ("a", "b"), keys)

    people = Table("person", {"id": Column.of(names), "sex": sexes}, ("id",))
    database, mapping = build_database([people, links("likes"), links("knows")])
    layout = NetLayout.of([database], mapping)

    def count():
        return FamilyCounter(EncodedData([database], layout)).count(layout.nodes).counts

    assert count().sum() == 300 * 300
    with ml.counting_with(memory="1MB"), pytest.raises(MemoryLimitError, match="several tables"):
        count()


def test_facts_go_with_the_last_who_holds_them():
    schema = ml.Schema.of("likes(person,person)")
    world = Objects([ml.Database.from_facts(schema, {"likes": [("Anna", "Bob")]})])
    examples = np.array([[0, 0], [0, 1]], np.int32)
    table = Bindings.of(world, examples).join(Pattern(schema["likes"], (0, 1)))
    assert len(table) == 1
    gc.disable()
    try:
        gone = weakref.ref(world)
        del world, table
        assert gone() is None
    finally:
        gc.enable()
