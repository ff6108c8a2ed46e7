"""Groundings of a conjunction in all worlds at once: which unknown atoms each of them needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.errors import MemoryLimitError
from mlnlearn.model.boosted.evaluate import step_values
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.boosted.rules import ClauseList, HornClause

_MOST_ROWS = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Groundings:
    """Groundings of one conjunction for some examples.

    Attributes
    ----------
    sure
        Per example, how many there are whatever the unknown atoms are.
    example, many
        Per set of further groundings, whose they are and how many.
    needs
        Per such set, the unknown atoms that must be true, shape ``(literals, sets)``; -1 for none.
        An atom that is two literals stands there once.
    """

    sure: Ints
    example: Ints
    many: Ints
    needs: Ints


def ground_body(body: Body, hidden: HiddenAtoms, examples: Codes) -> Groundings:
    """Find the groundings of a conjunction in the world where all that may be true is.

    Parameters
    ----------
    body
        The conjunction; its first variables are those of the examples.
    hidden
        The unknown atoms.
    examples
        A row of databases, then one of each head argument's objects.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(
    ...     schema, {"likes": [("Anna", "Bob")]}, unknown={"likes": [("Anna", "Anna")]})
    >>> hidden = HiddenAtoms.of([db], ["likes"])
    >>> anna = np.array([[0], [0]], np.int32)
    >>> found = ground_body((Pattern(schema["likes"], (0, 1)),), hidden, anna)
    >>> found.sure.tolist(), found.many.tolist(), found.needs.tolist()
    ([1], [1], [[0]])
    """
    size = examples.shape[1]
    literals = [pattern for pattern in body if pattern.predicate in hidden.columns]
    if not literals:
        once = ClauseList((HornClause(body, 1.0),))
        counts = step_values(once, hidden.known, examples, False).astype(np.int64)
        nothing = np.empty(0, np.int64)
        return Groundings(counts, nothing, nothing, np.empty((0, 0), np.int64))
    table = Bindings.of(hidden.possible, np.ascontiguousarray(examples))
    for pattern in body:
        if table.joined_rows(pattern) > _MOST_ROWS:
            raise MemoryLimitError(
                f"a rule has more than {_MOST_ROWS} groundings with unknown atoms",
                hint="hide fewer atoms, or restrict the predicates in bodies",
            )
        table = table.join(pattern)
    needs = np.stack([_numbers(pattern, table, hidden) for pattern in literals])
    needs.sort(axis=0)
    needs[:-1][needs[:-1] == needs[1:]] = -1
    needs.sort(axis=0)
    sure = needs[-1] < 0
    counts = np.bincount(table.example[sure], minlength=size).astype(np.int64)
    example, needs = table.example[~sure].astype(np.int64), needs[:, ~sure]
    order = np.lexsort([*needs, example])
    example, needs = example[order], needs[:, order]
    differs = (needs[:, 1:] != needs[:, :-1]).any(axis=0) | (example[1:] != example[:-1])
    first = np.flatnonzero(np.append(True, differs)[: len(example)])
    many = np.diff(np.append(first, len(example)))
    return Groundings(counts, example[first], many, np.ascontiguousarray(needs[:, first]))


def _numbers(pattern: Pattern, table: Bindings, hidden: HiddenAtoms) -> Ints:
    """Return, for every row, the number of the atom that a literal is; -1 for a known one."""
    rows = np.empty((len(pattern.terms) + 1, len(table)), np.int32)
    rows[0] = table.columns[0]
    for place, term in enumerate(pattern.terms):
        kind = pattern.predicate.types[place]
        if isinstance(term, int):
            rows[place + 1] = table.columns[term + 1]
        else:
            codes = [database.domains[kind].code(term) for database in hidden.databases]
            objects = np.array(codes) + table.world.offsets[kind][:-1]
            rows[place + 1] = objects[table.columns[0]]
    return hidden.numbers(pattern.predicate, rows)
