"""The part of the GSLP study in which a third of one database's cells is predicted."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.errors import MemoryLimitError
from mlnlearn.evaluate.conditional import are_independent, conditional_probabilities
from mlnlearn.evaluate.predictions import Predictions
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.infer.query import query
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from studies.gslp_data import Dealt

Scores = dict[str, dict[str, float]]


def value_clauses(schema: Schema) -> MLN:
    """Return a network to start from: a clause for each value of each attribute.

    Rules of variables alone cannot tell one value from another; these let them have their shares.

    Examples
    --------
    >>> print(value_clauses(Schema.of("age(user,band!)", "drama(item)")))
    age(user,band)
    drama(item)
    <BLANKLINE>
    0.0 age(a1,+a2)
    """
    plain = schema.without_functional()
    lines = [str(plain)]
    for name, places in schema.functional.items():
        terms = [f"{'+' * (at in places)}a{at + 1}" for at in range(schema[name].arity)]
        lines.append(f"0 {name}({','.join(terms)})")
    return MLN.parse("\n".join(lines))


def predict_cells(mln: MLN, dealt: Dealt, sampling: Sampling) -> dict[str, Scores]:
    """Return AUC-PR and CLL of each predicate: its unknown cells together, and each by itself.

    Of an attribute, the CLL is the log-probability of the true value, a mean over cells, and the
    AUC-PR is over the atoms of all values; beside them stands the accuracy. Of other predicates,
    both are over atoms.
    """
    scores: dict[str, Scores] = {"all unknown": {}, "one unknown": {}}
    for predicate in dealt.whole.schema.predicates:
        name = predicate.name
        together = dealt.asked(name, others=False)
        model = replace(mln, schema=together.schema)
        found = _together(model, together, dealt, name, sampling)
        scores["all unknown"][name] = _scored(found, dealt, name)
        single = conditional_probabilities(
            model, dealt.asked(name, others=True), name, dealt.unknown[name]
        )
        scores["one unknown"][name] = _scored(single, dealt, name)
    return scores


def shares(dealt: Dealt) -> Scores:
    """Return the scores of a prediction by shares: of each value, or of true atoms, where known."""
    scores: Scores = {}
    for predicate in dealt.whole.schema.predicates:
        name = predicate.name
        places = dealt.whole.schema.functional.get(name, ())
        facts, asked = dealt.known.facts(name), dealt.unknown[name]
        if places:
            (at,) = places
            size = dealt.known.size(predicate.types[at])
            counts = np.bincount(facts[at], minlength=size) + 1.0
            found = (counts / counts.sum())[asked[at]]
        else:
            cells = dealt.whole.ground_atoms(name) - asked.shape[1]
            found = np.full(asked.shape[1], facts.shape[1] / max(cells, 1))
        scores[name] = _scored(found, dealt, name)
    return scores


def _together(
    model: MLN, evidence: Database, dealt: Dealt, name: str, sampling: Sampling
) -> Floats:
    """Return the probability of each unknown atom when all unknown cells are so at once.

    Where that is too large to ground, each is predicted with the other unknown ones false.
    """
    wanted = dealt.unknown[name]
    if are_independent(model, [name]):
        return conditional_probabilities(model, evidence.closed(), name, wanted)
    every = [predicate.name for predicate in evidence.schema.predicates]
    try:
        table = query(model, evidence, name, closed=every, **asdict(sampling)).tables[0]
    except MemoryLimitError:
        return conditional_probabilities(model, evidence.closed(), name, wanted)
    places = {tuple(atom): row for row, atom in enumerate(table.columns.T.tolist())}
    return table.probability[[places[tuple(atom)] for atom in wanted.T.tolist()]]


def _scored(probability: Floats, dealt: Dealt, name: str) -> dict[str, float]:
    columns, number = dealt.unknown[name], dealt.unknown[name].shape[1]
    places = dealt.whole.schema.functional.get(name, ())
    found = Predictions(
        dealt.whole.schema[name],
        np.zeros(number, np.int32),
        columns,
        probability,
        dealt.labels(name),
        np.ones(number),
    )
    if not places:
        return found.scores(("auc_pr", "cll"))
    given = found.scores(("auc_pr", "attribute_cll", "accuracy"), places)
    return {"auc_pr": given["auc_pr"], "cll": given["attribute_cll"], "accuracy": given["accuracy"]}
