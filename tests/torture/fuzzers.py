"""Inputs made up by grammars and by damage, and the readers that must answer each of them.

A reader answers by a value, or by an error of this library that says what is wrong in at most two
kilobytes. Anything else is a fault: another exception, a longer message, a password that is told,
an answer that takes too long.

A new reader is one more line in `TARGETS`: how an input is made, and what reads it.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from mlnlearn.errors import LONGEST_MESSAGE, MlnError
from torture import checkpoints, graphs, model_files, readers, texts
from torture.learning import NAMES

SLOW = 5.0
"""CPU seconds after which an answer to an input of some kilobytes comes too late."""


@dataclass(frozen=True)
class Target:
    """A kind of input.

    Attributes
    ----------
    name
        For the table.
    make
        Makes an input.
    read
        Reads it.
    share
        How many inputs the tests take; the costlier the reader, the fewer.
    many
        How many a whole run takes.
    """

    name: str
    make: Callable[[random.Random], Any]
    read: Callable[[Any], object]
    share: int
    many: int


@dataclass(frozen=True)
class Fault:
    """An input that was not answered as it should be, and what came instead."""

    target: str
    number: int
    what: str
    given: str


_CHECKPOINTS = {
    "mln-bt": 500, "mln-bc": 500, "rdn-b": 500, "sem": 500, "h-sem": 500, "laj-dt": 500, "mbn": 500,
    "ils": 300, "ils-dsl": 300, "dmsp": 300, "msl": 300, "busl": 100, "hgsm": 100,
}  # fmt: skip
_SLOW_TO_GO_ON = 20
TARGETS = (
    Target("rules (.mln)", texts.rules, readers.rules, 400, 20_000),
    Target("rules, damaged bytes", texts.rules_bytes, readers.rules_file, 300, 12_000),
    Target("facts (.db)", texts.facts, readers.facts, 600, 40_000),
    Target("formulas", texts.formula, readers.formula, 1000, 60_000),
    Target("tables (.csv)", texts.tables, readers.tables, 60, 12_000),
    Target("triples as tables (.csv)", texts.triples, readers.triples, 200, 25_000),
    Target("triples (.tsv, .csv, .nt, .gz)", graphs.triples, graphs.read_triples, 300, 60_000),
    Target("rules along paths", graphs.path_rules, graphs.read_path_rules, 300, 60_000),
    Target("rules of other systems", graphs.dialect, graphs.use_dialect, 300, 12_000),
    Target("folders of BoostSRL", graphs.boostsrl, graphs.use_boostsrl, 200, 15_000),
    Target("tasks (.csv)", graphs.task, graphs.use_task, 50, 10_000),
    Target("spans of time", graphs.span, graphs.use_span, 300, 120_000),
    Target("projects (mlnlearn.toml)", graphs.project, graphs.use_project, 200, 30_000),
    Target("definitions (.sql)", texts.definitions, readers.definitions, 200, 40_000),
    Target("SQLite files", texts.sqlite_bytes, readers.sqlite, 100, 12_000),
    Target("mappings (.toml)", texts.mapping, readers.mapping, 60, 80_000),
    Target("boosted models (.json)", model_files.boosted_file, model_files.use_model, 400, 15_000),
    Target(
        "models of nets (.json)", model_files.join_bayes_file, model_files.use_model, 400, 8_000
    ),
    Target("nets (.json)", model_files.net_file, model_files.use_net, 400, 15_000),
    Target(
        "models of features (.json)", model_files.features_file, model_files.use_model, 60, 6_000
    ),
    Target("models of paths (.json)", model_files.paths_file, model_files.use_model, 100, 12_000),
    Target("checkpoints", checkpoints.damaged, checkpoints.use_damaged, 200, 30_000),
    Target("addresses", texts.address, readers.address, 1000, 148_000),
    Target("cut-offs in time", texts.moment, readers.moment, 300, 145_000),
    Target("settings (--set)", texts.setting, readers.setting, 100, 8_000),
    Target("command lines", texts.command, readers.command, 50, 3_000),
    *(
        Target(
            f"checkpoints of {name}",
            partial(checkpoints.forged, name=name),
            checkpoints.go_on,
            0,
            _CHECKPOINTS.get(name, _SLOW_TO_GO_ON),
        )
        for name in NAMES
    ),
)
"""A million inputs; every kind is given about as much time."""


def faults_of(target: Target, inputs: int, seed: int, start: int = 0) -> Iterator[Fault]:
    """Yield what goes wrong with so many inputs; input k is the same whatever the others are."""
    for number in range(start, start + inputs):
        rng = random.Random(f"{target.name}/{seed}/{number}")
        given = target.make(rng)
        # of this thread: what the time of a process is takes the system long to tell
        started = time.thread_time()
        what = _fault(target, given)
        seconds = time.thread_time() - started
        if not what and seconds > SLOW:
            what = f"took {seconds:.1f} s"
        if what:
            yield Fault(target.name, number, what, repr(given)[:300])


def _fault(target: Target, given: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.read(given)
        except MlnError as error:
            text = str(error)
            if len(text) > LONGEST_MESSAGE:
                return f"a message of {len(text):,} letters"
            if texts.SECRET in text + repr(error):
                return "a password is told"
        except Exception as error:  # what is being looked for
            return f"{type(error).__name__}: {str(error)[:200]}"
    return ""
