"""Heavy counts under a small limit of memory: the peak of the process is measured."""

from __future__ import annotations

import ctypes
import gc
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np

from mlnlearn.counting.count import count_by
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.counting.query import Query
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Comparison, Predicate, Variable
from mlnlearn.logic.formulas import And, Formula, Not, Or
from mlnlearn.logic.schema import Schema

LIMIT = 24 << 20
SLACK = 1.25
"""How far the peak may lie above the limit."""
_SCHEMA = Schema.of("p(a,a)", "q(a,b)", "r(b,c)", "s(a,b,c)", "t(c)")
_PAIRS = Schema.of("t(c)", "u(c)", "link(c,c)")
_STATUS = Path("/proc/self/status")
_REFERENCES = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Measured:
    """What became of a plan: its peak in bytes above what was there, and whether it was refused."""

    number: int
    query: str
    peak: int
    refused: bool

    @property
    def held(self) -> bool:
        """Whether the limit was kept."""
        return self.peak <= SLACK * LIMIT


def can_measure() -> bool:
    """Whether the system tells a process's peak, and lets it begin anew."""
    try:
        _REFERENCES.write_text("5")
    except OSError:
        return False
    return _STATUS.exists()


def listed(start: int, plans: int, seed: int) -> list[Measured]:
    """Return what `measured` yields, as another process can hand it back."""
    return list(measured(plans, seed, start))


def measured(plans: int, seed: int, start: int = 0) -> Iterator[Measured]:
    """Run random plans under the limit; some fit, some are refused."""
    _compile()
    for number in range(start, start + plans):
        rng = random.Random(f"memory/{seed}/{number}")
        engine = MemoryEngine([_database(rng)], memory_limit=LIMIT)
        query = _query(rng)
        while not _is_heavy(engine, query):
            query = _query(rng)
        # tables are made when they are first used, and are part of the data
        for atom in query.atoms:
            engine.stack.relation(atom.predicate)
            engine.stack.scan_size(atom)
        yield _measure(number, str(query), partial(engine.table, query))


def listed_sums(sizes: list[int]) -> list[Measured]:
    """Return what `measured_sums` yields, as another process can hand it back."""
    return list(measured_sums(sizes))


def measured_sums(sizes: Iterable[int] = (300, 600, 900, 1500)) -> Iterator[Measured]:
    """Count over pairs of constants, which are added up from several tables, under the limit."""
    for warm in (True, False):  # what is compiled at its first use takes memory of its own
        for size, (formula, flipped) in product((40,) if warm else sizes, _sums()):
            by = tuple(map(Variable, "xy"))
            for ask in (partial(count_by, by=by), partial(flip_counts, predicate=flipped)):
                engine = MemoryEngine([_pairs(size)], memory_limit=LIMIT)
                for predicate in _PAIRS.predicates:
                    engine.stack.relation(predicate)
                text = f"{formula}, {size} constants"
                found = _measure(size, text, partial(ask, engine, formula))
                if not warm:
                    yield found


def _sums() -> list[tuple[Formula, Predicate]]:
    """Formulas, and a predicate of each."""
    t, u, link = (_PAIRS[name] for name in ("t", "u", "link"))
    less = Comparison("<", Variable("x"), Variable("y"))
    return [
        (Or((t("x"), u("y"))), t),
        (And((t("x"), Not(u("y")))), u),
        (Or((t("x"), u("y"), link("x", "y"))), link),
        (And((t("x"), less, u("y"))), t),
    ]


def _pairs(size: int) -> Database:
    rng = np.random.default_rng(size)
    facts = {
        "t": np.sort(rng.permutation(size)[: size // 2])[None].astype(np.int32),
        "u": np.sort(rng.permutation(size)[: size // 2])[None].astype(np.int32),
        "link": np.unique(rng.integers(size, size=(2, 5 * size)), axis=1).astype(np.int32),
    }
    names = Vocabulary([f"C{number}" for number in range(size)])
    return Database.from_codes(_PAIRS, {"c": names}, facts)


def _is_heavy(engine: MemoryEngine, query: Query) -> bool:
    """Whether a plan would take a multiple of the limit at once, though not minutes."""
    return LIMIT / 200 < engine.plan(query).work < LIMIT / 4


def _measure(number: int, what: str, ask: Callable[[], object]) -> Measured:
    refused = False

    def run() -> None:
        nonlocal refused
        try:
            ask()
        except MemoryLimitError:
            refused = True

    return Measured(number, what, peak_of(run), refused)


def peak_of(run: Callable[[], object]) -> int:
    """Return the bytes that a function takes at most, above what is there before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _REFERENCES.write_text("5")
    before = _kilobytes("VmRSS")
    run()
    return 1024 * (_kilobytes("VmHWM") - before)


def _compile() -> None:
    """Run what is compiled at its first use, which takes memory of its own."""
    rng = random.Random(0)
    engine = MemoryEngine([_database(rng, 2000)])
    for _ in range(30):
        engine.table(_query(rng))


def _kilobytes(what: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1])


def _database(rng: random.Random, most: int = 60_000) -> Database:
    numbers = np.random.default_rng(rng.randrange(2**32))
    sizes = {kind: rng.choice((30, 300, 3_000, 30_000)) for kind in "abc"}
    facts = {}
    for predicate in _SCHEMA.predicates:
        rows = rng.randrange(1, most)
        columns = np.stack([numbers.integers(sizes[kind], size=rows) for kind in predicate.types])
        facts[predicate.name] = np.unique(columns, axis=1).astype(np.int32)
    domains = {
        kind: Vocabulary([f"{kind}{i}" for i in range(size)]) for kind, size in sizes.items()
    }
    return Database.from_codes(_SCHEMA, domains, facts)


def _query(rng: random.Random) -> Query:
    names = {kind: [f"{kind}{i}" for i in range(3)] for kind in "abc"}
    chosen = rng.choices(_SCHEMA.predicates, k=rng.randrange(2, 5))
    atoms = tuple(p(*(rng.choice(names[kind]) for kind in p.types)) for p in chosen)
    variables = Query(atoms).variables
    group = rng.sample(variables, min(rng.choice((0, 0, 1, 1, 2, 3)), len(variables)))
    return Query(atoms, tuple(group))


def main() -> int:
    """Print every plan; for a look at single ones."""
    wrong = 0
    plans = measured(int(sys.argv[1]) if sys.argv[1:] else 50, 0)
    for found in chain(plans, measured_sums()):
        wrong += not found.held
        what = "refused" if found.refused else "answered"
        sys.stdout.write(f"{found.number:3} {found.peak / 2**20:7.1f} MB {what:9} {found.query}\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
