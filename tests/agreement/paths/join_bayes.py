"""Learn-and-join: the net, its rules as a network, and predictions say the same."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cached_property, partial
from itertools import product

import numpy as np

import mlnlearn as ml
from agreement.compare import Answer, Path
from agreement.problem import Problem
from agreement.program import files
from agreement.tables import Tables, random_tables
from agreement.translate import rules_of
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.evaluate.ask import Conditionals, atom_probabilities

_SAMPLE_SIZE = 10.0


class Learned:
    """A model learned from random tables."""

    def __init__(self, problem: Problem, *, linked: bool) -> None:
        self.rng = np.random.default_rng([problem.case.seed, 17])
        self.linked = linked
        self.tables: Tables = random_tables(self.rng, linked=linked)

    @cached_property
    def built(self) -> Loaded:
        """The tables as a database, by the library's own loader."""
        return self._built(0.0)

    @cached_property
    def with_empty_cells(self) -> Loaded:
        """The same where some cells of people are empty."""
        return self._built(0.15)

    def _built(self, empty: float) -> Loaded:
        rows, columns = self.tables.rows, {}
        for key, names in (("u", ("c0", "c1", "c2")), ("t", ("genre",))):
            if key in self.tables.domains:
                columns[key] = {"id": Column.of(list(self.tables.domains[key]))}
                for name in names:
                    cells = [value for _, value in rows(name)]
                    columns[key][name] = Column.of(_emptied(cells, empty))
        tables = [Table(key, found, ("id",)) for key, found in columns.items()]
        if self.linked:
            u, t, stars = (list(c) for c in zip(*rows("stars"), strict=True))
            cells = {"u": Column.of(u), "t": Column.of(t), "stars": Column.of(stars)}
            keys = (ForeignKey(("u",), "u"), ForeignKey(("t",), "t"))
            tables.append(Table("likes", cells, ("u", "t"), keys))
        return build_database(tables)

    @property
    def database(self) -> Database:
        return self.built.database

    @cached_property
    def model_of_empty_cells(self) -> ml.JoinBayesModel:
        learner = ml.MBN(weights="log-probability", sample_size=_SAMPLE_SIZE)
        return learner.fit(self.with_empty_cells).model

    @cached_property
    def model(self) -> ml.JoinBayesModel:
        if not self.linked:
            learner = ml.MBN(weights="log-probability", sample_size=_SAMPLE_SIZE)
        else:
            kind = ml.MBN if self.rng.random() < 0.5 else ml.LAJDT
            weights = "log-probability" if self.rng.random() < 0.3 else "pseudo-likelihood"
            learner = kind(weights=weights, links=bool(self.rng.random() < 0.3))
        return learner.fit(self.built).model


def _emptied(cells: list[str], share: float) -> list[str | None]:
    """Empty some cells, but the first of each value: values are those that occur."""
    rng = np.random.default_rng(len(cells))
    return [
        None if rng.random() < share and value in cells[:place] else value
        for place, value in enumerate(cells)
    ]


def learned(problem: Problem, linked: bool) -> Learned:
    key = f"join {linked}"
    if key not in problem.__dict__:
        problem.__dict__[key] = Learned(problem, linked=linked)
    found: Learned = problem.__dict__[key]
    return found


def expected_of_net(problem: Problem) -> Answer:
    """One table: products of conditional tables that are counted anew, with the same parents."""
    own = learned(problem, False)
    net, tables = own.model.net, own.tables
    columns = {p.name: p for p in tables.predicates}
    names = [node.predicate.name for node in net.nodes]
    values = {name: tables.domains[columns[name].types[1]] for name in names}
    rows = [
        {name: next(v for v in values[name] if (name, (person, v)) in tables.facts.true)
         for name in names}
        for person in tables.domains["u"]
    ]  # fmt: skip
    parents = {
        name: [names[place] for place in table.parents]
        for name, table in zip(names, net.tables, strict=True)
    }

    def log_probability(row: dict[str, str]) -> float:
        total = 0.0
        for name in names:
            same = [r for r in rows if all(r[p] == row[p] for p in parents[name])]
            configurations = math.prod(len(values[p]) for p in parents[name])
            prior = _SAMPLE_SIZE / configurations
            seen = sum(r[name] == row[name] for r in same)
            total += math.log((seen + prior / len(values[name])) / (len(same) + prior))
        return total

    found = {}
    for person, row in zip(tables.domains["u"], rows, strict=True):
        for name in names:
            scores = np.array([log_probability({**row, name: v}) for v in values[name]])
            raised = np.exp(scores - scores.max())
            shares = raised / raised.sum()
            found.update(
                ((name, (person, v)), float(p)) for v, p in zip(values[name], shares, strict=True)
            )
    return found


def expected_of_rules(problem: Problem) -> Answer:
    """The rules that the model prints, evaluated by their definition."""
    own = learned(problem, True)
    return own.tables.given_others(rules_of(own.model.mln()))


def expected_of_entities(problem: Problem) -> Answer:
    """The same without the links' attributes, which are no exclusive arguments of the rules."""
    return {a: p for a, p in expected_of_rules(problem).items() if a[0] != "stars"}


def expected_of_empty_cells(problem: Problem) -> Answer:
    """The rules of a model that was learned where cells are empty, asked where none is."""
    own = learned(problem, False)
    return own.tables.given_others(rules_of(own.model_of_empty_cells.mln()))


def by_predict(problem: Problem, linked: bool) -> Answer:
    own = learned(problem, linked)
    return _predicted(own, own.model)


def by_predict_of_empty_cells(problem: Problem) -> Answer:
    own = learned(problem, False)
    return _predicted(own, own.model_of_empty_cells)


def by_loaded(problem: Problem, linked: bool) -> Answer:
    own = learned(problem, linked)
    with files() as path:
        own.model.save(path["folder"] + "/model.mln")
        again = ml.JoinBayesModel.load(path["folder"] + "/model.mln")
        text = ml.MLN.read(path["folder"] + "/model.mln")
    assert text.rules == own.model.mln().rules
    return _predicted(own, again)


def _predicted(own: Learned, model: ml.JoinBayesModel) -> Answer:
    """Rows come in the order of the type's constants, links in that of their facts."""
    found = {}
    for name, part in model.predict(own.database).items():
        *keys, kind = own.database.schema[name].types
        rows = product(*(own.database.domains[key].names for key in keys))
        if len(keys) == 2:
            rows = own.database.rows("likes")
        for row, logs in zip(rows, np.exp(part.log_probabilities), strict=True):
            # the first value of a link's attribute stands for no link
            values = part.node.values[-len(own.database.domains[kind]) :]
            for value, p in zip(values, logs[-len(values) :], strict=True):
                found[name, (*row, value)] = float(p)
    return found


def by_network(problem: Problem, linked: bool, ask: Callable[[Learned], object]) -> Answer:
    """Ask for each cell's values given all others, of the rules or of the model itself."""
    own = learned(problem, linked)
    model = ask(own)
    found = {}
    for name in own.database.schema.functional:
        atoms = [a for cell in own.tables.cells for a in cell.atoms if a[0] == name]
        kinds = own.database.schema[name].types
        codes = [[own.database.domains[k].code(t) for k, t in zip(kinds, terms, strict=True)]
                 for _, terms in atoms]  # fmt: skip
        columns = np.ascontiguousarray(np.array(codes, np.int32).T)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = atom_probabilities(model, own.database, name, columns, Conditionals())
        found.update(zip(atoms, map(float, values), strict=True))
    return found


PATHS = (
    Path("net: predict", expected_of_net, partial(by_predict, linked=False), share=0.04),
    Path("net: saved", expected_of_net, partial(by_loaded, linked=False), share=0.02),
    Path("net: rules", expected_of_net,
         partial(by_network, linked=False, ask=lambda own: own.model.mln()), share=0.04),
    Path("net: evaluate", expected_of_net,
         partial(by_network, linked=False, ask=lambda own: own.model), share=0.02),
    Path("net: empty cells, predict", expected_of_empty_cells, by_predict_of_empty_cells,
         share=0.02),
    Path("net: empty cells, rules", expected_of_empty_cells,
         partial(by_network, linked=False, ask=lambda own: own.model_of_empty_cells.mln()),
         share=0.01),
    Path("net: linked, predict", expected_of_rules, partial(by_predict, linked=True), share=0.02),
    Path("net: linked, saved", expected_of_rules, partial(by_loaded, linked=True), share=0.01),
    Path("net: linked, rules", expected_of_entities,
         partial(by_network, linked=True, ask=lambda own: own.model.mln()), share=0.01),
    Path("net: linked, evaluate", expected_of_entities,
         partial(by_network, linked=True, ask=lambda own: own.model), share=0.01),
)  # fmt: skip
