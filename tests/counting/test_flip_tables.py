"""Products of flip counts, side by side in matrices and one after the other."""

import numpy as np
import pytest

from mlnlearn.counting import flip_tables
from mlnlearn.counting.flip_tables import FlipProduct, Flips, FlipTable, lookup
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.errors import CountOverflowError
from mlnlearn.logic.schema import Schema

SCHEMA = Schema.of("p(a,b,c)")
SIZES = {"a": 7, "b": 5, "c": 3}


def made(rng, places, highest):
    """Draw a product with a factor for each of some places, over two databases."""
    factors = []
    for place in places:
        size = SIZES["abc"[place]]
        keys = np.flatnonzero(rng.random(2 * size) < 0.6)
        values = rng.integers(1, highest, size=len(keys))
        database, codes = (keys // size).astype(np.int32), (keys % size).astype(np.int32)
        factors.append(FlipTable((place,), database, (codes,), values))
    return FlipProduct(tuple(factors))


def stack():
    names = {kind: [f"{kind}{i}" for i in range(size)] for kind, size in SIZES.items()}
    return Stack([Database.from_facts(SCHEMA, {}, domains=names) for _ in range(2)])


def test_products_of_different_places_add_up():
    rng, both = np.random.default_rng(0), stack()
    products = tuple(made(rng, places, 9) for places in ((0, 1), (0, 1, 2), (1, 2), (0, 2)))
    flips = Flips(SCHEMA["p"], np.zeros(2, np.int64), (), products)
    database = rng.integers(2, size=300)
    columns = [rng.integers(size, size=300) for size in SIZES.values()]
    expected = sum(
        np.prod([lookup(both, SCHEMA["p"], f, database, columns) for f in part.factors], axis=0)
        for part in products
    )
    assert flips.at(both, database, columns).tolist() == expected.tolist()
    assert flip_tables._FactorMatrices.of(both, SCHEMA["p"], products, 300) is not None


def test_products_beyond_64_bits_are_refused():
    rng, both = np.random.default_rng(1), stack()
    one = made(rng, (0, 1), 2)
    large = FlipProduct(
        tuple(FlipTable(f.places, f.database, f.columns, f.values << 40) for f in one.factors)
    )
    flips = Flips(SCHEMA["p"], np.zeros(2, np.int64), (), (large,))
    database = np.zeros(35, np.int64)
    columns = [np.repeat(np.arange(7), 5), np.tile(np.arange(5), 7), np.zeros(35, np.int64)]
    with pytest.raises(CountOverflowError):
        flips.at(both, database, columns)
