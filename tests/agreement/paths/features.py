"""Boosted features: the model, its file, the program and its rules over derived predicates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product

import numpy as np

import mlnlearn as ml
from agreement.case import Domains, Facts
from agreement.compare import Answer, Path
from agreement.language import GroundAtom, Predicate, Rule
from agreement.problem import Problem, Skip, ground_atom
from agreement.program import files, said
from agreement.reference import Worlds
from agreement.translate import rules_of
from mlnlearn.data.database import Database
from mlnlearn.data.population import all_atoms

_SCHEMA = (
    "ill(person)\nhome(person,town!)\nknows(person,person)\nworks(person,firm)\n"
    "likes(person,music)\nsold(music)\n"
)
_MUSIC = ("Folk", "Jazz", "Rock")
_FEW = {"steps": 4, "patience": 4, "max_links": 2, "max_features": 12, "min_examples": 2}


class Learned:
    """A model of features, learned from a few people, and other people to ask it about."""

    def __init__(self, problem: Problem) -> None:
        self.rng = np.random.default_rng([problem.case.seed, 19])
        self.target = str(self.rng.choice(["ill", "home", "likes"], p=[0.4, 0.3, 0.3]))
        self.reads_labels = bool(self.rng.random() < 0.3)
        self.training = self._people(60 if self.target == "likes" else 20)
        self.asked = self._people(6)

    def _people(self, size: int) -> Facts:
        rng = self.rng
        names = [f"P{number:02}" for number in range(size)]
        group = rng.integers(0, 3, size)
        found: set[GroundAtom] = {("sold", (music,)) for music in _MUSIC}
        for name, kind in zip(names, group.tolist(), strict=True):
            found.add(("home", (name, f"T{kind if rng.random() < 0.8 else 0}")))
            found.add(("works", (name, f"F{kind if rng.random() < 0.7 else 3}")))
            if rng.random() < (0.9 if kind == 0 else 0.2):
                found.add(("ill", (name,)))
            for place, music in enumerate(_MUSIC):
                if rng.random() < (0.9 if kind == place else 0.1):
                    found.add(("likes", (name, music)))
        for one, other in product(range(size), range(size)):
            if one != other and rng.random() < (0.4 if group[one] == group[other] else 0.05):
                found.add(("knows", (names[one], names[other])))
        return Facts(frozenset(found))

    def database(self, facts: Facts) -> Database:
        return ml.parse_db(str(facts), ml.parse_mln(_SCHEMA).schema)

    @cached_property
    def model(self) -> ml.RelationalModel:
        learner = ml.RelationalBoost(target=self.target, own_facts=self.reads_labels, **_FEW)
        return learner.fit(self.database(self.training)).model

    @cached_property
    def given(self) -> Database:
        """Who is asked about, and all values that the model knows."""
        found = self.database(self.asked)
        return found.extended({"town": self.model.classes}) if self.target == "home" else found


def learned(problem: Problem) -> Learned:
    if "features" not in problem.__dict__:
        problem.__dict__["features"] = Learned(problem)
    found: Learned = problem.__dict__["features"]
    return found


def expected(problem: Problem) -> Answer:
    """The rules that the model writes, evaluated by their definition on the facts derived."""
    own = learned(problem)
    network = ml.MLN.parse(own.model.network_text())
    facts = own.model.derived_facts(own.database(own.asked))
    types = {p.name: p.types for p in network.schema.predicates}
    domains = {kind: tuple(names) for kind, names in own.given.domains.items()}
    true = {(name, row) for name in types if name != own.target for row in facts.rows(name)}
    predicates = [Predicate(name, kinds) for name, kinds in types.items()]
    return _each_alone(own, predicates, true, domains, rules_of(network))


def _each_alone(
    own: Learned,
    predicates: Sequence[Predicate],
    true: set[GroundAtom],
    domains: Domains,
    rules: Sequence[Rule],
) -> Answer:
    """The probability of each atom of the target, or of each value: rows are independent."""
    kinds = next(p.types for p in predicates if p.name == own.target)
    rest = list(product(*(domains[kind] for kind in kinds[1:])))
    chosen = own.target == "home"  # one of its atoms is true; of others, each may be or not
    together = [rest] if chosen else [[values] for values in rest]
    found = {}
    for person, values in product(domains["person"], together):
        atoms = [(own.target, (person, *value)) for value in values]
        worlds = len(atoms) + (not chosen)
        truth = {
            (p.name, row): np.full(worlds, (p.name, row) in true)
            for p in predicates
            for row in product(*(domains[kind] for kind in p.types))
        }
        for place, atom in enumerate(atoms):
            truth[atom] = np.arange(worlds) == place
        scores = Worlds(domains, truth, worlds).log_weights(rules)
        raised = np.exp(scores - scores.max())
        found.update(zip(atoms, (raised / raised.sum()).tolist(), strict=False))
    return found


def by_predict(problem: Problem) -> Answer:
    own = learned(problem)
    return _predicted(own, own.model)


def by_loaded(problem: Problem) -> Answer:
    own = learned(problem)
    with files() as path:
        own.model.save(path["folder"] + "/model.mln")
        again = ml.load_model(path["folder"] + "/model.mln")
    assert isinstance(again, ml.RelationalModel)
    return _predicted(own, again)


def _predicted(own: Learned, model: ml.RelationalModel) -> Answer:
    atoms = all_atoms(own.given, own.target)
    kinds = own.given.schema[own.target].types
    names = [own.given.domains[kind].names for kind in kinds]
    rows = [tuple(n[c] for n, c in zip(names, codes, strict=True)) for codes in atoms.T]
    chances = model.predict(own.given, own.target, atoms).tolist()
    return {(own.target, row): chance for row, chance in zip(rows, chances, strict=True)}


def by_rules(problem: Problem) -> Answer:
    """The file of rules as a network, asked on the facts derived."""
    own = learned(problem)
    network = ml.MLN.parse(own.model.network_text())
    closed = [p.name for p in network.schema.predicates if p.name != own.target]
    facts = own.model.derived_facts(own.database(own.asked))
    answers = ml.query(network, facts, own.target, method="exact", closed=closed)
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


def _without_labels(own: Learned) -> Facts:
    return Facts(frozenset(atom for atom in own.asked.true if atom[0] != own.target))


def expected_blind(problem: Problem) -> Answer:
    """What is said where no label is told: by the part of the model that reads none."""
    if learned(problem).model.alone is not None:
        raise Skip
    return expected(problem)


def by_query(problem: Problem) -> Answer:
    own = learned(problem)
    answers = own.model.query(own.database(_without_labels(own)), own.target)
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


def by_explanations(problem: Problem) -> Answer:
    own = learned(problem)
    database = own.database(_without_labels(own))
    found = {}
    for name, row in expected_blind(problem):
        explained = own.model.explain(database, f"{name}({','.join(row)})")
        total = sum(part.log_odds for part in explained.contributions)
        assert abs(total - explained.log_odds) < 1e-9
        found[name, row] = explained.probability
    return found


def by_program(problem: Problem) -> Answer:
    own = learned(problem)
    with files(schema_mln=_SCHEMA, asked_db=str(_without_labels(own))) as path:
        own.model.save(path["folder"] + "/model.mln")
        found = said(
            "infer", "--model", path["folder"] + "/model.mln", "--db", path["asked_db"],
            "--query", own.target,
        )  # fmt: skip
    return {ground_atom(answer["atom"]): answer["probability"] for answer in found["answers"]}


PATHS = (
    Path("features: predict", expected, by_predict, share=0.004),
    Path("features: saved", expected, by_loaded, share=0.004),
    Path("features: rules", expected, by_rules, share=0.004),
    Path("features: query", expected_blind, by_query, share=0.004),
    Path("features: explain", expected_blind, by_explanations, share=0.004),
    Path("features: program", expected_blind, by_program, share=0.004),
)
