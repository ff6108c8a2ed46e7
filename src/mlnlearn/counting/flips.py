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
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import add_at, group_sums, times
from mlnlearn.counting.coincidences import cases
from mlnlearn.counting.count import domain_multiples, prepared
from mlnlearn.counting.flip_products import Factorised, factorised, products
from mlnlearn.counting.flip_tables import FlipProduct, Flips, FlipTable, keyed
from mlnlearn.counting.prepare import Prepared, Summand, member_atom
from mlnlearn.counting.query import Engine, Query
from mlnlearn.counting.sparse import merging_bytes
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Variable
from mlnlearn.logic.formulas import (
    Formula,
    quantified_atoms,
    without_leading_forall,
)
from mlnlearn.logic.numbering import Numbering


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
    kept: list[FlipProduct] = []
    with engine.holding(formula) as take:
        found = [
            case
            for summand in form.summands
            for case in _flip_cases(engine.stack, form, summand, predicate, exclusive)
        ]
        engine.ahead([query for case in found for query in case.queries()])
        for case in found:
            part = _part(engine, case)
            if isinstance(part, FlipTable):
                take(part.nbytes, len(part))
                parts[part.places].append(part)
                continue
            tables = [factor for product in part for factor in product.factors]
            take(sum(table.nbytes for table in tables), sum(map(len, tables)))
            kept += part
        constant = np.zeros(len(engine.stack), np.int64)
        for part in parts.pop((), ()):
            add_at(constant, part.database.astype(np.int64), part.values)
        added = []
        for places, listed in sorted(parts.items()):
            rows = sum(map(len, listed))
            take(rows * merging_bytes(1 + len(places)), rows)
            added.append(_added(engine.stack, predicate, listed))
    return Flips(predicate, constant, tuple(table for table in added if len(table)), tuple(kept))


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
    factorised
        How the count falls into factors, if it does.
    """

    pattern: Atom
    atoms: tuple[Atom, ...]
    group: tuple[Variable, ...]
    free: tuple[str, ...]
    coefficient: int
    factorised: Factorised

    def queries(self) -> tuple[Query, ...]:
        """Return what is asked first: the factors one by one, where a product may pay."""
        return self.factorised.factors or (Query(self.atoms, self.group),)


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
    factors = factorised(stack, pattern, atoms, types)
    return FlipCase(pattern, atoms, tuple(group), tuple(free), coefficient, factors)


def _part(engine: Engine, case: FlipCase) -> FlipTable | tuple[FlipProduct, ...]:
    """Count what a case says, by the arguments of the flipped atom."""
    multiples = domain_multiples(engine, case.free)
    found = products(engine, case.pattern, case.factorised, multiples * case.coefficient)
    if found is not None:
        return found
    table = engine.table(Query(case.atoms, case.group))
    values = times(multiples[table.database], table.counts) * case.coefficient
    return keyed(engine.stack, case.pattern, table, values)
