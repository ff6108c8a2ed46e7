"""One case: a model, databases to learn from, evidence, and what is asked. A plain value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from agreement.language import (
    GroundAtom,
    Predicate,
    Rule,
    atom_text,
    constants_of,
)

Domains = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Facts:
    """What a database lists: true, explicitly false and unknown atoms."""

    true: frozenset[GroundAtom] = frozenset()
    false: frozenset[GroundAtom] = frozenset()
    unknown: frozenset[GroundAtom] = frozenset()

    @property
    def listed(self) -> frozenset[GroundAtom]:
        return self.true | self.false | self.unknown

    def __str__(self) -> str:
        lines = [atom_text(atom) for atom in sorted(self.true)]
        lines += ["!" + atom_text(atom) for atom in sorted(self.false)]
        lines += ["?" + atom_text(atom) for atom in sorted(self.unknown)]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Case:
    """Attributes
    ----------
    seed
        What it was made from.
    declared
        The constants of each closed type; other types have those that are named.
    training
        Databases to count in and learn from; only `hidden` says whether atoms are unknown there.
    evidence
        What is known when the model is asked.
    query, open, closed
        As `mlnlearn.query` has them.
    """

    seed: int
    types: tuple[str, ...]
    declared: tuple[tuple[str, tuple[str, ...]], ...]
    predicates: tuple[Predicate, ...]
    rules: tuple[Rule, ...]
    training: tuple[Facts, ...]
    hidden: tuple[Facts, ...]
    evidence: Facts
    query: tuple[str, ...]
    open: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, Predicate]:
        return {predicate.name: predicate for predicate in self.predicates}

    @property
    def soft(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.weight is not None)

    @property
    def hard(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.weight is None)

    @cached_property
    def weights(self) -> list[float]:
        return [rule.weight for rule in self.rules if rule.weight is not None]

    @cached_property
    def rule_constants(self) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        return found.union(*(constants_of(rule.formula, self.by_name) for rule in self.rules))

    def domains(self, facts: Facts, *, with_rules: bool = True) -> Domains:
        """A closed type has its constants; any other those of its facts and of the rules."""
        named = set(self.rule_constants) if with_rules else set()
        for name, terms in facts.listed:
            named |= set(zip(self.by_name[name].types, terms, strict=True))
        closed = dict(self.declared)
        return {
            kind: closed.get(kind) or tuple(sorted(c for k, c in named if k == kind))
            for kind in self.types
        }

    def mln_text(self) -> str:
        lines = [f"{kind} = {{{', '.join(names)}}}" for kind, names in self.declared]
        lines += [str(predicate) for predicate in self.predicates]
        return "\n".join([*lines, *map(str, self.rules)]) + "\n"

    def __str__(self) -> str:
        parts = [f"// seed {self.seed}", "// model.mln", self.mln_text()]
        parts += [f"// evidence.db, query {self.query}, open {self.open}, closed {self.closed}"]
        parts += [str(self.evidence)]
        for name, databases in (("train", self.training), ("hidden", self.hidden)):
            for number, facts in enumerate(databases):
                parts += [f"// {name}{number}.db", str(facts)]
        return "\n".join(parts)


def ground_atoms(
    predicates: Sequence[Predicate], domains: dict[str, tuple[str, ...]]
) -> Iterator[GroundAtom]:
    """Every atom of some predicates."""
    for predicate in predicates:
        for terms in product(*(domains[kind] for kind in predicate.types)):
            yield predicate.name, terms


def block_of(predicate: Predicate, terms: tuple[str, ...]) -> tuple[str, ...]:
    """What the atoms of one block share: all arguments but the exclusive ones."""
    return tuple(term for i, term in enumerate(terms) if i not in predicate.exclusive)
