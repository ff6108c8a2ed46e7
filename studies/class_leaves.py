"""Classes along an axis, beside joins with them: ``python -m studies.class_leaves``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import data_folder
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.data.load.alchemy import read_db
from mlnlearn.evaluate.measure import measured
from mlnlearn.evaluate.metrics import scores
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from mlnlearn.syntax import read_mln
from studies.common import Options, Study, markdown_table, run, run_tasks

Bools = NDArray[np.bool_]
FOLDS = 5
LEARNERS: dict[str, Callable[..., BoostedMLN | BoostedRDN]] = {
    "mln-bt": BoostedMLN,
    "mln-bc": partial(BoostedMLN, representation="clauses"),
    "rdn-b": BoostedRDN,
}
UWCSE = {"inPhase": "phase", "yearsInProgram": "year", "hasPosition": "position"}
TARGETS = {
    **{f"UW-CSE, {name}": ("uwcse", name) for name in (*UWCSE, "courseLevel")},
    "mutagenesis, atype": ("mutagenesis", "atype"),
    "mutagenesis, elem": ("mutagenesis", "elem"),
    "made up: genres": ("genres", "genre"),
    "made up: clicks": ("clicks", "group"),
}
STUDY = Study(
    name="class_leaves",
    title="Classes along an axis, beside joins with them",
    about=(
        "Targets of which exactly one value is true. With `axis` leaves and clauses have a value "
        "for each class, and the classes of an example are a choice; without, the class is a "
        "variable of the target like any other. All other settings are the defaults. UW-CSE is "
        "learned from four areas and asked about the fifth, the others are cross-validated in five "
        "parts; only examples with a known class are asked about. What a test must gain beyond "
        "chance was chosen by cross-validation among those four areas, and on other draws of the "
        "made-up data; mutagenesis was not looked at."
    ),
    settings={"learners": ", ".join(LEARNERS), "axis": "on, off"},
    seeds=1,
    minutes=10,
)


@dataclass(frozen=True)
class Task:
    """A target, learned one way."""

    title: str
    learner: str
    axis: str
    seed: int


def solve(task: Task) -> dict[str, Any]:
    """Cross-validate; scores are over all examples asked about."""
    warnings.simplefilter("ignore")
    name, target = TARGETS[task.title]
    labels, chances, seconds = [], [], 0.0
    for training, examples, database, asked in _folds(name, target, task.seed):
        learner = LEARNERS[task.learner](target=target, axis=task.axis, seed=task.seed)
        with measured() as cost:
            model = learner.fit(training, examples=examples).model
        seconds += cost.cpu_seconds
        labels.append(asked.labels)
        chances.append(model.probabilities(database, asked))
    found = scores(np.concatenate(labels), np.concatenate(chances), metrics=["cll", "ap"])
    return {**found, "cpu": seconds, "examples": int(np.concatenate(labels).sum())}


Fold = tuple[list[Database], Examples | None, Database, Examples]


def _folds(name: str, target: str, seed: int) -> Iterator[Fold]:
    """Yield databases and examples to learn from, and those to ask about."""
    databases = _databases(name, seed)
    if len(databases) > 1:
        *rest, last = databases
        yield rest, None, last, _settled(last, target)
        return
    (database,) = databases
    examples = _settled(database, target)
    things = database.size(database.schema[target].types[0])
    fold = np.random.default_rng(seed).integers(FOLDS, size=things)[examples.columns[0]]
    for number in range(FOLDS):
        yield [database], examples.take(fold != number), database, examples.take(fold == number)


def _settled(database: Database, target: str) -> Examples:
    """Return the atoms of a class of all that have a known one."""
    atoms = positives_and_negatives([database], target)
    settled: Bools = np.zeros(database.size(database.schema[target].types[0]), np.bool_)
    settled[atoms.columns[0, atoms.labels]] = True
    return atoms.take(settled[atoms.columns[0]])


@cache
def _databases(name: str, seed: int) -> tuple[Database, ...]:
    if name == "genres":
        return (_genres(np.random.default_rng([seed, 1])),)
    if name == "clicks":
        return (_clicks(np.random.default_rng([seed, 2])),)
    folder = data_folder() / name
    schema = read_mln(folder / "schema.mln").schema
    if name == "mutagenesis":
        return (read_db(folder / "all.db", schema=schema),)
    declared = [schema.declaration(p.name) for p in schema.predicates]
    for target, kind in UWCSE.items():  # of each person there is one
        declared = [each.replace(f"{target}(person,{kind})", f"{target}(person,{kind}!)")
                    for each in declared]  # fmt: skip
    marked = Schema.of(*declared)
    return tuple(read_db(folder / f"fold{n}.db", schema=marked) for n in range(1, 6))


def _genres(rng: np.random.Generator) -> Database:
    """Tracks of eight genres: their artists have one, and tags are more or less of one."""
    kinds, artists, albums = 8, 40, 120
    taste = rng.dirichlet(np.full(12, 0.4), kinds)
    of_artist, artist = rng.integers(kinds, size=artists), rng.integers(artists, size=albums)
    facts: dict[str, set[tuple[str, ...]]] = {
        "genre": set(),
        "on": set(),
        "tag": set(),
        "by": {(f"A{number}", f"R{one}") for number, one in enumerate(artist)},
        "style": {
            (f"R{number}", f"S{one if rng.random() < 0.8 else rng.integers(kinds)}")
            for number, one in enumerate(of_artist)
        },
    }
    for track in range(600):
        album = int(rng.integers(albums))
        kind = of_artist[artist[album]] if rng.random() < 0.6 else int(rng.integers(kinds))
        facts["genre"].add((f"T{track}", f"G{kind}"))
        facts["on"].add((f"T{track}", f"A{album}"))
        for word in rng.choice(12, size=rng.integers(0, 4), p=taste[kind]):
            facts["tag"].add((f"T{track}", f"W{word}"))
    schema = Schema.of(
        "genre(track,kind!)",
        "on(track,album)",
        "tag(track,word)",
        "by(album,artist)",
        "style(artist,sort)",
    )
    return Database.from_facts(schema, {name: sorted(rows) for name, rows in facts.items()})


def _clicks(rng: np.random.Generator) -> Database:
    """Users of five groups, by how many pages of a topic they look at."""
    facts: dict[str, set[tuple[str, ...]]] = {
        "group": set(),
        "click": set(),
        "topic": {(f"P{page}", f"W{page % 6}") for page in range(60)},
    }
    for user in range(500):
        group = int(rng.integers(5))
        facts["group"].add((f"U{user}", f"C{group}"))
        for _ in range(int(rng.integers(1, 9))):
            topic = group if rng.random() < 0.45 else int(rng.integers(6))
            facts["click"].add((f"U{user}", f"P{topic + 6 * int(rng.integers(10))}"))
    schema = Schema.of("group(user,sort!)", "click(user,page)", "topic(page,word)")
    return Database.from_facts(schema, {name: sorted(rows) for name, rows in facts.items()})


def sections(options: Options) -> Iterator[str]:
    """Write the table."""
    keys = [
        (title, learner, seed)
        for title in TARGETS
        for learner in LEARNERS
        for seed in range(options.seeds)
    ]
    tasks = [Task(*key[:2], axis, key[2]) for key in keys for axis in ("off", "on")]
    results = run_tasks(solve, tasks, options, "classes")
    rows = []
    for (title, learner, _), off, on in zip(keys, results[::2], results[1::2], strict=True):
        rows.append(
            (
                title,
                f"`{learner}`",
                f"{off['examples']:,}",
                *(f"{each[name]:.3f}" for name in ("cll", "ap") for each in (off, on)),
                *(f"{each['cpu']:.1f}" for each in (off, on)),
            )
        )
    header = ("target", "learner", "examples", "CLL without", "with", "AP without", "with")
    better = {
        name: sum(on[name] > off[name] for off, on in zip(results[::2], results[1::2], strict=True))
        for name in ("cll", "ap")
    }
    yield markdown_table((*header, "CPU s without", "with"), rows)
    yield (
        f"With the axis, CLL is higher in {better['cll']} and AP in {better['ap']} of {len(rows)} "
        "rows. CPU seconds are those of learning all folds."
    )


if __name__ == "__main__":
    run(STUDY, sections)
