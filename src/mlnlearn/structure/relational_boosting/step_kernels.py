"""Loops over the examples of a step: to which leaf each comes, and what leaves add up and give."""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit

# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def leaves(examples, data, tree):  # type: ignore[no-untyped-def]
    """Return the node that each example comes to."""
    bins, has = data
    features, passing, below = tree
    dense = len(bins)
    found = np.zeros(examples, np.int64)
    for example in range(examples):
        node = 0
        while below[node]:
            feature = features[node]
            if feature < dense:
                passes = passing[node, bins[feature, example]]
            else:
                passes = has[feature - dense, example]
            node = below[node] + (0 if passes else 1)
        found[example] = node
    return found


@njit(cache=True)
def summed(nodes, rows, gradients, curvatures, number):  # type: ignore[no-untyped-def]
    """Return the sums of slopes of some rows by their nodes: gradients, and then curvatures."""
    outputs = gradients.shape[1]
    found = np.zeros((number, 2 * outputs))
    for at in range(len(rows)):
        node = nodes[rows[at]]
        for output in range(outputs):
            found[node, output] += gradients[at, output]
            found[node, outputs + output] += curvatures[at, output]
    return found


@njit(cache=True)
def add_values(scores, values, nodes):  # type: ignore[no-untyped-def]
    """Add to the scores of all examples the values of their nodes."""
    for example in range(len(scores)):
        node = nodes[example]
        for output in range(scores.shape[1]):
            scores[example, output] += values[node, output]
