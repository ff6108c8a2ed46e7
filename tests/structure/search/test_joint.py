"""Atoms predicted together: mean field against exact marginals, and what it lets into a network."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from brute import brute_count
from mlnlearn.counting.grid import GridFlips
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Literal
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.growth import Acceptance
from mlnlearn.structure.search.meanfield import Coupling, joint_score, together
from mlnlearn.structure.search.scoring import scorer
from mlnlearn.structure.search.weighted_grid import WeightedGrid

SCHEMA = Schema.of("p(t)", "r(t,t)")
P, R = SCHEMA["p"], SCHEMA["r"]
SPREADS = clause(~Literal(P("x")), ~Literal(R("x", "y")), P("y"))


def world(rng, size=4, name="T"):
    names = [f"{name}{i}" for i in range(size)]
    facts = {
        "p": [(n,) for n in names if rng.random() < 0.4],
        "r": [pair for pair in product(names, repeat=2) if rng.random() < 0.4],
    }
    return Database.from_facts(SCHEMA, facts, domains={"t": names})


def exact(database, formulas, weights):
    """Marginals of all atoms of p when none is known, by listing the worlds."""
    names = database.domains["t"].names
    known = {"r": set(database.rows("r"))}
    totals, mass = np.zeros(len(names)), 0.0
    for values in product((False, True), repeat=len(names)):
        facts = {**known, "p": {(n,) for n, true in zip(names, values, strict=True) if true}}
        score = sum(
            weight * sum(brute_count(database, formula, (), facts).values())
            for weight, formula in zip(weights, formulas, strict=True)
        )
        totals += np.exp(score) * np.array(values)
        mass += np.exp(score)
    return totals / mass


@pytest.mark.parametrize("seed", range(6))
def test_weak_couplings_give_the_exact_marginals(seed):
    rng = np.random.default_rng(seed)
    database = world(rng)
    unit, weight = rng.normal(), rng.uniform(-0.3, 0.3)
    grid = WeightedGrid(MemoryEngine([database]))
    given = np.full((1, 4), unit)
    coupling = Coupling(SPREADS, np.array([weight]))
    found = together(grid, "p", given, [coupling], given)
    expected = exact(database, (P("x"), SPREADS.formula), (unit, weight))
    assert found[0] == pytest.approx(expected, abs=0.01)
    # the truth of the atoms themselves plays no part
    empty = WeightedGrid(MemoryEngine([database.without_facts(["p"]).closed()]))
    again = together(empty, "p", given, [coupling], given)
    assert again == pytest.approx(found)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_known_can_be_counted_beforehand(seed):
    rng = np.random.default_rng(seed)
    grid = WeightedGrid(MemoryEngine([world(rng, 5), world(rng, 3)]))
    body = [~Literal(R("x", "u")), Literal(R("u", "v"), bool(rng.integers(2))), R("v", "y")]
    for given, is_shorter in (
        (clause(~Literal(P("x")), *body, P("y")), True),
        (clause(P("x"), *body, R("w", "x"), P("y")), True),
        (clause(P("x"), P("y"), R("x", "y"), R("u", "v")), False),
    ):
        literals = grid.coded(given)
        dense, shorter = grid.condensed(literals, "p")
        belief = rng.random(grid.true["p"].shape) * (grid.weight["p"] > 0.0)
        found = dense.believing("p", belief).flips(shorter, P)
        expected = grid.believing("p", belief).flips(literals, P)
        assert (len(shorter) < len(literals)) == is_shorter
        assert found.places == expected.places
        assert found.values == pytest.approx(expected.values)


def test_the_worse_of_two_starts_counts():
    """Each atom pulls all others up: known facts lead to few true ones, a full start stays full."""
    names = [f"T{i}" for i in range(10)]
    facts = {"p": [(names[0],)], "r": list(product(names, repeat=2))}
    grid = WeightedGrid(MemoryEngine([Database.from_facts(SCHEMA, facts, domains={"t": names})]))
    given = np.full((1, 10), -4.0)
    coupling = Coupling(SPREADS, np.array([1.0]))
    low = together(grid, "p", given, [coupling], given)
    high = together(grid, "p", given, [coupling], np.full((1, 10), np.inf))
    assert low.max() < 0.1
    assert high.min() > 0.9
    unit = GridFlips((), np.ones(1)), np.array([-4.0])
    assert joint_score(grid, "p", [unit], [coupling]) < -3.0


@pytest.mark.parametrize("number", [1, 3])
def test_without_repeated_predicates_atoms_are_predicted_together_as_well_as_singly(number):
    rng = np.random.default_rng(number)
    databases = [world(rng, 5, f"D{place}") for place in range(number)]
    found = scorer(databases, Background.of(databases, None), 5.0)
    model = found.start().extended(clause(P("x"), ~Literal(R("x", "y"))))
    singly = model.likelihood if number == 1 else model.held_out.sum()
    assert model.joint == pytest.approx(singly)
    coupled = model.extended(SPREADS)
    assert coupled.joint != pytest.approx(
        coupled.likelihood if number == 1 else coupled.held_out.sum()
    )


def test_a_network_that_copies_its_neighbours_is_seen_through():
    """Blocks of equal atoms: certain given the neighbours, anything goes without them."""
    databases = []
    for number in range(3):
        names = [f"D{number}_{i}" for i in range(24)]
        block = {n: i // 6 for i, n in enumerate(names)}
        facts = {
            "p": [(n,) for n in names if block[n] == number],
            "r": [(m, n) for m, n in product(names, repeat=2) if block[m] == block[n] and m != n],
        }
        databases.append(Database.from_facts(SCHEMA, facts, domains={"t": names}))
    found = scorer(databases, Background.of(databases, None), 100.0)
    start = found.start()
    longer = start.extended(SPREADS)
    assert longer.held_out.sum() > start.held_out.sum() + 1.0
    assert longer.joint < start.joint
    assert Acceptance(0.001, held_out=True, joint=False).generalises(start, longer)
    assert not Acceptance(0.001, held_out=True, joint=True).generalises(start, longer)


@dataclass(frozen=True)
class Scores:
    likelihood: float
    held_out: np.ndarray | None
    joint: float | None


BEFORE = Scores(-3.0, np.array([-1.0, -2.0]), -4.0)


@pytest.mark.parametrize(
    ("after", "held_out", "joint", "accepted"),
    [
        (Scores(-2.0, np.array([-0.8, -1.9]), -4.0), True, True, True),
        (Scores(-2.0, np.array([-1.1, -2.2]), -4.0), True, True, False),
        (Scores(-2.0, np.array([-1.1, -2.2]), -4.0), False, True, True),
        # better in all, but worse for one database
        (Scores(-2.0, np.array([-1.1, -1.5]), -4.0), True, True, False),
        # a small loss together is made up for by a large gain one by one
        (Scores(-2.0, np.array([-0.5, -1.5]), -4.1), True, True, True),
        (Scores(-2.0, np.array([-0.5, -1.5]), -4.3), True, True, False),
        (Scores(-2.0, np.array([-0.5, -1.5]), -4.3), True, False, True),
        # with a single database nothing is held out: half of the gain must be there together, too
        (Scores(-2.0, None, -3.4), True, True, True),
        (Scores(-2.0, None, -3.6), True, True, False),
        (Scores(-2.0, None, -4.1), False, True, True),
        (Scores(-2.0, None, -4.3), False, True, False),
        (Scores(-2.0, None, None), True, True, True),
    ],
)
def test_what_a_clause_must_do(after, held_out, joint, accepted):
    rule = Acceptance(0.001, held_out, joint)
    before = Scores(BEFORE.likelihood, None if after.held_out is None else BEFORE.held_out, -4.0)
    assert rule.generalises(before, after) is accepted


def test_in_a_single_database_the_number_of_the_others_is_no_gain():
    """Ten of twenty atoms hold: who sees the others knows the last one, but that is all."""
    names = [f"T{i}" for i in range(20)]
    facts = {"p": [(n,) for n in names[:10]]}
    databases = [Database.from_facts(SCHEMA, facts, domains={"t": names})]
    start = scorer(databases, Background.of(databases, None), 100.0).start()
    counts_others = start.extended(clause(~Literal(P("x")), P("y")))
    assert counts_others.likelihood > start.likelihood + 0.5
    assert Acceptance(0.001, held_out=True, joint=False).generalises(start, counts_others)
    assert not Acceptance(0.001, held_out=True, joint=True).generalises(start, counts_others)
