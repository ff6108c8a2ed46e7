"""Boosted models: their JSON, their rules as text, the program, reports, explanations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path as FilePath

import numpy as np

import mlnlearn as ml
from agreement.boosted import conditional, random_boosted
from agreement.case import Facts, ground_atoms
from agreement.compare import Answer, Path, Sampled
from agreement.language import GroundAtom, atom_text
from agreement.problem import Problem, Skip, ground_atom
from agreement.program import files, said
from agreement.reference import (
    Distribution,
    Impossible,
    TooLarge,
    Unknown,
    Worlds,
    listed_worlds,
)
from mlnlearn.data.database import Database
from mlnlearn.evaluate.ask import Conditionals, Given, Marginals, atom_probabilities
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.infer.dispatch import Sampling
from mlnlearn.report import report


class Setting:
    """A boosted model over the schema of a case, its types closed, and data for it."""

    def __init__(self, problem: Problem) -> None:
        case = problem.case
        rng = np.random.default_rng([case.seed, 16])
        facts = case.training[0]
        self.domains = {k: names or ("Z0",) for k, names in case.domains(facts).items()}
        self.declared = tuple(self.domains.items())
        self.model = random_boosted(rng, case.predicates, self.domains, self.declared)
        self.facts = Facts(facts.true)
        self.asked = self.model.names[: 1 + int(rng.random() < 0.5)]

    @cached_property
    def library(self) -> ml.BoostedModel:
        return ml.BoostedModel.from_plain(json.loads(self.model.json()))

    def database(self, hidden: Sequence[str] = ()) -> Database:
        return ml.parse_db(str(self.rest(hidden)), self.library.schema)

    def rest(self, hidden: Sequence[str]) -> Facts:
        return Facts(frozenset(atom for atom in self.facts.true if atom[0] not in hidden))

    @property
    def atoms(self) -> list[GroundAtom]:
        return list(ground_atoms([t.predicate for t in self.model.targets], self.domains))

    @property
    def given(self) -> list[str]:
        """All predicates but those asked for."""
        return [p.name for p in self.model.predicates if p.name not in self.asked]


def setting(problem: Problem) -> Setting:
    found: Setting | None = problem.__dict__.get("boosted")
    if found is None:
        found = problem.__dict__["boosted"] = Setting(problem)
    return found


# Each atom given all others -------------------------------------------------------------------


def expected_conditionals(problem: Problem) -> Answer:
    own = setting(problem)
    targets = {target.predicate.name: target for target in own.model.targets}
    return {
        atom: conditional(own.model, targets[atom[0]], atom, own.facts.true, own.domains)
        for atom in own.atoms
    }


def _asked_each(problem: Problem, ask: Callable[[Setting, Database, str, np.ndarray], np.ndarray],
                names: Sequence[str], hidden: Sequence[str] = ()) -> Answer:  # fmt: skip
    own = setting(problem)
    database = own.database(hidden)
    found = {}
    for name in names:
        rows = [atom for atom in own.atoms if atom[0] == name]
        kinds = database.schema[name].types
        codes = [
            [database.domains[kind].code(term) for kind, term in zip(kinds, terms, strict=True)]
            for _, terms in rows
        ]
        columns = np.array(codes, np.int32).reshape(len(rows), len(kinds)).T
        values = ask(own, database, name, np.ascontiguousarray(columns))
        found.update(zip(rows, map(float, values), strict=True))
    return found


def by_probabilities(problem: Problem) -> Answer:
    def ask(own: Setting, database: Database, name: str, columns: np.ndarray) -> np.ndarray:
        number = columns.shape[1]
        examples = ml.Examples(
            database.schema[name], np.zeros(number, np.int32), columns,
            np.zeros(number, bool), np.ones(number),
        )  # fmt: skip
        return own.library.probabilities(database, examples)

    return _asked_each(problem, ask, setting(problem).model.names)


def by_evaluate(problem: Problem, given: Given) -> Answer:
    own = setting(problem)
    names = own.model.names if isinstance(given, Conditionals) else own.asked
    if isinstance(given, Marginals):
        given = Marginals(hide=tuple(own.asked))

    def ask(own: Setting, database: Database, name: str, columns: np.ndarray) -> np.ndarray:
        return atom_probabilities(own.library, database, name, columns, given)

    return _asked_each(problem, ask, names)


def by_rules_of_each(problem: Problem) -> Answer:
    """The rules as a network, each atom given all others."""
    mln = _network(setting(problem))

    def ask(own: Setting, database: Database, name: str, columns: np.ndarray) -> np.ndarray:
        return conditional_probabilities(mln, database, name, columns)

    return _asked_each(problem, ask, setting(problem).model.names)


def _network(own: Setting) -> ml.MLN:
    if own.model.existential and own.model.is_joint:
        raise Skip  # documented as having no network
    return own.library.to_mln()


# Explanations -----------------------------------------------------------------------------------


def expected_explanation(problem: Problem) -> Answer:
    own = setting(problem)
    atom = own.atoms[problem.case.seed % len(own.atoms)]
    return {"probability": expected_conditionals(problem)[atom], "gap": 0.0}


def by_program_explain(problem: Problem) -> Answer:
    own = setting(problem)
    atom = own.atoms[problem.case.seed % len(own.atoms)]
    with files(model_json=own.model.json(), data_db=str(own.facts)) as path:
        found = said("explain", "--model", path["model_json"], "--db", path["data_db"],
                     "--atom", atom_text(atom),
                     "--closed", ",".join(own.model.names))  # fmt: skip
    if found["probability"] == 1.0:
        return {"probability": 1.0, "gap": 0.0}  # the only value of its block
    total = sum(part["log_odds"] for part in found["contributions"])
    gap = total - found["log_odds"]
    if found["against"] is None:
        gap = 1.0 / (1.0 + np.exp(-total)) - found["probability"]
    return {"probability": found["probability"], "gap": float(gap)}


# Atoms of the asked targets given all else ------------------------------------------------------


def asked_worlds(own: Setting) -> tuple[Worlds, Unknown]:
    """Every world of the asked targets, all else as in the data."""
    listed = {name for name, _ in own.facts.true}
    if not set(own.model.names) <= {*own.asked, *listed}:
        raise Skip  # nothing is said of a target that is not asked for
    try:
        return listed_worlds(own.model.predicates, own.domains, own.rest(own.asked), set(own.asked))
    except (TooLarge, Impossible):
        raise Skip from None  # data with several values of a block are no matter of boosting


def expected_marginals(problem: Problem) -> Answer:
    own = setting(problem)
    model = own.model
    if model.existential and model.is_joint:
        raise Skip  # a dependency network has no distribution that could be listed
    worlds, unknown = asked_worlds(own)
    if not model.existential:
        found = Distribution(worlds, model.log_weights(worlds))
        return {atom: found.marginal(atom) for atom in unknown.atoms}
    each = expected_conditionals(problem)
    return {atom: each[atom] for atom in unknown.atoms}


def by_query(problem: Problem) -> Answer:
    own = setting(problem)
    answers = own.library.query(own.database(), asked=own.asked)
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


def by_chunks(problem: Problem) -> Answer:
    own = setting(problem)
    chunks = ml.query_in_chunks(own.library, own.database(), own.asked, atoms=2)
    return {ground_atom(str(a.atom)): a.probability for answers in chunks for a in answers}


def by_sampling(problem: Problem, seed: int) -> Sampled:
    own = setting(problem)
    length = Sampling(samples=4000 * (1 + 3 * seed), seed=seed)
    answers = own.library.query(own.database(), own.asked, method="gibbs", sampling=length)
    rows = [(ground_atom(str(a.atom)), a.probability, a.standard_error) for a in answers]
    return Sampled({a: p for a, p, _ in rows}, {a: e for a, _, e in rows})


def by_network(problem: Problem) -> Answer:
    own = setting(problem)
    answers = ml.query(_network(own), own.database(own.asked), own.asked, closed=own.given)
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


def by_program(problem: Problem) -> Answer:
    """The program, asked for the JSON file."""
    own = setting(problem)
    with files(model_json=own.model.json(), data_db=str(own.rest(own.asked))) as path:
        found = said("infer", "--model", path["model_json"], "--db", path["data_db"],
                     "--query", ",".join(own.asked))  # fmt: skip
    return {ground_atom(answer["atom"]): answer["probability"] for answer in found["answers"]}


def by_saved(problem: Problem, *, with_json: bool) -> Answer:
    """The program, asked for the file of rules that `save` writes, with or without its JSON."""
    own = setting(problem)
    _network(own)
    with files(data_db=str(own.rest(own.asked))) as path:
        model = path["folder"] + "/model.mln"
        own.library.save(model)
        closed: list[str] = []
        if not with_json:
            FilePath(model).with_suffix(".json").unlink()
            closed = ["--closed", ",".join(own.given)]
        else:
            assert ml.BoostedModel.load(model) == own.library
        found = said("infer", "--model", model, "--db", path["data_db"],
                     "--query", ",".join(own.asked), *closed)  # fmt: skip
    return {ground_atom(answer["atom"]): answer["probability"] for answer in found["answers"]}


_ROW = re.compile(r'<button[^>]*class="atom"[^>]*>([^<]*)</button>.*?<td[^>]*>([0-9.]+)<', re.S)


def by_report(problem: Problem) -> Answer:
    own = setting(problem)
    page = report(own.library, own.database(), own.asked)
    return {ground_atom(atom): float(value) for atom, value in _ROW.findall(str(page))}


PATHS = (
    Path("boosted: each atom", expected_conditionals, by_probabilities, share=0.3),
    Path("boosted: each atom, evaluate", expected_conditionals,
         partial(by_evaluate, given=Conditionals()), share=0.15),
    Path("boosted: each atom, to_mln", expected_conditionals, by_rules_of_each, share=0.15),
    Path("boosted: explain", expected_explanation, by_program_explain, share=0.05),
    Path("boosted: query", expected_marginals, by_query, share=0.3),
    Path("boosted: in chunks", expected_marginals, by_chunks, share=0.3),
    Path("boosted: evaluate", expected_marginals, partial(by_evaluate, given=Marginals()),
         share=0.15),
    Path("boosted: gibbs", expected_marginals, by_sampling, share=0.15, sampled=True),
    Path("boosted: to_mln", expected_marginals, by_network, share=0.3),
    Path("boosted: program, JSON", expected_marginals, by_program, share=0.05),
    Path("boosted: program, saved", expected_marginals, partial(by_saved, with_json=True),
         share=0.03),
    Path("boosted: program, rules", expected_marginals, partial(by_saved, with_json=False),
         share=0.03),
    Path("boosted: report", expected_marginals, by_report, share=0.03, tolerance=6e-5),
)  # fmt: skip
