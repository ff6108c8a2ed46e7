"""Example sets: ground atoms of a target predicate with their truth and their weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import Places, Population, domain_sizes, occurring
from mlnlearn.data.sampling import (
    distinct,
    number_of_keys,
    pack,
    table_with_owner,
    unpack,
)
from mlnlearn.errors import InputError, MemoryLimitError, raise_all
from mlnlearn.logic.atoms import Atom, Constant, Predicate

_MOST_EXAMPLES = 100_000_000

Row: TypeAlias = Atom | Sequence[str]
"""A ground atom, or just its constants' names."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled and weighted ground atoms of one predicate, over one or more databases.

    Attributes
    ----------
    predicate
        The target.
    database
        For every example, the index of its database.
    columns
        The constants' codes in that database, shape ``(arity, examples)``.
    labels
        Whether the atom is true.
    weights
        How many atoms of the population an example stands for: 1, but more for sampled negatives.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> examples = positives_and_negatives([db], "likes")
    >>> len(examples), examples.positives, examples.weights.sum()
    (4, 1, np.float64(4.0))
    """

    predicate: Predicate
    database: NDArray[np.int32]
    columns: Columns
    labels: NDArray[np.bool_]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        count = len(self.labels)
        if self.columns.shape != (self.predicate.arity, count):
            raise ValueError(
                f"columns must have shape {(self.predicate.arity, count)}, not {self.columns.shape}"
            )
        if len(self.database) != count or len(self.weights) != count:
            raise ValueError(f"there must be {count} database indices and weights")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def positives(self) -> int:
        """Number of true examples."""
        return int(np.count_nonzero(self.labels))

    def take(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> Examples:
        """Return some of the examples, by index or mask; weights stay as they are."""
        return Examples(
            self.predicate,
            self.database[chosen],
            np.ascontiguousarray(self.columns[:, chosen]),
            self.labels[chosen],
            self.weights[chosen],
        )

    def rows(self, databases: Sequence[Database]) -> Iterator[tuple[str, ...]]:
        """Yield the examples as tuples of constant names."""
        names = [
            [database.domains[kind].names for kind in self.predicate.types]
            for database in databases
        ]
        for index, row in zip(self.database.tolist(), self.columns.T.tolist(), strict=True):
            yield tuple(place[code] for place, code in zip(names[index], row, strict=True))


def positives_and_negatives(
    databases: Sequence[Database],
    predicate: str,
    *,
    ratio: float | None = None,
    rng: np.random.Generator | int = 0,
    arguments: str | Sequence[Places] = "domain",
) -> Examples:
    """Return all true atoms of a predicate, and its false ones or a uniform sample of them.

    False are all ground atoms that are neither true nor unknown; for an open predicate, those
    listed as false. They are numbered, not listed, so that a sample costs time and memory by its
    own size only, be it out of 10^10 atoms.

    Parameters
    ----------
    databases
        Where the atoms live; they are one population.
    predicate
        Name of the target.
    ratio
        Negatives per positive (at least one in all); None for all of them. Every sampled negative
        weighs (all negatives / sampled negatives), so that weighted sums estimate those of the
        population.
    rng
        A generator, or the seed of one.
    arguments
        Which constants may stand in each argument: "domain" for the whole domain of its type,
        "observed" for those seen there in a true atom, or the codes per database and place (see
        `occurring`). Atoms outside are no part of the population, the true ones neither.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob"), ("Bob", "Carl")]})
    >>> sample = positives_and_negatives([db], "likes", ratio=1, rng=1)
    >>> sample.labels.tolist(), sample.weights.tolist()
    ([True, True, False, False], [1.0, 1.0, 3.5, 3.5])
    """
    populations = [
        Population(database, predicate, _places(database, predicate, arguments, index))
        for index, database in enumerate(databases)
    ]
    positives = sum(len(population.positives) for population in populations)
    total = sum(population.negatives for population in populations)
    wanted = total if ratio is None else min(total, max(round(ratio * positives), 1))
    if positives + wanted > _MOST_EXAMPLES:
        raise MemoryLimitError(
            f"{predicate} has {positives} positive examples and {wanted} negative ones were asked"
            f" for; the limit is {_MOST_EXAMPLES} in all",
            hint="sample the negatives (ratio), or restrict the arguments",
        )
    ranks = distinct(number_of_keys([total]), wanted, np.random.default_rng(rng))
    bounds = np.cumsum([0] + [population.negatives for population in populations])
    cuts = np.searchsorted(ranks, bounds)
    parts = [
        (population.columns(population.positives), population.false(ranks[low:high] - start))
        for population, start, low, high in zip(
            populations, bounds[:-1], cuts[:-1], cuts[1:], strict=True
        )
    ]
    return _gather(databases, predicate, parts, total / wanted if wanted else 1.0)


def given(
    databases: Sequence[Database],
    predicate: str,
    positives: Sequence[Iterable[Row]],
    negatives: Sequence[Iterable[Row]],
) -> Examples:
    """Return the examples that the user lists: one list of each kind per database, weight 1 each.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> examples = given([db], "likes", [[("Anna", "Bob")]], [[("Bob", "Anna")]])
    >>> list(examples.rows([db])), examples.labels.tolist()
    ([('Anna', 'Bob'), ('Bob', 'Anna')], [True, False])
    """
    problems: list[InputError] = []
    if not len(databases) == len(positives) == len(negatives):
        raise InputError(
            f"{len(databases)} databases, but {len(positives)} lists of positive and"
            f" {len(negatives)} of negative examples; give one of each per database"
        )
    parts = []
    for database, true, false in zip(databases, positives, negatives, strict=True):
        pair = tuple(_coded(database, predicate, rows, problems) for rows in (true, false))
        sizes = domain_sizes(database, predicate)
        both = np.intersect1d(pack(pair[0], sizes), pack(pair[1], sizes))
        for row in database.decode(predicate, unpack(both, sizes)):
            problems.append(InputError(f"{predicate}{row} is listed as positive and as negative"))
        parts.append((pair[0], pair[1]))
    raise_all(problems)
    return _gather(databases, predicate, parts, 1.0)


def _places(
    database: Database,
    predicate: str,
    arguments: str | Sequence[Places],
    index: int,
) -> Places:
    arity = database.schema[predicate].arity
    if arguments == "domain":
        return [None] * arity
    if arguments == "observed":
        return [occurring(database, predicate, place) for place in range(arity)]
    if isinstance(arguments, str):
        raise InputError(f"arguments are 'domain', 'observed' or lists of codes, not {arguments!r}")
    chosen = arguments[index]
    if len(chosen) != arity:
        raise InputError(
            f"{predicate} has {arity} argument places, but codes came for {len(chosen)}"
        )
    for codes, size in zip(chosen, domain_sizes(database, predicate), strict=True):
        if codes is not None and len(codes) and not 0 <= codes.min() <= codes.max() < size:
            raise InputError(f"a code lies outside its domain of {size} constants")
    return [None if codes is None else np.unique(codes) for codes in chosen]


def _coded(
    database: Database, predicate: str, rows: Iterable[Row], problems: list[InputError]
) -> Columns:
    target = database.schema[predicate]
    domains = [database.domains[kind] for kind in target.types]
    coded = []
    for row in rows:
        if isinstance(row, Atom):
            if row.predicate != target:
                problems.append(InputError(f"{row} is no atom of {target}"))
                continue
            names = [str(t) if not isinstance(t, Constant) else t.name for t in row.terms]
        else:
            names = list(row)
        if len(names) != target.arity:
            problems.append(
                InputError(f"{predicate} takes {target.arity} arguments, not {len(names)}: {names}")
            )
            continue
        codes = [domain.code(name) for domain, name in zip(domains, names, strict=True)]
        for code, name, kind in zip(codes, names, target.types, strict=True):
            if code < 0:
                problems.append(InputError(f"no constant {name!r} of type {kind!r}"))
        coded.append(codes)
    table = np.asarray(coded, np.int32).reshape(len(coded), target.arity)
    return np.ascontiguousarray(table[(table >= 0).all(axis=1)].T)


def _gather(
    databases: Sequence[Database],
    predicate: str,
    parts: Sequence[tuple[Columns, Columns]],
    negative_weight: float,
) -> Examples:
    """Put the positives and negatives of all databases one after the other."""
    if not databases:
        raise InputError("examples need at least one database")
    tables = [table for pair in parts for table in pair]
    counts = [table.shape[1] for table in tables]
    labels = np.repeat([True, False] * len(parts), counts)
    owner = np.zeros(1, np.int32)  # of one database, the same number for all takes no room
    if len(parts) > 1:
        owner = np.repeat(np.repeat(np.arange(len(parts), dtype=np.int32), 2), counts)
    return Examples(
        databases[0].schema[predicate],
        np.broadcast_to(owner, len(labels)),
        np.concatenate(tables, axis=1, out=table_with_owner(len(tables[0]), len(labels))),
        labels,
        np.where(labels, 1.0, negative_weight),
    )
