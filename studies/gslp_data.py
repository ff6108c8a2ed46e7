"""The data of the GSLP study: folds, and samples of one database whose cells are dealt out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import all_atoms, domain_sizes
from mlnlearn.data.sampling import pack
from mlnlearn.evaluate.attributes import blocks_of

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

    def draw(self, rng: np.random.Generator, whole: Database | None = None) -> Database:
        """Draw constants, of the data set unless told otherwise; keep the facts among them."""
        whole = whole or benchmark(self.data)[0]
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


@dataclass(frozen=True, eq=False)
class Dealt:
    """A database of whose cells a third, drawn at random, is unknown.

    A cell is an attribute of an object, which has one of several values, where the schema marks
    the value with ``!``; of other predicates, every ground atom is a cell.

    Attributes
    ----------
    whole
        The database, with all that is true.
    known
        The true atoms of the known cells, without ``!`` in the schema: what is learned from.
    unknown
        By predicate, all atoms of the unknown cells.
    """

    whole: Database
    known: Database
    unknown: Mapping[str, Columns]

    def asked(self, predicate: str, *, others: bool) -> Database:
        """Return the evidence for the unknown cells of a predicate, and these as unknown atoms.

        Parameters
        ----------
        predicate
            The predicate; of it alone a ``!`` stays in the schema.
        others
            Whether the true values of its unknown cells are given: each is then to be predicted
            from the others.
        """
        schema = self.whole.schema
        marked = {name: at for name, at in schema.functional.items() if name == predicate}
        facts = {p.name: self.known.facts(p.name) for p in schema.predicates}
        hidden = {predicate: self.unknown[predicate]}
        if others:
            facts[predicate], hidden = self.whole.facts(predicate), {}
        return Database.from_codes(
            replace(schema, functional=marked), self.whole.domains, facts, unknown=hidden
        )

    def labels(self, predicate: str) -> Flags:
        """Tell which atoms of a predicate's unknown cells are true."""
        sizes = domain_sizes(self.whole, predicate)
        true = pack(self.whole.facts(predicate), sizes)
        return np.isin(pack(self.unknown[predicate], sizes), true)


def deal_cells(database: Database, rng: np.random.Generator) -> Dealt:
    """Deal out the cells of each predicate at random: two thirds are known, the others not.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> facts = {"age": [(f"A{i}", "Young") for i in range(30)]}
    >>> db = Database.from_facts(Schema.of("age(t,v!)"), facts, domains={"v": ["Old"]})
    >>> dealt = deal_cells(db, np.random.default_rng(0))
    >>> dealt.known.count("age"), dealt.unknown["age"].shape[1]  # two atoms in an unknown cell
    (20, 20)
    """
    kept: dict[str, Columns] = {}
    unknown: dict[str, Columns] = {}
    for predicate in database.schema.predicates:
        values = database.schema.functional.get(predicate.name, ())
        atoms = all_atoms(database, predicate.name)
        cells = blocks_of(atoms, values)
        number = int(cells.max(initial=-1)) + 1
        hidden = np.zeros(number, np.bool_)
        hidden[rng.permutation(number)[: number // 3]] = True
        unknown[predicate.name] = atoms[:, hidden[cells]]
        sizes = domain_sizes(database, predicate.name)
        facts = database.facts(predicate.name)
        outside = ~np.isin(pack(facts, sizes), pack(unknown[predicate.name], sizes))
        kept[predicate.name] = facts[:, outside]
    plain = database.schema.without_functional()
    known = Database.from_codes(plain, database.domains, kept, name=database.name)
    return Dealt(database, known, unknown)
