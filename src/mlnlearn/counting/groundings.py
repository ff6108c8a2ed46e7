"""Enumeration of groundings in chunks: what building a ground network needs.

Positive atoms are joined one after the other, most bound first; negated atoms filter as soon as all
their variables are bound; variables that no positive atom binds run over their domains. Before each
join the rows are cut so that no chunk grows far beyond the wished size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Index, Ints, common_keys
from mlnlearn.counting.prepare import member_atom
from mlnlearn.counting.stack import Stack
from mlnlearn.logic.atoms import Atom, Constant, Variable


@dataclass(frozen=True, slots=True)
class Assignments:
    """Values of named variables, one row a grounding."""

    database: Codes
    columns: Mapping[Variable, Codes]

    def __len__(self) -> int:
        return len(self.database)

    def rows(self, chosen: Ints | slice) -> Assignments:
        """Return some of the rows."""
        return Assignments(
            self.database[chosen], {v: column[chosen] for v, column in self.columns.items()}
        )


def enumerate_groundings(
    stack: Stack,
    positive: Sequence[Atom],
    negative: Sequence[Atom] = (),
    variables: Mapping[Variable, str] | None = None,
    chunk: int = 1 << 20,
) -> Iterator[Assignments]:
    """Yield, in chunks, the values of variables for which atoms are true and others are not.

    Parameters
    ----------
    stack
        The databases.
    positive, negative
        Atoms that must be true, and atoms that must not.
    variables
        Further variables with their types; those in no positive atom range over their domains.
    chunk
        About how many rows a chunk may have.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Bob", "Anna")], "smokes": [("Anna",)]}
    >>> stack = Stack([Database.from_facts(schema, facts)])
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> [b.columns[Variable("x")].tolist()
    ...  for b in enumerate_groundings(stack, [friends("x", "y")], [smokes("y")])]
    [[0]]
    """
    bound = {term for atom in positive for term in atom.terms}
    extra = dict(variables or {})
    for atom in negative:
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True):
            if isinstance(term, Variable):
                extra.setdefault(term, kind)
    domains = [member_atom(stack, kind, v) for v, kind in extra.items() if v not in bound]
    start = Assignments(np.arange(len(stack), dtype=np.int32), {})
    yield from _extend(stack, start, [*positive, *domains], list(negative), chunk)


def _extend(
    stack: Stack, rows: Assignments, waiting: list[Atom], negative: list[Atom], chunk: int
) -> Iterator[Assignments]:
    ready = [atom for atom in negative if _is_bound(atom, rows)]
    for atom in ready:
        rows = rows.rows(np.flatnonzero(~_is_true(stack, atom, rows)))
    negative = [atom for atom in negative if atom not in ready]
    if not len(rows):
        return
    if not waiting:
        yield rows
        return
    atom = min(waiting, key=lambda a: _cost(stack, a, rows))
    rest = [other for other in waiting if other is not atom]
    join = _Join(stack, atom, rows)
    for piece in join.pieces(chunk):
        yield from _extend(stack, piece, rest, negative, chunk)


def _cost(stack: Stack, atom: Atom, rows: Assignments) -> float:
    """Rows that a join with the atom makes of one row, if values were spread evenly."""
    result = float(len(stack.relation(atom.predicate)))
    for term, kind in zip(atom.terms, atom.predicate.types, strict=True):
        if isinstance(term, Constant) or term in rows.columns:
            result /= max(stack.size(kind), 1)
    return result


def _is_bound(atom: Atom, rows: Assignments) -> bool:
    return all(isinstance(term, Constant) or term in rows.columns for term in atom.terms)


def _bound_columns(stack: Stack, atom: Atom, rows: Assignments) -> dict[int, Codes]:
    """Return the values that the rows (or constants) give to the atom's places."""
    found: dict[int, Codes] = {}
    for place, (term, kind) in enumerate(zip(atom.terms, atom.predicate.types, strict=True)):
        if isinstance(term, Constant):
            found[place] = np.full(len(rows), stack.code(kind, term.name), np.int32)
        elif term in rows.columns:
            found[place] = rows.columns[term]
    return found


def _is_true(
    stack: Stack, atom: Atom, rows: Assignments
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    _, lengths = _Join(stack, atom, rows).ranges
    return lengths > 0


class _Join:
    """Rows joined with the facts of one atom, computed piece by piece."""

    def __init__(self, stack: Stack, atom: Atom, rows: Assignments) -> None:
        self.rows = rows
        self.atom = atom
        relation = stack.relation(atom.predicate)
        given = _bound_columns(stack, atom, rows)
        keep = _repeats_agree(atom, relation.columns)
        self.database = relation.database[keep]
        self.facts = [column[keep] for column in relation.columns]
        sizes = stack.key_sizes(atom.predicate.types[place] for place in given)
        wanted, keys = common_keys(
            [rows.database, *given.values()],
            [self.database, *(self.facts[place] for place in given)],
            sizes,
        )
        # a constant that no database has must match nothing
        for column in given.values():
            wanted = np.where(column < 0, -1, wanted)
        self.index = Index(keys)
        self.ranges = self.index.ranges(wanted)

    def pieces(self, chunk: int) -> Iterator[Assignments]:
        starts, lengths = self.ranges
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        first = 0
        while first < len(lengths) and total:
            done = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, done + chunk, side="right")), first + 1)
            piece = slice(first, last)
            yield self._joined(first, starts[piece], lengths[piece])
            first = last

    def _joined(self, first: int, starts: Ints, lengths: Ints) -> Assignments:
        left = np.repeat(np.arange(first, first + len(lengths)), lengths)
        right = self.index.rows(starts, lengths)
        columns = {v: column[left] for v, column in self.rows.columns.items()}
        for term, column in zip(self.atom.terms, self.facts, strict=True):
            if isinstance(term, Variable) and term not in columns:
                columns[term] = column[right]
        return Assignments(self.rows.database[left], columns)


def _repeats_agree(atom: Atom, columns: Sequence[Codes]) -> Ints | slice:
    """Return the facts that give repeated variables of an atom equal values."""
    first: dict[Variable, Codes] = {}
    keep = None
    for term, column in zip(atom.terms, columns, strict=True):
        if isinstance(term, Variable):
            if term in first:
                same = column == first[term]
                keep = same if keep is None else keep & same
            else:
                first[term] = column
    return slice(None) if keep is None else np.flatnonzero(keep)
