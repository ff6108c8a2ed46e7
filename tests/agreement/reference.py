"""The reference: every world listed, every formula evaluated by its definition.

Truth values are arrays over worlds, one for each ground atom; nothing is counted, joined, grounded
or normalised by the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from agreement.case import Case, Domains, Facts, block_of, ground_atoms
from agreement.language import (
    Atom,
    Compare,
    Formula,
    GroundAtom,
    Joined,
    Not,
    Predicate,
    Quantified,
    Rule,
    free_variables,
    is_variable,
    type_of,
    without_leading_forall,
)

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Truth = Mapping[GroundAtom, Bools]

MOST_WORLDS = 1 << 13


@dataclass(frozen=True, eq=False)
class Worlds:
    """Some worlds over one domain a type: the truth of every atom in each."""

    domains: Domains
    truth: dict[GroundAtom, Bools]
    size: int

    def holds(self, formula: Formula, values: Mapping[str, str]) -> Bools:
        """Whether a formula is true in each world, its free variables having values."""
        match formula:
            case Atom(name, terms):
                ground = name, tuple(values[t] if is_variable(t) else t for t in terms)
                found = self.truth.get(ground)
                return np.zeros(self.size, np.bool_) if found is None else found
            case Compare(operator, left, right):
                pair = [values[t] if is_variable(t) else t for t in (left, right)]
                return np.full(self.size, _compared(operator, *pair))
            case Not(part):
                return ~self.holds(part, values)
            case Joined(connective, parts):
                found = [self.holds(part, values) for part in parts]
                return _joined(connective, found)
            case Quantified(quantifier, variables, body):
                total = np.full(self.size, quantifier == "FORALL")
                for names in product(*(self.domains[type_of(v)] for v in variables)):
                    more = dict(zip(variables, names, strict=True))
                    found = self.holds(body, {**values, **more})
                    total = total & found if quantifier == "FORALL" else total | found
                return total

    def groundings(self, formula: Formula) -> list[dict[str, str]]:
        """Every choice of constants for the grounding variables of a formula."""
        variables = free_variables(without_leading_forall(formula))
        chosen = product(*(self.domains[type_of(v)] for v in variables))
        return [dict(zip(variables, names, strict=True)) for names in chosen]

    def counts(self, formula: Formula) -> NDArray[np.int64]:
        """The number of true groundings in each world."""
        body = without_leading_forall(formula)
        total = np.zeros(self.size, np.int64)
        for values in self.groundings(formula):
            total += self.holds(body, values)
        return total

    def feature_counts(self, rules: Sequence[Rule]) -> NDArray[np.int64]:
        """Counts of several rules, shape ``(rules, worlds)``."""
        found = [self.counts(rule.formula) for rule in rules]
        return np.array(found, np.int64).reshape(len(rules), self.size)

    def log_weights(self, rules: Sequence[Rule]) -> Floats:
        """The sum of weights times counts, minus infinity where a hard rule is broken."""
        total = np.zeros(self.size)
        for rule in rules:
            counts = self.counts(rule.formula)
            if rule.weight is None:
                total[counts < len(self.groundings(rule.formula))] = -np.inf
            else:
                total = total + rule.weight * counts
        return total


def _joined(connective: str, parts: Sequence[Bools]) -> Bools:
    match connective:
        case "^":
            return np.logical_and.reduce(parts)
        case "v":
            return np.logical_or.reduce(parts)
        case "=>":
            return ~parts[0] | parts[1]
    return parts[0] == parts[1]


def _compared(operator: str, left: str, right: str) -> bool:
    if operator in ("=", "!="):
        return (left == right) == (operator == "=")
    # numbers come before names, in the order of their values
    first, second = ((0, float(t), "") if t.isdigit() else (1, 0.0, t) for t in (left, right))
    return {"<": first < second, ">": first > second, "<=": first <= second,
            ">=": first >= second}[operator]  # fmt: skip


class TooLarge(Exception):
    """There are too many worlds to list: the question is not asked."""


class Impossible(Exception):
    """No world is possible, or the question has no answer by definition."""


@dataclass(frozen=True)
class Unknown:
    """The unknown atoms: blocks of which exactly one is true, and single atoms.

    A block with a single value left is one too: its atom was not given, but is certain.
    """

    blocks: tuple[tuple[GroundAtom, ...], ...]
    single: tuple[GroundAtom, ...]

    @property
    def atoms(self) -> tuple[GroundAtom, ...]:
        return tuple(atom for block in self.blocks for atom in block) + self.single


def open_names(case: Case, facts: Facts) -> set[str]:
    """Predicates of which an atom that is not listed is unknown.

    Those asked for or said to be open, and those of which the evidence lists nothing; never those
    said to be closed.
    """
    listed = {name for name, _ in facts.listed}
    return {
        p.name
        for p in case.predicates
        if p.name not in case.closed
        and (p.name in case.query or p.name in case.open or p.name not in listed)
    }


def listed_worlds(
    predicates: Sequence[Predicate], domains: Domains, facts: Facts, opened: set[str]
) -> tuple[Worlds, Unknown]:
    """Every world that the facts leave open, and the atoms that are unknown."""
    true: set[GroundAtom] = set()
    blocks: list[tuple[GroundAtom, ...]] = []
    single: list[GroundAtom] = []
    for predicate in predicates:
        groups: dict[tuple[str, ...], list[GroundAtom]] = {}
        for atom in ground_atoms([predicate], domains):
            key = block_of(predicate, atom[1]) if predicate.exclusive else atom[1]
            groups.setdefault(key, []).append(atom)
        for atoms in groups.values():
            known = [atom for atom in atoms if atom in facts.true]
            left = [a for a in atoms if a in facts.unknown or _unlisted(a, facts, opened)]
            true.update(known)
            if not predicate.exclusive:
                single += left
                continue
            if len(known) > 1:
                raise Impossible("several true values of a block")
            if not known and not left and predicate.name in opened:
                raise Impossible("no value left for a block")
            if not known and left:
                blocks.append(tuple(left))
    unknown = Unknown(tuple(blocks), tuple(single))
    return _all_worlds(predicates, domains, true, unknown), unknown


def _unlisted(atom: GroundAtom, facts: Facts, opened: set[str]) -> bool:
    return atom[0] in opened and atom not in facts.listed


def _all_worlds(
    predicates: Sequence[Predicate], domains: Domains, true: set[GroundAtom], unknown: Unknown
) -> Worlds:
    size = 2 ** len(unknown.single)
    for block in unknown.blocks:
        size *= len(block)
    if size > MOST_WORLDS:
        raise TooLarge
    numbers = np.arange(size)
    truth: dict[GroundAtom, Bools] = {}
    for block in unknown.blocks:
        digit, numbers = numbers % len(block), numbers // len(block)
        truth.update((atom, digit == place) for place, atom in enumerate(block))
    for atom in unknown.single:
        truth[atom], numbers = numbers % 2 == 1, numbers // 2
    for atom in ground_atoms(predicates, domains):
        truth.setdefault(atom, np.full(size, atom in true))
    return Worlds(domains, truth, size)


def require_values(predicates: Sequence[Predicate], domains: Domains, facts: Facts) -> None:
    """Every block of the facts must have a value, known or not: else they are no world."""
    for predicate in predicates:
        if predicate.exclusive:
            atoms = list(ground_atoms([predicate], domains))
            having = {block_of(predicate, a[1]) for a in atoms if a in facts.true | facts.unknown}
            if having != {block_of(predicate, terms) for _, terms in atoms}:
                raise Impossible("a block has no value")


def world_and_flips(
    predicates: Sequence[Predicate], domains: Domains, facts: Facts
) -> tuple[Worlds, list[GroundAtom]]:
    """Twice as many worlds as atoms: each atom true, then each false, all else as in the data.

    Where an atom lies in a block, the whole rest of the block is false in both.
    """
    atoms = list(ground_atoms(predicates, domains))
    named = {p.name: p for p in predicates}
    truth = {atom: np.full(2 * len(atoms), atom in facts.true) for atom in atoms}
    for place, (name, terms) in enumerate(atoms):
        predicate = named[name]
        if predicate.exclusive:
            own = block_of(predicate, terms)
            for other in ground_atoms([predicate], domains):
                if block_of(predicate, other[1]) == own:
                    truth[other][[place, place + len(atoms)]] = False
        truth[name, terms][place] = True
        truth[name, terms][place + len(atoms)] = False
    return Worlds(domains, truth, 2 * len(atoms)), atoms


@dataclass(frozen=True, eq=False)
class Distribution:
    """Worlds with their weights under some rules."""

    worlds: Worlds
    log_weights: Floats

    @cached_property
    def log_z(self) -> float:
        highest = self.log_weights.max(initial=-np.inf)
        if highest == -np.inf:
            raise Impossible("no world is possible")
        return float(highest + np.log(np.exp(self.log_weights - highest).sum()))

    @cached_property
    def probabilities(self) -> Floats:
        return np.exp(self.log_weights - self.log_z)

    def marginal(self, atom: GroundAtom) -> float:
        return float(self.probabilities @ self.worlds.truth[atom])
