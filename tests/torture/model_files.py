"""Model and checkpoint files to be damaged, and what reads and uses them."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.documents import read_document
from mlnlearn.errors import InputErrors, MlnError
from mlnlearn.journal import Identity, Journal
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import Formula
from mlnlearn.logic.schema import Schema
from mlnlearn.model.bayesnet import ConditionalTable, ParametrizedBayesNet
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from mlnlearn.structure.join_bayes.rules import FamilyRules
from mlnlearn.structure.saved import load_model
from torture.damage import damaged

SCHEMA = Schema.of("smokes(person)", "friends(person,person)", "age(person,years!)")
DATABASE = Database.from_facts(
    SCHEMA,
    {"smokes": [("A",)], "friends": [("A", "B"), ("B", "C")], "age": [("A", "1"), ("B", "2")]},
    domains={"person": ["A", "B", "C"], "years": ["1", "2"]},
)
RUN = Identity("GSLP", {"beam": "5"}, {"facts": "d1"})


@cache
def boosted() -> dict[str, Any]:
    """A boosted model with trees and clauses, as plain content."""
    tree = {
        "if": [["friends", 0, 1], ["age", 1, "1"]],
        "then": {"if": [["=", "person", 0, 1]], "then": 0.5, "else": -0.25},
        "else": {"if": [["friends", 1, 0]], "then": 1, "else": 0.125},
    }
    clauses = [{"body": [["friends", 0, 1], ["smokes", 1]], "weight": 0.75}]
    plain = BoostedModel(SCHEMA, False, ()).to_plain()
    plain["targets"] = [
        {"target": "smokes", "bias": -1.5, "prior": {"clauses": clauses},
         "steps": [{"tree": tree}, {"clauses": clauses}], "shifts": [0.5, 0.25]},
        {"target": "friends", "bias": 0.5, "prior": {"clauses": []},
         "steps": [{"tree": 0.5}, {"clauses": []}], "shifts": []},
    ]  # fmt: skip
    return _content(BoostedModel.from_plain(plain))


@cache
def net() -> ParametrizedBayesNet:
    """A net of two attributes of people and a link between them."""
    one, two = Variable("person0"), Variable("person1")
    friends = SCHEMA["friends"]
    nodes = (
        NetNode(SCHEMA["age"], (one,), ("1", "2")),
        NetNode(SCHEMA["smokes"], (one,), ("F", "T")),
        NetNode(SCHEMA["age"], (two,), ("1", "2"), main=False),
        NetNode(friends, (one, two), ("F", "T"), friends),
    )
    root = ConditionalTable((), np.zeros((1, 0), int), np.array([[5.0, 3.0]]))
    given = ConditionalTable((0,), np.array([[0], [1]]), np.array([[4.0, 1.0], [1.0, 2.0]]))
    return ParametrizedBayesNet(nodes, (root, given, root, root))


@cache
def join_bayes() -> dict[str, Any]:
    """A model of a net, as plain content."""
    nodes, layout = net().nodes, NetLayout.from_nodes(net().nodes)
    counts = np.array([[4.0, 1.0], [1.0, 2.0]])
    family = FamilyRules(nodes[1], (nodes[0],), (), (((0, 0),), ((0, 1),)), counts, 1.0)
    link = FamilyRules(nodes[0], (nodes[2],), layout.relationships, (((0, 0),),), counts[:1], 1.0)
    found = JoinBayesModel(net(), (family, link), np.arange(6) / 4, SCHEMA)
    mapping = {
        "person": {"kind": "entity", "type": "person", "columns": {
            "id": {"as": "key"},
            "age": {"as": "value", "predicate": "age", "type": "years", "cuts": [1.5, 2.5]}}},
    }  # fmt: skip
    return _content(found) | {"mapping": mapping}


def _content(model: BoostedModel | JoinBayesModel) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.json")
        found = read_document(Path(folder) / "m.json")
    assert isinstance(found, dict)
    return found


def boosted_file(rng: random.Random) -> bytes:
    """Return a damaged boosted model."""
    return damaged(boosted(), rng)


def join_bayes_file(rng: random.Random) -> bytes:
    """Return a damaged model of a net."""
    return damaged(join_bayes(), rng)


def net_file(rng: random.Random) -> bytes:
    """Return a damaged net."""
    return damaged(net().as_dict(), rng)


def journal_file(rng: random.Random) -> bytes:
    """Return a damaged journal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        Journal(path, RUN).record_all([("step 1", [0.5]), ("step 2", {"a": None})])
        data = path.read_bytes()
    place = rng.randrange(len(data))
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    deep = b"[" * 100_000
    return rng.choice((
        data[:place], b"".join(lines), data[:place] + deep + data[place:],
        data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :],
        data[:place] + b"9" * 5000 + data[place:], b"\xff" + data, b"{}\n", b"\n" + data,
    ))  # fmt: skip


def use_model(data: bytes) -> None:
    """Load a model and ask it; what is wrong is said with the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.json"
        path.write_bytes(data)
        try:
            model = load_model(path)
        except MlnError as error:
            _check_place(error, "m.json")
            raise
    if isinstance(model, BoostedModel):
        assert model.rules() is not None
        for target in model.targets:
            model.to_mln() if not model.existential else str(model)
            if target.predicate.name in SCHEMA and len(model.targets) == 1:
                model.query(DATABASE)
    elif isinstance(model, JoinBayesModel):
        _use_rules(model)
        model.predict(DATABASE)


def _use_rules(model: JoinBayesModel) -> None:
    rules = model.mln().rules
    assert all(isinstance(rule.formula, Formula) for rule in rules)
    assert model.parameter_counts()["leaf_values"] == len(rules)
    assert str(model.net)
    str(model.mapping)


def use_net(data: bytes) -> None:
    """Load a net and draw from it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.json"
        path.write_bytes(data)
        try:
            found = ParametrizedBayesNet.load(path)
        except MlnError as error:
            _check_place(error, "net.json")
            raise
    drawn = found.sample(np.random.default_rng(0), 3)
    assert drawn.shape == (len(found.nodes), 3)


def use_journal(data: bytes) -> None:
    """Go on with a journal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_bytes(data)
        try:
            found = Journal(path, RUN)
        except MlnError as error:
            _check_place(error, "run.jsonl")
            raise
        assert found.get("step 1") in (None, [0.5])
        assert found.get("step 2") in (None, {"a": None})


def _check_place(error: MlnError, file: str) -> None:
    problems = error.problems if isinstance(error, InputErrors) else [error]
    for problem in problems:
        place = problem.location
        assert place is not None, f"no place in {error!r}"
        assert place.file.endswith(file), f"no place in {error!r}"


KINDS = {
    "boosted models": (boosted_file, use_model),
    "models of nets": (join_bayes_file, use_model),
    "nets": (net_file, use_net),
    "journals": (journal_file, use_journal),
}
"""Per kind of file: how a damaged one is made, and what reads and uses it."""
