"""Small tables as facts: people, perhaps things they like, and a value in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from agreement.case import Domains, Facts
from agreement.language import GroundAtom, Predicate, Rule
from agreement.reference import Bools, Worlds


@dataclass(frozen=True)
class Cell:
    """The values that one row of a table may have in one column; one is true."""

    atoms: tuple[GroundAtom, ...]
    chosen: int


@dataclass(frozen=True)
class Tables:
    """Attributes of people and things, and links between them with an attribute of their own."""

    predicates: tuple[Predicate, ...]
    facts: Facts
    domains: Domains

    def rows(self, name: str) -> list[tuple[str, ...]]:
        """The true facts of a predicate, as rows."""
        return sorted(terms for other, terms in self.facts.true if other == name)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells; a link has its attribute only where it is true."""
        found = []
        for predicate in self.predicates:
            if not predicate.exclusive:
                continue
            *keys, kind = predicate.types
            for row in product(*(self.domains[key] for key in keys)):
                if len(row) == 2 and ("likes", row) not in self.facts.true:
                    continue
                atoms = tuple((predicate.name, (*row, value)) for value in self.domains[kind])
                chosen = [i for i, atom in enumerate(atoms) if atom in self.facts.true]
                found.append(Cell(atoms, chosen[0]))
        return tuple(found)

    def given_others(self, rules: Sequence[Rule]) -> dict[GroundAtom, float]:
        """The probability of each cell's values, all other cells as they are."""
        size = sum(len(cell.atoms) for cell in self.cells)
        truth: dict[GroundAtom, Bools] = {}
        for predicate in self.predicates:
            for terms in product(*(self.domains[kind] for kind in predicate.types)):
                atom = predicate.name, terms
                truth[atom] = np.full(size, atom in self.facts.true)
        place = 0
        for cell in self.cells:
            for number in range(len(cell.atoms)):
                truth[cell.atoms[cell.chosen]][place] = False
                truth[cell.atoms[number]][place] = True
                place += 1
        scores = Worlds(self.domains, truth, size).log_weights(rules)
        found, place = {}, 0
        for cell in self.cells:
            own = scores[place : place + len(cell.atoms)]
            raised = np.exp(own - own.max())
            found.update(zip(cell.atoms, (raised / raised.sum()).tolist(), strict=True))
            place += len(cell.atoms)
        return found


def random_tables(rng: np.random.Generator, *, linked: bool) -> Tables:
    """People with three columns; if linked, things with one, and likes with one."""
    people = tuple(f"U{i:02}" for i in range(5 if linked else int(rng.integers(6, 20))))
    names = ("c0", "c1", "c2")
    sizes = dict(zip((*names, "genre", "stars"), rng.integers(2, 4, 5).tolist(), strict=True))
    true: set[GroundAtom] = set()
    for person in people:
        before = int(rng.integers(6))
        for name in names:
            # columns lean on each other, so that there are edges to find
            before = before if rng.random() < 0.6 else int(rng.integers(6))
            true.add((name, (person, f"{name.upper()}_{before % sizes[name]}")))
    predicates = [Predicate(name, ("u", f"{name}_value"), (1,)) for name in names]
    domains = {"u": people}
    if linked:
        domains["t"] = tuple(f"T{i}" for i in range(4))
        predicates += [Predicate("genre", ("t", "genre_value"), (1,)),
                       Predicate("likes", ("u", "t")),
                       Predicate("stars", ("u", "t", "stars_value"), (2,))]  # fmt: skip
        kinds = {thing: int(rng.integers(sizes["genre"])) for thing in domains["t"]}
        true |= {("genre", (thing, f"GENRE_{kind}")) for thing, kind in kinds.items()}
        for person, thing in product(people, domains["t"]):
            if rng.random() < 0.5:
                value = kinds[thing] if rng.random() < 0.6 else int(rng.integers(3))
                stars = f"STARS_{value % sizes['stars']}"
                true |= {("likes", (person, thing)), ("stars", (person, thing, stars))}
    for predicate in predicates:
        if predicate.exclusive:  # values are those that occur
            found = {terms[-1] for name, terms in true if name == predicate.name}
            domains[predicate.types[-1]] = tuple(sorted(found))
    return Tables(tuple(predicates), Facts(frozenset(true)), domains)
