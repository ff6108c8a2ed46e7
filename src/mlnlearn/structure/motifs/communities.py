"""Communities: what is near a constant, with those alike taken together; and their motifs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mlnlearn.structure.motifs.walks import Floats, Hits
from mlnlearn.structure.search.ties import exceeds
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph, Numbers
from mlnlearn.structure.templates.lifted import LiftedAtom, lifted_atoms


@dataclass(frozen=True, slots=True)
class Likeness:
    """When nodes near a source are alike.

    Attributes
    ----------
    gap
        Hitting times that differ by less than this are alike.
    divergence
        Largest Jensen–Shannon divergence, in bits, of the paths to clusters that are merged.
    top
        How many of a cluster's paths, the most frequent, are compared.
    """

    gap: float
    divergence: float
    top: int


def clusters(hits: Hits, kind: Numbers, alike: Likeness) -> Iterator[Numbers]:
    """Yield the clusters of a community: nodes of one type that are met alike.

    Parameters
    ----------
    hits
        What the walks from the source met.
    kind
        The type of each node of the graph.
    alike
        What belongs together.
    """
    order = np.lexsort((hits.times, kind[hits.nodes]))
    kinds, times = kind[hits.nodes[order]], hits.times[order]
    apart = (np.diff(kinds) != 0) | (np.diff(times) >= alike.gap)
    for group in np.split(order, np.flatnonzero(apart) + 1):
        for members in _merged(hits.paths[group], alike) if len(group) else ():
            yield hits.nodes[group[members]]


def _merged(paths: Floats, alike: Likeness) -> list[Numbers]:
    """Merge the two clusters whose paths are most alike, again and again."""
    members = [np.array([row]) for row in range(len(paths))]
    counts = paths.copy()
    shares = np.array([_top(row, alike.top) for row in counts])
    between = np.full((len(paths), len(paths)), np.inf)
    for row in range(1, len(paths)):
        between[row, :row] = _divergences(shares[row], shares[:row])
    while True:
        closest = int(between.argmin()) if between.size else 0
        one, other = divmod(closest, len(paths))
        # the largest divergence there is, 1 bit, may come out a little larger by round-off
        if not between.size or exceeds(between[one, other], alike.divergence):
            return [cluster for cluster in members if len(cluster)]
        # `other` comes first, takes what `one` has, and is compared anew
        members[other] = np.sort(np.concatenate([members[other], members[one]]))
        members[one] = members[one][:0]
        counts[other] += counts[one]
        shares[other] = _top(counts[other], alike.top)
        between[one], between[:, one] = np.inf, np.inf
        left = np.array([len(cluster) > 0 for cluster in members])
        left[other] = False
        anew = np.where(left, _divergences(shares[other], shares), np.inf)
        between[other, :other] = anew[:other]
        between[other + 1 :, other] = anew[other + 1 :]


def _top(counts: Floats, most: int) -> Floats:
    """Return the shares of the most frequent paths among themselves, 0 for all others."""
    kept = np.argsort(-counts, kind="stable")[:most]
    shares = np.zeros_like(counts)
    shares[kept] = counts[kept] / counts[kept].sum()
    return shares


def _divergences(one: Floats, others: Floats) -> Floats:
    """Return the Jensen–Shannon divergences of a distribution from others, in bits."""
    middle = 0.5 * (one + others)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(one > 0.0, one * np.log2(one / middle), 0.0)
        second = np.where(others > 0.0, others * np.log2(others / middle), 0.0)
    found: Floats = 0.5 * (first + second).sum(axis=-1)
    return found


def community(
    graph: AtomGraph, source: int, parts: Iterator[Numbers]
) -> tuple[tuple[LiftedAtom, ...], int]:
    """Return the atoms among the clusters of a community, and how many true atoms they stand for.

    Parameters
    ----------
    graph
        The true atoms.
    source
        The node that the community is around; a cluster of its own.
    parts
        The other clusters.
    """
    cluster_of = np.full(len(graph.kind) + 1, NOTHING)  # the last is that of no argument
    cluster_of[source] = 0
    for number, members in enumerate(parts, start=1):
        cluster_of[members] = number
    inside = np.all((cluster_of[graph.nodes] != NOTHING) | (graph.nodes == NOTHING), axis=1)
    atoms = np.flatnonzero(inside & (graph.nodes != NOTHING).any(axis=1))
    return lifted_atoms(graph, atoms, cluster_of), len(atoms)
