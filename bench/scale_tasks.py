"""What `bench.scale` measures: tasks on facts in memory, on facts in place, and on tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mlnlearn as ml
from mlnlearn import threads as work
from mlnlearn.counting import example_sums, view_tables
from mlnlearn.counting.query import Query
from mlnlearn.counting.sql_engine import SqlEngine
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.placed import PlacedFacts
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import Formula
from mlnlearn.structure.boosting import features

ADVISE = "publication(t,s) ^ publication(t,p) ^ professor(p) => advisedBy(s,p)"
TAUGHT = "ta(c,s,q) ^ taughtBy(c,p,q) => advisedBy(s,p)"
TEN = (
    "advisedBy(s,p)", "student(x)", "professor(x)", "publication(t,x)", "ta(c,s,q)",
    "taughtBy(c,p,q)", "advisedBy(s,p) => student(s)", "advisedBy(s,p) => professor(p)",
    ADVISE, TAUGHT,
)  # fmt: skip
BOTH = (ADVISE.replace("=>", "^"), TAUGHT.replace("=>", "^"))
FIVE = ("advisedBy(s,p)", "student(x)", "advisedBy(s,p) => student(s)", ADVISE, TAUGHT)
HAND = """
SELECT p1.c1 AS s, p2.c1 AS p, count(*) AS n
FROM {0} p1 JOIN {0} p2 ON p1.c0 = p2.c0 GROUP BY ALL ORDER BY ALL
"""


def formulas(database: Database, texts: Sequence[str]) -> list[Formula]:
    """Read formulas over the schema of a database."""
    return [ml.parse_formula(text, database.schema).formula for text in texts]


def count(texts: Sequence[str]) -> Callable[[Database], str]:
    """Count the true groundings of formulas."""

    def run(database: Database) -> str:
        engine = ml.open_engine([database])
        return str([ml.true_groundings(engine, f)[0] for f in formulas(database, texts)])

    return run


def flips(database: Database) -> str:
    """Count the flips of all atoms of advisedBy under two clauses."""
    engine = ml.open_engine([database])
    predicate = database.schema["advisedBy"]
    found = [ml.flip_counts(engine, f, predicate) for f in formulas(database, (ADVISE, TAUGHT))]
    return f"{sum(len(table) for flip in found for table in flip.tables):,} rows"


def weights(clauses: Sequence[str]) -> Callable[[Database], str]:
    """Learn the weights of clauses by weighted pseudo-likelihood."""

    def run(database: Database) -> str:
        declared = [database.schema.declaration(p.name) for p in database.schema.predicates]
        mln = ml.MLN.parse("\n".join([*declared, *(f"0 {clause}" for clause in clauses)]))
        return f"{ml.learn_pseudolikelihood(mln, [database]).iterations} iterations"

    return run


def boosted(learner: ml.BoostedMLN | ml.BoostedRDN, workers: int = 1) -> Callable[[Database], str]:
    """Learn who advises whom, from all true pairs and twenty times as many others."""

    def run(database: Database) -> str:
        examples = ml.positives_and_negatives([database], "advisedBy", ratio=20.0, rng=0)
        model = learner.fit([database], ml.Run(workers=workers), examples=examples).model
        return f"{len(examples.labels):,} examples, {len(model.rules()):,} rules"

    return run


def by_default(steps: int) -> Callable[[Database], str]:
    """Learn who advises whom, from as many examples as RDN-B takes by itself."""

    def run(database: Database) -> str:
        model = ml.BoostedRDN(target="advisedBy", steps=steps).fit([database]).model
        return f"{len(model.rules()):,} rules"

    return run


def by_sql(database: Database) -> str:
    """Learn a tree with all sums over examples made by DuckDB, though the facts would fit."""
    example_sums._BYTES_OF_ARGUMENT = 1 << 40  # only where facts do not fit is it so by itself
    answer = boosted(_ONE)(database)
    assert isinstance(database.true, PlacedFacts)
    return f"{answer}; loaded: {', '.join(database.true.loaded)}"


def on_sail(database: Database) -> str:
    """Learn three trees in memory, and on Sail, which speaks Spark's protocol, in this process."""
    host, port = _sail().listening_address
    return _beside_memory(database, f"sc://{host}:{port}", {})


@cache
def _sail() -> Any:
    """Start the server: one for the whole process, which is held by who asks first."""
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - not needed else

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    return server


def on_spark(database: Database) -> str:
    """Learn three trees in memory, and on Spark itself, which needs Java and all of pyspark.

    Most of its time goes into planning statements, compiling them and handing out tasks: Java's
    second compiler, and plans that are changed as they run, would cost more than they save.
    """
    config = {
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.adaptive.enabled": "false",
    }
    return _beside_memory(database, "local[2]", config)


def _beside_memory(database: Database, master: str, config: dict[str, str]) -> str:
    examples = ml.positives_and_negatives([database], "advisedBy", ratio=20.0, rng=0)
    took, clock, rules = [], [], []
    for engine, at in (("memory", None), ("spark", master)):
        started, begun = _seconds(), time.perf_counter()
        with ml.counting_with(engine, master=at, config=config if at else {}):
            model = _RDN.fit([database], examples=examples).model
        took.append(_seconds() - started)
        clock.append(time.perf_counter() - begun)
        rules.append([(str(rule), weight) for rule, weight in model.rules()])
    same = "same trees" if rules[0] == rules[1] else "OTHER TREES"
    ratio = f"{took[1]:.1f} CPU s for {took[0]:.1f} in memory ({took[1] / took[0]:.1f} times)"
    seconds = f"{clock[1]:.0f} s on the clock for {clock[0]:.0f}, load {os.getloadavg()[0]:.0f}"
    return f"{len(examples.labels):,} examples, {same}, {ratio}, {seconds}"


def _seconds() -> float:
    """Return the CPU seconds of this process and of those that it started, such as a Java one."""
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        with suppress(OSError):
            ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
            for task in (folder / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return ticks / os.sysconf("SC_CLK_TCK")


def threads(database: Database) -> str:
    """Compare the seconds on the clock of one thread and of two, and say what could be at best.

    They take turns; the first turn, which warms up, does not count, and medians are told.
    """
    examples = ml.positives_and_negatives([database], "advisedBy", ratio=20.0, rng=0)
    learner = ml.BoostedRDN(target="advisedBy", steps=3, max_examples=None)
    took: list[list[float]] = []
    models = set()
    for _ in range(6):
        turn = []
        for workers in (1, 2):
            started = time.perf_counter()
            model = learner.fit([database], ml.Run(workers=workers), examples=examples).model
            turn.append(time.perf_counter() - started)
            models.add(tuple((str(rule), weight) for rule, weight in model.rules()))
        took.append(turn)
    same = "same model" if len(models) == 1 else "OTHER MODEL"
    with shared_time() as shared:
        started = time.process_time()
        learner.fit([database], ml.Run(workers=1), examples=examples)
        share = shared[0] / (time.process_time() - started)
    one, two = np.median(took[1:], axis=0).tolist()
    return f"{same}; {_times(one, two, share)}"


@contextmanager
def shared_time() -> Iterator[list[float]]:
    """Add up the CPU seconds of what threads would share, while there is one."""
    total, inside = [0.0], [False]
    before = work.in_order

    def timed(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            outermost, inside[0] = not inside[0], True
            started = time.process_time()
            found = function(item)
            if outermost:
                total[0] += time.process_time() - started
                inside[0] = False
            yield found

    rooms: tuple[Any, ...] = (work, features, view_tables)
    for room in rooms:
        room.in_order = timed
    try:
        yield total
    finally:
        for room in rooms:
            room.in_order = before


def grouped(database: Database) -> str:
    """Count papers that two people wrote together, by both: our statement, and one by hand.

    They take turns; the first turn, which warms up, does not count, and medians are told.
    """
    publication = database.schema["publication"]
    group = (Variable("s"), Variable("p"))
    query = Query((publication("t", "s"), publication("t", "p")), group)
    assert isinstance(database.true, PlacedFacts)
    hand = HAND.format(database.true.place.table("publication"))
    took: list[list[float]] = []
    for _ in range(6):
        engine = ml.open_engine([database])  # a new one: answers are kept
        assert isinstance(engine, SqlEngine)
        engine.sql(query)
        turn = []
        for ours in (True, False):
            started = time.process_time()
            engine.table(query) if ours else engine.server.fetch(hand)
            turn.append(time.process_time() - started)
        took.append(turn)
    own, other = np.median(took[1:], axis=0).tolist()
    return f"{own:.2f} CPU s, by hand {other:.2f}: {own / other:.2f} times"


def joined(loaded: Loaded) -> str:
    """Learn a net and rules from tables by learn-and-join."""
    model = ml.LAJDT().fit(loaded).model
    return f"{model.parameter_counts()['leaf_values']} rules"


def joined_by_threads(loaded: Loaded) -> str:
    """Compare the seconds on the clock of one thread and of two, which take turns."""
    took: list[list[float]] = []
    told = set()
    for _ in range(6):
        turn = []
        for workers in (1, 2):
            started = time.perf_counter()
            model = ml.LAJDT().fit(loaded, ml.Run(workers=workers)).model
            turn.append(time.perf_counter() - started)
            told.add((str(model.net), tuple(model.weights.tolist())))
        took.append(turn)
    started, own = time.process_time(), time.thread_time()
    ml.LAJDT().fit(loaded, ml.Run(workers=2))
    share = 1.0 - (time.thread_time() - own) / (time.process_time() - started)
    one, two = np.median(took[1:], axis=0).tolist()  # the first turn warms up
    same = "same model" if len(told) == 1 else "OTHER MODEL"
    return f"{same}; {_times(one, two, share)}"


def features_boosted(data: Loaded) -> str:
    """Learn how bright students are by the default learner, from grades, salaries and others."""
    model = ml.RelationalBoost(target="student.bright").fit(data).model
    return f"{len(model.trees)} trees over {len(model.features())} features"


def _times(one: float, two: float, share: float) -> str:
    """Say what two threads took for one, and what they could at best by what they share."""
    clock = f"1 thread {one:.2f} s, 2 threads {two:.2f} s: {one / two:.2f} times"
    best = f"{share:.0%} of the CPU time is shared out, {1 / (1 - share / 2):.2f} times at best"
    return f"{clock}, load {os.getloadavg()[0]:.0f}; {best}"


def campus(students: int, seed: int = 0) -> Loaded:
    """Make up tables: students, professors and courses, who takes which and who works for whom.

    Grades go with intelligence and difficulty, salaries with popularity and intelligence.
    """
    rng = np.random.default_rng(seed)
    professors, courses = max(students // 10, 2), max(students // 10, 2)
    bright, easy = rng.integers(3, size=students), rng.integers(2, size=courses)
    liked = rng.integers(2, size=professors)
    taken = _pairs(rng, courses, students, 3 * students)
    hired = _pairs(rng, professors, students, students // 2)
    grade = (bright[taken[1]] + easy[taken[0]] + rng.integers(2, size=taken.shape[1])) % 4
    salary = np.minimum(bright[hired[1]] + liked[hired[0]], 2)
    schema, mapping = declared_campus()
    names = {kind: Vocabulary([f"{kind[0]}{k}" for k in range(size)]) for kind, size in (
        ("student", students), ("prof", professors), ("course", courses))}  # fmt: skip
    numbers = {
        "bright_value": 3,
        "easy_value": 2,
        "liked_value": 2,
        "grade_value": 4,
        "salary_value": 3,
    }
    names |= {k: Vocabulary([f"{k[0]}{v}" for v in range(n)]) for k, n in numbers.items()}
    facts = {
        "bright": np.stack([np.arange(students), bright]),
        "easy": np.stack([np.arange(courses), easy]),
        "liked": np.stack([np.arange(professors), liked]),
        "taken": taken,
        "grade": np.stack([*taken, grade]),
        "hired": hired,
        "salary": np.stack([*hired, salary]),
    }
    facts = {name: columns.astype(np.int32) for name, columns in facts.items()}
    return Loaded(Database.from_codes(schema, names, facts, name="campus"), mapping)


def _pairs(rng: np.random.Generator, left: int, right: int, number: int) -> np.ndarray:
    """Draw different pairs."""
    keys = np.unique(rng.integers(left * right, size=number))
    return np.stack([keys // right, keys % right])


def declared_campus() -> tuple[ml.Schema, Mapping]:
    """Return schema and mapping of the tables of a campus, read off a few rows."""

    def column(letter: str, values: Sequence[int]) -> Column:
        return Column.of([f"{letter}{value}" for value in values])

    def entity(name: str, attribute: str, number: int) -> Table:
        rows = range(max(number, 2))
        values = column(attribute[0], [k % number for k in rows])
        return Table(name, {"id": column(name[0], rows), attribute: values}, ("id",))

    def links(name: str, to: str, attribute: str, number: int) -> Table:
        keys = (ForeignKey((to,), to), ForeignKey(("student",), "student"))
        pairs = [(k % 2, k // 2) for k in range(6)][:number]
        columns = {
            to: column(to[0], [a for a, _ in pairs]),
            "student": column("s", [b for _, b in pairs]),
            attribute: column(attribute[0], list(range(len(pairs)))),
        }
        return Table(name, columns, (to, "student"), keys)

    tables = [entity("student", "bright", 3), entity("prof", "liked", 2)]
    tables += [entity("course", "easy", 2), links("taken", "course", "grade", 4)]
    tables += [links("hired", "prof", "salary", 3)]
    database, mapping = build_database(tables)
    return database.schema, mapping


_RDN = ml.BoostedRDN(target="advisedBy", steps=3, max_examples=None)
_ONE = ml.BoostedRDN(target="advisedBy", steps=1, max_examples=None)
_TREES = ml.BoostedMLN(target="advisedBy", steps=3, max_examples=None)
_CLAUSES = ml.BoostedMLN(target="advisedBy", representation="clauses", steps=1, max_examples=None)

IN_MEMORY: dict[str, Callable[[Database], str]] = {
    "count, 2 clauses": count((ADVISE, TAUGHT)),
    "flips of `advisedBy`, 2 clauses": flips,
    "WPLL weights, 10 clauses": weights(TEN),
    "RDN-B, 3 steps": boosted(_RDN),
    "MLN-BT, 3 steps": boosted(_TREES),
    "MLN-BC, 1 step": boosted(_CLAUSES),
    "RDN-B, 1 and 2 threads": threads,
    "RDN-B on Sail, 3 steps": on_sail,
    "RDN-B on Spark, 3 steps": on_spark,
}
"""Tasks on the university's facts in memory."""

IN_PLACE: dict[str, Callable[[Database], str]] = {
    "count in place, 2 clauses": count((ADVISE, TAUGHT)),
    "count in place, 2 conjunctions": count(BOTH),
    "flips in place, 2 clauses": flips,
    "WPLL in place, 5 clauses": weights(FIVE),
    "grouped count in place": grouped,
    "RDN-B in place, 3 steps": boosted(_RDN),
    "RDN-B in place, 3 steps, examples by default": by_default(3),
    "RDN-B in place, 10 steps, examples by default": by_default(10),
    "RDN-B in place by SQL, 1 step": by_sql,
}
"""Tasks on the same facts in Parquet files, by DuckDB."""

ON_TABLES: dict[str, Callable[[Loaded], str]] = {
    "learn-and-join": joined,
    "learn-and-join, 1 and 2 threads": joined_by_threads,
    "boost": features_boosted,
}
"""Tasks on tables of a campus, in memory."""
