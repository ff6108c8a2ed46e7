"""Marks: what features say of ground atoms, added up to numbers that tell atoms apart.

A feature's flip counts are a constant, tables by one place, tables by several, and products of
factors by one place each. Constants of which tables and factors of one place say the same are a
class there, and a choice of a class for each place has one value of all products. One more feature
is added to what is known, rather than all of them added up anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import (
    AnyInts,
    Codes,
    Ints,
    common_keys,
    expand_ranges,
    keys_within,
    pack,
    run_starts,
    sort_keys,
    unpack,
)
from mlnlearn.counting.flip_tables import FlipProduct, Flips, FlipTable, lookup
from mlnlearn.counting.signatures import Signatures, mixed, multipliers
from mlnlearn.counting.stack import Domains
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.weights.objective import Floats

N = TypeVar("N", bound=np.generic)

# Whole numbers below this are exact as floats, and so are their sums.
_EXACT = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Constants of a type at one place, grouped by what features say of them there.

    Attributes
    ----------
    by_constant, further
        Of each constant in each database: the signatures that tables of the place add, and what
        else tells it from others, scrambled and added up.
    factors
        How many factors of products are in that.
    database, member, size, signature
        Of each class its database, some constant, how many there are, and what tables add.
    starts, per_database
        Of each database its first class, and how many it has.
    of_constant
        The class of each constant.
    """

    by_constant: Signatures
    further: Signatures
    factors: int
    database: Codes
    member: Codes
    size: Ints
    signature: Signatures
    starts: Ints
    per_database: Ints
    of_constant: Codes

    @classmethod
    def of(
        cls, domains: Domains, kind: str, by_constant: Signatures, further: Signatures, factors: int
    ) -> Classes:
        """Group the constants of a type."""
        members = domains.members(kind)
        database, codes = members.database, members.columns[0]
        finer = by_constant + further
        if len(finer) and (finer == finer[0]).all():
            order = np.arange(len(finer))  # constants are in order of their databases
        elif len(domains) == 1:
            order = np.argsort(finer, kind="stable")
        else:
            order = np.lexsort((finer, database))
        numbers, ordered = database[order], finer[order]
        new = np.ones(len(order), bool)
        new[1:] = (numbers[1:] != numbers[:-1]) | (ordered[1:] != ordered[:-1])
        first = np.flatnonzero(new)
        of_constant = np.empty(len(order), np.int32)
        of_constant[order] = np.cumsum(new) - 1
        per_database = np.bincount(numbers[first], minlength=len(domains)).astype(np.int64)
        return cls(
            by_constant,
            further,
            factors,
            numbers[first],
            codes[order[first]],
            np.diff(np.append(first, len(order))),
            by_constant[order[first]],
            np.cumsum(per_database) - per_database,
            per_database,
            of_constant,
        )

    def where(self, domains: Domains, kind: str, database: Codes, codes: Codes) -> Ints:
        """Return the places of constants among those of all databases."""
        sizes = domains.key_sizes([kind])
        if len(self.of_constant) == len(domains) * domains.size(kind):
            return keys_within((database, codes), sizes)  # every database has every constant
        members = domains.members(kind)
        wanted, keys = common_keys([database, codes], [members.database, members.columns[0]], sizes)
        return np.searchsorted(keys, wanted)


class Marks:
    """What some features say of the ground atoms of a predicate; made by `none` and `plus`.

    Attributes
    ----------
    features
        How many features there are.
    constant
        By database, the signature that all atoms have.
    tables
        Tables of signatures by several places, by these.
    classes
        The classes at each place.
    """

    def __init__(
        self,
        domains: Domains,
        predicate: Predicate,
        features: int,
        constant: Signatures,
        tables: Mapping[tuple[int, ...], FlipTable],
        classes: Sequence[Classes],
    ) -> None:
        self.domains, self.predicate = domains, predicate
        self.features, self.constant = features, constant
        self.tables, self.classes = tables, tuple(classes)
        self.has_products = False
        self._before: Marks | None = None
        self._added: tuple[tuple[FlipProduct, ...], ...] = ()
        self._products: Signatures | None = None
        self._newest: Ints | None = None

    @classmethod
    def none(cls, domains: Domains, predicate: Predicate) -> Marks:
        """Return the marks of no feature: all atoms are alike."""
        classes = []
        for kind in predicate.types:
            zeros = np.zeros(len(domains.members(kind)), np.uint64)
            classes.append(Classes.of(domains, kind, zeros, zeros, 0))
        return cls(domains, predicate, 0, np.zeros(len(domains), np.uint64), {}, classes)

    def plus(self, flips: Sequence[Flips]) -> Marks:
        """Return the marks of these features and some more."""
        numbers = multipliers(self.features + len(flips))[self.features :]
        constant = self.constant.copy()
        parts: dict[tuple[int, ...], list[tuple[FlipTable, Signatures]]] = {
            places: [(table, table.values.view(np.uint64))] for places, table in self.tables.items()
        }
        single: dict[int, list[tuple[FlipTable, np.uint64]]] = {}
        for feature, number in zip(flips, numbers, strict=True):
            constant += feature.constant.view(np.uint64) * number
            for table in feature.tables:
                if len(table.places) == 1:
                    single.setdefault(table.places[0], []).append((table, number))
                else:
                    found = table, table.values.view(np.uint64) * number
                    parts.setdefault(table.places, []).append(found)
        tables = {places: self._merged(places, found) for places, found in parts.items()}
        classes = [
            self._finer(place, single.get(place, ()), _factors(flips, place))
            for place in range(self.predicate.arity)
        ]
        count = self.features + len(flips)
        marks = Marks(self.domains, self.predicate, count, constant, tables, classes)
        marks._added = tuple(feature.products for feature in flips)
        marks.has_products = self.has_products or any(marks._added)
        marks._before = self if self.has_products else None
        return marks

    def _finer(
        self,
        place: int,
        tables: Sequence[tuple[FlipTable, np.uint64]],
        factors: Sequence[FlipTable],
    ) -> Classes:
        """Return the classes at a place, taken apart by more tables and factors."""
        known = self.classes[place]
        if not tables and not factors:
            return known
        kind = self.predicate.types[place]
        members = self.domains.members(kind)
        by_constant, further = known.by_constant, known.further
        count = known.factors + len(factors)
        for table, number in tables:
            values = self._of_constants(place, table, members.database, members.columns[0])
            by_constant = by_constant + values.view(np.uint64) * number
        for factor, number in zip(factors, multipliers(count)[known.factors :], strict=True):
            values = self._of_constants(place, factor, members.database, members.columns[0])
            further = further + mixed(values.view(np.uint64) * number)
        return Classes.of(self.domains, kind, by_constant, further, count)

    def _of_constants(self, place: int, table: FlipTable, database: Codes, codes: Codes) -> Ints:
        """Return what a table of one place has for some constants."""
        assert table.places == (place,)
        return lookup(self.domains, self.predicate, table, database, [codes] * self.predicate.arity)

    def _merged(
        self, places: tuple[int, ...], found: Sequence[tuple[FlipTable, Signatures]]
    ) -> FlipTable:
        """Add up tables of signatures; a table is in order, and has each key once."""
        if len(found) == 1:
            ((table, signature),) = found
            return replace(table, values=signature.view(np.int64))
        database = np.concatenate([table.database for table, _ in found])
        columns = [np.concatenate(c) for c in zip(*(t.columns for t, _ in found), strict=True)]
        signature = np.concatenate([signature for _, signature in found])
        sizes = self.domains.key_sizes(self.predicate.types[place] for place in places)
        keys = pack([database, *columns], sizes)
        if keys is None:
            raise MemoryLimitError(
                f"the domains of {self.predicate} are too large to number its atoms"
            )
        order, ordered = sort_keys(keys)
        starts = run_starts(ordered)
        sums = np.add.reduceat(signature[order], starts)
        numbers, *codes = unpack(ordered[starts], sizes)
        return FlipTable(places, numbers, tuple(codes), sums.view(np.int64))

    def choice(self, database: AnyInts, classes: Sequence[AnyInts]) -> Ints:
        """Return the number of each choice of classes: by database, then the first place's."""
        number = np.zeros(len(database), np.int64)
        if len(self.domains) == 1:
            for own, known in zip(classes, self.classes, strict=True):
                number *= known.per_database[0]
                number += own
            return number
        for own, known in zip(classes, self.classes, strict=True):
            number *= known.per_database[database]
            number += own
            number -= known.starts[database]
        return number + self._first_choices()[database]

    def classes_of(self, database: AnyInts, choice: Ints) -> tuple[Codes, ...]:
        """Undo `choice`."""
        number = choice - self._first_choices()[database]
        found = []
        for known in reversed(self.classes):
            number, own = np.divmod(number, known.per_database[database])
            found.append((own + known.starts[database]).astype(np.int32))
        return tuple(found[::-1])

    def _first_choices(self) -> Ints:
        choices = self._choices()
        firsts: Ints = np.cumsum(choices) - choices
        return firsts

    def _choices(self) -> Ints:
        """Return how many choices of classes each database has."""
        choices = np.ones(len(self.domains), np.int64)
        for known in self.classes:
            choices *= known.per_database
        return choices

    def number_of_choices(self) -> float:
        """Return how many choices of classes there are, be it more than can be numbered."""
        choices = np.ones(len(self.domains))
        for known in self.classes:
            choices *= known.per_database
        return float(choices.sum())

    def database_of_choices(self) -> Codes:
        """Return the database of each choice of classes."""
        return np.repeat(np.arange(len(self.domains), dtype=np.int32), self._choices())

    def combined(self, parts: Sequence[NDArray[N]], by: np.ufunc, kind: type[N]) -> NDArray[N]:
        """Return what numbers of classes, by place, come to together, for each choice of classes.

        Parameters
        ----------
        parts
            For each place, a number for each class.
        by
            How they are put together: `numpy.add` or `numpy.multiply`.
        kind
            Of numbers.
        """
        found = []
        nothing = np.full(1, by.identity, kind)
        for database in range(len(self.domains)):
            own = [
                part[known.starts[database] :][: known.per_database[database]]
                for part, known in zip(parts, self.classes, strict=True)
            ]
            found.append(reduce(by.outer, own, nothing).ravel())
        return np.concatenate(found)  # a copy, be there one database and one place

    def product_signatures(self) -> Signatures:
        """Return what the products of all features add, for each choice of classes.

        To be asked for once it is known that so many fit.
        """
        if self._products is None:
            self._products = self._summed_products()
            self._before = None  # and all that it holds
        return self._products

    def newest_products(self) -> Ints:
        """Return the sums of the last feature's products, which has some, by choice of classes."""
        self.product_signatures()
        assert self._newest is not None
        return self._newest

    def _summed_products(self) -> Signatures:
        before = self._before
        if before is None or not before.has_products:
            total = np.zeros(int(self._choices().sum()), np.uint64)
        else:
            total = before.product_signatures()[self.choices_before(before)]
        numbers = multipliers(self.features)[self.features - len(self._added) :]
        for products, number in zip(self._added, numbers, strict=True):
            self._newest = self._sums_of_products(products) if products else None
            if self._newest is not None:
                total += self._newest.view(np.uint64) * number
        return total

    def choices_before(self, before: Marks) -> Ints:
        """Return the choice of coarser classes that each choice is within."""
        parts = []
        steps = np.ones(len(self.domains), np.int64)
        for place in reversed(range(self.predicate.arity)):
            known, coarser = self.classes[place], before.classes[place]
            kind = self.predicate.types[place]
            where = known.where(self.domains, kind, known.database, known.member)
            own = coarser.of_constant[where] - coarser.starts[known.database]
            parts.append(own * steps[known.database])
            steps = steps * coarser.per_database
        found = self.combined(parts[::-1], np.add, np.int64)
        if len(self.domains) == 1:
            return found
        return found + before._first_choices()[self.database_of_choices()]

    def _sums_of_products(self, products: Sequence[FlipProduct]) -> Ints:
        """Return the sum of products for each choice of classes."""
        bounds = [math.prod(_highest(factor) for factor in part.factors) for part in products]
        if sum(bounds) >= _EXACT:
            return self._sums_one_by_one(products)
        matrices = [np.ones((len(known.member), len(products))) for known in self.classes]
        for number, part in enumerate(products):
            for factor in part.factors:
                (place,) = factor.places
                known = self.classes[place]
                matrices[place][:, number] *= self._of_constants(
                    place, factor, known.database, known.member
                )
        sums = []
        for database in range(len(self.domains)):
            own = [
                matrix[known.starts[database] :][: known.per_database[database]]
                for matrix, known in zip(matrices, self.classes, strict=True)
            ]
            sums.append(_products_added(own).ravel())
        return np.concatenate(sums).astype(np.int64)

    def _sums_one_by_one(self, products: Sequence[FlipProduct]) -> Ints:
        """Return the sum of products for each choice of classes, or refuse what is too large."""
        database = np.arange(len(self.domains), dtype=np.int32)
        columns: list[Codes] = []
        for known in self.classes:
            lengths = known.per_database[database]
            chosen = expand_ranges(known.starts[database], lengths)
            columns = [np.repeat(column, lengths) for column in columns]
            columns.append(known.member[chosen])
            database = np.repeat(database, lengths)
        nothing = np.zeros(len(self.domains), np.int64)
        return Flips(self.predicate, nothing, (), tuple(products)).at(
            self.domains, database, columns
        )


def _factors(flips: Iterable[Flips], place: int) -> list[FlipTable]:
    """Return the factors of products that depend on one place."""
    return [
        factor
        for feature in flips
        for product in feature.products
        for factor in product.factors
        if factor.places == (place,)
    ]


def _highest(table: FlipTable) -> int:
    return int(np.abs(table.values).max()) if len(table) else 0


def _products_added(matrices: Sequence[Floats]) -> Floats:
    """Return the sums over the last axis of products of a row of each matrix, for all choices."""
    if len(matrices) == 1:
        return np.asarray(matrices[0].sum(axis=1))
    if len(matrices) == 2:
        return matrices[0] @ matrices[1].T
    fewest = min(range(len(matrices)), key=lambda place: len(matrices[place]))
    first, *others = [m for place, m in enumerate(matrices) if place != fewest]
    shape = [len(matrix) for matrix in (first, *others)]
    found = np.empty((len(matrices[fewest]), *shape))
    for number, row in enumerate(matrices[fewest]):
        found[number] = _products_added([row * first, *others])
    return np.moveaxis(found, 0, fewest)
