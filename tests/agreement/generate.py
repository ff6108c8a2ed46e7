"""The generator: one random case a seed, small enough that all its worlds can be listed.

Soft, hard, negative, zero and near-deterministic weights; constants that only rules or comparisons
name; exclusive arguments; types of one constant or none; quantifiers in front and within;
predicates without facts; true, false and unknown evidence; arities from 0 to 6; several databases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from agreement.case import Case, Domains, Facts, block_of, ground_atoms
from agreement.formulas import Writer
from agreement.language import GroundAtom, Predicate, Rule, constants_of
from agreement.reference import listed_worlds

MOST_ATOMS = 11
"""Ground atoms of the largest world."""


def random_case(seed: int) -> Case:
    """The case of a seed: always the same one."""
    rng = np.random.default_rng([seed, 14])
    types = ("a", "b", "c")[: rng.integers(1, 4)]
    pools = _pools(rng, types)
    declared = tuple((kind, pools[kind]) for kind in types if rng.random() < 0.5)
    predicates = _predicates(rng, types, {kind: len(names) for kind, names in pools.items()})
    used = tuple(k for k in types if any(k in p.types for p in predicates))
    declared = tuple((kind, names) for kind, names in declared if kind in used)
    writer = Writer(rng, predicates, pools, quantified=bool(rng.random() < 0.5))
    rules = tuple(Rule(writer.formula(), _weight(rng)) for _ in range(rng.integers(1, 5)))
    facts = _FactMaker(rng, predicates, used, pools, dict(declared), rules)
    training = tuple(facts.possible() for _ in range(rng.integers(1, 4)))
    hidden = tuple(facts.with_unknown(one) if rng.random() < 0.5 else one for one in training)
    evidence = facts.evidence()
    names = [predicate.name for predicate in predicates]
    query = tuple(n for n in names if rng.random() < 0.5) or (names[0],)
    rest = [n for n in names if n not in query]
    opened = tuple(n for n in rest if rng.random() < 0.15)
    closed = tuple(n for n in names if n not in opened and rng.random() < 0.1)
    return Case(
        seed, used, declared, predicates, rules, training, hidden, evidence, query, opened, closed
    )


def _pools(rng: np.random.Generator, types: Sequence[str]) -> Domains:
    """Constants of each type; names may be numbers, and two types may share them."""
    shared = rng.random() < 0.15
    pools = {}
    for kind in types:
        size = int(rng.choice([1, 2, 2, 3]))
        stem = "K" if shared else kind.upper()
        numbers = rng.random() < 0.1
        pools[kind] = tuple(str(9 + i) if numbers else f"{stem}{i}" for i in range(size))
    return pools


def _predicates(
    rng: np.random.Generator, types: Sequence[str], sizes: Mapping[str, int]
) -> tuple[Predicate, ...]:
    """Two to four predicates with few ground atoms together."""
    found: list[Predicate] = []
    left = MOST_ATOMS
    for number in range(rng.integers(2, 5)):
        arity = int(rng.choice([0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6]))
        kinds = [str(kind) for kind in rng.choice(types, arity)]
        while math.prod(sizes[kind] for kind in kinds) > left:
            kinds.remove(max(kinds, key=lambda kind: sizes[kind]))
        marked: tuple[int, ...] = ()
        if kinds and rng.random() < 0.2:
            marked = (int(rng.integers(len(kinds))),)
        left -= math.prod(sizes[kind] for kind in kinds)
        found.append(Predicate(f"p{number}", tuple(kinds), marked))
        if left < 1:
            break
    return tuple(found)


def _weight(rng: np.random.Generator) -> float | None:
    kind = rng.random()
    if kind < 0.15:
        return None
    if kind < 0.22:
        return round(float(rng.choice([-1.0, 1.0]) * rng.uniform(8.0, 25.0)), 2)
    if kind < 0.26:
        return 0.0
    return round(float(rng.normal(0.0, 1.5)), 3)


class _FactMaker:
    """Draws facts over a random part of each open type's constants, and those of the rules."""

    def __init__(
        self,
        rng: np.random.Generator,
        predicates: tuple[Predicate, ...],
        types: Sequence[str],
        pools: Domains,
        declared: Domains,
        rules: Sequence[Rule],
    ) -> None:
        self.rng, self.predicates, self.pools, self.declared = rng, predicates, pools, declared
        self.types = types
        named = {p.name: p for p in predicates}
        found: set[tuple[str, str]] = set()
        self.named = found.union(*(constants_of(rule.formula, named) for rule in rules))
        self.hard = [rule for rule in rules if rule.weight is None]
        # evidence on single objects only, so that lifted inference has something to lift
        self.plain = rng.random() < 0.4

    def _domains(self) -> Domains:
        domains = {}
        for kind in self.types:
            pool = self.pools[kind]
            if kind not in self.declared:
                own = {name for k, name in self.named if k == kind}
                pool = tuple(n for n in pool if n in own or self.rng.random() < 0.8)
            domains[kind] = pool
        return domains

    def possible(self) -> Facts:
        """A database that mostly breaks no hard rule."""
        for _ in range(8):
            facts = self.complete()
            domains = self._of(facts)
            plain = [Predicate(p.name, p.types) for p in self.predicates]
            worlds, _ = listed_worlds(plain, domains, facts, set())
            if np.isfinite(worlds.log_weights(self.hard)[0]):
                break
        return facts

    def _of(self, facts: Facts) -> Domains:
        """The domains of a database, those of the rules included."""
        found = {}
        for kind in self.types:
            names = {*self._mentioned(kind, facts), *(n for k, n in self.named if k == kind)}
            found[kind] = self.declared.get(kind) or tuple(sorted(names))
        return found

    def complete(self) -> Facts:
        """All atoms known; exclusive arguments nearly always have their one value."""
        domains = self._domains()
        true: set[GroundAtom] = set()
        for predicate in self.predicates:
            true |= self._true(predicate, domains)
        return Facts(frozenset(true))

    def _true(self, predicate: Predicate, domains: Domains) -> set[GroundAtom]:
        atoms = list(ground_atoms([predicate], domains))
        if predicate.exclusive:
            if self.rng.random() < 0.04:
                return set()
            return {values[self.rng.integers(len(values))] for values in _blocks(predicate, atoms)}
        density = self.rng.choice([0.0, 0.3, 0.5, 0.8])
        return {atom for atom in atoms if self.rng.random() < density}

    def with_unknown(self, facts: Facts) -> Facts:
        """Forget some atoms; of a block, the true value and some others, so that it is open."""
        true, unknown = set(facts.true), set()
        for name, terms in sorted(facts.true):
            if self.rng.random() < 0.25:
                true.discard((name, terms))
                unknown.add((name, terms))
                predicate = next(p for p in self.predicates if p.name == name)
                if predicate.exclusive:
                    unknown |= self._rivals(predicate, terms, facts)
        return Facts(frozenset(true), unknown=frozenset(unknown))

    def _rivals(
        self, predicate: Predicate, terms: tuple[str, ...], facts: Facts
    ) -> set[GroundAtom]:
        """Other values of a block that the facts name anyway, lest the domain grow."""
        atoms = ground_atoms([predicate], self._of(facts))
        own = block_of(predicate, terms)
        return {a for a in atoms if block_of(predicate, a[1]) == own and self.rng.random() < 0.7}

    def _mentioned(self, kind: str, facts: Facts) -> list[str]:
        types = {p.name: p.types for p in self.predicates}
        return sorted(
            term
            for name, terms in facts.listed
            for k, term in zip(types[name], terms, strict=True)
            if k == kind
        )

    def evidence(self) -> Facts:
        """Each predicate in one of the ways evidence is given: not at all, in part, in full."""
        domains = self._domains()
        true, false, unknown = set(), set(), set()
        for predicate in self.predicates:
            how = self.rng.choice(["nothing", "full", "part", "part", "mixed"])
            if self.plain and len(predicate.types) > 1:
                how = "nothing"
            drawn = self._true(predicate, domains)
            atoms = list(ground_atoms([predicate], domains))
            if how == "full":
                true |= drawn
            elif how == "part":
                true |= {atom for atom in drawn if self.rng.random() < 0.6}
            elif how == "mixed":
                for atom in atoms:
                    kind = self.rng.random()
                    if kind < 0.3:
                        unknown.add(atom)
                    elif atom in drawn and kind < 0.7:
                        true.add(atom)
                    elif atom not in drawn and kind < 0.6:
                        false.add(atom)
        return Facts(frozenset(true), frozenset(false), frozenset(unknown))


def _blocks(predicate: Predicate, atoms: Sequence[GroundAtom]) -> list[list[GroundAtom]]:
    blocks: dict[tuple[str, ...], list[GroundAtom]] = {}
    for atom in atoms:
        blocks.setdefault(block_of(predicate, atom[1]), []).append(atom)
    return list(blocks.values())
