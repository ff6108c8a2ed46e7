"""Flip counts: how the true groundings of a formula change when one ground atom flips.

For a formula and a predicate, the flip count of a ground atom ``a`` is the number of true
groundings with ``a`` true minus that with ``a`` false, all else as in the data. It is found for all
ground atoms of the predicate at once, as a constant plus sparse tables keyed by some of the atom's
arguments: no array is as long as the number of ground atoms.

A formula is a sum of products of positive atoms (see `mlnlearn.logic.polynomial`), and what each
product adds is a sum of parts (see `mlnlearn.counting.flip_cases`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np

from mlnlearn.cache import Shelf
from mlnlearn.counting.arrays import Ints, add_at, group_sums
from mlnlearn.counting.count import domain_multiples, prepared
from mlnlearn.counting.flip_cases import FlipCase, FlipPart, FlipParts, flip_cases, flip_part
from mlnlearn.counting.flip_tables import FlipProduct, Flips, FlipTable
from mlnlearn.counting.prepare import Prepared
from mlnlearn.counting.query import Engine, Hold, in_canonical_names
from mlnlearn.counting.sparse import merging_bytes
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import Formula, quantified_atoms, without_leading_forall


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
    return FlipCounter(engine).flips(formula, predicate, exclusive)


class FlipCounter:
    """Counts the flips of formulas, which share what products of the same atoms add.

    Clauses that differ in signs are sums of the same products.

    Parameters
    ----------
    engine
        The engine with its databases.
    known
        Keeps what products add, for formulas to come.
    """

    def __init__(self, engine: Engine, known: Shelf[FlipParts] | None = None) -> None:
        self.engine, self.known = engine, known
        self._form: tuple[Formula, Prepared] | None = None

    def flips(
        self, formula: Formula, predicate: Predicate, exclusive: tuple[int, ...] = ()
    ) -> Flips:
        """Return the flip counts of a formula for all ground atoms of a predicate."""
        bound = quantified_atoms(without_leading_forall(formula))
        if any(atom.predicate == predicate for atom in bound):
            raise InputError(
                f"{predicate.name} stands under a quantifier in {formula}: no flip counts",
                hint="ground the quantifier first, or use a formula without it",
            )
        engine, form = self.engine, self._prepared(formula)
        tables: dict[tuple[int, ...], list[FlipTable]] = defaultdict(list)
        kept: list[FlipProduct] = []
        with engine.holding(formula) as take:
            for scale, part in self._parts(form, predicate, exclusive, take):
                found = part.times(scale)
                if isinstance(found, FlipTable):
                    tables[found.places].append(found)
                else:
                    kept += found
            constant = np.zeros(len(engine.stack), np.int64)
            for table in tables.pop((), ()):
                add_at(constant, table.database.astype(np.int64), table.values)
            added = []
            for places, listed in sorted(tables.items()):
                rows = sum(map(len, listed))
                take(rows * merging_bytes(1 + len(places)), rows)
                added.append(_added(engine.stack, predicate, listed))
        return Flips(predicate, constant, tuple(table for table in added if len(table)), (*kept,))

    def _prepared(self, formula: Formula) -> Prepared:
        """Expand a formula; what is asked next is often another predicate of the same one."""
        if self._form is None or self._form[0] != formula:
            self._form = formula, prepared(self.engine, formula)
        return self._form[1]

    def _parts(
        self, form: Prepared, predicate: Predicate, exclusive: tuple[int, ...], take: Hold
    ) -> Iterator[tuple[Ints, FlipPart]]:
        """Yield what each product of a formula adds, and by what it is multiplied."""
        asked = []
        for summand in form.summands:
            if predicate in [atom.predicate for atom in summand.atoms]:
                product, atoms = in_canonical_names(summand.atoms)
                key = product, predicate.name, exclusive
                known = None if self.known is None else self.known.get(key)
                stack = self.engine.stack
                new = [*flip_cases(stack, atoms, predicate, exclusive)] if known is None else []
                asked.append((summand, key, known, new))
        self.engine.ahead([query for *_, new in asked for case in new for query in case.queries()])
        for summand, key, known, new in asked:
            parts = self._counted(key, new, take) if known is None else known
            if known is not None:
                take(known.nbytes, known.rows)
            outside = [form.types[variable] for variable in summand.free]
            for part in parts:
                multiples = domain_multiples(self.engine, [*outside, *part.free])
                yield multiples * (part.coefficient * summand.coefficient), part

    def _counted(self, key: Hashable, cases: Iterable[FlipCase], take: Hold) -> FlipParts:
        """Count what each case says, and keep it."""
        counted = []
        for case in cases:
            counted.append(flip_part(self.engine, case))
            take(counted[-1].nbytes, counted[-1].rows)
        parts = FlipParts(tuple(counted))
        if self.known is not None:
            self.known.put(key, parts)
        return parts


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
