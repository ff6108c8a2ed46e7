"""Questions to a network, answered without grounding: log Z, expected counts, marginals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.grounding.worlds import open_predicates
from mlnlearn.lifted.circuit import bind
from mlnlearn.lifted.compile import exactly_one
from mlnlearn.lifted.partition import partitions
from mlnlearn.lifted.plan import NotLiftable, SearchBudget
from mlnlearn.lifted.search import compile_plan
from mlnlearn.lifted.shatter import Known, LiftedBlock, Place, Shatterer
from mlnlearn.lifted.sizes import ONE
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.constants import constants_of
from mlnlearn.model.answers import Answers, AnswerTable, ComponentSummary
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_FALSE, _TRUE, _UNKNOWN = 0, 1, 2


def log_partition(mln: MLN, domains: Database | Mapping[str, int]) -> float:
    """Return the exact log partition function of a network with weights.

    It is computed without grounding; what cannot be lifted is grounded where it is small.

    Parameters
    ----------
    mln
        The network; all atoms of its predicates make up a world.
    domains
        A database, of which only the domains matter, or the size of each type. With sizes,
        constants that the rules name are among the objects.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.4 smokes(x)
    ... 0.3 friends(x,y)
    ... 1.1 smokes(x) ^ friends(x,y) => smokes(y)
    ... ''')
    >>> print(f"{log_partition(mln, {'person': 10}):.10f}")
    209.4681189275
    """
    return _evaluated(mln, domains)[0]


def expected_counts(mln: MLN, domains: Database | Mapping[str, int]) -> Floats:
    """Return the expected number of true groundings of each soft rule.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)" + chr(10) + "0 smokes(x)")
    >>> expected_counts(mln, {"person": 10}).round(9).tolist()
    [5.0]
    """
    log_z, expected = _evaluated(mln, domains)
    if log_z == -np.inf:
        raise InputError("the hard rules contradict each other: no world is possible")
    return expected


def _evaluated(mln: MLN, domains: Database | Mapping[str, int]) -> tuple[float, Floats]:
    full = mln
    if isinstance(domains, Database):
        (domains,) = with_constants_of(mln, [domains])
        full = mln.expanded(domains.domains)
    (partition,) = partitions(full, [domains])
    values, gradient = partition.evaluate(full.weights)
    return float(values[0]), gradient


def lifted_query(
    mln: MLN,
    database: Database,
    predicates: str | Sequence[str],
    *,
    open: Collection[str] = (),
    closed: Collection[str] = (),
) -> Answers:
    """Return the exact probability of every unknown atom, given evidence on single objects.

    Objects about which the same is known are interchangeable, so the atoms of a predicate have few
    different probabilities. Evidence on predicates with two or more arguments would tell most
    objects apart and is refused, unless all atoms are false.

    Parameters
    ----------
    mln
        The network, with weights.
    database
        The evidence.
    predicates
        Names of the predicates asked for.
    open, closed
        Which atoms are unknown; see `mlnlearn.infer.grounding.worlds.open_predicates`.

    Raises
    ------
    NotLiftable
        Where the network, or the evidence, cannot be lifted.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.5 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> people = {"person": ["Anna", "Bob", "Carl"]}
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]}, domains=people)
    >>> print(lifted_query(mln, db, "smokes"))
    probability  standard error  atom
         0.6475          0.0000  smokes(Bob)
         0.6475          0.0000  smokes(Carl)
    2 atoms; 1 component by lifted
    """
    names = [predicates] if isinstance(predicates, str) else list(dict.fromkeys(predicates))
    (database,) = with_constants_of(mln, [database], names)
    full = mln.expanded(database.domains)
    opened = open_predicates(database, names, open=open, closed=closed)
    division = _divide(full, database, opened)
    budget = SearchBudget()
    work = Shatterer(division.blocks, division.known, budget)
    for predicate in full.schema.predicates:
        work.declare(predicate)
    formulas = [rule.formula for rule in full.soft]
    for number, formula in enumerate(formulas):
        work.soft(formula, {number: ONE})
    for formula in [*(rule.formula for rule in full.hard), *exactly_one(full.schema)]:
        work.hard(formula)
    asked: list[tuple[Predicate, tuple[Place, ...]]] = []
    for name in names:
        predicate = full.schema[name]
        for places in work.placements(predicate.types):
            if Known(name, tuple(block for block, _ in places)) not in division.known:
                weight = len(formulas) + len(asked)
                work.theory.add_soft([work.item(predicate, places)], {weight: ONE}, ONE)
                asked.append((predicate, places))
    sizes = dict(enumerate(division.sizes.tolist()))
    plan = compile_plan(work.finish(), sizes=sizes, budget=budget)
    circuit = bind(plan, division.sizes[:, None], len(formulas) + len(asked))
    values, expected = circuit.evaluate(np.append(full.weights, np.zeros(len(asked))))
    if values[0] == -np.inf:
        raise InputError("the evidence contradicts the hard rules: no world is possible")
    found = list(zip(asked, expected[len(formulas) :].tolist(), strict=True))
    tables = tuple(_table(database, division, full.schema[name], found) for name in names)
    unknown = sum(map(len, tables))
    return Answers(tables, (ComponentSummary(unknown, len(full.rules), "lifted"),))


@dataclass(frozen=True, eq=False)
class _Division:
    """Objects grouped by what is known about them.

    Attributes
    ----------
    blocks
        The groups, and constants that the rules name.
    sizes
        Their sizes.
    known
        Families of atoms whose truth is given.
    members
        For each type, the block of each object.
    """

    blocks: tuple[LiftedBlock, ...]
    sizes: Floats
    known: Mapping[Known, bool]
    members: Mapping[str, Ints]


def _divide(mln: MLN, database: Database, opened: Collection[str]) -> _Division:
    """Group the objects of each type by the truth of their atoms and by name."""
    formulas = [rule.formula for rule in mln.rules]
    named = {pair for formula in formulas for pair in constants_of(formula)}
    blocks: list[LiftedBlock] = []
    sizes: list[float] = []
    members: dict[str, Ints] = {}
    states = {p.name: _states(database, p, opened) for p in mln.schema.predicates if p.arity < 2}
    for kind in mln.schema.types:
        own = [states[p.name] for p in mln.schema.predicates if p.types == (kind,)]
        names = database.domains[kind].names
        alone = [code + 1 if (kind, name) in named else 0 for code, name in enumerate(names)]
        signature = np.array([*own, alone], np.int64).reshape(len(own) + 1, len(names))
        _, first, group = np.unique(signature, axis=1, return_index=True, return_inverse=True)
        members[kind] = group.reshape(-1) + len(blocks)
        for place, code in enumerate(first.tolist()):
            blocks.append(LiftedBlock(kind, names[code] if alone[code] else None))
            sizes.append(float((group.reshape(-1) == place).sum()))
    known: dict[Known, bool] = {}
    for predicate in mln.schema.predicates:
        if predicate.arity < 2:
            codes = states[predicate.name]
            kinds = members[predicate.types[0]].tolist() if predicate.arity else [None]
            for block, state in zip(kinds, codes.tolist(), strict=True):
                if state != _UNKNOWN:
                    where = () if block is None else (block,)
                    known[Known(predicate.name, where)] = state == _TRUE
        elif _all_false(database, predicate, opened):
            work = Shatterer(blocks)
            for places in work.placements(predicate.types):
                known[Known(predicate.name, tuple(block for block, _ in places))] = False
    return _Division(tuple(blocks), np.array(sizes), known, members)


def _states(database: Database, predicate: Predicate, opened: Collection[str]) -> Ints:
    """Return what is known of each atom of a predicate with at most one argument."""
    count = database.ground_atoms(predicate.name)
    states = np.full(count, _UNKNOWN if predicate.name in opened else _FALSE, np.int64)
    tables = (database.false_facts, database.facts, database.unknown_facts)
    for state, facts in zip((_FALSE, _TRUE, _UNKNOWN), tables, strict=True):
        listed = facts(predicate.name)
        if predicate.arity:
            states[listed[0]] = state
        elif listed.shape[1]:
            states[:] = state
    return states


def _all_false(database: Database, predicate: Predicate, opened: Collection[str]) -> bool:
    """Whether all atoms of a predicate with several arguments are false; none may be known else."""
    name = predicate.name
    listed = [database.facts(name), database.false_facts(name), database.unknown_facts(name)]
    counts = [table.shape[1] for table in listed]
    if name in opened and not counts[0] and not counts[1]:
        return False
    if name not in opened and not counts[0] and not counts[2]:
        return True
    if counts[2] == database.ground_atoms(name):
        return False
    raise NotLiftable(
        f"evidence on {predicate} tells objects apart, so that nothing can be lifted",
        hint="lifted inference takes evidence on single objects only; use another method",
    )


def _table(
    database: Database,
    division: _Division,
    predicate: Predicate,
    found: Sequence[tuple[tuple[Predicate, tuple[Place, ...]], float]],
) -> AnswerTable:
    """Give every unknown atom of a predicate the probability of its family."""
    sizes = [database.size(kind) for kind in predicate.types]
    codes = np.indices(sizes, np.int32).reshape(len(sizes), prod(sizes))
    blocks = [division.members[kind][c] for kind, c in zip(predicate.types, codes, strict=True)]
    probability = np.full(codes.shape[1], np.nan)
    for (other, places), expected in found:
        if other != predicate:
            continue
        mine = np.ones(codes.shape[1], bool)
        for i, place in enumerate(places):
            mine &= blocks[i] == place[0]
            for j in range(i):
                if places[j][0] == place[0]:
                    mine &= (codes[i] == codes[j]) == (places[j] == place)
        if mine.any():
            probability[mine] = expected / int(mine.sum())
    unknown = np.flatnonzero(~np.isnan(probability) & ~_decided(database, predicate, codes))
    return AnswerTable(
        predicate,
        codes[:, unknown],
        tuple(database.domains[kind] for kind in predicate.types),
        probability[unknown],
        np.zeros(len(unknown)),
        np.full(len(unknown), "lifted", object),
    )


def _decided(database: Database, predicate: Predicate, codes: NDArray[np.int32]) -> Flags:
    """Tell which atoms lie in a block of mutually exclusive values whose true one is known."""
    marked = database.schema.functional.get(predicate.name, ())
    if not marked:
        return np.zeros(codes.shape[1], np.bool_)
    kept = [place for place in range(predicate.arity) if place not in marked]
    known = {tuple(block) for block in database.facts(predicate.name)[kept].T.tolist()}
    return np.array([tuple(block) in known for block in codes[kept].T.tolist()], np.bool_)
