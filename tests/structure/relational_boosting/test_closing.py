"""Connections of links: what is summed over pairs of places, of which there may be very many."""

import numpy as np
from scipy.sparse import random_array

from mlnlearn.structure.relational_boosting.closing import _HopStack


def test_products_of_hops_are_sums_of_products_of_entries():
    rng = np.random.default_rng(3)
    matrices = [random_array((9, 7), density=0.3, format="csr", rng=rng) for _ in range(4)]
    pulled = random_array((9, 7), density=0.4, format="csr", rng=rng)
    expected = [float(pulled.multiply(matrix).sum()) for matrix in matrices]
    products = _HopStack.of(list(range(4)), matrices).products(pulled)
    np.testing.assert_allclose(products, expected, rtol=1e-12)


def test_products_take_memory_by_entries_not_by_pairs_of_places():
    shape = (1_000_000, 1_000_000)  # as a dense row, it would have 10^12 places
    rng = np.random.default_rng(3)
    matrices = [random_array(shape, density=1e-10, format="csr", rng=rng) for _ in range(2)]
    products = _HopStack.of([0, 1], matrices).products(matrices[1])
    assert products[1] == (matrices[1].data ** 2).sum()
    assert _HopStack.of([], []).hops == []
