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

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import pack
from mlnlearn.errors import InputError
from mlnlearn.infer.components import components
from mlnlearn.infer.elimination import TooHardError
from mlnlearn.infer.exact import exact_map
from mlnlearn.infer.explanation import Contribution, Explanation
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.grounding.worlds import open_predicates
from mlnlearn.infer.network import Codes, Floats, Network, refuse_overflow
from mlnlearn.infer.sampling.maxwalksat import maxwalksat
from mlnlearn.logic.atoms import Atom, Constant, Variable
from mlnlearn.logic.formulas import Exists, Forall, Formula, Rule, atoms_of, children
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.syntax import parse_formula


def explain(
    mln: MLN,
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
    mln
        The model, with weights.
    database
        The rest of the world; what it says of the atom itself is ignored, and likewise which value
        of a ``!`` block is true. Values of the block that it says are false stay so.
    atom
        A ground atom, or its text.
    open, closed
        Which unlisted atoms are unknown; as in `query`, but the atom's predicate is open only if
        the database lists nothing of it.
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
     +3.0000          +2  1.5 friends(x,y) ^ smokes(x) => smokes(y)
     -1.0000          +1  -1.0 smokes(x)
    smokes(Bob) has probability 0.881 given the rest: 'friends(x,y) ^ smokes(x) => smokes(y)' \
supports it most (+3.00 by 2 groundings), 'smokes(x)' opposes it most (-1.00 by 1 grounding).
    """
    (database,) = with_constants_of(mln, [database])
    found = _ground_atom(database, atom)
    codes = _codes(database, found)
    opened = open_predicates(database, open=open, closed=closed)
    asked = _asked(database, found, codes)
    expanded = mln.expanded({kind: names.names for kind, names in database.domains.items()})
    _ = expanded.weights  # refuse rules without a weight
    if _all_known(expanded, asked, found, opened):
        return _by_counting(expanded, database, found, codes)
    return _by_grounding(expanded, asked, found, codes, opened, seed)


def _ground_atom(database: Database, atom: Atom | str) -> Atom:
    """Read and check the atom."""
    found = parse_formula(atom, database.schema).formula if isinstance(atom, str) else atom
    if not isinstance(found, Atom) or not all(isinstance(term, Constant) for term in found.terms):
        raise InputError(f"{atom} is not a ground atom", hint="name one, such as smokes(Anna)")
    return found


def _codes(database: Database, atom: Atom) -> Codes:
    """Return the codes of the atom's constants, shape (arity, 1)."""
    codes = []
    for term, kind in zip(atom.terms, atom.predicate.types, strict=True):
        code = database.domains[kind].code(term.name)
        if code < 0:
            raise InputError(f"the database has no {kind} {term}")
        codes.append([code])
    return np.array(codes, np.int32).reshape(len(codes), 1)


def _asked(database: Database, atom: Atom, codes: Codes) -> Database:
    """Return the database with the atom unknown.

    Where its predicate is functional, all values of the atom's block are unknown that evidence does
    not exclude.
    """
    name = atom.predicate.name
    marked = _exclusive(database, atom)
    fixed = [place for place in range(atom.predicate.arity) if place not in marked]

    def others(facts: Columns) -> Columns:
        return facts[:, ~(facts[fixed] == codes[fixed]).all(axis=0)]

    false = database.false_facts(name)
    false = false[:, ~(false == codes).all(axis=0)]
    unknown = codes
    if marked:
        axes = [
            np.arange(database.size(kind), dtype=np.int32) if place in marked else codes[place]
            for place, kind in enumerate(atom.predicate.types)
        ]
        unknown = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
        sizes = domain_sizes(database, name)
        unknown = unknown[:, ~np.isin(pack(unknown, sizes), pack(false, sizes))]
    rest = others(database.unknown_facts(name))
    return Database.from_codes(
        database.schema,
        database.domains,
        {**database.true, name: others(database.facts(name))},
        {**database.false, name: false},
        {**database.unknown, name: np.concatenate([rest, unknown], axis=1)},
        open=database.open,
        name=database.name,
    )


def _exclusive(database: Database, atom: Atom) -> tuple[int, ...]:
    """Return the places of the atom's predicate of which exactly one value is true."""
    marked = database.schema.functional.get(atom.predicate.name, ())
    if atom.predicate.function and not marked:
        return (atom.predicate.arity - 1,)
    return marked


def _all_known(mln: MLN, asked: Database, atom: Atom, opened: Collection[str]) -> bool:
    """Tell whether the atom is the only unknown that matters, and flips can be counted by joins.

    A value of a block, even the only one that is left, is not free to be false.
    """
    if _exclusive(asked, atom):
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
    engine = MemoryEngine([database])
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
    forced = network.forced.get(atom.predicate.name, np.empty_like(codes[:, :0]))
    if (forced == codes).all(axis=0).any():
        return _forced(asked, atom)
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
        against = _decoded(asked, atom, table.columns[:, other])
    probability = float(softmax(scores)[value])
    assumed = len(part.variables) - 1
    return Explanation(atom, contributions, log_odds, probability, against, assumed)


def _forced(database: Database, atom: Atom) -> Explanation:
    """Explain the only value that is left in a block: exactly one must be true."""
    values = {place: Variable(f"y{place + 1}") for place in _exclusive(database, atom)}
    terms = tuple(values.get(place, term) for place, term in enumerate(atom.terms))
    some = Exists(tuple(values.values()), Atom(atom.predicate, terms))
    reason = Contribution(Rule(some, hard=True), 1.0, math.inf)
    return Explanation(atom, (reason,), math.inf, 1.0)


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


def _decoded(database: Database, atom: Atom, codes: NDArray[np.integer]) -> Atom:
    (names,) = database.decode(atom.predicate.name, codes[:, None])
    return Atom(atom.predicate, tuple(Constant(name) for name in names))


def _contributions(
    rules: tuple[Rule, ...], flips: Floats
) -> tuple[tuple[Contribution, ...], float]:
    """Weigh the flips, drop rules without any, and sort by size; also the sum."""
    found = []
    for rule, count in zip(rules, flips.tolist(), strict=True):
        if count:
            weight = math.inf if rule.hard else rule.weight or 0.0
            found.append(Contribution(rule, count, weight * count))
    refuse_overflow(c.log_odds for c in found if not c.rule.hard)
    found.sort(key=lambda contribution: -abs(contribution.log_odds))
    total = sum(contribution.log_odds for contribution in found)
    if math.isnan(total):
        raise InputError(
            "hard rules both demand and forbid the atom",
            hint="give one of them a weight, or mend the evidence",
        )
    return tuple(found), total
