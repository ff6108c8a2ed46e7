"""Each atom, or each value of a block, given all others: pseudo-likelihood by its definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agreement.case import Case, Domains, Facts, block_of
from agreement.language import GroundAtom, Rule
from agreement.reference import Floats, Impossible, Worlds, world_and_flips


@dataclass(frozen=True)
class Choice:
    """Worlds of which one is the data: an atom true or false, or one value of a block true."""

    name: str
    candidates: tuple[int, ...]
    atoms: tuple[GroundAtom | None, ...]
    chosen: int | None


@dataclass(frozen=True, eq=False)
class Conditionals:
    """All choices of one database."""

    worlds: Worlds
    choices: tuple[Choice, ...]
    rules: tuple[Rule, ...]
    counts: Floats
    broken: Floats

    @classmethod
    def of(cls, case: Case, facts: Facts, domains: Domains, rules: Sequence[Rule]) -> Conditionals:
        worlds, atoms = world_and_flips(case.predicates, domains, facts)
        soft = [rule for rule in rules if rule.weight is not None]
        broken = np.zeros(worlds.size)
        for rule in rules:
            if rule.weight is None:
                broken += len(worlds.groundings(rule.formula)) - worlds.counts(rule.formula)
        counts = worlds.feature_counts(soft).astype(float)
        return cls(worlds, tuple(_choices(case, facts, atoms)), tuple(soft), counts, broken)

    def probabilities(self, choice: Choice, weights: Floats) -> Floats:
        """Of the candidates: those that break fewest hard groundings, by their soft weights."""
        own = list(choice.candidates)
        scores = weights @ self.counts[:, own]
        scores = np.where(self.broken[own] > self.broken[own].min(), -np.inf, scores)
        raised = np.exp(scores - scores.max())
        return np.asarray(raised / raised.sum())

    def of_atoms(self, weights: Floats) -> dict[GroundAtom, float]:
        """The probability of every atom."""
        found = {}
        for choice in self.choices:
            pairs = zip(choice.atoms, self.probabilities(choice, weights), strict=True)
            found.update((atom, float(p)) for atom, p in pairs if atom is not None)
        return found

    def pseudo_likelihood(self, weights: Floats, weighted: bool) -> tuple[float, Floats]:
        """The value and the gradient; each predicate counts by its sum, or by its mean."""
        value, gradient = 0.0, np.zeros(len(weights))
        number = {c.name: sum(o.name == c.name for o in self.choices) for c in self.choices}
        for choice in self.choices:
            if choice.chosen is None:
                raise Impossible("a block has not exactly one value")
            if self.broken[choice.candidates[choice.chosen]]:
                raise Impossible("the data break a hard rule")
            share = 1.0 / number[choice.name] if weighted else 1.0
            p = self.probabilities(choice, weights)
            counts = self.counts[:, list(choice.candidates)]
            value += share * float(np.log(p[choice.chosen]))
            gradient += share * (counts[:, choice.chosen] - counts @ p)
        return value, gradient


def _choices(case: Case, facts: Facts, atoms: Sequence[GroundAtom]) -> list[Choice]:
    found: list[Choice] = []
    blocks: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for place, (name, terms) in enumerate(atoms):
        predicate = case.by_name[name]
        if predicate.exclusive:
            blocks.setdefault((name, block_of(predicate, terms)), []).append(place)
        else:
            is_true = (name, terms) in facts.true
            pair = (place, place + len(atoms))
            found.append(Choice(name, pair, ((name, terms), None), 0 if is_true else 1))
    for (name, _), places in blocks.items():
        true = [i for i, place in enumerate(places) if atoms[place] in facts.true]
        own = tuple(atoms[place] for place in places)
        found.append(Choice(name, tuple(places), own, true[0] if len(true) == 1 else None))
    return found
