"""Arrays of all atoms and the sparse engine find the same rules, with the same weights."""

from dataclasses import replace

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import DataWarning, MemoryLimitError
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from mlnlearn.structure.search import scoring
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.ties import ranked
from studies.planted_clauses import SHAPES, planted

GENTLE = GSLP(max_literals=3, max_loop=3, beam=3, max_clauses=150, joint=False)
EXCLUSIVE = Schema.of("group(t,kind!)", "r(t,t)", "p(t)")


def exclusive_worlds(seed):
    """Members of a group are related, and those of the first one have p."""
    rng = np.random.default_rng([3, seed])
    found = []
    for size in (7, 8):
        names = [f"T{i}" for i in range(size)]
        group = dict(zip(names, rng.integers(3, size=size).tolist(), strict=True))
        related = [
            (x, y)
            for x in names
            for y in names
            if rng.random() < (0.6 if group[x] == group[y] else 0.1)
        ]
        facts = {
            "group": [(name, f"K{group[name]}") for name in names],
            "r": related,
            "p": [(name,) for name in names if rng.random() < (0.9 if group[name] == 0 else 0.2)],
        }
        domains = {"t": names, "kind": ["K0", "K1", "K2"]}
        found.append(Database.from_facts(EXCLUSIVE, facts, domains=domains))
    return found


def both_ways(monkeypatch, learner, databases):
    dense = learner.fit(databases)
    monkeypatch.setattr(scoring, "MOST_CELLS", 0)
    background = Background.of(databases, None)
    assert isinstance(scoring.scorer(databases, background, 1.0).counts, EngineCounts)
    return dense, learner.fit(databases)


def assert_same(dense, sparse):
    formulas = [str(rule.formula) for rule in dense.model.rules]
    assert [str(rule.formula) for rule in sparse.model.rules] == formulas
    weights = [rule.weight for rule in dense.model.rules]
    assert [rule.weight for rule in sparse.model.rules] == pytest.approx(weights, abs=1e-6)
    assert sparse.notes.likelihood == pytest.approx(dense.notes.likelihood, abs=1e-9)
    assert sparse.notes.scored == dense.notes.scored


@pytest.mark.parametrize("number", [0, 3, 6])
def test_gslp_learns_the_same_rules(monkeypatch, number):
    _, databases = planted(np.random.default_rng(number), SHAPES[number], (8, 9))
    dense, sparse = both_ways(monkeypatch, GENTLE, databases)
    assert_same(dense, sparse)
    one, other = ([c.clause for c in found.notes.candidates] for found in (dense, sparse))
    assert one == other


@pytest.mark.parametrize("number", [2])
def test_a_single_database_and_no_penalty(monkeypatch, number):
    """Without a penalty, whatever gains anything is added: round-off must not count as a gain."""
    _, databases = planted(np.random.default_rng(number), SHAPES[number], (14,))
    learner = replace(GENTLE, min_gain=0.0, max_literals=2)
    assert_same(*both_ways(monkeypatch, learner, databases))


@pytest.mark.parametrize("strategy", ["beam", "shortest"])
def test_msl_learns_the_same_rules(monkeypatch, strategy):
    _, databases = planted(np.random.default_rng(1), SHAPES[1], (8, 9))
    learner = MSL(
        strategy=strategy,
        max_literals=3,
        max_variables=3,
        held_out=True,
        max_rounds=1,
        beam=2,
        refitted=4,
    )
    assert_same(*both_ways(monkeypatch, learner, databases))


@pytest.mark.parametrize("seed", [0])
def test_exclusive_values(monkeypatch, seed):
    learner = replace(GENTLE, max_loop=2, max_clauses=60)
    dense, sparse = both_ways(monkeypatch, learner, exclusive_worlds(seed))
    assert len(dense.model.rules) > 4
    assert_same(dense, sparse)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_way_that_costs_less_also_predicts_atoms_together(monkeypatch, seed):
    _, databases = planted(np.random.default_rng(seed), SHAPES[0], (8, 9))
    background = Background.of(databases, None)
    learner = replace(GENTLE, joint=True)
    assert isinstance(scoring.scorer(databases, background, 1.0).counts, GridCounts)
    dense = learner.fit(databases)
    monkeypatch.setattr(scoring, "_CELLS", 100)
    monkeypatch.setattr(scoring, "_CELLS_OF_FACT", 0)
    sparse = scoring.scorer(databases, background, 1.0).counts
    assert isinstance(sparse, EngineCounts)
    assert_same(dense, learner.fit(databases))
    unit = databases[0].schema.predicates[0]
    formula = unit(*"xyz"[: unit.arity])
    given = [(formula, np.full(len(databases), -1.0))]
    expected = GridCounts(sparse.engine, background).together(unit.name, given, ())
    assert sparse.together(unit.name, given, ()) == expected


def test_what_takes_arrays_of_all_atoms_is_refused_where_these_are_too_large(monkeypatch):
    _, databases = planted(np.random.default_rng(0), SHAPES[0], (8, 9))
    monkeypatch.setattr(scoring, "MOST_CELLS", 150)
    with pytest.raises(MemoryLimitError, match=r"joint=True .*has 162 of them.*\n.*joint=False"):
        replace(GENTLE, joint=True).fit(databases)


def test_by_default_atoms_are_predicted_together_where_that_can_be_told(monkeypatch):
    _, databases = planted(np.random.default_rng(0), SHAPES[0], (8, 9))
    default = replace(GENTLE, joint=None)
    assert GSLP().joint is None
    assert default.fit(databases).model == replace(GENTLE, joint=True).fit(databases).model
    monkeypatch.setattr(scoring, "MOST_CELLS", 150)
    with pytest.warns(DataWarning, match=r"has 162 of them; joint=False"):
        large = default.fit(databases)
    assert large.model == GENTLE.fit(databases).model


def test_scores_that_differ_by_round_off_are_ranked_by_name():
    rng = np.random.default_rng(0)
    scores = {name: float(number // 3) for number, name in enumerate("abcdefghi")}
    for _ in range(20):
        shaken = {name: score + 1e-12 * rng.normal() for name, score in scores.items()}
        assert "".join(ranked(shaken, shaken.__getitem__, str)) == "ghidefabc"
