"""What can be named: learners, inference methods and readers, those of other packages among them.

A package on the side offers what it has as an entry point; once it is installed, the command line
and the library know its names as they know their own:

    [project.entry-points."mlnlearn.learners"]
    popular = "my_package.learners:Popular"

Nothing is imported until it is used. See ``docs/extending.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import Any

from mlnlearn.errors import DataWarning, InputError, did_you_mean


@dataclass(frozen=True)
class Entry:
    """Something with a name.

    Attributes
    ----------
    name
        Its name.
    home
        The module and what it is called there: ``"package.module:attribute"``.
    about
        What it is, in a line; by default the first line of its docstring.
    fixed
        Of a learner, settings that make this one out of its class.
    """

    name: str
    home: str
    about: str = ""
    fixed: Mapping[str, object] = field(default_factory=dict)

    def load(self) -> Any:
        """Import what the name stands for.

        Examples
        --------
        >>> Entry("mine", "mlnlearn.errors:MlnError").load().__name__
        'MlnError'
        """
        module, _, attribute = self.home.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"{self.name} cannot be loaded from {self.home}: {error}",
                hint="is the package that offers it installed in full?",
            ) from error

    def has(self, setting: str) -> bool:
        """Whether a learner has a setting of that name."""
        return setting in {item.name for item in fields(self.load())}

    @property
    def tables(self) -> bool:
        """Whether a learner needs to know how tables became predicates."""
        return bool(getattr(self.load(), "tables", False))

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return self.about or (self.load().__doc__ or "").strip().partition("\n")[0]


class Registry(Mapping[str, Entry]):
    """Entries by name: those of this library, and the entry points of a group.

    Examples
    --------
    >>> shapes = Registry("no.such.group", "shape", Entry("round", "math:tau"))
    >>> shapes["round"].load()
    6.283185307179586
    >>> shapes["flat"]
    Traceback (most recent call last):
    mlnlearn.errors.InputError: no shape 'flat'
      hint: there are: round
    """

    def __init__(self, group: str, what: str, *own: Entry) -> None:
        self.group, self.what = group, what
        self._own = {entry.name: entry for entry in own}

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load

        found = dict(self._own)
        for point in entry_points(group=self.group):
            if point.name in found:
                warnings.warn(
                    f"{point.value}: there is a {self.what} {point.name!r} already",
                    DataWarning,
                    stacklevel=3,
                )
            else:
                found[point.name] = Entry(point.name, point.value)
        return found

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise InputError(f"no {self.what} {name!r}", hint=did_you_mean(name, self._entries))
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


_BOOSTING = "mlnlearn.structure.boosting.learners"
_EM = "mlnlearn.structure.structural_em.learner:StructuralEM"
_DISPATCH = "mlnlearn.infer.dispatch:infer"
_SQL = "mlnlearn.data.load.sql:read_sql"

LEARNERS = Registry(
    "mlnlearn.learners",
    "learner",
    Entry(
        "auto",
        "mlnlearn.evaluate.auto:Auto",
        "the best of several learners, by how well they predict held-out training data",
    ),
    Entry(
        "boost",
        "mlnlearn.structure.relational_boosting.learner:RelationalBoost",
        "boosted trees over features along links, for a column or a relation",
    ),
    Entry(
        "mln-bt",
        f"{_BOOSTING}:BoostedMLN",
        "boosted trees for target predicates",
        {"representation": "trees"},
    ),
    Entry(
        "mln-bc",
        f"{_BOOSTING}:BoostedMLN",
        "boosted clauses for target predicates",
        {"representation": "clauses"},
    ),
    Entry("rdn-b", f"{_BOOSTING}:BoostedRDN", "boosted dependency network for target predicates"),
    Entry(
        "sem",
        _EM,
        "boosting with unknown atoms, by sampled worlds (structural EM)",
        {"mode": "soft"},
    ),
    Entry(
        "h-sem",
        _EM,
        "boosting with unknown atoms, by a most probable world (hard structural EM)",
        {"mode": "hard"},
    ),
    Entry(
        "gslp",
        "mlnlearn.structure.predicate_graph.learn:GSLP",
        "clauses along a graph of predicates, by pseudo-likelihood",
    ),
    Entry(
        "msl",
        "mlnlearn.structure.beam.learn:MSL",
        "clauses by beam search, by pseudo-likelihood",
    ),
    Entry(
        "busl",
        "mlnlearn.structure.bottom_up.busl:BUSL",
        "clauses of chains that depend on each other, bottom-up, by pseudo-likelihood",
    ),
    Entry(
        "hgsm",
        "mlnlearn.structure.bottom_up.hgsm:HGSM",
        "clauses of a predicate and what it depends on, by pseudo-likelihood",
    ),
    Entry(
        "dmsp",
        "mlnlearn.structure.bottom_up.hgsm:DMSP",
        "clauses that predict one target predicate, by conditional likelihood",
    ),
    Entry(
        "lsm",
        "mlnlearn.structure.motifs.learn:LSM",
        "clauses of structural motifs, by pseudo-likelihood",
    ),
    Entry(
        "lhl",
        "mlnlearn.structure.lifted_graph.learn:LHL",
        "clauses along a graph of clustered constants, by pseudo-likelihood",
    ),
    Entry(
        "ils",
        "mlnlearn.structure.local_search.learn:ILS",
        "clauses by iterated local search, by pseudo-likelihood",
    ),
    Entry(
        "ils-dsl",
        "mlnlearn.structure.local_search.learn:DiscriminativeILS",
        "clauses that predict one target predicate, by iterated local search",
    ),
    Entry(
        "lsl",
        "mlnlearn.structure.lifted_search.learn:LiftedStructureLearner",
        "liftable clauses, by exact likelihood",
    ),
    Entry(
        "laj-dt",
        "mlnlearn.structure.join_bayes.learners:LAJDT",
        "learn-and-join with decision trees, from tables",
    ),
    Entry("mbn", "mlnlearn.structure.join_bayes.learners:MBN", "moralised Bayes net, from tables"),
    Entry(
        "paths",
        "mlnlearn.structure.paths.learner:Paths",
        "rules along the paths of a knowledge graph, to rank answers by",
    ),
)
"""Learners: classes of settings with a method ``fit``."""

BASES = ("mln-bt", "mln-bc", "rdn-b")
"""The learners that structural EM can be built on."""

METHODS = Registry(
    "mlnlearn.methods",
    "method",
    *(Entry(name, _DISPATCH) for name in ("auto", "exact", "gibbs", "mcsat", "bp", "map")),
)
"""Inference methods: functions from a ground network to the probabilities of its values."""

READERS = Registry(
    "mlnlearn.readers",
    "reader",
    *(Entry(scheme, _SQL) for scheme in ("sqlite", "duckdb", "postgresql", "postgres")),
)
"""Readers of tables, by the scheme of an address or the ending of a file's name."""

ENGINES = Registry(
    "mlnlearn.engines",
    "engine",
    Entry("auto", "mlnlearn.counting.auto:AutoEngine", "in memory, by DuckDB what would not fit"),
    Entry("duckdb", "mlnlearn.counting.duck:DuckEngine", "SQL on DuckDB, which spills to disk"),
    Entry("memory", "mlnlearn.counting.memory:MemoryEngine", "tables of integers in memory"),
    Entry(
        "postgresql",
        "mlnlearn.counting.postgres:PostgresEngine",
        "SQL on a PostgreSQL server, where the data are there",
    ),
    Entry("spark", "mlnlearn.counting.spark:SparkEngine", "SQL on a cluster, by Spark Connect"),
)
"""Counting engines: classes of `Engine`, made from a stack, ``memory_limit`` and ``cache``."""
