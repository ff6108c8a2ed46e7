"""Flip counts: how the true groundings of a formula change when one ground atom flips.

For a formula and a predicate, the flip count of a ground atom ``a`` is the number of true
groundings with ``a`` true minus that with ``a`` false, all else as in the data. It is found for all
ground atoms of the predicate at once, as a constant plus sparse tables keyed by some of the atom's
arguments: no array is as long as the number of ground atoms.

A formula is a sum of products of positive atoms (see `mlnlearn.logic.polynomial`); a product is the
clause that denies its atoms, and `mlnlearn.counting.coincidences` tells where a ground atom meets
it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlnlearn.counting.arrays import (
    AnyInts,
    Codes,
    Ints,
    add_at,
    common_keys,
    group_sums,
    places_among,
    times,
)
from mlnlearn.counting.coincidences import cases
from mlnlearn.counting.count import domain_multiples, prepared
from mlnlearn.counting.prepare import Prepared, Summand, member_atom
from mlnlearn.counting.query import CountTable, Engine, Query
from mlnlearn.counting.sparse import merging_bytes
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Term, Variable
from mlnlearn.logic.formulas import (
    Formula,
    quantified_atoms,
    without_leading_forall,
)
from mlnlearn.logic.numbering import Numbering

# Counts of unlinked arguments are listed as a table up to so many rows, else kept as a product.
_LISTED = 1 << 20


@dataclass(frozen=True, slots=True)
class FlipTable:
    """Values to add for atoms with the given constants at the given argument places."""

    places: tuple[int, ...]
    database: Codes
    columns: tuple[Codes, ...]
    values: Ints

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        codes = sum(column.nbytes for column in (self.database, *self.columns))
        return codes + self.values.nbytes


@dataclass(frozen=True, slots=True)
class FlipProduct:
    """Values to add that are products: one factor for each of several disjoint sets of places.

    This is the form of counts that would be dense as a table, such as those of
    ``student(x) ^ professor(y) => advisedBy(x,y)``.
    """

    factors: tuple[FlipTable, ...]


@dataclass(frozen=True, slots=True)
class Flips:
    """Flip counts of one formula for all ground atoms of one predicate.

    Attributes
    ----------
    predicate
        The predicate whose atoms flip.
    constant
        Per database, the flip count of an atom that no table lists.
    tables
        Sparse additions, one table for each set of argument places, rows distinct and in order.
    products
        Further additions in product form, where their tables would be large.
    """

    predicate: Predicate
    constant: Ints
    tables: tuple[FlipTable, ...]
    products: tuple[FlipProduct, ...] = ()

    def at(self, stack: Stack, database: AnyInts, columns: Sequence[AnyInts]) -> Ints:
        """Return the flip counts of the given ground atoms."""
        result = self.constant[database]
        for table in self.tables:
            result = result + lookup(stack, self.predicate, table, database, columns)
        for product in self.products:
            value = np.ones(len(result), np.int64)
            for factor in product.factors:
                value = times(value, lookup(stack, self.predicate, factor, database, columns))
            result = result + value
        return result


def lookup(
    stack: Stack,
    predicate: Predicate,
    table: FlipTable,
    database: AnyInts,
    columns: Sequence[AnyInts],
) -> Ints:
    """Return what a table has for some ground atoms of a predicate, zero where it has nothing."""
    if not len(table):
        return np.zeros(len(database), np.int64)
    rows = table_rows(stack, predicate, table, database, columns)
    return np.where(rows >= 0, table.values[rows], 0)


def table_rows(
    stack: Stack,
    predicate: Predicate,
    table: FlipTable,
    database: AnyInts,
    columns: Sequence[AnyInts],
) -> Ints:
    """Return the row of a table that each of some ground atoms is in, -1 for none."""
    wanted, keys = common_keys(
        [database, *(columns[place] for place in table.places)],
        [table.database, *table.columns],
        stack.key_sizes(predicate.types[place] for place in table.places),
    )
    return places_among(keys, wanted)


def flip_counts(
    engine: Engine, formula: Formula, predicate: Predicate, exclusive: tuple[int, ...] = ()
) -> Flips:
    """Return the flip counts of a formula for all ground atoms of a predicate.

    Parameters
    ----------
    engine
        The engine with its databases.
    formula
        Any formula in which the predicate stands under no quantifier.
    predicate
        The predicate whose atoms flip.
    exclusive
        Argument places of which exactly one value holds for each choice of the others; the counts
        are then those of setting a block of atoms, all false, to one value.

    Examples
    --------
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.formulas import Implies
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Anna",)]}
    >>> engine = MemoryEngine([Database.from_facts(schema, facts)])
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> flips = flip_counts(engine, Implies(friends("x", "y"), smokes("y")), smokes)
    >>> flips.constant.tolist(), [t.values.tolist() for t in flips.tables]
    ([0], [[2]])
    """
    bound = quantified_atoms(without_leading_forall(formula))
    if any(atom.predicate == predicate for atom in bound):
        raise InputError(
            f"{predicate.name} stands under a quantifier in {formula}: no flip counts",
            hint="ground the quantifier first, or use a formula without it",
        )
    form = prepared(engine, formula)
    parts: dict[tuple[int, ...], list[FlipTable]] = defaultdict(list)
    products = []
    with engine.holding(formula) as take:
        found = [
            case
            for summand in form.summands
            for case in _flip_cases(engine.stack, form, summand, predicate, exclusive)
        ]
        engine.ahead([query for case in found for query in case.queries()])
        for case in found:
            part = _part(engine, case)
            tables = part.factors if isinstance(part, FlipProduct) else (part,)
            take(sum(table.nbytes for table in tables), sum(map(len, tables)))
            if isinstance(part, FlipProduct):
                products.append(part)
            else:
                parts[part.places].append(part)
        constant = np.zeros(len(engine.stack), np.int64)
        for part in parts.pop((), ()):
            add_at(constant, part.database.astype(np.int64), part.values)
        added = []
        for places, listed in sorted(parts.items()):
            rows = sum(map(len, listed))
            take(rows * merging_bytes(1 + len(places)), rows)
            added.append(_added(engine.stack, predicate, listed))
    return Flips(
        predicate, constant, tuple(table for table in added if len(table)), tuple(products)
    )


def _added(stack: Stack, predicate: Predicate, tables: Sequence[FlipTable]) -> FlipTable:
    """Add up tables over the same places; zeros are left out."""
    places = tables[0].places
    database = np.concatenate([table.database for table in tables])
    columns = [np.concatenate(c) for c in zip(*(table.columns for table in tables), strict=True)]
    sizes = stack.key_sizes(predicate.types[place] for place in places)
    values = np.concatenate([table.values for table in tables])
    (numbers, *codes), sums = group_sums([database, *columns], sizes, values)
    keep = np.flatnonzero(sums)
    return FlipTable(places, numbers[keep], tuple(column[keep] for column in codes), sums[keep])


@dataclass(frozen=True, slots=True)
class FlipCase:
    """Atoms to be counted by those arguments of a flipped atom that stand in them.

    Attributes
    ----------
    pattern
        The flipped atom.
    atoms
        What must be true.
    group
        Variables of the pattern that stand in the atoms.
    free
        Types of variables that stand nowhere: each multiplies the count by its domain.
    coefficient
        How often the count goes into the flip count.
    factors
        A query for each part of the atoms that shares no variable with others, if each part has at
        most one of the flipped atom's arguments: their product is the count.
    """

    pattern: Atom
    atoms: tuple[Atom, ...]
    group: tuple[Variable, ...]
    free: tuple[str, ...]
    coefficient: int
    factors: tuple[Query, ...]

    def queries(self) -> tuple[Query, ...]:
        """Return what is asked first: the unlinked parts one by one, where a product may pay."""
        return self.factors if len(self.factors) > 1 else (Query(self.atoms, self.group),)


def _flip_cases(
    stack: Stack,
    form: Prepared,
    summand: Summand,
    predicate: Predicate,
    exclusive: tuple[int, ...],
) -> Iterator[FlipCase]:
    if predicate not in [atom.predicate for atom in summand.atoms]:
        return
    numbering = Numbering(
        (term for atom in summand.atoms for term in atom.terms),
        (atom.predicate for atom in summand.atoms),
    )
    denied = tuple(numbering.literal(atom, False) for atom in summand.atoms)
    for case in cases(denied, numbering.predicate(predicate), exclusive):
        unifier = {numbering.term(v): numbering.term(t) for v, t in case.unifier.items()}
        types = {
            value: kind
            for variable, kind in form.types.items()
            if isinstance(value := summand.values[variable], Variable)
            and isinstance(value := unifier.get(value, value), Variable)
        }
        rest = [numbering.atom(literal) for literal in case.rest]
        pattern = Atom(predicate, tuple(map(numbering.term, case.terms)))
        # more groundings of the denying clause are violated where more of the product are true
        coefficient = -case.coefficient * summand.coefficient
        yield _flip_case(stack, pattern, rest, types, coefficient)


def _flip_case(
    stack: Stack,
    pattern: Atom,
    rest: list[Atom],
    types: dict[Variable, str],
    coefficient: int,
) -> FlipCase:
    used = {term for atom in rest for term in atom.terms}
    shape = pattern.terms
    repeated = {t for t in shape if isinstance(t, Variable) and shape.count(t) > 1}
    members = [member_atom(stack, types[v], v) for v in sorted(repeated - used, key=str)]
    members += [
        # a database without the constant has no such atom
        member_atom(stack, kind, term)
        for term, kind in zip(shape, pattern.predicate.types, strict=True)
        if isinstance(term, Constant)
    ]
    used |= repeated
    free = (kind for variable, kind in types.items() if variable not in used | set(shape))
    group = dict.fromkeys(t for t in shape if isinstance(t, Variable) and t in used)
    atoms = (*rest, *members)
    factors = _factor_queries(pattern, atoms)
    return FlipCase(pattern, atoms, tuple(group), tuple(free), coefficient, factors)


def _part(engine: Engine, case: FlipCase) -> FlipTable | FlipProduct:
    """Count what a case says, by the arguments of the flipped atom."""
    multiples = domain_multiples(engine, case.free)
    product = _product(engine, case, multiples * case.coefficient)
    if product is not None:
        return product
    table = engine.table(Query(case.atoms, case.group))
    values = times(multiples[table.database], table.counts) * case.coefficient
    return _keyed(engine.stack, case.pattern, table, values)


def _keyed(stack: Stack, pattern: Atom, table: CountTable, values: Ints) -> FlipTable:
    """Turn counts by variables into counts by the places where these stand, constants included."""
    places, columns = [], []
    for place, (term, kind) in enumerate(zip(pattern.terms, pattern.predicate.types, strict=True)):
        if isinstance(term, Constant):
            columns.append(np.full(len(table), stack.code(kind, term.name), np.int32))
        elif term in table.variables:
            columns.append(table.column(term))
        else:
            continue
        places.append(place)
    return FlipTable(tuple(places), table.database, tuple(columns), values)


def _factor_queries(pattern: Atom, atoms: Sequence[Atom]) -> tuple[Query, ...]:
    """Return a query for each part of a case that shares no variable with others.

    There is none where a part links several arguments of the flipped atom, or one of these is a
    constant: that is no product.
    """
    shape = pattern.terms
    if any(isinstance(term, Constant) for term in shape):
        return ()
    queries = []
    for linked in _linked(atoms):
        used = {term for atom in linked for term in atom.terms}
        group = tuple(term for term in shape if isinstance(term, Variable) and term in used)
        if len(group) > 1:
            return ()
        queries.append(Query(tuple(linked), group))
    return tuple(queries)


def _product(engine: Engine, case: FlipCase, multiples: Ints) -> FlipProduct | None:
    """Return the counts in product form where that pays: unlinked arguments, many rows."""
    tables = []
    scale = multiples
    for query in case.factors:
        table = engine.table(query)
        if query.group:
            tables.append(table)
        else:
            scale = times(scale, np.array(table.per_database(len(scale)), np.int64))
    if len(tables) < 2:
        return None
    rows = np.prod([np.bincount(t.database, minlength=len(scale)) for t in tables], axis=0).sum()
    if rows <= _LISTED:
        return None
    factors = [_keyed(engine.stack, case.pattern, table, table.counts) for table in tables]
    first = factors[0]
    scaled = replace(first, values=times(scale[first.database], first.values))
    return FlipProduct((scaled, *factors[1:]))


def _linked(atoms: Sequence[Atom]) -> list[list[Atom]]:
    """Split atoms into groups that share no variable."""
    groups: list[tuple[set[Term], list[Atom]]] = []
    for atom in atoms:
        own = {term for term in atom.terms if isinstance(term, Variable)}
        touching = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        variables = own.union(*(group[0] for group in touching))
        groups.append((variables, [a for group in touching for a in group[1]] + [atom]))
    return [found for _, found in groups]
