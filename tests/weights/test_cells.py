"""Cells of ground atoms: what is grouped by classes is what would be listed one by one."""

import numpy as np
import pytest

from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flips import flip_counts
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.mln import parse_formula
from mlnlearn.weights import cells
from mlnlearn.weights.compress import compress
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood

SCHEMA = Schema.of("p(a,b,c)", "q(a,c)", "r(b)", "s(a,b)", "t(b,c)", "u(a)")
FORMULAS = (
    "p(x,y,z)",
    "q(x,z) ^ p(x,y,z) => s(x,y)",  # by first and third place, and by all
    "p(x,y,z) ^ t(y,z) => u(x)",  # by second and third
    "p(x,y,z) => r(y)",
    "p(x,y,z) ^ p(x,w,z) => r(w)",  # twice, one place open
    "u(x) ^ r(y) ^ q(x,z) => p(x,y,z)",
)


def random_world(rng, sizes):
    names = {kind: [f"{kind.upper()}{i}" for i in range(n)] for kind, n in sizes.items()}
    facts = {
        predicate.name: [
            tuple(names[kind][rng.integers(sizes[kind])] for kind in predicate.types)
            for _ in range(rng.integers(1, 9))
        ]
        for predicate in SCHEMA.predicates
    }
    return Database.from_facts(SCHEMA, facts, domains=names)


@pytest.mark.parametrize("seed", range(12))
def test_grouping_by_classes_equals_listing(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    sizes = [{"a": 3, "b": 5, "c": 3}, {"a": 2, "b": 4, "c": 4}]
    engine = open_engine([random_world(rng, size) for size in sizes])
    chosen = rng.permutation(len(FORMULAS))[: rng.integers(1, 5)]
    formulas = tuple(parse_formula(FORMULAS[i], SCHEMA).formula for i in chosen)
    weights = rng.normal(size=len(formulas))
    listed = PseudoLikelihood(engine, formulas, False)(weights)
    used = []
    start = cells._Rest.rows_of
    monkeypatch.setattr(
        cells._Rest, "rows_of", lambda self, table: used.append(table) or start(self, table)
    )
    monkeypatch.setattr(cells, "_MOST_LISTED", 0)
    grouped = PseudoLikelihood(engine, formulas, False)(weights)
    np.testing.assert_allclose(grouped[0], listed[0], rtol=1e-12)
    np.testing.assert_allclose(grouped[1], listed[1], rtol=1e-10, atol=1e-12)
    assert used or not {1, 2, 4} & set(chosen.tolist())
    for predicate in SCHEMA.predicates:
        flips = [flip_counts(engine, formula, predicate) for formula in formulas]
        total = compress(engine.stack, predicate, flips).total.sum(axis=0).tolist()
        assert total == engine.stack.ground_atoms(predicate.types)


def test_a_table_that_leaves_a_large_place_open_is_not_listed():
    """Ten thousand rows times ten thousand constants: the cost follows the rows."""
    size = 10_000
    rng = np.random.default_rng(0)
    schema = Schema.of("p(a,b,c)", "q(a,c)")
    names = {kind: Vocabulary(map(str, range(size))) for kind in "ab"}
    names["c"] = Vocabulary(map(str, range(4)))
    pairs = np.stack([np.arange(size), rng.integers(4, size=size)])
    facts = np.stack([rng.integers(size, size=3000), rng.integers(size, size=3000),
                      rng.integers(4, size=3000)])  # fmt: skip
    facts = np.unique(facts, axis=1)
    engine = open_engine([Database.from_codes(schema, names, {"p": facts, "q": pairs})])
    formula = parse_formula("q(x,z) ^ p(x,y,z)", schema).formula
    rows = compress(engine.stack, schema["p"], [flip_counts(engine, formula, schema["p"])])
    counts = np.asarray(rows.counts @ np.eye(1)).ravel().astype(int)
    held = dict(
        zip(counts.tolist(), zip(rows.true[:, 0], rows.total[:, 0], strict=True), strict=True)
    )
    joined = int((pairs[1][facts[0]] == facts[2]).sum())
    assert held == {
        1: (joined, size * size),
        0: (facts.shape[1] - joined, 4 * size**2 - size * size),
    }
