"""The ground atoms of a predicate in one database, numbered rather than listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.sampling import Keys, is_among, number_of_keys, pack, unlisted, unpack
from mlnlearn.errors import MemoryLimitError

Places: TypeAlias = Sequence[NDArray[np.integer] | None]
"""For every argument place, the codes (sorted, distinct) that may stand there; None for all."""


def domain_sizes(database: Database, predicate: str) -> list[int]:
    """Return the number of constants at every argument place of a predicate.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> db = Database.from_facts(Schema.of("likes(person,food)"), {"likes": [("Anna", "Pie")]})
    >>> domain_sizes(db, "likes")
    [1, 1]
    """
    return [database.size(kind) for kind in database.schema[predicate].types]


def all_atoms(
    database: Database,
    predicate: str,
    limit: int = 100_000_000,
    hint: str = "evaluate on a sample of the negatives",
) -> NDArray[np.int32]:
    """Return the codes of all ground atoms of a predicate, in lexicographic order.

    Parameters
    ----------
    database, predicate
        Over the constants of this database, of the predicate of this name.
    limit, hint
        More atoms than this are refused, with what to do instead.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> db = Database.from_facts(Schema.of("likes(person,person)"), {"likes": [("Anna", "Bob")]})
    >>> all_atoms(db, "likes").tolist()
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    sizes = domain_sizes(database, predicate)
    total = number_of_keys(sizes)
    if total > limit:
        text = f"{predicate} has {total:,} ground atoms; the limit is {limit:,}"
        raise MemoryLimitError(text, hint=hint)
    return unpack(np.arange(total, dtype=np.int64), sizes)


def occurring(database: Database, predicate: str, place: int) -> NDArray[np.int32]:
    """Return the codes of the constants at one argument place of a predicate's true atoms.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob"), ("Carl", "Bob")]})
    >>> occurring(db, "likes", 1)
    array([1], dtype=int32)
    """
    return np.unique(database.facts(predicate)[place])


class Population:
    """The true and false atoms of a predicate by key, over the constants allowed at each place.

    Attributes
    ----------
    positives
        Sorted keys of the true atoms.
    negatives
        Number of false atoms.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> population = Population(db, "likes", [None, None])
    >>> population.positives, population.negatives, population.false(np.arange(3)).tolist()
    (array([1]), 3, [[0, 1, 1], [0, 0, 1]])
    """

    def __init__(self, database: Database, predicate: str, places: Places) -> None:
        self.places = places
        domains = domain_sizes(database, predicate)
        self.sizes = [
            size if codes is None else len(codes)
            for size, codes in zip(domains, places, strict=True)
        ]
        total = number_of_keys(self.sizes)
        self.positives = self.keys(database.facts(predicate))
        self.listed: Keys | None = None
        if predicate in database.open:
            self.listed = self.keys(database.false_facts(predicate))
            self.negatives = len(self.listed)
        else:
            unknown = self.keys(database.unknown_facts(predicate))
            self.known = np.union1d(self.positives, unknown) if len(unknown) else self.positives
            self.negatives = total - len(self.known)

    def keys(self, columns: Columns) -> Keys:
        """Return the sorted keys of the atoms that belong to the population."""
        local = columns.astype(np.int64)
        inside = np.ones(columns.shape[1], np.bool_)
        for place, codes in enumerate(self.places):
            if codes is not None:
                inside &= is_among(local[place], codes.astype(np.int64))
                local[place] = np.searchsorted(codes, columns[place])
        return np.sort(pack(local[:, inside], self.sizes))

    def columns(self, keys: Keys) -> Columns:
        """Return the codes of atoms of the population."""
        columns = unpack(keys, self.sizes)
        for place, codes in enumerate(self.places):
            if codes is not None:
                columns[place] = codes[columns[place]]
        return columns

    def false(self, ranks: Keys) -> Columns:
        """Return the negatives with the given ranks."""
        keys = unlisted(ranks, self.known) if self.listed is None else self.listed[ranks]
        return self.columns(keys)
