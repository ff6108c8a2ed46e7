"""The BDeu score of a node and its parents, on counts."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from mlnlearn.counting.arrays import group_sums
from mlnlearn.structure.join_bayes.counts import Counts


def bdeu(family: Counts, sample_size: float = 10.0) -> float:
    """Return the log marginal likelihood of a node given its parents, under a uniform prior.

    The first node of `family` is the child, the others are the parents. The prior spreads
    `sample_size` imagined observations evenly over all cells (Heckerman, Geiger & Chickering 1995,
    eq. 28). Cells without a count contribute nothing, so only those seen are visited.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.bayesnet_nodes import Node
    >>> coin = Node(Predicate("coin"), (), ("F", "T"))
    >>> heads = Counts((coin,), (np.array([1], np.int32),), np.array([1]))
    >>> round(math.exp(bdeu(heads)), 6)
    0.5
    """
    child, *parents = family.nodes
    configurations = math.prod(node.size for node in parents)
    a_row = sample_size / configurations
    a_cell = a_row / child.size
    score = float((gammaln(family.mean + a_cell) - gammaln(a_cell)).sum())
    if parents:
        sizes = [node.size for node in parents]
        _, rows = group_sums(family.columns[1:], sizes, family.counts)
    else:
        rows = np.array([family.counts.sum()], np.int64)
    rows_mean = rows / family.completions
    return score - float((gammaln(rows_mean + a_row) - gammaln(a_row)).sum())
