"""Model and checkpoint files to be damaged, and what reads and uses them."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np

import mlnlearn as ml
from mlnlearn.data.database import Database
from mlnlearn.data.graph import Graph
from mlnlearn.documents import read_document
from mlnlearn.errors import InputErrors, MlnError
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import Formula
from mlnlearn.logic.schema import Schema
from mlnlearn.model.bayesnet import ConditionalTable, ParametrizedBayesNet
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from mlnlearn.structure.join_bayes.rules import FamilyRules
from mlnlearn.structure.saved import AnyModel, load_model
from torture import graphs, scratch
from torture.damage import damaged
from torture.learning import data

SCHEMA = Schema.of("smokes(person)", "friends(person,person)", "age(person,years!)")
DATABASE = Database.from_facts(
    SCHEMA,
    {"smokes": [("A",)], "friends": [("A", "B"), ("B", "C")], "age": [("A", "1"), ("B", "2")]},
    domains={"person": ["A", "B", "C"], "years": ["1", "2"]},
)


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


def _content(model: AnyModel) -> dict[str, Any]:
    with scratch.folder() as folder:
        model.save(folder / "m.json")
        found = read_document(folder / "m.json")
    assert isinstance(found, dict)
    return found


@cache
def features() -> dict[str, Any]:
    """A model of boosted features, learned in a few steps, as plain content."""
    learner = ml.RelationalBoost(target="ill", steps=4)
    return _content(learner.fit(data("boost")).model)


@cache
def people() -> ml.Database:
    """What a model of features is asked about."""
    return data("boost").databases[0]


@cache
def paths() -> dict[str, Any]:
    """A model of paths, as plain content."""
    return _content(ml.Paths(epochs=2).fit(graphs.graph().train).model)


@cache
def known() -> Graph:
    """What a model of paths is asked about."""
    return graphs.graph().train


def features_file(rng: random.Random) -> bytes:
    """Return a damaged model of features."""
    return damaged(features(), rng)


def paths_file(rng: random.Random) -> bytes:
    """Return a damaged model of paths."""
    return damaged(paths(), rng)


def boosted_file(rng: random.Random) -> bytes:
    """Return a damaged boosted model."""
    return damaged(boosted(), rng)


def join_bayes_file(rng: random.Random) -> bytes:
    """Return a damaged model of a net."""
    return damaged(join_bayes(), rng)


def net_file(rng: random.Random) -> bytes:
    """Return a damaged net."""
    return damaged(net().as_dict(), rng)


def use_model(data: bytes) -> None:
    """Load a model and ask it; what is wrong is said with the file."""
    with scratch.folder() as folder:
        path = folder / "m.json"
        path.write_bytes(data)
        try:
            model = load_model(path)
        except MlnError as error:
            check_place(error, "m.json")
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
    elif isinstance(model, RelationalModel):
        assert str(model)
        assert model.rules() is not None
        model.query(people())
    elif isinstance(model, PathModel):
        assert all(str(rule) for rule in model.rules())
        asked = model.with_graph(known())
        if len(model.relations):
            asked.top(model.relations[0], head="Anna")


def _use_rules(model: JoinBayesModel) -> None:
    rules = model.mln().rules
    assert all(isinstance(rule.formula, Formula) for rule in rules)
    assert model.parameter_counts()["leaf_values"] == len(rules)
    assert str(model.net)
    str(model.mapping)


def use_net(data: bytes) -> None:
    """Load a net and draw from it."""
    with scratch.folder() as folder:
        path = folder / "net.json"
        path.write_bytes(data)
        try:
            found = ParametrizedBayesNet.load(path)
        except MlnError as error:
            check_place(error, "net.json")
            raise
    drawn = found.sample(np.random.default_rng(0), 3)
    assert drawn.shape == (len(found.nodes), 3)


def check_place(error: MlnError, file: str) -> None:
    """Fail where an error does not say that something is wrong in a file."""
    problems = error.problems if isinstance(error, InputErrors) else [error]
    for problem in problems:
        place = problem.location
        assert place is not None, f"no place in {error!r}"
        assert place.file.endswith(file), f"no place in {error!r}"
