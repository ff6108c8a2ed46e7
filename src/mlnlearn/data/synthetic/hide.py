"""Hidden data: known atoms made unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import Keys, distinct, is_among, number_of_keys, pack, unlisted, unpack
from mlnlearn.errors import InputError, MemoryLimitError

_MOST_HIDDEN = 100_000_000


def hide(
    database: Database,
    predicates: str | Iterable[str],
    fraction: float,
    rng: np.random.Generator | int,
) -> Database:
    """Return the database with a fraction of the known atoms of some predicates made unknown.

    Of every predicate, exactly ``round(fraction · known atoms)`` atoms are drawn, uniformly and
    without regard to their truth: hidden are true and false atoms alike. Known are all ground
    atoms but the unknown ones; of an open predicate, those listed as true or false.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> people = {"person": ["Anna", "Bob", "Carl", "Dora"]}
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",), ("Bob",)]}, domains=people)
    >>> hidden = hide(db, "smokes", 0.5, rng=0)
    >>> hidden.unknown_facts("smokes").shape[1]
    2
    """
    if not 0 <= fraction <= 1:
        raise InputError(f"a fraction lies between 0 and 1; found {fraction}")
    generator = np.random.default_rng(rng)
    true, false, unknown = dict(database.true), dict(database.false), dict(database.unknown)
    cells = dict(database.cells)
    for name in [predicates] if isinstance(predicates, str) else predicates:
        sizes = domain_sizes(database, name)
        hidden = _draw(database, name, fraction, generator)
        true[name] = _without(database.facts(name), hidden, sizes)
        false[name] = _without(database.false_facts(name), hidden, sizes)
        before = pack(database.unknown_facts(name), sizes)
        unknown[name] = unpack(np.union1d(before, hidden), sizes)
        cells.pop(name, None)  # their atoms are among those listed now
    return replace(database, true=true, false=false, unknown=unknown, cells=cells)


def _draw(database: Database, name: str, fraction: float, rng: np.random.Generator) -> Keys:
    """Draw the sorted keys of the atoms to hide."""
    sizes = domain_sizes(database, name)
    total = number_of_keys(sizes)
    unknown = pack(database.unknown_facts(name), sizes)
    listed = None
    known = total - len(unknown)
    if name in database.open:
        listed = np.union1d(
            pack(database.facts(name), sizes), pack(database.false_facts(name), sizes)
        )
        known = len(listed)
    count = round(fraction * known)
    if count > _MOST_HIDDEN:
        raise MemoryLimitError(
            f"hiding {fraction:g} of {name} lists {count} atoms; the limit is {_MOST_HIDDEN}",
            hint="hide a smaller fraction, or declare the predicate open",
        )
    ranks = distinct(known, count, rng)
    return unlisted(ranks, unknown) if listed is None else listed[ranks]


def _without(columns: Columns, hidden: Keys, sizes: list[int]) -> Columns:
    kept = ~is_among(pack(columns, sizes), hidden)
    return np.ascontiguousarray(columns[:, kept])
