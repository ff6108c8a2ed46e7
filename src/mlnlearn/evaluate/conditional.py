"""The probability of each single atom, given all others: no sampling, no grounding.

An atom's conditional log-odds in a Markov logic network is the sum over rules of weight times flip
count. A predicate with places declared ``!`` has one choice among the values of each block instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.blocks import choice_probabilities
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flip_tables import Flips
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.query import Engine
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import all_atoms, domain_sizes
from mlnlearn.data.sampling import Keys, number_of_keys, pack, unpack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.evaluate.attributes import blocks_of
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.logic.formulas import (
    Rule,
    atoms_of,
    quantified_atoms,
)
from mlnlearn.logistic import expit
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN

_MOST_ATOMS = 100_000_000


def conditional_probabilities(
    mln: MLN, database: Database, predicate: str, columns: Columns | None = None
) -> Floats:
    """Return the probability of atoms of a predicate, each given all other atoms as in the data.

    Hard rules decide an atom wherever its truth changes how many of their groundings hold; they
    count as rules of infinite weight, also where the data violate them.

    Parameters
    ----------
    mln
        The model, with weights.
    database
        The data, in which all atoms are known.
    predicate
        Name of the predicate.
    columns
        Codes of the atoms, shape ``(arity, atoms)``; by default all ground atoms over the
        constants of the database.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.5 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> facts = {"friends": [("Anna", "Bob"), ("Bob", "Carl")], "smokes": [("Anna",)]}
    >>> db = Database.from_facts(mln.schema, facts)
    >>> conditional_probabilities(mln, db, "smokes").round(4).tolist()
    [0.1824, 0.5, 0.5]
    """
    _refuse_unknown(database)
    if columns is None:
        columns = all_atoms(database, predicate)
    (database,) = with_constants_of(mln, [database])
    engine = open_engine([database])
    rules = rule_flips(mln, engine, predicate)
    places = database.schema.functional.get(predicate, ())
    if not places:
        hard, soft = log_odds(rules, engine, columns)
        return np.where(hard == 0, expit(soft), (hard > 0).astype(np.float64))
    whole, back = _whole_blocks(database, predicate, columns, places)
    hard, soft = log_odds(rules, engine, whole)
    chosen: Floats = _softmax(hard, soft, blocks_of(whole, places))[back]
    return chosen


def are_independent(mln: MLN, unknown: Collection[str]) -> bool:
    """Tell whether the atoms of unknown predicates do not depend on each other, given all others.

    So it is where no rule that mentions them is hard, has two of them, or has one under a
    quantifier. Their marginals are then what `conditional_probabilities` says, without grounding.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.5 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> are_independent(mln, ["friends"]), are_independent(mln, ["smokes"])
    (True, False)
    """

    def is_alone(rule: Rule) -> bool:
        atoms = {atom for atom in atoms_of(rule.formula) if atom.predicate.name in unknown}
        bound = any(atom.predicate.name in unknown for atom in quantified_atoms(rule.formula))
        return not atoms or (len(atoms) == 1 and not rule.hard and not bound)

    return all(is_alone(rule) for rule in mln.rules)


def _refuse_unknown(database: Database) -> None:
    if database.has_unknown:
        raise InputError(
            f"{database.name or 'the database'} has unknown atoms, but single-atom conditionals"
            " need all others to be known",
            hint="take them as false with Database.closed(), or ask for marginals",
        )


@dataclass(frozen=True, eq=False)
class RuleFlips:
    """How often a rule's groundings hold more with an atom of a predicate than without it."""

    hard: bool
    weight: float
    flips: Flips


def rule_flips(mln: MLN, engine: Engine, predicate: str) -> Iterator[RuleFlips]:
    """Yield the flip counts of the rules that mention a predicate, but for those of weight zero.

    Parameters
    ----------
    mln
        The model, with weights.
    engine
        Counts in one database that has all constants of the rules.
    predicate
        Name of the predicate.
    """
    (database,) = engine.stack.databases
    full = mln.expanded(database.domains)
    target, places = database.schema[predicate], database.schema.functional.get(predicate, ())
    weights = iter(full.weights.tolist())
    for rule in full.rules:
        weight = 1.0 if rule.hard else next(weights)
        if weight and any(atom.predicate.name == predicate for atom in atoms_of(rule.formula)):
            yield RuleFlips(rule.hard, weight, flip_counts(engine, rule.formula, target, places))


def log_odds(rules: Iterable[RuleFlips], engine: Engine, columns: Columns) -> tuple[Floats, Floats]:
    """Return the summed flip counts of the hard rules, and the weighted ones of the soft rules."""
    hard, soft = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    number = np.zeros(columns.shape[1], np.int64)
    for rule in rules:
        total = hard if rule.hard else soft
        total += rule.weight * rule.flips.at(engine.stack, number, list(columns))
    return hard, soft


def _whole_blocks(
    database: Database, predicate: str, columns: Columns, places: tuple[int, ...]
) -> tuple[Columns, Keys]:
    """Return all atoms of the blocks that hold the wanted atoms, and where the latter are."""
    sizes = domain_sizes(database, predicate)
    first = columns.copy()
    first[list(places)] = 0
    starts = np.unique(pack(first, sizes))
    offsets = np.zeros(1, np.int64)
    for place in places:
        step = number_of_keys(sizes[place + 1 :])
        offsets = np.add.outer(offsets, step * np.arange(sizes[place])).reshape(-1)
    total = len(starts) * len(offsets)
    if total > _MOST_ATOMS:
        raise MemoryLimitError(
            f"the blocks of {predicate} have {total:,} atoms in all; the limit is {_MOST_ATOMS:,}",
            hint="strip the '!' markers with Schema.without_functional()",
        )
    keys = np.sort(np.add.outer(starts, offsets).reshape(-1))
    return unpack(keys, sizes), np.searchsorted(keys, pack(columns, sizes))


def _softmax(hard: Floats, soft: Floats, blocks: Keys) -> Floats:
    """Return the probability of each value of a block; hard scores outrank all soft ones."""
    count = int(blocks.max()) + 1 if len(blocks) else 0
    best = np.full(count, -np.inf)
    np.maximum.at(best, blocks, hard)
    scores = np.where(hard == best[blocks], soft, -np.inf)
    return choice_probabilities(scores, blocks)
