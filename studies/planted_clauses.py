"""Clauses planted in synthetic data and looked for: ``python -m studies.planted_clauses``.

A clause is drawn at random, worlds are drawn from the network of it and the unit clauses, and a
learner that knows the worlds alone must come up with that clause, or one that is the same feature
beside the unit clauses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Atom, Literal
from mlnlearn.logic.clauses import Clause, as_clause, clause
from mlnlearn.logic.polynomial import polynomial
from mlnlearn.logic.schema import Schema
from mlnlearn.logic.substitute import substitute
from mlnlearn.model.mln import MLN
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from mlnlearn.structure.search.background import unit_clauses
from studies.common import Options, Study, markdown_table, run, run_tasks, settings_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WHOLE = Schema.of("a(t)", "b(t)", "q(t,t)", "r(t,t)", "s(t,t)")
a, b, q, r, s = (WHOLE[name] for name in "abqrs")
_SWEEPS = 50
_COSTS = ("clauses", "seconds")
LEARNERS: dict[str, GSLP | MSL] = {
    "GSLP": GSLP(max_literals=3),
    "MSL": MSL(max_literals=3, max_variables=3, held_out=True, joint=True, min_gain=0.001),
}
STUDY = Study(
    name="planted_clauses",
    title="Planted clauses",
    about=(
        "A clause of one of seven shapes gets random signs and a weight between 2 and 3; three "
        "worlds of 60, 80 and 100 persons are drawn from the network of it and the unit clauses, "
        "by Gibbs sampling. Unit weights are set so that half of the persons are `a` and `b`, and "
        "each has a few partners by each relation: with unit weights of zero the worlds of some "
        "shapes hardly ever put their clause to the test. In the last shape `r` and `s` are drawn "
        "at random, `q` given them, for the same reason. There are predicates that are not in the "
        "clause, too. A clause counts as found where the learned network holds it, or one that is "
        "the same feature up to sign and unit clauses. In the last but one shape the two relations "
        "bear on each other only under a condition: alone, they seem unrelated. Shapes take turns; "
        "run 0 has the first one."
    ),
    settings=settings_of(LEARNERS),
    seeds=200,
    minutes=15,
)


@dataclass(frozen=True)
class Shape:
    """A clause but for its signs, and the world that it is planted in.

    Attributes
    ----------
    atoms
        The atoms of the clause, the head first.
    partners
        How many others a person is related to by each relation; None for a quarter of all.
    given
        Predicates whose atoms are drawn at random, whatever the clause says.
    other
        Predicates of the world that are not in the clause.
    """

    atoms: tuple[Atom, ...]
    partners: float | None
    given: str = ""
    other: str = ""

    @property
    def schema(self) -> Schema:
        """The predicates of the clause and the others, by name."""
        names = sorted({atom.predicate.name for atom in self.atoms}.union(self.other))
        return Schema.of(*(str(WHOLE[name]) for name in names))


SHAPES = (
    Shape((b("x"), a("x")), 2.0, other="rs"),
    Shape((b("y"), r("x", "y")), 2.0, other="as"),
    Shape((b("y"), r("x", "y"), a("x")), 2.0, other="s"),
    Shape((s("x", "y"), r("x", "y")), None, other="ab"),
    Shape((s("x", "y"), r("y", "x")), None, other="ab"),
    # the two relations bear on each other only where a(x) lets them: alone they seem unrelated
    Shape((s("x", "y"), r("y", "x"), a("x")), 4.0, other="b"),
    # else r and s would hardly ever follow one another: worlds in which they do are too unlikely
    Shape((q("x", "z"), r("x", "y"), s("y", "z")), 4.0, given="rs", other="a"),
)


def planted(
    rng: np.random.Generator, shape: Shape, people: Sequence[int] = (60, 80, 100)
) -> tuple[Clause, list[Database]]:
    """Return a clause of a shape with random signs, and worlds drawn with it.

    Every predicate is in the clause at most once, so that all its atoms are independent given the
    other predicates: worlds are drawn by Gibbs sampling, a predicate at a time.
    """
    # a relation in the body is denied, so that few groundings depend on an atom
    signs = [True, *(a.predicate.arity == 1 and bool(rng.integers(2)) for a in shape.atoms[1:])]
    chosen = clause(*(Literal(atom, sign) for atom, sign in zip(shape.atoms, signs, strict=True)))
    weight = rng.uniform(2.0, 3.0)
    return chosen, [_world(rng, shape, chosen, weight, size) for size in people]


def _world(
    rng: np.random.Generator, shape: Shape, chosen: Clause, weight: float, people: int
) -> Database:
    """Draw a world.

    Unit weights are moved in the first half of the sweeps until each predicate has about the share
    of true atoms that it should: else a clause that is hardly ever put to the test may be planted.
    """
    related = 0.25 if shape.partners is None else shape.partners / people
    schema = shape.schema
    share = {p.name: 0.5 if p.arity == 1 else related for p in schema.predicates}
    units = {name: _log_odds(wanted) for name, wanted in share.items()}
    truth = {p.name: rng.random((people,) * p.arity) < share[p.name] for p in schema.predicates}
    for sweep in range(2 * _SWEEPS):
        for name, wanted in share.items():
            if name in shape.given:
                continue
            odds = units[name] + weight * flips(chosen, name, truth)
            truth[name] = rng.random(odds.shape) < 1.0 / (1.0 + np.exp(-odds))
            if sweep < _SWEEPS:
                found = np.clip(truth[name].mean(), 0.5 / truth[name].size, 0.99)
                units[name] += 3.0 / (3.0 + sweep) * (_log_odds(wanted) - _log_odds(found))
    names = [f"T{i}" for i in range(people)]
    facts = {
        name: [tuple(names[i] for i in row) for row in np.argwhere(values)]
        for name, values in truth.items()
    }
    return Database.from_facts(schema, facts, domains={"t": names})


def _log_odds(share: float) -> float:
    return float(np.log(share / (1.0 - share)))


def flips(given: Clause, name: str, truth: Mapping[str, Bools]) -> Floats:
    """Return the flip counts of a predicate that is in a clause once or never.

    Examples
    --------
    >>> rule = clause(~Literal(a("x")), b("x"))
    >>> flips(rule, "b", {"a": np.array([True, False]), "b": np.array([False, False])}).tolist()
    [1.0, 0.0]
    """
    shape = truth[name].shape
    atoms = [(lit.atom, lit.positive) for lit in given if isinstance(lit.atom, Atom)]
    own = next(((atom, sign) for atom, sign in atoms if atom.predicate.name == name), None)
    if own is None:
        return np.zeros(shape)
    terms = "".join(map(str, own[0].terms))
    factors, places = [np.ones(shape)], [terms]
    for atom, sign in atoms:
        if atom != own[0]:
            factors.append((truth[atom.predicate.name] != sign).astype(float))
            places.append("".join(map(str, atom.terms)))
    found: Floats = np.einsum(f"{','.join(places)}->{terms}", *factors, optimize=True)
    return found if own[1] else -found


def is_equivalent(one: Clause, other: Clause) -> bool:
    """Tell whether two clauses are the same feature, up to sign and beside the unit clauses."""
    first, second = list(one.variables), list(other.variables)
    if len(first) != len(second) or len(one) != len(other):
        return False
    wanted = _joint(one)
    for order in permutations(first):
        renamed = substitute(other, dict(zip(second, order, strict=True)))
        found = _joint(renamed)
        if found in (wanted, {term: -value for term, value in wanted.items()}):
            return True
    return False


def _joint(given: Clause) -> dict[frozenset[object], int]:
    return {term: n for term, n in polynomial(given.formula).items() if len(term) > 1}


def recovered(mln: MLN, chosen: Clause) -> bool:
    """Tell whether a network holds a clause or an equivalent one."""
    clauses = (as_clause(rule.formula) for rule in mln.rules)
    return any(found is not None and is_equivalent(chosen, found) for found in clauses)


@dataclass(frozen=True)
class Task:
    """One planted clause, and who looks for it."""

    shape: Shape
    seed: int
    learner: GSLP | MSL


def search(task: Task) -> dict[str, Any]:
    """Plant a clause, learn, and tell whether it was found, and in what time."""
    chosen, databases = planted(np.random.default_rng(task.seed), task.shape)
    started = time.process_time()
    learned = task.learner.fit(databases)
    took = time.process_time() - started
    units = sum(1 for _ in unit_clauses(task.shape.schema))
    return {
        "found": recovered(learned.model, chosen),
        "seconds": took,
        "clauses": len(learned.model.rules) - units,
    }


def sections(options: Options) -> Iterator[str]:
    """Compute the page: for each shape and learner, how many clauses were found."""
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for label, learner in LEARNERS.items():
        tasks = [
            [Task(shape, seed, learner) for seed in range(place, options.seeds, len(SHAPES))]
            for place, shape in enumerate(SHAPES)
        ]
        done = iter(run_tasks(search, [task for part in tasks for task in part], options, label))
        found[label] = [[next(done) for _ in part] for part in tasks]
    rows = []
    for place, shape in enumerate(SHAPES):
        runs = len(found["GSLP"][place])
        cells = [_share(parts[place]) for parts in found.values()]
        rows.append([", ".join(map(str, shape.atoms)), str(runs), *cells])
    whole = {label: [run for part in parts for run in part] for label, parts in found.items()}
    rows.append(["all", str(options.seeds), *(_share(runs) for runs in whole.values())])
    yield "## Planted clauses found"
    yield markdown_table(["atoms, the head first", "runs", *found], rows)
    yield "## Cost"
    yield markdown_table(
        ["learner", "clauses in the network, mean", "learning, CPU s, mean"],
        [
            [label, *(f"{np.mean([run[what] for run in runs]):.1f}" for what in _COSTS)]
            for label, runs in whole.items()
        ],
    )


def _share(runs: Sequence[dict[str, Any]]) -> str:
    return f"{np.mean([run['found'] for run in runs]):.1%}"


if __name__ == "__main__":
    run(STUDY, sections)
