"""The data of the GSLP study: folds, and samples of one database whose atoms are dealt out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Columns, Database

Flags = NDArray[np.bool_]


def plain_folds(name: str) -> list[Database]:
    """Return the folds of a data set, the ``!`` of its schema stripped."""
    folds = benchmark(name)
    schema = folds[0].schema.without_functional()
    return [replace(fold, schema=schema) for fold in folds]


@dataclass(frozen=True)
class Sample:
    """A part of one large database.

    Attributes
    ----------
    data
        Name of the data set.
    drawn
        How many constants of a type to draw; of other types, those stay that a fact names.
    follows
        Types of which only those constants stay that a fact shares with a drawn one.
    """

    data: str
    drawn: Mapping[str, int]
    follows: tuple[str, ...] = ()

    def draw(self, rng: np.random.Generator) -> Database:
        """Draw constants, and keep the facts among those that stay."""
        whole = plain_folds(self.data)[0]
        kept = {kind: np.ones(whole.size(kind), np.bool_) for kind in whole.schema.types}
        for kind, number in self.drawn.items():
            chosen = rng.choice(whole.size(kind), min(number, whole.size(kind)), replace=False)
            kept[kind] = np.isin(np.arange(whole.size(kind)), chosen)
        for kind in self.follows:
            kept[kind] = _linked(whole, kind, kept)
        facts = {}
        domains: dict[str, set[str]] = {
            kind: {
                name for name, stays in zip(whole.domains[kind], kept[kind], strict=True) if stays
            }
            for kind in {*self.drawn, *self.follows}
        }
        for predicate in whole.schema.predicates:
            codes = whole.facts(predicate.name)
            facts[predicate.name] = list(
                whole.decode(predicate.name, codes[:, _inside(codes, predicate.types, kept)])
            )
        ordered = {kind: sorted(names) for kind, names in domains.items()}
        return Database.from_facts(whole.schema, facts, domains=ordered, name=self.data)


def _linked(whole: Database, kind: str, kept: Mapping[str, Flags]) -> Flags:
    """Tell which constants of a type share a fact with a constant that was drawn."""
    found = np.zeros(whole.size(kind), np.bool_)
    for predicate in whole.schema.predicates:
        others = [k for k in predicate.types if k != kind and not kept[k].all()]
        if kind in predicate.types and others:
            codes = whole.facts(predicate.name)
            inside = _inside(codes, predicate.types, kept)
            found[codes[predicate.types.index(kind)][inside]] = True
    return found


def _inside(codes: Columns, types: tuple[str, ...], kept: Mapping[str, Flags]) -> Flags:
    inside = np.ones(codes.shape[1], np.bool_)
    for kind, column in zip(types, codes, strict=True):
        inside &= kept[kind][column]
    return inside


def split_atoms(database: Database, rng: np.random.Generator) -> tuple[Database, Database]:
    """Deal out the true atoms at random: two thirds to one database, the rest to another.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> facts = {"p": [(f"A{i}",) for i in range(300)]}
    >>> db = Database.from_facts(Schema.of("p(t)"), facts)
    >>> train, test = split_atoms(db, np.random.default_rng(0))
    >>> train.count("p") + test.count("p"), 170 < train.count("p") < 230, train.size("t")
    (300, True, 300)
    """
    kept: dict[str, Columns] = {}
    left: dict[str, Columns] = {}
    for predicate in database.schema.predicates:
        codes = database.facts(predicate.name)
        chosen = rng.random(codes.shape[1]) < 2.0 / 3.0
        kept[predicate.name], left[predicate.name] = codes[:, chosen], codes[:, ~chosen]
    train, test = (
        Database.from_codes(database.schema, database.domains, facts, name=database.name)
        for facts in (kept, left)
    )
    return train, test
