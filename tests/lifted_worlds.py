"""Log partition functions by enumerating every world, and random theories to try them on."""

from itertools import product

import numpy as np

from mlnlearn.logic.atoms import Atom, Comparison, Constant, Literal, Variable
from mlnlearn.logic.clauses import clause
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
from mlnlearn.logic.schema import Schema


class Worlds:
    """All worlds over some domains: one boolean column a ground atom."""

    def __init__(self, schema, domains):
        self.domains = domains
        self.outer_types = {}  # of the formula that is being counted
        self.atoms = {}
        for predicate in schema.predicates:
            for names in product(*(domains[kind] for kind in predicate.types)):
                self.atoms[predicate.name, names] = len(self.atoms)
        count = len(self.atoms)
        assert count <= 18
        numbers = np.arange(1 << count)
        self.truth = ((numbers[:, None] >> np.arange(count)) & 1).astype(bool)

    def holds(self, formula, values):
        """Truth of a formula in every world, its free variables having values."""
        match formula:
            case Atom(predicate, terms):
                names = tuple(t.name if isinstance(t, Constant) else values[t] for t in terms)
                column = self.atoms.get((predicate.name, names))
                if column is None:
                    return np.zeros(len(self.truth), bool)
                return self.truth[:, column]
            case Comparison(operator, left, right):
                names = [t.name if isinstance(t, Constant) else values[t] for t in (left, right)]
                truth = {"=": names[0] == names[1], "<": names[0] < names[1]}[operator]
                return np.full(len(self.truth), truth)
            case Not(part):
                return ~self.holds(part, values)
            case And(parts):
                return np.all([self.holds(part, values) for part in parts], axis=0)
            case Or(parts):
                return np.any([self.holds(part, values) for part in parts], axis=0)
            case Implies(left, right):
                return ~self.holds(left, values) | self.holds(right, values)
            case Iff(left, right):
                return self.holds(left, values) == self.holds(right, values)
            case Exists(bound, body) | Forall(bound, body):
                types = self.outer_types | variable_types(body)
                total = np.full(len(self.truth), isinstance(formula, Forall))
                for names in product(*(self.domains[types[v]] for v in bound)):
                    found = self.holds(body, {**values, **dict(zip(bound, names, strict=True))})
                    total = total & found if isinstance(formula, Forall) else total | found
                return total

    def counts(self, formula):
        """True groundings of a formula in every world, and how many groundings there are.

        A FORALL in front names grounding variables, as a free variable does.
        """
        while isinstance(formula, Forall):
            formula = formula.body
        types = self.outer_types = variable_types(formula)
        variables = free_variables(formula)
        total, number = np.zeros(len(self.truth)), 0
        for names in product(*(self.domains[types[v]] for v in variables)):
            total += self.holds(formula, dict(zip(variables, names, strict=True)))
            number += 1
        return total, number

    def log_z(self, soft, weights, hard=()):
        """Log partition function, expected counts, and the probability of each world."""
        counts = np.array([self.counts(formula)[0] for formula in soft])
        counts = counts.reshape(len(soft), len(self.truth))
        energy = np.asarray(weights) @ counts if len(soft) else np.zeros(len(self.truth))
        for formula in hard:
            true, number = self.counts(formula)
            energy = np.where(true < number, -np.inf, energy)
        top = energy.max()
        if top == -np.inf:
            return -np.inf, np.zeros(len(soft)), np.zeros(len(energy))
        mass = np.exp(energy - top)
        return top + np.log(mass.sum()), counts @ mass / mass.sum(), mass / mass.sum()


def domains_of(schema, sizes):
    """Constants ``A0, A1, …`` of a type ``a``."""
    return {kind: [f"{kind.upper()}{i}" for i in range(sizes[kind])] for kind in schema.types}


def random_schema(rng):
    """Two types and two or three predicates of one or two arguments."""
    kinds = ["a", "b"]
    declarations = []
    for number in range(rng.integers(2, 4)):
        arity = rng.choice([0, 1, 1, 2, 2, 2])
        declarations.append(f"p{number}({','.join(rng.choice(kinds, arity))})")
    return Schema.of(*declarations)


def random_clause(rng, schema, variables, literals=3):
    """A clause over at most so many variables in all."""
    budget = [Variable(f"{kind}{i}") for i, kind in enumerate(rng.choice(["a", "b"], variables))]
    found = []
    for _ in range(20):
        predicate = schema.predicates[rng.integers(len(schema.predicates))]
        choices = [[v for v in budget if v.name[0] == kind] for kind in predicate.types]
        if all(choices):
            terms = tuple(options[rng.integers(len(options))] for options in choices)
            found.append(Literal(Atom(predicate, terms), bool(rng.random() < 0.5)))
        if len(found) == literals:
            break
    kept = found[: rng.integers(1, literals + 1)]
    return clause(*kept) if kept else None


def random_sizes(rng, schema, most=10):
    """Domain sizes with at most so many ground atoms."""
    while True:
        sizes = {kind: int(rng.integers(0, 5)) for kind in ("a", "b")}
        atoms = sum(int(np.prod([sizes[k] for k in p.types])) for p in schema.predicates)
        if atoms <= most:
            return sizes
