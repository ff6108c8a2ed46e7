"""The BDeu score of a node and its parents, on counts."""

from __future__ import annotations

import math

from mlnlearn.late import late
from mlnlearn.structure.join_bayes.counts import Counts

special = late("scipy.special")


def bdeu(family: Counts, sample_size: float = 10.0) -> float:
    """Return the log marginal likelihood of a node given its parents, under a uniform prior.

    The first node of `family` is the child, the others are the parents. The prior spreads
    `sample_size` imagined observations evenly over all cells (Heckerman, Geiger & Chickering 1995,
    eq. 28). Cells without a count contribute nothing, so only those seen are visited.

    Examples
    --------
    >>> import numpy as np
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.bayesnet_nodes import NetNode
    >>> coin = NetNode(Predicate("coin"), (), ("F", "T"))
    >>> heads = Counts((coin,), (np.array([1], np.int32),), np.array([1]))
    >>> round(math.exp(bdeu(heads)), 6)
    0.5
    """
    child, *parents = family.nodes
    configurations = math.prod(node.size for node in parents)
    a_row = sample_size / configurations
    a_cell = a_row / child.size
    score = float((special.gammaln(family.mean + a_cell) - special.gammaln(a_cell)).sum())
    rows = family.project(parents).mean
    return score - float((special.gammaln(rows + a_row) - special.gammaln(a_row)).sum())
