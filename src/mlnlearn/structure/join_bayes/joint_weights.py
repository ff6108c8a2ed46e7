"""Weights that make all attributes most probable together, given the links.

Weights by pseudo-likelihood make each attribute most probable given all others as they are. Here,
as in the papers, the likelihood of all attributes at once is climbed with worlds that are sampled
(Lowd & Domingos 2007): the gradient is observed minus expected counts of the rules, and each weight
has a rate of its own, the smaller the more groundings its rule has. One column at a time is drawn
from what the rules say of it, given all others, and the worlds go on from one step to the next.
Second-order steps, which that paper has too, do not settle where links tie hundreds of values to
each other: there, variances of a few worlds are no guide. Steps are short instead, get shorter, and
weights are averaged over the second half of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes
from mlnlearn.run import check_time
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.features import attribute_scores
from mlnlearn.structure.join_bayes.rules import FamilyRules
from mlnlearn.structure.join_bayes.trees import weighted_bins

Floats = NDArray[np.float64]

STEPS = 200
SWEEPS = 5
"""Worlds drawn in a step, in each of which the rules are counted."""
_RATE, _HALVED, _LONGEST = 0.5, 20, 0.2  # the first rate, after how many steps it is half, a limit


def joint_weights(
    worlds: Sequence[EncodedData],
    families: Sequence[FamilyRules],
    start: Floats,
    scale: Floats,
    sigma: float,
    seed: int = 0,
) -> Floats:
    """Return the weights of rules that make the attributes most probable together.

    Parameters
    ----------
    worlds
        The data; or several completions of it.
    families
        The rules.
    start
        First weights.
    scale
        How many groundings of each rule are typical; those with none keep their weights.
    sigma
        Standard deviation of the prior of a weight times that number.
    seed
        Of the worlds that are drawn.
    """
    used = scale > 0
    unit = np.where(used, scale, 1.0)
    rng = np.random.default_rng(seed)
    drawn = list(worlds)
    observed = _mean_counts(drawn, families) / unit
    rate = np.where(used, _RATE / np.maximum(observed / unit, 1.0), 0.0)
    weights = start * unit
    total = np.zeros_like(weights)
    for step in range(STEPS):
        check_time()
        expected = np.zeros_like(weights)
        for _ in range(SWEEPS):
            drawn = [redrawn(world, families, weights / unit, rng) for world in drawn]
            expected += _mean_counts(drawn, families) / unit / SWEEPS
        slope = observed - expected - weights / sigma**2
        weights += np.clip(rate / (1.0 + step / _HALVED) * slope, -_LONGEST, _LONGEST)
        if 2 * step >= STEPS:
            total += weights
    return total / (STEPS // 2) / unit


def _mean_counts(worlds: Sequence[EncodedData], families: Sequence[FamilyRules]) -> Floats:
    found: Floats = np.mean([rule_counts(world, families) for world in worlds], axis=0)
    return found


def redrawn(
    world: EncodedData, families: Sequence[FamilyRules], weights: Floats, rng: np.random.Generator
) -> EncodedData:
    """Return a world in which every attribute was drawn anew, given all others, one by one."""
    copied = {node.predicate for node in world.layout.nodes if not node.main}
    for node in world.layout.nodes:
        if not (node.main and node.is_attribute):
            continue
        logs = attribute_scores(FamilyCounter(world), families, node, weights)
        codes: Codes = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1).astype(np.int32)
        if node.predicate in copied:
            # cells of one column that depend on each other must not all change at once
            kept = rng.random(len(codes)) < 0.5
            codes = np.where(kept, world.values[node.predicate.name], codes)
        world = world.completed({node.predicate.name: codes})
    return world


def rule_counts(world: EncodedData, families: Sequence[FamilyRules]) -> Floats:
    """Return how many groundings of each rule are true."""
    counter = FamilyCounter(world)
    found = []
    for family in families:
        counts = counter.count(family.nodes, true=family.given)
        child, *parents = counts.columns
        leaf = family.leaf_of(parents, len(child))
        holds = leaf >= 0
        keys = leaf[holds] * family.child.size + child[holds]
        found.append(weighted_bins(keys, counts.mean[holds], family.size) * family.emitted)
    return np.concatenate(found)
