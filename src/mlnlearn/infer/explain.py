"""Explanations: which rules push an atom up or down, and by how much.

Given the rest of the world, the log-odds of an atom are a sum over rules: weight times flip count,
the number of true groundings with the atom true minus that with it false. That sum is exact where
everything else is known. Where other atoms are unknown too, they are set to a most probable world,
and the explanation holds in that world; the atom's marginal probability, which averages over all
worlds, may differ.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flips import flip_counts
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.components import components
from mlnlearn.infer.elimination import TooHardError
from mlnlearn.infer.exact import exact_map
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.grounding.worlds import open_predicates
from mlnlearn.infer.network import Codes, Floats, Network, refuse_overflow
from mlnlearn.infer.sampling.maxwalksat import maxwalksat
from mlnlearn.late import late
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.formulas import Exists, Forall, Formula, Rule, atoms_of, children
from mlnlearn.logistic import expit
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.explanation import (
    Contribution,
    Explanation,
    atom_of,
    by_size,
    codes_of,
    forced,
    ground_atom,
    with_unknown,
)
from mlnlearn.model.mln import MLN
from mlnlearn.run import model_of

special = late("scipy.special")


@runtime_checkable
class Explains(Protocol):
    """A model that explains atoms in its own way."""

    def explain(
        self,
        database: Database,
        atom: Atom | str,
        *,
        open: Collection[str] = (),
        closed: Collection[str] = (),
        seed: int = 0,
    ) -> Explanation:
        """Explain an atom."""
        ...


def explain(
    model: object,
    database: Database,
    atom: Atom | str,
    *,
    open: Collection[str] = (),
    closed: Collection[str] = (),
    seed: int = 0,
) -> Explanation:
    """Explain the probability of a ground atom by the rules.

    Parameters
    ----------
    model
        A network with weights, a boosted model, a Bayes net with its rules, or what a learner
        returns; anything with a method `explain`.
    database
        The rest of the world; what it says of the atom itself is ignored, and likewise which value
        of a ``!`` block is true. Values of the block that it says are false stay so.
    atom
        A ground atom, or its text.
    open, closed
        Which unlisted atoms are unknown; as in `query`, but the atom's predicate is open only if
        the database lists nothing of it. Predicates that a boosted model has no rules for are never
        unknown.
    seed
        For the search of a most probable world, where that is too hard to find exactly.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... -1 smokes(x)
    ... 1.5 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Anna",), ("Carl",)]}
    >>> print(explain(mln, Database.from_facts(mln.schema, facts), "smokes(Bob)"))
    smokes(Bob): probability 0.8808, log-odds +2.0000
    log-odds  groundings  rule
     +3.0000          +2  friends(x,y) ^ smokes(x) => smokes(y)
     -1.0000          +1  smokes(x)
    smokes(Bob) has probability 0.881 given the rest: 'friends(x,y) ^ smokes(x) => smokes(y)' \
supports it most (+3.00 by 2 groundings), 'smokes(x)' opposes it most (-1.00 by 1 grounding).
    """
    model = model_of(model)
    if isinstance(model, Explains):
        return model.explain(database, atom, open=open, closed=closed, seed=seed)
    mln = model if isinstance(model, MLN) else getattr(model, "mln", None)
    if not isinstance(mln, MLN):
        raise InputError(
            f"a {type(model).__name__} cannot explain atoms",
            hint="give it a method explain(database, atom), or a network mln",
        )
    (database,) = with_constants_of(mln, [database])
    found = ground_atom(database, atom)
    codes = codes_of(database, found)
    opened = open_predicates(database, open=open, closed=closed)
    asked = with_unknown(database, found.predicate, codes)
    expanded = mln.expanded(database.domains)
    _ = expanded.weights  # refuse rules without a weight
    if _all_known(expanded, asked, found, opened):
        return _by_counting(expanded, database, found, codes)
    return _by_grounding(expanded, asked, found, codes, opened, seed)


def _all_known(mln: MLN, asked: Database, atom: Atom, opened: Collection[str]) -> bool:
    """Tell whether the atom is the only unknown that matters, and flips can be counted by joins.

    A value of a block, even the only one that is left, is not free to be false.
    """
    if asked.schema.exclusive(atom.predicate.name):
        return False
    used = {a.predicate.name for rule in mln.rules for a in atoms_of(rule.formula)}
    unknown = sum(asked.unknown_facts(name).shape[1] for name in used | {atom.predicate.name})
    quantified = any(_has_quantifier(rule.formula) for rule in mln.rules)
    return unknown == 1 and not used & set(opened) and not quantified


def _has_quantifier(formula: Formula) -> bool:
    if isinstance(formula, (Exists, Forall)):
        return True
    return any(map(_has_quantifier, children(formula)))


def _by_counting(mln: MLN, database: Database, atom: Atom, codes: Codes) -> Explanation:
    engine = open_engine([database])
    first = np.zeros(1, np.int64)
    flips = []
    for rule in mln.rules:
        if all(part.predicate != atom.predicate for part in atoms_of(rule.formula)):
            flips.append(0.0)
            continue
        table = flip_counts(engine, rule.formula, atom.predicate)
        flips.append(float(table.at(engine.stack, first, list(codes))[0]))
    contributions, log_odds = _contributions(mln.rules, np.array(flips))
    return Explanation(atom, contributions, log_odds, float(expit(log_odds)))


def _by_grounding(
    mln: MLN,
    asked: Database,
    atom: Atom,
    codes: Codes,
    opened: Collection[str],
    seed: int,
) -> Explanation:
    names = {predicate.name for predicate in asked.schema.predicates}
    wanted, shut = [atom.predicate.name], names - set(opened)
    network = ground(mln, asked, wanted, open=opened, closed=shut)
    # the same rules with hard ones made soft, so that their groundings are counted too
    counted = network
    if mln.hard:
        softened = replace(mln, rules=tuple(_softened(rule) for rule in mln.rules))
        counted = ground(softened, asked, wanted, open=opened, closed=shut)
    certain = network.forced.get(atom.predicate.name, np.empty_like(codes[:, :0]))
    if (certain == codes).all(axis=0).any():
        return forced(asked, atom)
    table = next(t for t in network.atoms if t.predicate == atom.predicate)
    own = int(np.flatnonzero((table.columns == codes).all(axis=0))[0])
    variable = int(table.variable[own])
    split = components(network)
    part = split.part(int(split.label[variable]))
    world = np.zeros(network.variables, np.int32)
    world[part.variables] = _most_probable(part.network, seed)
    counts = _counts(counted, variable, world)
    scores = _scores(mln, counts)
    value = int(table.value[own])
    rivals = np.where(np.arange(len(scores)) == value, -np.inf, scores)
    rival = int(rivals.argmax()) if np.isfinite(rivals).any() else (value + 1) % len(scores)
    contributions, log_odds = _contributions(mln.rules, counts[value] - counts[rival])
    members = np.flatnonzero(table.variable == variable)
    against = None
    if len(members) > 1:
        other = members[table.value[members] == rival][0]
        against = atom_of(asked, atom, table.columns[:, other])
    probability = float(special.softmax(scores)[value])
    assumed = len(part.variables) - 1
    return Explanation(atom, contributions, log_odds, probability, against, assumed)


def _softened(rule: Rule) -> Rule:
    return replace(rule, hard=False, weight=0.0) if rule.hard else rule


def _most_probable(network: Network, seed: int) -> Codes:
    try:
        return exact_map(network)[1]
    except TooHardError:
        return maxwalksat(network, seed=seed).world


def _counts(network: Network, variable: int, world: Codes) -> Floats:
    """Return the true groundings of each rule for every value of a variable."""
    rows = []
    for value in range(int(network.cardinalities[variable])):
        world[variable] = value
        rows.append(network.counts(world))
    return np.array(rows)


def _scores(mln: MLN, counts: Floats) -> Floats:
    """Return the log-weight of each value, minus infinity where it breaks a hard rule."""
    hard = np.array([rule.hard for rule in mln.rules], np.bool_)
    scores = counts[:, ~hard] @ mln.weights
    # some value breaks none, or the most probable world would be impossible
    broken = (counts[:, hard] < counts[:, hard].max(axis=0, initial=0.0)).any(axis=1)
    return np.where(broken, -np.inf, scores)


def _contributions(
    rules: tuple[Rule, ...], flips: Floats
) -> tuple[tuple[Contribution, ...], float]:
    """Weigh the flips, drop rules without any, and sort by size; also the sum."""
    found, soft = [], list[float]()
    for rule, count in zip(rules, flips.tolist(), strict=True):
        if count:
            weight = math.inf if rule.hard else rule.weight or 0.0
            text = str(rule if rule.hard else rule.formula)
            found.append(Contribution(text, count, weight * count))
            soft += [] if rule.hard else [weight * count]
    refuse_overflow(soft)
    total = sum(contribution.log_odds for contribution in found)
    if math.isnan(total):
        raise InputError(
            "hard rules both demand and forbid the atom",
            hint="give one of them a weight, or mend the evidence",
        )
    return by_size(found), total
