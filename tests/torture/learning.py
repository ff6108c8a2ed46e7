"""Every learner on a small world: its rows in any order, its constants under other names."""

from __future__ import annotations

import random
import sys
from typing import Any

import mlnlearn as ml
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.registry import LEARNERS
from torture import scratch

_BOOSTED = {"target": "ill", "steps": 4, "max_leaves": 3}
_EM = {"base": ml.BoostedMLN(**_BOOSTED), "iterations": 3, "worlds": 3, "burn_in": 3}
SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {"target": "ill"},
    "boost": {"target": "ill", "steps": 20},
    "mln-bt": _BOOSTED,
    "mln-bc": _BOOSTED,
    "rdn-b": _BOOSTED,
    "sem": _EM,
    "h-sem": _EM,
    "gslp": {"max_literals": 3, "max_loop": 2, "min_gain": 1e-4, "joint": False},
    "msl": {"max_literals": 2, "min_gain": 1e-4},
    "lsm": {"max_literals": 2, "walks": 20, "min_gain": 0.005, "max_clauses": 30},
    "busl": {"max_literals": 2, "min_gain": 0.005, "max_links": 1},
    "hgsm": {"max_literals": 2, "min_gain": 0.005, "max_links": 1},
    "dmsp": {"target": "ill", "max_literals": 2, "min_gain": 0.0, "flips": None, "alpha": 1.0},
    "lhl": {"max_literals": 2, "min_gain": 0.005, "max_clauses": 30},
    "ils": {"max_literals": 2, "min_gain": 0.005, "tried": 5, "max_rounds": 6},
    "ils-dsl": {"target": "ill", "max_literals": 2, "min_gain": 0.001, "tried": 5, "max_rounds": 6},
    "lsl": {"max_literals": 2, "max_variables": 2, "min_gain": 0.01, "risk": 0.0, "refitted": 4},
    "laj-dt": {},
    "mbn": {},
}
"""Settings that make each learner quick; a learner without an entry takes its own."""
NAMES = tuple(LEARNERS)
_SCHEMA = ml.parse_mln("old(person)\nill(person)\nfriend(person,person)\ncity(person,town!)").schema
_FLAGS = 'person.columns = { old = { as = "flag" }, ill = { as = "flag" } }'
_PEOPLE = 24
_TOWNS = ("Ulm", "Bonn", "Jena")


def learner(name: str) -> Any:
    """Return a learner with quick settings."""
    entry = LEARNERS[name]
    return entry.load()(**SETTINGS.get(name, {}), **entry.fixed)


def data(
    name: str, order: int | None = None, letter: str = "P", *, tables: bool | None = None
) -> ml.Data:
    """Return the world for a learner, as tables or as facts.

    Parameters
    ----------
    name
        The learner.
    order
        Puts the rows into a random order.
    letter
        With what the names of people begin.
    tables
        By default for those learners that need to know what tables there were.
    """
    rows = random.Random(order)
    make = _tables if tables or (tables is None and LEARNERS[name].tables) else _facts
    unknown = name in ("sem", "h-sem")
    return make([make_world(seed, letter) for seed in (1, 2)], order is not None, rows, unknown)


World = dict[str, list[tuple[str, ...]]]


def make_world(seed: int, letter: str) -> World:
    """Return people of an age, in towns, often ill when old, and friends of their age."""
    rng = random.Random(seed)
    names = [f"{letter}{seed}_{number:02}" for number in range(_PEOPLE)]
    old = [name for name in names if rng.random() < 0.5]
    ill = [name for name in names if rng.random() < (0.8 if name in old else 0.2)]
    friends = [
        (a, b)
        for a in names
        for b in names
        if a != b and rng.random() < (0.3 if (a in old) == (b in old) else 0.05)
    ]
    return {
        "names": [(name,) for name in names],
        "old": [(name,) for name in old],
        "ill": [(name,) for name in ill],
        "friend": friends,
        "city": [(name, rng.choice(_TOWNS)) for name in names],
    }


def _facts(worlds: list[World], shuffled: bool, rng: random.Random, unknown: bool) -> ml.Data:
    databases = []
    for world in worlds:
        lines = [
            f"{name}({','.join(row)})"
            for name in ("old", "ill", "friend", "city")
            for row in world[name]
        ]
        if unknown:
            hidden = {row[0] for row in world["names"][::5]}
            lines = [line for line in lines if line[4:-1] not in hidden or line[:3] != "ill"]
            lines += [f"?ill({name})" for name in sorted(hidden)]
        if shuffled:
            rng.shuffle(lines)
        databases.append(ml.parse_db("\n".join(lines), _SCHEMA))
    return ml.Data(tuple(databases))


def _tables(worlds: list[World], shuffled: bool, rng: random.Random, unknown: bool) -> ml.Data:
    world = worlds[0]
    ill, old = ({row[0] for row in world[name]} for name in ("ill", "old"))
    towns = dict(world["city"])
    people = [(name, str(name in old), str(name in ill), towns[name]) for (name,) in world["names"]]
    friends = list(world["friend"])
    if shuffled:
        rng.shuffle(people)
        rng.shuffle(friends)
    columns = dict(zip(("id", "old", "ill", "city"), zip(*people, strict=True), strict=True))
    pairs = dict(zip(("one", "two"), zip(*friends, strict=True), strict=True))
    keys = (ForeignKey(("one",), "person"), ForeignKey(("two",), "person"))
    tables = [
        Table("person", {name: Column.of(list(cells)) for name, cells in columns.items()}, ("id",)),
        Table(
            "friend",
            {name: Column.of(list(cells)) for name, cells in pairs.items()},
            ("one", "two"),
            keys,
        ),
    ]
    database, mapping = ml.build_database(tables, _FLAGS)
    return ml.Data((database,), mapping)


def files_of(name: str, given: ml.Data, run: ml.Run | None = None) -> dict[str, bytes]:
    """Learn, and return the files of the model."""
    model = learner(name).fit(given, run).model
    with scratch.folder() as folder:
        model.save(folder / "model.mln")
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def main() -> None:
    """Print the models of all learners: for processes with other hash seeds."""
    for name in sys.argv[1:] or NAMES:
        for file, content in files_of(name, data(name)).items():
            sys.stdout.write(f"{name} {file} {content!r}\n")


if __name__ == "__main__":
    main()
