"""What a generator returns: databases, the rules it planted, and the true probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.sampling import Keys, is_among, pack
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Truth:
    """The true probability of every ground atom of a predicate, given all other predicates.

    Most atoms share the probability of their class, a product of one class per argument; those
    that do not are listed. So the truth over 10^10 atoms is held, and scored, exactly.

    Attributes
    ----------
    predicate
        Its name.
    columns, probabilities
        The listed atoms, in lexicographic order, and their probabilities.
    classes
        For every argument place, the class of each constant.
    table
        The probability of an atom that is not listed, by the classes of its arguments.

    Examples
    --------
    >>> classes = (np.array([0, 1, 1]),)
    >>> truth = Truth("smokes", np.array([[2]], np.int32), np.array([0.9]), classes,
    ...               np.array([0.1, 0.3]))
    >>> truth.probability(np.array([[0, 1, 2]]))
    array([0.1, 0.3, 0.9])
    """

    predicate: str
    columns: Columns
    probabilities: Floats
    classes: tuple[NDArray[np.integer], ...]
    table: Floats

    @property
    def sizes(self) -> list[int]:
        """Domain size of every argument place."""
        return [len(place) for place in self.classes]

    @cached_property
    def _keys(self) -> Keys:
        return pack(self.columns, self.sizes)

    def probability(self, columns: NDArray[np.integer]) -> Floats:
        """Return the true probability of atoms given as ``(arity, n)`` codes."""
        result: Floats = self.table[self._cells(columns)]
        keys = pack(columns, self.sizes)
        listed = is_among(keys, self._keys)
        result[listed] = self.probabilities[np.searchsorted(self._keys, keys[listed])]
        return result

    def _cells(self, columns: NDArray[np.integer]) -> tuple[NDArray[np.integer], ...]:
        return tuple(place[codes] for place, codes in zip(self.classes, columns, strict=True))

    def _per_cell(self, columns: NDArray[np.integer]) -> Floats:
        """Count the atoms of each class that are not listed."""
        open_atoms = columns[:, ~is_among(pack(columns, self.sizes), self._keys)]
        counts = np.zeros(self.table.shape)
        np.add.at(counts, self._cells(open_atoms), 1)
        return counts

    def log_likelihood(self, database: Database) -> float:
        """Return the summed log-probability of all known atoms of the predicate in a database.

        This is the best expected score that any model can have; divide by the number of known atoms
        for the mean conditional log-likelihood.
        """
        true, unknown = database.facts(self.predicate), database.unknown_facts(self.predicate)
        labels = is_among(self._keys, pack(true, self.sizes))
        known = ~is_among(self._keys, pack(unknown, self.sizes))
        listed = np.where(
            labels, xlogy(labels, self.probabilities), xlog1py(~labels, -self.probabilities)
        )
        total = np.ones(())
        for place, size in zip(self.classes, self.table.shape, strict=True):
            total = np.multiply.outer(total, np.bincount(place, minlength=size))
        np.subtract.at(total, self._cells(self.columns), 1)
        positive = self._per_cell(true)
        negative = total - positive - self._per_cell(unknown)
        rest = xlogy(positive, self.table) + xlog1py(negative, -self.table)
        return float(listed[known].sum() + rest.sum())


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Generated databases with the model that made them.

    Attributes
    ----------
    databases
        Independent draws (or disconnected parts) of the same model.
    rules
        The planted rules with their weights.
    truth
        Per database, the true conditional probabilities of the predicates that the rules explain.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import smokers
    >>> made = smokers(100, rng=0)
    >>> made.schema["cancer"].arity, sorted(made.truth[0])
    (1, ['cancer'])
    """

    databases: tuple[Database, ...]
    rules: tuple[Rule, ...]
    truth: tuple[Mapping[str, Truth], ...]

    @property
    def schema(self) -> Schema:
        """The schema that all databases share."""
        return self.databases[0].schema
