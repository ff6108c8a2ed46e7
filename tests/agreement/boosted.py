"""Boosted rules of the suite's own: printed as the library's JSON, evaluated by their definition.

A literal names a variable by its number: those of the head come first. A tree is a value (a leaf)
or a test with two branches; what a test binds stays bound where it holds. A value is a number, or a
number with what is added to it for heads of some constants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from agreement.case import Domains, block_of, ground_atoms
from agreement.language import GroundAtom, Predicate
from agreement.reference import Bools, Floats, Worlds


@dataclass(frozen=True)
class Literal:
    """An atom over numbered variables and constants; ``=`` compares two of a type."""

    predicate: Predicate
    terms: tuple[int | str, ...]

    def plain(self) -> list[Any]:
        own = [self.predicate.types[0]] if self.predicate.name == "=" else []
        return [self.predicate.name, *own, *self.terms]


Body: TypeAlias = tuple[Literal, ...]


@dataclass(frozen=True)
class Split:
    test: Body
    yes: Tree
    no: Tree


@dataclass(frozen=True)
class Vector:
    """A number, and what is added for some constants of one argument of the head."""

    number: float
    place: int
    added: tuple[tuple[str, float], ...]

    def of(self, head: tuple[str, ...]) -> float:
        return self.number + dict(self.added).get(head[self.place], 0.0)


Value: TypeAlias = float | Vector
Tree: TypeAlias = Value | Split


def _of(value: Value, head: tuple[str, ...]) -> float:
    return value.of(head) if isinstance(value, Vector) else value


@dataclass(frozen=True)
class Target:
    """Rules for one predicate: a bias, weighted clauses, trees."""

    predicate: Predicate
    bias: float
    clauses: tuple[tuple[Body, Value], ...]
    trees: tuple[Tree, ...]

    @property
    def bodies(self) -> Iterator[Body]:
        yield from (body for body, _ in self.clauses)
        for tree in self.trees:
            yield from _tests(tree)

    def plain(self) -> dict[str, Any]:
        clauses = [{"body": _plain(body), **_weight(weight)} for body, weight in self.clauses]
        return {
            "target": self.predicate.name,
            "bias": self.bias,
            "prior": {"clauses": []},
            "steps": [{"clauses": clauses}, *({"tree": _tree(tree)} for tree in self.trees)],
            "shifts": [],
        }


def _plain(body: Body) -> list[list[Any]]:
    return [literal.plain() for literal in body]


def _weight(value: Value) -> dict[str, Any]:
    if isinstance(value, Vector):
        return {"weight": value.number, "by": [value.place, dict(value.added)]}
    return {"weight": value}


def _tree(tree: Tree) -> Any:
    if isinstance(tree, Vector):
        return [tree.number, tree.place, dict(tree.added)]
    if not isinstance(tree, Split):
        return tree
    return {"if": _plain(tree.test), "then": _tree(tree.yes), "else": _tree(tree.no)}


def _tests(tree: Tree) -> Iterator[Body]:
    if isinstance(tree, Split):
        yield tree.test
        yield from _tests(tree.yes)
        yield from _tests(tree.no)


@dataclass(frozen=True)
class Boosted:
    """A boosted model; `existential` rules count once, not once a grounding."""

    predicates: tuple[Predicate, ...]
    declared: tuple[tuple[str, tuple[str, ...]], ...]
    existential: bool
    targets: tuple[Target, ...]

    @property
    def names(self) -> list[str]:
        return [target.predicate.name for target in self.targets]

    @property
    def is_joint(self) -> bool:
        """Whether a target stands in a body."""
        used = {lit.predicate.name for t in self.targets for body in t.bodies for lit in body}
        return bool(used & set(self.names))

    def json(self) -> str:
        return json.dumps({
            "format": "mlnlearn boosted rules, version 1",
            "schema": {
                "predicates": [
                    {"name": p.name, "types": list(p.types), "function": False}
                    for p in self.predicates
                ],
                "declared": {kind: list(names) for kind, names in self.declared},
                "functional": {p.name: list(p.exclusive) for p in self.predicates if p.exclusive},
            },
            "semantics": "existential" if self.existential else "counting",
            "targets": [target.plain() for target in self.targets],
        })  # fmt: skip

    def value(self, target: Target, head: tuple[str, ...], worlds: Worlds) -> Floats:
        """What the rules say of a head in each world."""
        start = [(dict(enumerate(head)), np.ones(worlds.size, np.bool_))]
        total = np.full(worlds.size, target.bias)
        for body, weight in target.clauses:
            counts = _count(_joined(start, body, worlds), worlds.size)
            total += _of(weight, head) * (counts > 0 if self.existential else counts)
        for tree in target.trees:
            total += self._descend(tree, head, start, worlds)
        return total

    def _descend(
        self, tree: Tree, head: tuple[str, ...], rows: list[Row], worlds: Worlds
    ) -> Floats:
        if not isinstance(tree, Split):
            counts = _count(rows, worlds.size)
            return _of(tree, head) * np.asarray(counts > 0 if self.existential else counts, float)
        tested = _joined(rows, tree.test, worlds)
        holds = _count(tested, worlds.size) > 0
        yes = self._descend(tree.yes, head, tested, worlds)
        return np.where(holds, yes, self._descend(tree.no, head, rows, worlds))

    def log_weights(self, worlds: Worlds) -> Floats:
        """Under counting semantics: minus what the rules give to the heads that are false."""
        total = np.zeros(worlds.size)
        for target in self.targets:
            for name, head in ground_atoms([target.predicate], worlds.domains):
                value = self.value(target, head, worlds)
                total = total - np.where(worlds.truth[name, head], 0.0, value)
        return total


Row: TypeAlias = tuple[dict[int, str], Bools]
"""Values of variables, and the worlds in which what bound them is true."""


def _joined(rows: Sequence[Row], body: Body, worlds: Worlds) -> list[Row]:
    """Extend every row by every choice of values for the new variables of a conjunction."""
    types: dict[int, str] = {}
    for literal in body:
        for term, kind in zip(literal.terms, literal.predicate.types, strict=True):
            if isinstance(term, int):
                types.setdefault(term, kind)
    found = []
    for values, truth in rows:
        new = [variable for variable in types if variable not in values]
        for names in product(*(worlds.domains[types[variable]] for variable in new)):
            more = {**values, **dict(zip(new, names, strict=True))}
            holds = truth
            for literal in body:
                holds = holds & _holds(literal, more, worlds)
            if holds.any():
                found.append((more, holds))
    return found


def _holds(literal: Literal, values: dict[int, str], worlds: Worlds) -> Bools:
    terms = tuple(values[t] if isinstance(t, int) else t for t in literal.terms)
    if literal.predicate.name == "=":
        return np.full(worlds.size, terms[0] == terms[1])
    nowhere = np.zeros(worlds.size, np.bool_)
    return worlds.truth.get((literal.predicate.name, terms), nowhere)


def _count(rows: Sequence[Row], size: int) -> np.ndarray:
    return sum((truth.astype(np.int64) for _, truth in rows), np.zeros(size, np.int64))


def random_boosted(
    rng: np.random.Generator, predicates: Sequence[Predicate], constants: Domains,
    declared: tuple[tuple[str, tuple[str, ...]], ...],
) -> Boosted:  # fmt: skip
    """Rules for one or two of some predicates, at times joint ones."""
    order = [predicates[i] for i in rng.permutation(len(predicates))]
    targets = order[: 1 + int(rng.random() < 0.4)] if len(order) > 1 else order
    joint = rng.random() < 0.5
    bodies = [p for p in predicates if joint or p not in targets]
    maker = _Maker(rng, bodies, constants)
    made = tuple(maker.target(predicate) for predicate in targets)
    return Boosted(tuple(predicates), declared, bool(rng.random() < 0.3), made)


@dataclass(frozen=True)
class _Maker:
    rng: np.random.Generator
    predicates: Sequence[Predicate]
    constants: Domains

    def target(self, predicate: Predicate) -> Target:
        heads = list(predicate.types)
        clauses, trees = [], []
        places = [place for place, kind in enumerate(heads) if self.constants[kind]]
        axis = places[-1] if places and self.rng.random() < 0.4 else None
        if self.predicates:
            for _ in range(self.rng.integers(0, 3)):
                clauses.append((self._body(list(heads)), self._end(predicate, axis)))
            for _ in range(self.rng.integers(0, 2 if clauses else 3)):
                trees.append(self._tree(predicate, axis, list(heads), 2))
        return Target(predicate, self._value(), tuple(clauses), tuple(trees))

    def _value(self) -> float:
        return round(float(self.rng.normal(0.0, 1.0)), 3)

    def _end(self, predicate: Predicate, axis: int | None) -> Value:
        """A number; with an axis, a vector over some of its constants."""
        if axis is None:
            return self._value()
        names = [n for n in self.constants[predicate.types[axis]] if self.rng.random() < 0.8]
        start = self._value() if self.rng.random() < 0.5 else 0.0
        return Vector(start, axis, tuple((name, self._value()) for name in names))

    def _tree(
        self, predicate: Predicate, axis: int | None, types: list[str], depth: int
    ) -> Tree:  # fmt: skip
        if depth == 0 or self.rng.random() < 0.2:
            return self._end(predicate, axis)
        inner = list(types)
        test = self._body(inner)
        yes = self._tree(predicate, axis, inner, depth - 1)
        return Split(test, yes, self._tree(predicate, axis, list(types), depth - 1))

    def _body(self, types: list[str]) -> Body:
        """One or two literals; the types of new variables are added to the list."""
        return tuple(self._literal(types) for _ in range(self.rng.integers(1, 3)))

    def _literal(self, types: list[str]) -> Literal:
        same = [(i, j) for i in range(len(types)) for j in range(i) if types[i] == types[j]]
        if same and self.rng.random() < 0.1:
            pair = same[self.rng.integers(len(same))]
            return Literal(Predicate("=", (types[pair[0]],) * 2), pair)
        predicate = self.predicates[self.rng.integers(len(self.predicates))]
        terms: list[int | str] = []
        for kind in predicate.types:
            known = [number for number, own in enumerate(types) if own == kind]
            if self.constants[kind] and self.rng.random() < 0.15:
                terms.append(self.constants[kind][self.rng.integers(len(self.constants[kind]))])
            elif known and (self.rng.random() < 0.7 or len(types) > 3):
                terms.append(known[self.rng.integers(len(known))])
            else:
                types.append(kind)
                terms.append(len(types) - 1)
        return Literal(predicate, tuple(terms))


def conditional(
    model: Boosted, target: Target, atom: GroundAtom, truth: frozenset[GroundAtom], domains: Domains
) -> float:
    """The probability of one atom given all others, or all others outside of its block."""
    predicate, block = target.predicate, [atom]
    if predicate.exclusive:
        own = block_of(predicate, atom[1])
        block = [a for a in ground_atoms([predicate], domains) if block_of(predicate, a[1]) == own]
    # in the first world all are false, in the others one is true
    size = len(block) + 1
    each = {a: np.full(size, a in truth) for a in ground_atoms(model.predicates, domains)}
    each.update((other, np.arange(size) == place) for place, other in enumerate(block, 1))
    worlds = Worlds(domains, each, size)
    if model.existential:
        scores = np.array([model.value(target, terms, worlds)[0] for _, terms in block])
    else:
        weights = model.log_weights(worlds)
        scores = weights[1:] - weights[0]
    if not predicate.exclusive:
        scores = np.append(scores, 0.0)  # of none
    shares = np.exp(scores - scores.max())
    return float(shares[block.index(atom)] / shares.sum())
