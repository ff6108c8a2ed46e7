"""Learn-and-join on tables with empty cells: ``python -m studies.empty_cells``.

Tables whose dependences are known are emptied more and more; what is found of the dependences, and
what is found that is not there, is compared with what the same learner finds in the full tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.structure.join_bayes.learners import MBN
from studies.common import Options, Study, markdown_table, run, run_tasks

LEARNER = MBN(weights="log-probability")
SHARES = (0.0, 0.005, 0.01, 0.05, 0.1, 0.3)
STUDY = Study(
    name="empty_cells",
    title="Empty cells in learn-and-join",
    about=(
        "One table of 2,000 rows and four columns (three of three values, one of two), either "
        "independent of one another or a chain a – b – c, in which three cells of ten are copied "
        "from the column before. And three tables, 300 users, 150 films and about 1,800 ratings, "
        "in which nothing depends on anything, or a user's sex and ratings on the age. Cells are "
        "emptied at random, in one column or in all. Counted are edges between columns, over all "
        "seeds: those that were planted, and false ones. What is wanted: no more false edges than "
        "in the full tables (share 0), all planted ones."
    ),
    settings=asdict(LEARNER),
    seeds=20,
    minutes=20,
)

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """One data set, and how much of it is emptied.

    Attributes
    ----------
    kind
        ``"table"`` or ``"links"``.
    planted
        Whether there are dependences to find.
    share
        Of the cells that are emptied.
    everywhere
        Whether in all columns, or in one.
    seed
        Of the data.
    """

    kind: str
    planted: bool
    share: float
    everywhere: bool
    seed: int


def one_table(task: Task, size: int = 2000) -> Loaded:
    """Draw a table of four columns and empty some cells."""
    rng = np.random.default_rng(task.seed)
    columns = {name: rng.choice(3, size=size, p=[0.5, 0.3, 0.2]) for name in "abc"}
    columns["d"] = rng.integers(2, size=size)
    if task.planted:
        for parent, child in ("ab", "bc"):
            same = rng.random(size) < 0.3
            columns[child] = np.where(same, columns[parent], columns[child])
    emptied = dict.fromkeys(columns, task.share) if task.everywhere else {"a": task.share}
    table = {"id": Column.of([f"i{k}" for k in range(size)])}
    table |= {n: _cells(rng, n, codes, emptied.get(n, 0.0)) for n, codes in columns.items()}
    return build_database([Table("t", table, ("id",))])


def rated_films(task: Task, users: int = 300, films: int = 150) -> Loaded:
    """Draw users, films and ratings, and empty some cells."""
    rng = np.random.default_rng(task.seed)
    age, sex = rng.choice(2, size=users, p=[0.6, 0.4]), rng.integers(2, size=users)
    who, what = np.nonzero(rng.random((users, films)) < 0.04)
    stars = rng.choice(3, size=len(who), p=[0.3, 0.4, 0.3])
    if task.planted:
        sex = np.where(rng.random(users) < 0.5, age, sex)
        rising = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])[age[who]]
        stars = (rng.random(len(who))[:, None] > rising.cumsum(axis=1)).sum(axis=1)
    rest = task.share if task.everywhere else 0.0
    people, things = ([f"{k}{i}" for i in range(n)] for k, n in (("u", users), ("f", films)))
    user = {
        "id": Column.of(people),
        "age": _cells(rng, "a", age, task.share),
        "sex": _cells(rng, "s", sex, rest),
    }
    genre = _cells(rng, "g", rng.integers(2, size=films), rest)
    rated = {
        "who": Column.of([people[i] for i in who]),
        "what": Column.of([things[i] for i in what]),
        "stars": _cells(rng, "r", stars, rest),
    }
    links = (ForeignKey(("who",), "user"), ForeignKey(("what",), "film"))
    return build_database(
        [
            Table("user", user, ("id",)),
            Table("film", {"id": Column.of(things), "genre": genre}, ("id",)),
            Table("rated", rated, ("who", "what"), links),
        ]
    )


def _cells(rng: np.random.Generator, name: str, codes: Codes, share: float) -> Column:
    empty = rng.random(len(codes)) < share
    return Column.of([f"{name}{code}" for code in codes.tolist()], empty)


def edges(task: Task) -> dict[str, Any]:
    """Learn from one data set; return the pairs of columns with an edge between them."""
    data = one_table(task) if task.kind == "table" else rated_films(task)
    net = LEARNER.fit(data).model.net
    pairs = [(net.nodes[parent], net.nodes[child]) for parent, child in net.edges]
    found = {
        "-".join(sorted(node.predicate.name for node in pair))
        for pair in pairs
        if not any(node.is_link for node in pair)
    }
    return {"edges": sorted(found)}


PLANTED: Mapping[str, frozenset[str]] = {
    "table": frozenset({"a-b", "b-c"}),
    "links": frozenset({"age-sex", "age-stars"}),
}


def sections(options: Options) -> Iterator[str]:
    """Compute the page: a table for each kind of data."""
    for kind, title in (("table", "One table"), ("links", "Three tables")):
        cases = [
            (planted, share, everywhere)
            for planted in (False, True)
            for everywhere in (False, True)
            for share in SHARES
            if share or everywhere
        ]
        tasks = [Task(kind, *case, seed) for case in cases for seed in range(options.seeds)]
        done = iter(run_tasks(edges, tasks, options, kind))
        rows = []
        for planted, share, everywhere in cases:
            found = [set(next(done)["edges"]) for _ in range(options.seeds)]
            rows.append(_row(kind, planted, share, everywhere, found))
        yield f"## {title}"
        yield markdown_table(
            ["data", "emptied", "share", "planted edges found", "false edges"], rows
        )


def _row(
    kind: str, planted: bool, share: float, everywhere: bool, found: Sequence[set[str]]
) -> list[str]:
    wanted = PLANTED[kind] if planted else frozenset()
    right = sum(len(edges & wanted) for edges in found)
    return [
        "planted" if planted else "independent",
        "nothing" if not share else "all columns" if everywhere else "one column",
        f"{share:.1%}",
        f"{right} of {len(wanted) * len(found)}" if planted else "–",
        str(sum(len(edges - wanted) for edges in found)),
    ]


if __name__ == "__main__":
    run(STUDY, sections)
