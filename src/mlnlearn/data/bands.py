"""Numbers cut into bands, for learners and rules that know constants only.

The names of the bands hold their limits: a network that declares a type as ``{"(-inf,20)",
"[20,inf)"}`` says how numbers of that type are to be cut, wherever it meets some.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database, Facts, are_among
from mlnlearn.data.load.discretize import Cut, band_names, cut_numbers, find_cuts, find_moments
from mlnlearn.data.vocabulary import Vocabulary, moment_name, seconds_of
from mlnlearn.logic.schema import Schema

BANDS = 5
"""How many bands numbers are cut into, where nobody said where."""

Cuts = Mapping[str, tuple[Cut, ...]]


def numeric_types(databases: Iterable[Database]) -> tuple[str, ...]:
    """Return the types whose constants are numbers, in at least one of the databases.

    Examples
    --------
    >>> schema = Schema.of("age(person,years!)")
    >>> domains = {"person": Vocabulary(["Anna"]), "years": Vocabulary.of_numbers([30])}
    >>> numeric_types([Database.from_codes(schema, domains, {"age": np.zeros((2, 1), int)})])
    ('years',)
    """
    return tuple(
        dict.fromkeys(
            kind
            for database in databases
            for kind, vocabulary in database.domains.items()
            if vocabulary.numbers is not None
        )
    )


def find_bands(databases: Sequence[Database], bands: int = BANDS) -> dict[str, tuple[Cut, ...]]:
    """Return where to cut the numbers of each numeric type: into bands of equal share.

    Every fact counts, of all databases together.

    Examples
    --------
    >>> schema = Schema.of("age(person,years!)")
    >>> domains = {"person": Vocabulary("ABCD"), "years": Vocabulary.of_numbers([20, 30, 40, 50])}
    >>> facts = np.array([[0, 1, 2, 3], [0, 1, 2, 3]])
    >>> find_bands([Database.from_codes(schema, domains, {"age": facts})], bands=2)
    {'years': (35.0,)}
    """
    found: dict[str, tuple[Cut, ...]] = {}
    for kind in numeric_types(databases):
        numbers = np.concatenate([_numbers(database, kind) for database in databases])
        is_time = any(database.domains[kind].time for database in databases)
        found[kind] = bands_of(numbers, is_time=is_time, bands=bands)
    return found


def bands_of(numbers: NDArray[np.float64], *, is_time: bool, bands: int = BANDS) -> tuple[Cut, ...]:
    """Return where to cut numbers into bands of equal share; nowhere where all are the same.

    Examples
    --------
    >>> bands_of(np.array([20.0, 30.0, 40.0, 50.0]), is_time=False, bands=2)
    (35.0,)
    """
    cuts: tuple[Cut, ...] = (
        find_moments(numbers, bands) if is_time else find_cuts(numbers, bands, "quantile")
    )
    rising = np.unique(numbers)
    if not cuts and len(rising) > 1:
        # most of the numbers are one and the same, and the lowest: it against all others
        second = float(rising[1])
        cuts = (moment_name(second) if is_time else second,)
    return cuts


def _numbers(database: Database, kind: str) -> NDArray[np.float64]:
    """Return the numbers of a type, as often as facts have them."""
    numbers = database.domains[kind].numbers
    if numbers is None:
        return np.empty(0)
    codes = [
        column
        for predicate in database.schema.predicates
        for place, column in zip(predicate.types, database.facts(predicate.name), strict=True)
        if place == kind
    ]
    return numbers[np.concatenate(codes)] if codes else np.empty(0)


def banded(database: Database, cuts: Cuts) -> Database:
    """Return a database with the numbers of some types cut into bands, which are their constants.

    A number that is listed as not being the one says nothing about its band.

    Examples
    --------
    >>> schema = Schema.of("age(person,years!)")
    >>> domains = {"person": Vocabulary("AB"), "years": Vocabulary.of_numbers([20, 30])}
    >>> facts = {"age": np.array([[0, 1], [0, 1]])}
    >>> people = banded(Database.from_codes(schema, domains, facts), {"years": (25.0,)})
    >>> list(people.rows("age"))
    [('A', '(-inf,25)'), ('B', '[25,inf)')]
    >>> print(people.schema)
    years = {"(-inf,25)", "[25,inf)"}
    age(person,years!)
    """
    numeric = {
        kind: numbers
        for kind in cuts
        if kind in database.domains and (numbers := database.domains[kind].numbers) is not None
    }
    if not numeric:
        return database
    names = {kind: tuple(band_names(cuts[kind])) for kind in numeric}
    codes = {
        kind: np.searchsorted(cut_numbers(cuts[kind]), numbers, "right").astype(np.int32)
        for kind, numbers in numeric.items()
    }

    def cut(facts: Facts, keep: bool = True) -> dict[str, Columns]:
        found = {}
        for name, columns in facts.items():
            types = database.schema[name].types[: len(columns)]
            if codes.keys().isdisjoint(types):
                found[name] = columns
            elif keep:
                parts = [
                    codes[kind][column] if kind in codes else column
                    for kind, column in zip(types, columns, strict=True)
                ]
                found[name] = np.stack(parts)
        return found

    domains = {**database.domains, **{kind: Vocabulary(found) for kind, found in names.items()}}
    true, unknown = cut(database.true), cut(database.unknown)
    for name in unknown.keys() & true.keys():
        sizes = [len(domains[kind]) for kind in database.schema[name].types]
        unknown[name] = unknown[name][:, ~are_among(unknown[name], true[name], sizes)]
    return Database.from_codes(
        replace(database.schema, declared={**database.schema.declared, **names}),
        domains,
        true,
        cut(database.false, keep=False),
        unknown,
        open=database.open,
        name=database.name,
        cells=cut(database.cells),
    )


def declared_cuts(schema: Schema) -> dict[str, tuple[Cut, ...]]:
    """Return the cuts of all types whose declared constants are bands of numbers.

    Examples
    --------
    >>> declared_cuts(Schema(declared={"years": ("(-inf,25)", "[25,inf)"), "sex": ("f", "m")}))
    {'years': (25.0,)}
    """
    found = {}
    for kind, names in schema.declared.items():
        inner = [name[1:].partition(",")[0] for name in names[1:]]
        cuts = tuple(_cut(text) for text in inner)
        if all(cut is not None for cut in cuts):
            known: tuple[Cut, ...] = tuple(cut for cut in cuts if cut is not None)
            if tuple(band_names(known)) == tuple(names):
                found[kind] = known
    return found


def _cut(text: str) -> Cut | None:
    if not math.isnan(seconds_of(text)):
        return text
    try:
        return float(text)
    except ValueError:
        return None


def banded_like(schema: Schema, databases: Iterable[Database]) -> tuple[Database, ...]:
    """Return the databases with their numbers cut into the bands that a schema declares."""
    given = tuple(databases)
    if not numeric_types(given):
        return given
    cuts = declared_cuts(schema)
    return tuple(banded(database, cuts) for database in given)
