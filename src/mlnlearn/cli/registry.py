"""The learners by the names that the command line knows: one table, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

from mlnlearn.errors import InputError


@dataclass(frozen=True)
class Entry:
    """A learner of the command line.

    Attributes
    ----------
    home, name
        The module and the class in it, loaded when it is used.
    summary
        What it learns, in a line.
    fixed
        Settings that make this learner out of the class.
    tables
        Whether it learns from tables, and needs to know how they became predicates.
    """

    home: str
    name: str
    summary: str
    fixed: Mapping[str, object] = field(default_factory=dict)
    tables: bool = False

    def load(self) -> type[Any]:
        """Return the class: a dataclass of settings with a method ``fit``."""
        found: type[Any] = getattr(import_module(self.home), self.name)
        return found

    def has(self, setting: str) -> bool:
        """Whether the class has a setting of that name."""
        return setting in {item.name for item in fields(self.load())}

    def fit_takes(self, parameter: str) -> bool:
        """Whether ``fit`` can be told, say, of somebody to report progress to."""
        return parameter in inspect.signature(self.load().fit).parameters


_BOOSTING = "mlnlearn.structure.boosting.learners"
_JOIN_BAYES = "mlnlearn.structure.join_bayes.learners"
_STRUCTURAL_EM = "mlnlearn.structure.structural_em.learner"
BASES = ("mln-bt", "mln-bc", "rdn-b")
"""The learners that structural EM can be built on."""

LEARNERS: Mapping[str, Entry] = {
    "mln-bt": Entry(
        _BOOSTING, "BoostedMLN", "boosted trees for target predicates", {"representation": "trees"}
    ),
    "mln-bc": Entry(
        _BOOSTING,
        "BoostedMLN",
        "boosted clauses for target predicates",
        {"representation": "clauses"},
    ),
    "rdn-b": Entry(_BOOSTING, "BoostedRDN", "boosted dependency network for target predicates"),
    "sem": Entry(
        _STRUCTURAL_EM,
        "StructuralEM",
        "boosting with unknown atoms, by sampled worlds (structural EM)",
        {"mode": "soft"},
    ),
    "h-sem": Entry(
        _STRUCTURAL_EM,
        "StructuralEM",
        "boosting with unknown atoms, by a most probable world (hard structural EM)",
        {"mode": "hard"},
    ),
    "gslp": Entry(
        "mlnlearn.structure.predicate_graph.learn",
        "GSLP",
        "clauses along a graph of predicates, by pseudo-likelihood",
    ),
    "msl": Entry(
        "mlnlearn.structure.beam.learn", "MSL", "clauses by beam search, by pseudo-likelihood"
    ),
    "lsl": Entry(
        "mlnlearn.structure.lifted_search.learn",
        "LiftedStructureLearner",
        "liftable clauses, by exact likelihood",
    ),
    "laj-dt": Entry(
        _JOIN_BAYES, "LAJDT", "learn-and-join with decision trees, from tables", tables=True
    ),
    "mbn": Entry(_JOIN_BAYES, "MBN", "moralised Bayes net, from tables", tables=True),
}


def learner_named(name: str) -> Entry:
    """Return a learner by its name.

    Examples
    --------
    >>> learner_named("mln-bt").name
    'BoostedMLN'
    """
    if name not in LEARNERS:
        raise InputError(
            f"--learner: no learner {name!r}", hint=f"there are: {', '.join(LEARNERS)}"
        )
    return LEARNERS[name]
