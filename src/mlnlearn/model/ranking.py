"""How well answers are ranked: filtered ranks of triples, and what is reported of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The rank of the true answer of each query, where 1 is best.

    A triple makes two queries: for its tail, given head and relation, and for its head. The rank of
    the answer is its place among all entities that are no other known answer; the mean of the best
    and worst place where scores are equal.

    Attributes
    ----------
    ranks
        One for each query.
    candidates
        How many entities each was ranked among.
    relations, sides
        Of each query: the number of its relation, and whether its head (else tail) was asked for.
    names
        The names of the relations.
    unknown
        How many queries had an answer of which the training data say nothing; they rank last.

    Examples
    --------
    >>> ranking = Ranking(
    ...     np.array([1.0, 4.0]), np.array([9, 9]), np.array([0, 0]), np.array([0, 1]) > 0, ["r"]
    ... )
    >>> ranking.mrr, ranking.hits(1), ranking.hits(10), ranking.adjusted_mean_rank
    (0.625, 0.5, 1.0, 0.5)
    """

    ranks: Floats
    candidates: NDArray[np.int64]
    relations: NDArray[np.int64]
    sides: NDArray[np.bool_]
    names: Sequence[str]
    unknown: int = 0

    def __len__(self) -> int:
        return len(self.ranks)

    @property
    def mrr(self) -> float:
        """The mean of one over the rank."""
        return float(np.mean(1.0 / self.ranks)) if len(self) else float("nan")

    def hits(self, k: int) -> float:
        """Return the share of answers whose rank is at most k."""
        return float(np.mean(self.ranks <= k)) if len(self) else float("nan")

    @property
    def mean_rank(self) -> float:
        """The mean rank."""
        return float(np.mean(self.ranks)) if len(self) else float("nan")

    @property
    def adjusted_mean_rank(self) -> float:
        """The mean rank, over the one that guessing has (Berrendorf et al. 2020)."""
        expected = np.mean((self.candidates + 1) / 2) if len(self) else np.nan
        return float(self.mean_rank / expected)

    @cached_property
    def standard_errors(self) -> Mapping[str, float]:
        """Of MRR and hits, over queries."""
        root = np.sqrt(max(len(self), 1))
        found = {"mrr": float(np.std(1.0 / self.ranks) / root)}
        for k in (1, 3, 10):
            found[f"hits_at_{k}"] = float(np.std(self.ranks <= k) / root)
        return found

    def at(self, rows: NDArray[Any]) -> Ranking:
        """Return some of the queries."""
        return Ranking(
            self.ranks[rows],
            self.candidates[rows],
            self.relations[rows],
            self.sides[rows],
            self.names,
        )

    def metrics(self) -> dict[str, float]:
        """Return the usual numbers by name."""
        return {
            "mrr": self.mrr,
            **{f"hits_at_{k}": self.hits(k) for k in (1, 3, 10)},
            "mean_rank": self.mean_rank,
            "adjusted_mean_rank": self.adjusted_mean_rank,
        }

    def by_relation(self) -> dict[str, dict[str, Any]]:
        """Return the numbers of each relation, also by what was asked for."""
        found: dict[str, dict[str, Any]] = {}
        for relation in np.unique(self.relations):
            here = self.relations == relation
            parts = {"head": here & self.sides, "tail": here & ~self.sides}
            found[self.names[relation]] = {
                "queries": int(here.sum()),
                **self.at(here).metrics(),
                **{side: self.at(rows).metrics() for side, rows in parts.items() if rows.any()},
            }
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values."""
        return {
            **self.metrics(),
            "standard_errors": dict(self.standard_errors),
            "queries": len(self),
            "unknown": self.unknown,
            "by_relation": self.by_relation(),
        }

    def __str__(self) -> str:
        errors = self.standard_errors
        return (
            f"{len(self):,} queries: MRR {self.mrr:.4f} ± {errors['mrr']:.4f}, "
            f"Hits@1 {self.hits(1):.4f}, Hits@3 {self.hits(3):.4f}, Hits@10 {self.hits(10):.4f}, "
            f"mean rank {self.mean_rank:.1f}"
        )
