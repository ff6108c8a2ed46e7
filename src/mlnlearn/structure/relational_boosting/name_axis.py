"""Which argument of a relation, if any, is one of a few values: an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import NAME, Link, Nominal, Relational
from mlnlearn.model.relational.axis import NameAxis
from mlnlearn.model.relational.features import Feature, Forward

_MOST_NAMES = 40
_MIXTURES = 5


@dataclass(frozen=True, eq=False)
class NamedExamples:
    """The names that examples have on an axis.

    Attributes
    ----------
    axis
        The axis.
    places
        The place of each example's name; every example has one.
    """

    axis: NameAxis
    places: Ints

    @property
    def number(self) -> int:
        """How many names there are."""
        return len(self.axis.names)

    def mixtures(self, values: Floats, seed: int) -> Floats:
        """Return values of examples, and a few columns in which those of half of the names turn.

        What raises some names and lowers others is seen in the latter, whichever these are.
        """
        rng = np.random.default_rng([seed, 2])
        signs = rng.choice([-1.0, 1.0], (self.number, _MIXTURES))
        return np.concatenate([values, values * signs[self.places]], axis=1)


def named_examples(view: Relational, examples: RowExamples) -> NamedExamples | None:
    """Return the names of examples on an axis: an argument of a relation that is a value.

    It has few names, a quarter or more of which recur in several databases; in one database, many
    fewer than there are of anything else. Of several such arguments it is the last one.

    Examples
    --------
    >>> from mlnlearn.counting.examples import examples_of, find_place
    >>> from mlnlearn.counting.relational import relational
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> facts = {"likes": [(f"P{n}", ("Jazz", "Rock")[n % 2]) for n in range(9)]}
    >>> view = relational([Database.from_facts(Schema.of("likes(person,music)"), facts)])
    >>> found = named_examples(view, examples_of(view, find_place(view, "likes")))
    >>> found.axis.argument, str(found.axis.feature), found.axis.names
    (1, 'its music', ('Jazz', 'Rock'))
    """
    if examples.home.column is not None:
        return None
    for argument, name in reversed(list(enumerate(examples.base.columns))):
        found = _named_by(view, examples, argument, name)
        if found is not None:
            return found
    return None


def _named_by(
    view: Relational, examples: RowExamples, argument: int, name: str
) -> NamedExamples | None:
    base = examples.base
    column = base.columns[name]
    feature = Feature((), name)
    to = None
    if isinstance(column, Link):
        to, feature = column.to, Feature((Forward(name),), NAME)
        names = view[to].columns.get(NAME)
        if sum(link.to == to for link in base.links.values()) > 1 or not isinstance(names, Nominal):
            return None
        column = Nominal(names.codes[column.codes], names.names)
    if not isinstance(column, Nominal) or (column.codes < 0).any():
        return None
    used, codes = np.unique(column.codes, return_inverse=True)
    number = len(used)
    if not 2 <= number <= _MOST_NAMES:
        return None
    if base.part.any():
        held = np.unique(base.part.astype(np.int64) * number + codes) % number
        if 4 * np.count_nonzero(np.bincount(held) > 1) < number:
            return None
    elif number**2 > sum(view[rows].rows for rows in {*view.types.values()} - {to}):
        return None
    axis = NameAxis(argument, feature, tuple(column.names[code] for code in used.tolist()))
    return NamedExamples(axis, codes.reshape(-1).astype(np.int64))
