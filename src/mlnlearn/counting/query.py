"""What an engine is asked, and what it answers: conjunctive queries and sparse tables of counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from mlnlearn.counting.arrays import AnyInts, Codes, Ints
from mlnlearn.counting.plan import Plan, make_plan
from mlnlearn.counting.stack import Stack
from mlnlearn.logic.atoms import Atom, Variable
from mlnlearn.logic.canonical import canonical_order, item_of
from mlnlearn.logic.substitute import substitute


@dataclass(frozen=True, slots=True)
class Query:
    """In how many ways can all atoms be true, for each value of the group variables.

    Every group variable stands in some atom.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> wrote = Predicate("wrote", ("person", "paper"))
    >>> print(Query((wrote("x", "p"), wrote("y", "p")), (Variable("x"),)))
    count of wrote(x,p) ^ wrote(y,p) by x
    """

    atoms: tuple[Atom, ...]
    group: tuple[Variable, ...] = ()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, in order of first occurrence."""
        return tuple(
            dict.fromkeys(t for atom in self.atoms for t in atom.terms if isinstance(t, Variable))
        )

    def types(self) -> dict[Variable, str]:
        """Return the type of each variable."""
        return {
            term: kind
            for atom in self.atoms
            for term, kind in zip(atom.terms, atom.predicate.types, strict=True)
            if isinstance(term, Variable)
        }

    def __str__(self) -> str:
        body = " ^ ".join(map(str, self.atoms)) or "nothing"
        return f"count of {body}" + (f" by {','.join(map(str, self.group))}" if self.group else "")


@lru_cache(maxsize=65536)
def canonical_query(query: Query) -> tuple[tuple[Any, ...], tuple[Variable, ...]]:
    """Return a key equal for queries that differ in names and order only, and the ordered group.

    The group variables are ordered alike in all queries of one key, so that one stored table serves
    them all.
    """
    items = [item_of(atom) for atom in query.atoms]
    group = set(query.group)
    colours = {variable: int(variable not in group) for variable in query.variables}
    order, encoding = canonical_order(items, colours)
    return (len(group), *encoding), order[: len(group)]


@lru_cache(maxsize=65536)
def in_canonical_names(atoms: tuple[Atom, ...]) -> tuple[tuple[Any, ...], tuple[Atom, ...]]:
    """Return a key equal for products that differ in names and order only, and one of them.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> wrote = Predicate("wrote", ("person", "paper"))
    >>> key, atoms = in_canonical_names((wrote("b", "c"), wrote("a", "c")))
    >>> key == in_canonical_names((wrote("x", "p"), wrote("y", "p")))[0], *map(str, atoms)
    (True, 'wrote(v0,v2)', 'wrote(v1,v2)')
    """
    order, encoding = canonical_order([item_of(atom) for atom in atoms], {})
    names = {variable: Variable(f"v{place}") for place, variable in enumerate(order)}
    return encoding, tuple(sorted((substitute(atom, names) for atom in atoms), key=str))


def plan_of(stack: Stack, query: Query) -> Plan[Variable]:
    """Plan a query of at least one atom, from the sizes of the relations."""
    sizes = [stack.scan_size(atom) for atom in query.atoms]
    return make_plan(sizes, query.group, len(stack))


@dataclass(frozen=True, slots=True)
class CountTable:
    """Counts by database and values of the group variables: distinct rows, zeros left out.

    Attributes
    ----------
    variables
        The group variables, one per column.
    database
        Number of the database of each row.
    columns
        Codes of the constants.
    counts
        The counts; 64-bit integers.

    The arrays are read-only.
    """

    variables: tuple[Variable, ...]
    database: Codes
    columns: tuple[Codes, ...]
    counts: Ints

    def __post_init__(self) -> None:
        # answers are shared between callers and with the cache
        self.counts.flags.writeable = False
        for codes in (self.database, *self.columns):
            codes.flags.writeable = False

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        codes = sum(column.nbytes for column in (self.database, *self.columns))
        return codes + self.counts.nbytes

    def column(self, variable: Variable) -> Codes:
        """Return the column of a variable."""
        return self.columns[self.variables.index(variable)]

    def arranged(self, stored: Sequence[Variable], wanted: Sequence[Variable]) -> CountTable:
        """Rename the columns to `stored` and put them in the order `wanted`."""
        by_name = dict(zip(stored, self.columns, strict=True))
        columns = tuple(by_name[variable] for variable in wanted)
        return CountTable(tuple(wanted), self.database, columns, self.counts)

    def per_database(self, databases: int) -> list[int]:
        """Return the total count in each database."""
        totals = [0] * databases
        for number, count in zip(self.database.tolist(), self.counts.tolist(), strict=True):
            totals[number] += count
        return totals


def count_table(
    variables: Sequence[Variable], database: AnyInts, columns: Sequence[AnyInts], counts: AnyInts
) -> CountTable:
    """Build a table, with the arrays in their standard types."""
    return CountTable(
        tuple(variables),
        np.asarray(database, np.int32),
        tuple(np.asarray(column, np.int32) for column in columns),
        np.asarray(counts, np.int64),
    )


Hold: TypeAlias = Callable[[int, int], None]
"""Takes bytes, for so many rows, or refuses them."""


class Engine(Protocol):
    """Anything that can answer conjunctive queries over a stack of databases."""

    @property
    def stack(self) -> Stack:
        """The databases."""
        ...

    def table(self, query: Query) -> CountTable:
        """Answer a query."""
        ...

    def ahead(self, queries: Sequence[Query]) -> None:
        """Be told which queries come next, to answer them together where that pays."""
        ...

    def plan(self, query: Query) -> Plan[Variable]:
        """Return how a query of at least one atom is answered."""
        ...

    def holding(self, purpose: object) -> AbstractContextManager[Hold]:
        """Give what counts the memory that a caller takes beside the engine's own, for a while."""
        ...
