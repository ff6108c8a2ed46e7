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
from typing import Any

from mlnlearn.errors import LONGEST_MESSAGE, MlnError
from torture import checkpoints, model_files, readers, texts

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
    """

    name: str
    make: Callable[[random.Random], Any]
    read: Callable[[Any], object]
    share: int


@dataclass(frozen=True)
class Fault:
    """An input that was not answered as it should be, and what came instead."""

    target: str
    number: int
    what: str
    given: str


TARGETS = (
    Target("rules (.mln)", texts.rules, readers.rules, 400),
    Target("rules, damaged bytes", texts.rules_bytes, readers.rules_file, 300),
    Target("facts (.db)", texts.facts, readers.facts, 600),
    Target("formulas", texts.formula, readers.formula, 1000),
    Target("tables (.csv)", texts.tables, readers.tables, 60),
    Target("triples (.csv)", texts.triples, readers.triples, 200),
    Target("definitions (.sql)", texts.definitions, readers.definitions, 200),
    Target("SQLite files", texts.sqlite_bytes, readers.sqlite, 100),
    Target("mappings (.toml)", texts.mapping, readers.mapping, 60),
    Target("boosted models (.json)", model_files.boosted_file, model_files.use_model, 400),
    Target("models of nets (.json)", model_files.join_bayes_file, model_files.use_model, 400),
    Target("nets (.json)", model_files.net_file, model_files.use_net, 400),
    Target("checkpoints", checkpoints.damaged, checkpoints.use_damaged, 200),
    Target("addresses", texts.address, readers.address, 1000),
    Target("cut-offs in time", texts.moment, readers.moment, 300),
    Target("settings (--set)", texts.setting, readers.setting, 100),
    Target("command lines", texts.command, readers.command, 25),
)


def faults_of(target: Target, inputs: int, seed: int) -> Iterator[Fault]:
    """Yield what goes wrong with so many inputs; input k is the same whatever the others are."""
    for number in range(inputs):
        rng = random.Random(f"{target.name}/{seed}/{number}")
        given = target.make(rng)
        started = time.process_time()
        what = _fault(target, given)
        seconds = time.process_time() - started
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
