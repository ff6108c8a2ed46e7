"""Inputs about graphs, tasks and folders of other systems, and what reads them."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any

import typer

import mlnlearn as ml
from mlnlearn.cli.app import app
from mlnlearn.cli.project import FILE, project_options
from mlnlearn.data.load.boostsrl import read_boostsrl
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.task import read_task
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.data.load.triples import read_graph
from mlnlearn.data.load.within import task_within
from mlnlearn.dialect import DIALECTS
from mlnlearn.model.paths.rules import read_rules
from mlnlearn.syntax import parse_mln
from torture import scratch
from torture.texts import Rng, damaged

_PEOPLE = Table(
    "person",
    {"id": Column.of(["Anna", "Bob"]), "age": Column.of([3, 4])},
    ("id",),
)
_VISITS = Table(
    "visit",
    {
        "id": Column.of(["1", "2", "3"]),
        "person": Column.of(["Anna", "Bob", "Anna"]),
        "day": Column.of(["2020-01-01", "2020-02-01", "2020-03-01"]),
        "cost": Column.of([1.5, 2.5, 7.0]),
    },
    ("id",),
    (ForeignKey(("person",), "person"),),
)
TABLES = [_PEOPLE, _VISITS]


def triples(rng: Rng) -> tuple[str, bytes]:
    """A file of triples: with tabs, with commas, as N-Triples, packed."""
    name = rng.choice(("kg.tsv", "kg.txt", "kg.csv", "kg.nt", "kg.nt.gz", "kg.tsv.gz"))
    lines = [_triple(rng, name) for _ in range(rng.randrange(8))]
    text = damaged("\n".join(lines) + "\n", rng).encode("utf-8", "replace")
    if name.endswith(".gz") and rng.random() < 0.9:
        text = gzip.compress(text, 1)
    return name, _spoiled(text, rng)


def _triple(rng: Rng, name: str) -> str:
    words = [rng.choice(("Anna", "born in", "Prague", "ünder", "", "head", "1")) for _ in range(3)]
    if ".nt" in name:
        thing = rng.choice(("<b>", "_:b1", '"text"@en', '"3"^^<int>', "b", '"\\""'))
        return rng.choice((f"<{words[0]}> <r> {thing} .", "# a remark", f"_:x <r> {thing}"))
    if rng.random() < 0.05:
        return rng.choice(("head\trelation\ttail", "s,p,o", "a\tb"))
    return ("," if ".csv" in name else "\t").join(words)


def _spoiled(data: bytes, rng: Rng) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        if found:
            found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def read_triples(given: tuple[str, bytes]) -> None:
    """Read a graph; it has as many triples as its parts say."""
    name, data = given
    with scratch.folder({name: data}) as folder:
        split = read_graph(folder / name)
        assert 0 < split.train.triples.shape[1] <= data.count(b"\n") + 1 or name.endswith(".gz")


def path_rules(rng: Rng) -> str:
    """Rules as AnyBURL writes them, and as a table of ours."""
    atoms = ("knows(X,Y)", "knows(X,A)", "likes(A,Y)", "knows(X,anna)", "likes(Y,A)", "p q(X,Y)")
    lines = []
    for _ in range(rng.randrange(1, 6)):
        body = ", ".join(rng.choice(atoms) for _ in range(rng.choice((0, 1, 1, 2, 3))))
        numbers = "\t".join(rng.choice(("10", "4", "0.4", "-1", "x")) for _ in range(3))
        lines.append(f"{numbers}\t{rng.choice(atoms)} <= {body}")
    return damaged("\n".join(lines), rng)


def read_path_rules(text: str) -> None:
    """Read rules along paths."""
    with scratch.folder({"rules.txt": text.encode("utf-8", "replace")}) as folder:
        assert all(rule.relation for rule in read_rules(folder / "rules.txt"))


def task(rng: Rng) -> str:
    """A file of entities, moments and labels."""
    header = rng.choice(("person,day,label", "id,date,y", "person,label", "day,label", "person"))
    cells = (
        ("Anna", "Bob", "Carl", ""),
        ("2020-01-15", "2020-02-15", "x", ""),
        ("0", "1", "2.5", "a", ""),
    )
    rows = [
        ",".join(rng.choice(cells[place % 3]) for place in range(header.count(",") + 1))
        for _ in range(rng.randrange(5))
    ]
    return damaged("\n".join([header, *rows]) + "\n", rng)


def use_task(text: str) -> None:
    """Read a task, and put it with the tables."""
    with scratch.folder({"train.csv": text.encode("utf-8", "replace")}) as folder:
        found = read_task(folder / "train.csv", TABLES)
        assert found.table.rows >= 0
        tables_data(TABLES, task=folder / "train.csv")


def span(rng: Rng) -> tuple[str, str, str]:
    """A column, a table and a span of time."""
    column = rng.choice(("visit.cost", "visit.day", "cost", "visit.none", "person.age"))
    entity = rng.choice(("person", "visit", "cat"))
    length = rng.choice(("30d", "2 weeks", "1y", "0d", "-3d", "1e400d", "99999999999y", "1h"))
    return damaged(column, rng), damaged(entity, rng), damaged(length, rng)


def use_span(given: tuple[str, str, str]) -> None:
    """Make a task of what will be within a span of time."""
    assert task_within(TABLES, *given).table.rows >= 0


def project(rng: Rng) -> str:
    """Options of a project."""
    lines = (
        'schema = "schema.mln"', "seed = 3", "sed = 3", "[learn]", 'learner = "mln-bt"',
        'set = ["steps=10"]', "[evaluate]", "jobs = 2", "out = {a = 1}", "db = [1, [2]]",
        "[lern]", f"x = {'[' * rng.choice((1, 5, 5000))}", f"seed = {'9' * rng.choice((3, 5000))}",
    )  # fmt: skip
    return damaged("\n".join(rng.choice(lines) for _ in range(rng.randrange(1, 5))), rng)


@cache
def _commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def use_project(text: str) -> None:
    """Read a project's options."""
    with scratch.folder({FILE: text.encode("utf-8", "replace")}) as folder:
        assert project_options(_commands(), folder) is not None


def boostsrl(rng: Rng) -> dict[str, str]:
    """A folder as BoostSRL has it."""
    facts = "friends(anna,bob).\nfriends(bob,carl).\nage(anna,3).\n"
    background = (
        "useStdLogicVariables: true.\nsetParam: nodeSize=2.\n"
        "mode: friends(+person,-person).\nmode: age(+person,#years).\nmode: smokes(+person).\n"
        + rng.choice(("", 'import: "other.txt".\n', "bridger: friends/2.\n", "% remark\n"))
    )
    return {
        "train_facts.txt": damaged(facts, rng),
        "train_pos.txt": damaged("smokes(anna).\n", rng),
        "train_neg.txt": damaged("smokes(bob).\n", rng),
        "train_bk.txt": damaged(background, rng),
    }


def use_boostsrl(files: dict[str, str]) -> None:
    """Read such a folder."""
    content = {name: text.encode("utf-8", "replace") for name, text in files.items()}
    with scratch.folder(content) as folder:
        assert read_boostsrl(folder).database.true_atoms >= 0


def dialect(rng: Rng) -> tuple[str, str | None]:
    """Rules as other systems write them."""
    more = (
        "*friends(person,person)", "?x smokes(?x)", "1.5: smokes(x) v !friends(x,y)",
        "#fuzzy smokes", "smokes(x) :- friends(x,y)", "|x| smokes(x) <= 2", "P(smokes(x)) = 0.3",
        "[Initial weight] 1 smokes(?p) ^ friends(?p,?q) => smokes(?q)", "person = {A, B}",
        "0.5 smokes(a_) ^ friends(?x, B)", "@unique(person)", "smokes(x){0.3}",
    )  # fmt: skip
    lines = [rng.choice(more) for _ in range(rng.randrange(1, 4))]
    text = damaged("\n".join(["smokes(person)", "friends(person,person)", *lines]), rng)
    return text, rng.choice((*DIALECTS, None, "prolog"))


def use_dialect(given: tuple[str, str | None]) -> None:
    """Read rules of another system."""
    text, name = given
    parse_mln(text, "no/such/folder/fuzz.mln", dialect=name)


def graph() -> ml.GraphSplit:
    """A graph for models of paths."""
    people = ("Anna", "Bob", "Carl")
    rows = [(a, "knows", b) for a in people for b in people if a < b]
    return ml.from_triples([*rows, ("Anna", "likes", "Bob"), ("Bob", "likes", "Carl")])
