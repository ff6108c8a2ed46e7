"""Models and ground networks by brute force, and random networks, to hold inference against.

A world of a model is a set of ground atoms ``(predicate name, constant names)``.
"""

from itertools import product

import numpy as np
from scipy.sparse import csr_array

from mlnlearn.infer.network import Network
from mlnlearn.logic.atoms import Atom, Comparison, Constant
from mlnlearn.logic.formulas import (
    And,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    free_variables,
    variable_types,
)

MOST_WORLDS = 1 << 18


def all_worlds(network):
    """Every world of a network, one a row."""
    assert np.prod(network.cardinalities.astype(float)) <= MOST_WORLDS
    if not network.variables:
        return np.zeros((1, 0), np.int32)
    grid = np.indices(network.cardinalities.tolist(), np.int32)
    return np.ascontiguousarray(grid.reshape(network.variables, -1).T)


def brute_log_weights(network, worlds):
    """The log-weight of each world, clause by clause as the definition has it."""
    total = np.full(len(worlds), float(network.constants @ network.weights))
    unary_counts = network.unary_counts.toarray()
    for variable in range(network.variables):
        values = network.unary_starts[variable] + worlds[:, variable]
        total += unary_counts[values] @ network.weights
        total[network.forbidden[values]] = -np.inf
    for number in range(network.clauses):
        holds = np.zeros(len(worlds), bool)
        for place in range(network.clause_starts[number], network.clause_starts[number + 1]):
            has = worlds[:, network.literal_variable[place]] == network.literal_value[place]
            holds |= has == network.literal_positive[place]
        rule = network.clause_rule[number]
        if rule < 0:
            total[~holds] = -np.inf
        else:
            total[holds] += network.multiplicity[number] * network.weights[rule]
    return total


def brute_marginals(network):
    """The log-partition function, and the probability of each value of each variable (flat)."""
    worlds = all_worlds(network)
    log_weights = brute_log_weights(network, worlds)
    log_z = float(np.logaddexp.reduce(log_weights))
    probabilities = np.exp(log_weights - log_z)
    marginals = np.zeros(int(network.unary_starts[-1]))
    for variable in range(network.variables):
        values = network.unary_starts[variable] + worlds[:, variable]
        np.add.at(marginals, values, probabilities)
    return log_z, marginals


def brute_map(network):
    """The largest log-weight of a world, and the worlds that have it."""
    worlds = all_worlds(network)
    log_weights = brute_log_weights(network, worlds)
    best = log_weights.max()
    return float(best), worlds[log_weights >= best - 1e-9]


def brute_expected_counts(network):
    """The expected number of true groundings of each rule."""
    worlds = all_worlds(network)
    log_weights = brute_log_weights(network, worlds)
    probabilities = np.exp(log_weights - np.logaddexp.reduce(log_weights))
    counts = np.array([network.counts(world) for world in worlds])
    return probabilities @ counts


def random_network(
    rng, variables=8, clauses=12, rules=4, width=3, blocks=0.2, hard=0.15, scale=1.0, tree=False
):
    """A random network whose hard clauses and forbidden values leave at least one world.

    Parameters
    ----------
    blocks
        Share of variables that are blocks (2 to 4 values) rather than Boolean atoms.
    hard
        Share of hard clauses; a fifth of that share of values is forbidden.
    scale
        Standard deviation of the weights.
    tree
        Clauses join two variables only, so that the variables form a forest.
    """
    is_block = rng.random(variables) < blocks
    cardinalities = np.where(is_block, rng.integers(2, 5, variables), 2).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(cardinalities, dtype=np.int64)])
    possible = rng.integers(0, cardinalities)  # a world that stays possible
    parents = [int(rng.integers(0, max(v, 1))) for v in range(variables)]
    found, owners = [], []
    for _ in range(clauses if variables > 1 else 0):
        if tree:
            child = int(rng.integers(1, variables))
            chosen = [parents[child], child]
        else:
            chosen = rng.permutation(variables)[: rng.integers(2, width + 1)].tolist()
        literals = [
            lit for v in chosen for lit in _random_literals(rng, v, cardinalities[v], is_block[v])
        ]
        held = any((possible[v] == value) == positive for v, value, positive in literals)
        is_hard = rng.random() < hard and held
        found.append([literals[i] for i in rng.permutation(len(literals))])
        owners.append(-1 if is_hard else int(rng.integers(rules)))
    values = int(starts[-1])
    forbidden = rng.random(values) < hard / 5
    forbidden[starts[:-1] + possible] = False
    counts = rng.integers(-2, 4, (values, rules)) * (rng.random((values, rules)) < 0.4)
    flat = [literal for literals in found for literal in literals]
    return Network(
        cardinalities=cardinalities,
        unary_starts=starts,
        unary_counts=csr_array(counts.astype(np.float64)),
        forbidden=forbidden,
        clause_starts=np.cumsum([0, *map(len, found)], dtype=np.int64),
        literal_variable=np.array([v for v, _, _ in flat], np.int32),
        literal_value=np.array([value for _, value, _ in flat], np.int32),
        literal_positive=np.array([positive for _, _, positive in flat], np.bool_),
        clause_rule=np.array(owners, np.int32),
        multiplicity=np.where(
            np.array(owners, np.int32) < 0, 1.0, rng.choice([1.0, 1.0, 2.0, -1.0], len(owners))
        ),
        constants=rng.integers(0, 4, rules).astype(np.float64),
        weights=rng.normal(0, scale, rules),
    )  # fmt: skip


def _random_literals(rng, variable, cardinality, is_block):
    """One literal, or for a block at times several positive ones."""
    if not is_block:
        return [(variable, 1, bool(rng.random() < 0.5))]
    if cardinality > 2 and rng.random() < 0.3:
        return [(variable, int(value), True) for value in rng.permutation(cardinality)[:2]]
    return [(variable, int(rng.integers(cardinality)), bool(rng.random() < 0.5))]


def holds(formula, facts, domains, values, types):
    """Whether a formula is true in a world, by the definition of its connectives."""

    def name(term):
        return term.name if isinstance(term, Constant) else values[term]

    def inside(part, more=()):
        return holds(part, facts, domains, {**values, **dict(more)}, types)

    match formula:
        case Atom(predicate, terms):
            return (predicate.name, tuple(map(name, terms))) in facts
        case Comparison(operator, left, right):
            pair = name(left), name(right)
            return {"=": pair[0] == pair[1], "<": pair[0] < pair[1], "<=": pair[0] <= pair[1]}[
                operator
            ]
        case Not(part):
            return not inside(part)
        case And(parts):
            return all(inside(part) for part in parts)
        case Or(parts):
            return any(inside(part) for part in parts)
        case Implies(left, right):
            return not inside(left) or inside(right)
        case Iff(left, right):
            return inside(left) == inside(right)
        case Exists(variables, body) | Forall(variables, body):
            kinds = types | variable_types(body)
            choices = product(*(domains[kinds[variable]] for variable in variables))
            truths = (inside(body, zip(variables, choice, strict=True)) for choice in choices)
            return any(truths) if isinstance(formula, Exists) else all(truths)
    raise AssertionError(formula)


def true_count(formula, facts, domains):
    """The number of true groundings of a formula in a world; FORALL in front is no quantifier."""
    while isinstance(formula, Forall):
        formula = formula.body
    free, types = free_variables(formula), variable_types(formula)
    return sum(
        holds(formula, facts, domains, dict(zip(free, names, strict=True)), types)
        for names in product(*(domains[types[variable]] for variable in free))
    )


def atom_states(database, predicates, opened):
    """True atoms, and unknown ones in blocks of which exactly one is true, or single (Boolean)."""
    true, blocks, single = set(), [], []
    for predicate in database.schema.predicates:
        name = predicate.name
        if name not in predicates:
            continue
        listed = [
            {tuple(row) for row in database.decode(name, table(name))}
            for table in (database.facts, database.false_facts, database.unknown_facts)
        ]
        marked = database.schema.functional.get(name, ())
        groups = {}
        for row in product(*(database.domains[kind].names for kind in predicate.types)):
            key = tuple(n for i, n in enumerate(row) if i not in marked) if marked else row
            groups.setdefault(key, []).append(row)
        for rows in groups.values():
            known = [row for row in rows if row in listed[0]]
            true.update((name, row) for row in known)
            left = [
                (name, row)
                for row in rows
                if row not in listed[0]
                and (row in listed[2] or (name in opened and row not in listed[1]))
            ]
            if marked and left and not known:
                blocks.append(left)
            elif not marked:
                single += left
    return true, blocks, single


def brute_worlds(database, predicates, opened):
    """Every world of the unknown atoms of some predicates, as sets of true atoms."""
    true, blocks, single = atom_states(database, predicates, opened)
    for chosen in product(*blocks):
        for size in product((False, True), repeat=len(single)):
            yield (
                true | set(chosen) | {a for a, is_true in zip(single, size, strict=True) if is_true}
            )


def network_world(network, database, facts):
    """A set of true atoms as one value a variable; every variable must get exactly one."""
    world = np.zeros(network.variables, np.int32)
    seen = np.zeros(network.variables, np.int32)
    for atoms in network.atoms:
        name = atoms.predicate.name
        rows = database.decode(name, atoms.columns)
        for row, variable, value in zip(rows, atoms.variable, atoms.value, strict=True):
            if (name, row) in facts:
                world[variable] = value
                seen[variable] += 1
    boolean = np.zeros(network.variables, bool)
    for atoms in network.atoms:
        if not database.schema.functional.get(atoms.predicate.name):
            boolean[atoms.variable] = True
    assert (seen[~boolean] == 1).all()
    assert (seen[boolean] <= 1).all()
    return world
