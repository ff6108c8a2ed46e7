"""The problems that the default learner is measured on: data sets, targets, what is kept aside."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import Relational, relational
from mlnlearn.data.catalog import benchmark, data_folder
from mlnlearn.data.graph import sorted_triples
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.read import read_tables
from mlnlearn.data.load.task import without_tasks
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.data.load.triples import read_graph
from mlnlearn.data.synthetic import smokers, university
from mlnlearn.data.synthetic.messy import messy_shop
from mlnlearn.data.synthetic.planted_graph import planted_graph
from mlnlearn.data.triple_view import graph_database
from mlnlearn.errors import InputError
from mlnlearn.evaluate.held_out_data import withheld
from mlnlearn.evaluate.row_split import HeldOutSplit, split_examples

MOST_EXAMPLES = 20_000
"""Of a relation with more possible rows, those that do not exist are a sample."""
FEWEST_TRUE = 15
"""Targets with fewer true atoms (or rows of the second class) are left out."""
MOST_TARGETS = 8
"""So many targets of a data set, those with most true atoms."""
MOST_ATOMS = 2_000_000
"""Relations with more possible rows than this are left out."""
PLANTED = {
    "smokers": ("smokes", "cancer"),
    "university": ("advisedBy",),
    "graph": tuple(f"planted{number}" for number in range(5)),
}
"""Of generated databases, only what was planted follows from anything."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A target with examples kept aside.

    Attributes
    ----------
    target
        What is predicted.
    data, hidden
        All that is known, and the same without the labels of examples kept aside.
    training
        What is learned from: whole databases fewer where there are several.
    view, examples
        The data as linked tables, and the examples with all labels.
    test
        Those kept aside.
    """

    target: str
    data: Data
    hidden: Data
    training: Data
    view: Relational
    examples: RowExamples
    test: np.ndarray[tuple[int], np.dtype[np.bool_]]


def problem_of(name: str, target: str, seed: int) -> Problem:
    """Return a target of a data set, with a database or a fifth of the rows kept aside."""
    if target.startswith("task "):
        return _task(target.removeprefix("task "))
    data = DATA[name](seed)
    view = relational(data.databases, data.mapping)
    examples = examples_of(view, find_place(view, target), max_examples=MOST_EXAMPLES, seed=seed)
    training = None
    if len(data.databases) > 1:
        number = seed % len(data.databases)
        test = examples.known & (examples.base.part == number)
        rest = tuple(db for place, db in enumerate(data.databases) if place != number)
        training = replace(data, databases=rest)
        split = HeldOutSplit(test, "")
    else:
        found = split_examples(examples, seed=seed)
        assert found is not None
        split = found
    hidden = withheld(data, view, examples, split.test)
    return Problem(target, data, hidden, training or hidden, view, examples, split.test)


def targets_of(name: str) -> list[str]:
    """Return all targets of a data set that have enough true atoms, or rows of two classes."""
    if name == "f1":
        return [f"task {task}" for task in ("driver_dnf", "driver_top3", "driver_position")]
    if name in ("shop", "shop_links"):
        return ["customer.churned"]
    data = DATA[name](0)
    view = relational(data.databases, data.mapping)
    found: dict[str, int] = {}
    for target, place in view.places.items():
        if target in data.databases[0].schema and _atoms(data, target) > MOST_ATOMS:
            continue
        try:
            examples = examples_of(view, place, max_examples=MOST_EXAMPLES)
        except InputError:
            continue  # too many values to be classes
        labels = examples.label[examples.known]
        if not len(examples.classes):
            continue
        counts = np.bincount(labels.astype(np.int64), minlength=len(examples.classes))
        fewest = np.sort(counts)[-2] if place.column is not None else counts[1]
        if fewest >= FEWEST_TRUE and (name == "cora" or not target.startswith("same")):
            found[target] = int(fewest)
    planted = [target for target in found if target in PLANTED.get(name, found)]
    return sorted(planted, key=lambda target: -found[target])[:MOST_TARGETS]


def _atoms(data: Data, target: str) -> int:
    return max(database.ground_atoms(target) for database in data.databases)


def _task(name: str) -> Problem:
    """Return a task of the racing data: learned from its training file, asked for validation."""
    folder = data_folder() / "f1"
    tables = without_tasks(read_tables(folder))
    texts = [(folder / f"task_{name}_{part}.csv").read_text() for part in ("train", "val")]
    number = texts[0].rstrip("\n").count("\n")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "labels.csv")
        path.write_text(texts[0].rstrip("\n") + "\n" + texts[1].partition("\n")[2])
        read = tables_data(tables, task=path)
    assert read.task is not None
    data, target = read.data, read.task.target
    view = relational(data.databases, data.mapping)
    place = find_place(view, target)
    examples = examples_of(view, place)
    assert examples.base.times is not None
    test = np.arange(examples.base.rows) >= number
    hidden = withheld(data, view, examples, test)
    return Problem(target, data, hidden, hidden, view, examples, test)


def _folds(name: str) -> Callable[[int], Data]:
    return lambda seed: _bench(name)


@cache
def _bench(name: str) -> Data:
    return Data(tuple(benchmark(name)))


@cache
def _umls(seed: int = 0) -> Data:
    folder = data_folder() / "umls_kg"
    split = read_graph(*(folder / f"{part}.tsv" for part in ("train", "valid", "test")))
    everything = sorted_triples(split.all)
    return Data((graph_database(replace(split.train, triples=everything)),))


@cache
def _shop(kind: str, seed: int) -> Data:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shop.sqlite")
        messy_shop(kind, 1000, rng=100 + seed).write(path)
        return tables_data(read_tables(path)).data


DATA: dict[str, Callable[[int], Data]] = {
    **{
        name: _folds(name)
        for name in (
            "uwcse",
            "imdb",
            "webkb",
            "cora",
            "citeseer",
            "movielens",
            "mutagenesis",
            "hepatitis",
        )
    },
    "umls_kg": lambda seed: _umls(),
    "smokers": lambda seed: Data(smokers(300, rng=100 + seed).databases),
    "university": lambda seed: Data(university(40, 5, rng=100 + seed).databases),
    "graph": lambda seed: Data((graph_database(planted_graph(120, rng=100 + seed).graph),)),
    "shop": lambda seed: _shop("share of linked value", seed),
    "shop_links": lambda seed: _shop("two links away", seed),
}
