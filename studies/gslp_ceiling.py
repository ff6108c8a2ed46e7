"""How well any network without constants can do when all atoms of a predicate are unknown.

Two constants are *twins* where swapping them leaves the evidence as it is. A network whose rules
name no constants gives atoms that such swaps map to one another the same probability, whatever its
rules and weights. So nothing predicts better than the share of true atoms among all those that are
alike, taken from the very data to be predicted. A sampler that has not mixed may seem to.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.evaluate.metrics import scores


def twin_classes(database: Database, hidden: str) -> dict[str, NDArray[np.int64]]:
    """Return a number for each constant of each type; twins, seen without a predicate, share it.

    Constants are taken as twins where their facts are the same but for their own names; of a pair
    that shares a fact this is not asked. So some twins are missed, which makes the ceiling higher,
    never lower.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("movie(title,person)", "actor(person)")
    >>> facts = {"movie": [("T1", "Ann")], "actor": [("Ann",), ("Bob",)]}
    >>> db = Database.from_facts(schema, facts, domains={"title": ["T1", "T2"], "person": ["Cid"]})
    >>> {kind: found.tolist() for kind, found in twin_classes(db, "movie").items()}
    {'title': [0, 0], 'person': [0, 1, 1]}
    """
    seen: dict[tuple[str, int], list[tuple[object, ...]]] = defaultdict(list)
    for predicate in database.schema.predicates:
        if predicate.name == hidden:
            continue
        for fact in database.facts(predicate.name).T.tolist():
            terms = list(zip(predicate.types, fact, strict=True))
            for own in set(terms):
                others = tuple(None if term == own else term for term in terms)
                seen[own].append((predicate.name, *others))
    classes = {}
    for kind in database.schema.types:
        numbers: dict[tuple[str, ...], int] = {}
        classes[kind] = np.array(
            [
                numbers.setdefault(tuple(sorted(map(repr, seen[kind, code]))), len(numbers))
                for code in range(database.size(kind))
            ],
            np.int64,
        )
    return classes


def orbits(database: Database, predicate: str, columns: Columns) -> NDArray[np.int64]:
    """Return a number for each atom; those alike without the predicate's facts share it."""
    types = database.schema[predicate].types
    classes = twin_classes(database, predicate)
    keys = [classes[kind][codes] for kind, codes in zip(types, columns, strict=True)]
    for one, other in combinations(range(len(types)), 2):
        if types[one] == types[other]:
            keys.append((columns[one] == columns[other]).astype(np.int64))
    _, found = np.unique(np.array(keys), axis=1, return_inverse=True)
    return found.reshape(-1)


def ceiling(database: Database, predicate: str, metrics: tuple[str, ...]) -> dict[str, float]:
    """Return the best scores that a network without constants can have.

    Examples
    --------
    Nothing tells the titles apart: an atom is as likely as its person's share of titles.

    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("movie(title,person)", "actor(person)")
    >>> facts = {"movie": [("T1", "Ann")], "actor": [("Ann",)]}
    >>> db = Database.from_facts(schema, facts, domains={"title": ["T2"], "person": ["Bob"]})
    >>> round(ceiling(db, "movie", ("cll",))["cll"], 4)  # two atoms of four, a half each
    -0.3466
    """
    examples = positives_and_negatives([database], predicate)
    alike = orbits(database, predicate, examples.columns)
    size = np.bincount(alike)
    share = np.bincount(alike, examples.labels.astype(np.float64)) / np.maximum(size, 1)
    return scores(examples.labels, share[alike], examples.weights, metrics=metrics)
