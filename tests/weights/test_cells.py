"""Cells of ground atoms: what is grouped by classes is what would be listed one by one."""

import numpy as np
import pytest

from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flip_tables import FlipProduct, Flips, FlipTable
from mlnlearn.counting.flips import flip_counts
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.mln import parse_formula
from mlnlearn.weights import cells, split
from mlnlearn.weights.compress import RowGroups, compress
from mlnlearn.weights.marks import Marks
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

PRODUCTS = (
    "u(x) ^ r(y) => p(x,y,z)",
    "s(x,w) ^ t(y,v) => p(x,y,z)",
    "q(x,w) ^ r(y) ^ t(v,z) => p(x,y,z)",
    "u(x) ^ q(w,z) => p(x,y,z)",
    "p(x,y,z) => r(y)",
    "p(x,y,z) ^ t(y,z) => u(x)",
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


@pytest.mark.parametrize("split_places", [False, True], ids=["rows", "places"])
@pytest.mark.parametrize("seed", range(12))
def test_grouping_by_classes_equals_listing(seed, split_places, monkeypatch):
    rng = np.random.default_rng(seed)
    sizes = [{"a": 3, "b": 5, "c": 3}, {"a": 2, "b": 4, "c": 4}]
    engine = open_engine([random_world(rng, size) for size in sizes])
    chosen = rng.permutation(len(FORMULAS))[: rng.integers(1, 5)]
    formulas = tuple(parse_formula(FORMULAS[i], SCHEMA).formula for i in chosen)
    weights = rng.normal(size=len(formulas))
    listed = PseudoLikelihood(engine, formulas, False)(weights)
    used, apart = [], []
    start, domains = cells._Rest.rows_of, split.SplitDomains
    monkeypatch.setattr(
        cells._Rest, "rows_of", lambda self, table: used.append(table) or start(self, table)
    )
    monkeypatch.setattr(
        "mlnlearn.weights.compress.SplitDomains", lambda *given: apart.append(1) or domains(*given)
    )
    if not split_places:
        monkeypatch.setattr("mlnlearn.weights.compress.place_to_split", lambda *_: None)
    monkeypatch.setattr(split, "MOST_LISTED", 0)
    grouped = PseudoLikelihood(engine, formulas, False)(weights)
    np.testing.assert_allclose(grouped[0], listed[0], rtol=1e-12)
    np.testing.assert_allclose(grouped[1], listed[1], rtol=1e-10, atol=1e-12)
    assert used or apart or not {1, 2, 4} & set(chosen.tolist())
    assert bool(apart) == split_places or not {1, 2} <= set(chosen.tolist())
    for predicate in SCHEMA.predicates:
        flips = [flip_counts(engine, formula, predicate) for formula in formulas]
        total = compress(engine.stack, predicate, flips).total.sum(axis=0).tolist()
        assert total == engine.stack.ground_atoms(predicate.types)


@pytest.mark.parametrize("seed", range(4))
def test_products_are_taken_apart_by_a_place_as_tables_are(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    engine = open_engine([random_world(rng, {"a": 5, "b": 6, "c": 3}) for _ in range(2)])
    formulas = tuple(parse_formula(FORMULAS[i], SCHEMA).formula for i in (1, 2, 5))
    weights = rng.normal(size=len(formulas))
    listed = PseudoLikelihood(engine, formulas, False)(weights)
    products = "mlnlearn.counting.flip_products"
    monkeypatch.setattr(f"{products}._LISTED_BY_VALUE", -1)
    monkeypatch.setattr(f"{products}._MOST_VALUES", 4)
    monkeypatch.setattr(f"{products}._classes", lambda *_: 0)
    monkeypatch.setattr(split, "MOST_LISTED", 0)
    flips = flip_counts(engine, formulas[-1], SCHEMA["p"])
    assert any(factor.places == (2,) for product in flips.products for factor in product.factors)
    apart = PseudoLikelihood(engine, formulas, False)(weights)
    np.testing.assert_allclose(apart[0], listed[0], rtol=1e-12)
    np.testing.assert_allclose(apart[1], listed[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", ["listed", "classes", "products"])
@pytest.mark.parametrize("name", ["p", "u"])
@pytest.mark.parametrize("seed", range(6))
def test_one_more_feature_takes_rows_apart_as_all_at_once(seed, name, shape, monkeypatch):
    if shape != "listed":
        monkeypatch.setattr(split, "MOST_LISTED", 0)
    if shape == "products":
        products = "mlnlearn.counting.flip_products"
        monkeypatch.setattr(f"{products}._LISTED", -1)
        monkeypatch.setattr(f"{products}._LISTED_BY_VALUE", -1)
        monkeypatch.setattr(f"{products}._MOST_VALUES", 4)
        monkeypatch.setattr(f"{products}._classes", lambda *_: 0)
    rng = np.random.default_rng(seed)
    sizes = [{"a": 4, "b": 5, "c": 3}, {"a": 3, "b": 6, "c": 3}][: rng.integers(1, 3)]
    engine = open_engine([random_world(rng, size) for size in sizes])
    predicate = SCHEMA[name]
    texts = PRODUCTS if shape == "products" else FORMULAS
    flips = [
        flip_counts(engine, parse_formula(texts[number], SCHEMA).formula, predicate)
        for number in rng.permutation(len(texts))
    ]
    many = sum(bool(feature.products) for feature in flips) > 2
    assert many == (shape == "products" and name == "p")
    groups = RowGroups.of(engine.stack, predicate, [])
    for number, feature in enumerate(flips):
        parts = groups.apart(feature)
        if parts is None:
            wide = split.wide_places(engine.stack, predicate, feature)
            groups = RowGroups.of(engine.stack, predicate, flips[:number], wide)
            parts = groups.apart(feature)
        assert parts.size.sum() == sum(engine.stack.ground_atoms(predicate.types))
        groups = groups.joined(feature, parts)
        once = compress(engine.stack, predicate, flips[: number + 1])
        assert groups.rows.counts.tolist() == once.counts.tolist()
        assert groups.rows.true.tolist() == once.true.tolist()
        assert groups.rows.total.tolist() == once.total.tolist()


def test_products_beyond_exact_floats_are_counted_in_whole_numbers():
    engine = open_engine([random_world(np.random.default_rng(0), {"a": 5, "b": 6, "c": 3})])
    first, second = (
        FlipTable((place,), np.zeros(1, np.int32), (np.array([1], np.int32),), np.array([3**power]))
        for place, power in ((0, 20), (1, 18))
    )
    flips = Flips(SCHEMA["s"], np.zeros(1, np.int64), (), (FlipProduct((first, second)),))
    marks = Marks.none(engine.stack, SCHEMA["s"]).plus([flips])
    assert sorted(marks.newest_products().tolist()) == [0, 0, 0, 3**38]


def test_two_tables_that_leave_large_places_open_are_not_listed():
    """By course and quarter, by person and quarter: in a quarter both are of one place."""
    size, rng = 4_000, np.random.default_rng(1)
    schema = Schema.of("p(a,b,c)", "q(a,c)", "t(b,c)")
    names = {kind: Vocabulary(map(str, range(size))) for kind in "ab"}
    names["c"] = Vocabulary(map(str, range(4)))

    def pairs(rows):
        return np.unique(
            np.stack([rng.integers(size, size=rows), rng.integers(4, size=rows)]), axis=1
        )

    held = {"q": pairs(5_000), "t": pairs(6_000), "p": np.array([[1], [2], [3]])}
    engine = open_engine([Database.from_codes(schema, names, held)])
    texts = ("q(x,z) ^ p(x,y,z)", "t(y,z) ^ p(x,y,z)")
    flips = [
        flip_counts(engine, parse_formula(text, schema).formula, schema["p"]) for text in texts
    ]
    rows = compress(engine.stack, schema["p"], flips)
    by_place = [np.bincount(held[name][1], minlength=4) for name in "qt"]
    both = int((by_place[0] * by_place[1]).sum())
    found = {
        tuple(row): int(n) for row, n in zip(rows.counts.tolist(), rows.total[:, 0], strict=True)
    }
    assert found[1.0, 1.0] == both
    assert found[1.0, 0.0] == held["q"].shape[1] * size - both
    assert sum(found.values()) == 4 * size**2


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
