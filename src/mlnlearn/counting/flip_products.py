"""Flip counts as products: arguments that nothing links, or only a few values do.

The count of ``student(x) ^ professor(y)`` by student and professor is dense as a table, and a
product of two small ones. So is that of ``inPhase(x,z) ^ inPhase(y,z)``, for each of the few phases
``z``: a sum of products. The variables that are taken value by value may be arguments of the
flipped atom, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from mlnlearn.counting.arrays import Codes, run_starts, sort_keys, times
from mlnlearn.counting.flip_tables import FlipProduct, FlipTable, keyed
from mlnlearn.counting.query import CountTable, Engine, Query
from mlnlearn.counting.signatures import mixed
from mlnlearn.counting.stack import Stack
from mlnlearn.data.sampling import keys_of
from mlnlearn.logic.atoms import Atom, Constant, Term, Variable

# Counts of unlinked arguments are listed as a table up to so many rows, else kept as a product;
_LISTED = 1 << 12
# of arguments that a few values link, up to so many.
_LISTED_BY_VALUE = 1 << 16
_MOST_VALUES = 128


@dataclass(frozen=True, slots=True)
class Factorised:
    """A count as a product of counts, for each choice of values of some variables.

    Attributes
    ----------
    links
        The variables that are taken value by value; often none.
    factors
        Counts that share no variable but these; each has at most one other argument of the
        flipped atom. None where the count is no such product.
    """

    links: tuple[Variable, ...] = ()
    factors: tuple[Query, ...] = ()


def factorised(
    stack: Stack, pattern: Atom, atoms: Sequence[Atom], types: dict[Variable, str]
) -> Factorised:
    """Return how a count by the arguments of a flipped atom falls into factors, if it does.

    It does not where an argument is a constant or repeated, nor is it asked where the counts of all
    arguments fit a small table.
    """
    shape = pattern.terms
    used = {term for atom in atoms for term in atom.terms}
    if len(set(shape)) < len(shape) or any(isinstance(term, Constant) for term in shape):
        return Factorised()
    for links in _links(stack, shape, types, used):
        found = _factors(shape, atoms, links)
        if found:
            return Factorised(links, found)
    return Factorised()


def _links(
    stack: Stack, shape: Sequence[Term], types: dict[Variable, str], used: set[Term]
) -> Iterator[tuple[Variable, ...]]:
    """Yield sets of variables to be taken value by value: none, one, or two, of few values."""
    yield ()
    few = [v for v, kind in types.items() if v in used and stack.size(kind) <= _MOST_VALUES]
    many = [types[t] for t in shape if isinstance(t, Variable) and t in used and t not in few]
    if len(many) < 2 or sum(stack.ground_atoms(many)) <= _LISTED_BY_VALUE:
        return
    for number in (1, 2):
        for chosen in combinations(few, number):
            if math.prod(stack.size(types[variable]) for variable in chosen) <= _MOST_VALUES:
                yield chosen


def _factors(
    shape: Sequence[Term], atoms: Sequence[Atom], links: tuple[Variable, ...]
) -> tuple[Query, ...]:
    """Return a query for each part of the atoms that shares no variable but links with others."""
    queries = []
    for part in _parts(atoms, links):
        used = {term for atom in part for term in atom.terms}
        own = [t for t in shape if isinstance(t, Variable) and t in used and t not in links]
        if len(own) > 1:
            return ()
        queries.append(Query(tuple(part), (*own, *(v for v in links if v in used))))
    return tuple(queries) if len(queries) > 1 else ()


def _parts(atoms: Sequence[Atom], links: Sequence[Variable]) -> list[list[Atom]]:
    """Split atoms into parts that share no variable but links."""
    groups: list[tuple[set[Term], list[Atom]]] = []
    for atom in atoms:
        own = {t for t in atom.terms if isinstance(t, Variable) and t not in links}
        touching = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        variables = own.union(*(group[0] for group in touching))
        groups.append((variables, [a for group in touching for a in group[1]] + [atom]))
    return [found for _, found in groups]


def products(engine: Engine, pattern: Atom, found: Factorised) -> tuple[FlipProduct, ...] | None:
    """Count the factors; return their products where a table would be large, else None.

    Parameters
    ----------
    engine
        The data.
    pattern
        The flipped atom.
    found
        How its count falls into factors.
    """
    tables = [engine.table(query) for query in found.factors]
    arguments = [table for table in tables if set(table.variables) - set(found.links)]
    if len(arguments) < 2:
        return None
    made = list(_by_value(engine.stack, pattern, found.links, tables))
    rows = sum(_rows(part, len(engine.stack)) for part in made)
    if 0 < rows <= (_LISTED_BY_VALUE if found.links else _LISTED):
        return None
    if found.links and rows:
        values = math.prod(len(_values(tables, link)) for link in found.links)
        classes = math.prod(_classes(engine.stack, pattern, table) for table in arguments)
        if 4 * classes * (values if set(found.links) & set(pattern.terms) else 1) > rows:
            return None
    return tuple(made)


def _by_value(
    stack: Stack,
    pattern: Atom,
    links: Sequence[Variable],
    tables: Sequence[CountTable],
) -> Iterator[FlipProduct]:
    """Yield the product for each choice of values of the links, but for those that are zero."""
    for values in product(*(_values(tables, link) for link in links)):
        chosen = dict(zip(links, values, strict=True))
        number, factors = np.ones(len(stack), np.int64), []
        for part in (_where(table, chosen) for table in tables):
            if part.variables:
                factors.append(keyed(stack, pattern, part))
            else:
                number = times(number, np.array(part.per_database(len(stack)), np.int64))
        present = np.flatnonzero(number).astype(np.int32)
        if links and not (len(present) and all(map(len, factors))):
            continue
        first = factors[0]
        scaled = replace(first, values=times(number[first.database], first.values))
        there = [_only(pattern, link, code, present) for link, code in chosen.items()]
        yield FlipProduct((scaled, *factors[1:], *(table for table in there if table is not None)))


def _values(tables: Sequence[CountTable], variable: Variable) -> list[int]:
    """Return the values of a variable in the first table that has it."""
    column = next(table.column(variable) for table in tables if variable in table.variables)
    values: list[int] = np.flatnonzero(np.bincount(column)).tolist()
    return values


def _where(table: CountTable, chosen: dict[Variable, int]) -> CountTable:
    """Return the rows of a table where some variables have given values, without these."""
    rest = tuple(variable for variable in table.variables if variable not in chosen)
    if len(rest) == len(table.variables):
        return table
    matches = [table.column(v) == code for v, code in chosen.items() if v in table.variables]
    rows = np.flatnonzero(np.logical_and.reduce(matches))
    columns = tuple(table.column(variable)[rows] for variable in rest)
    return CountTable(rest, table.database[rows], columns, table.counts[rows])


def _only(pattern: Atom, link: Variable, code: int, databases: Codes) -> FlipTable | None:
    """Return the table that is one where an argument of the flipped atom has a value."""
    if link not in pattern.terms:
        return None
    place, ones = pattern.terms.index(link), np.ones(len(databases), np.int64)
    return FlipTable((place,), databases, (np.full(len(databases), code, np.int32),), ones)


def _rows(made: FlipProduct, databases: int) -> int:
    """Return how many atoms a product is of."""
    counts = [np.bincount(factor.database, minlength=databases) for factor in made.factors]
    return int(np.prod(counts, axis=0).sum())


def _classes(stack: Stack, pattern: Atom, table: CountTable) -> int:
    """Return how many constants at a place can be told apart by a table that has it first."""
    place = pattern.terms.index(table.variables[0])
    keys = keys_of(
        (table.database, table.columns[0]), stack.key_sizes([pattern.predicate.types[place]])
    )
    marks = table.counts.view(np.uint64)
    for column in table.columns[1:]:
        marks = mixed(marks + mixed(column.astype(np.uint64)))
    order, ordered = sort_keys(keys)
    marks, starts = marks[order], run_starts(ordered)
    return 1 + len(run_starts(np.sort(np.add.reduceat(marks, starts)))) if len(starts) else 1
