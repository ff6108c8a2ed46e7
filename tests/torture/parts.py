"""The parts of a run: which work there is, how a slice of it is done, and its table."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from torture import invariance, kills, load, memory, signals, soak
from torture.fuzzers import TARGETS, faults_of
from torture.learning import NAMES
from torture.slices import Outcome, Slice, cut

Numbers = dict[str, float]
_PIECES = 20  # slices of the tries of a kind of input
_SHOWN = 5  # faults of a slice that are kept in words


@dataclass(frozen=True)
class Part:
    """A table.

    Attributes
    ----------
    title, heads
        Of the table.
    lines
        By the options of the run, the slices of each line.
    work
        Does a slice, given the seed.
    row
        The cells of a line after its name, from the added-up numbers of its slices.
    """

    title: str
    heads: tuple[str, ...]
    lines: Callable[[argparse.Namespace], dict[str, list[Slice]]]
    work: Callable[[Slice, int], Outcome]
    row: Callable[[Numbers, int], Sequence[object]]


def _input_lines(options: argparse.Namespace) -> dict[str, list[Slice]]:
    everything = sum(target.many for target in TARGETS)
    return {
        target.name: cut(
            "inputs", target.name, -(-options.inputs * target.many // everything), _PIECES
        )
        for target in TARGETS
    }


def _input_work(piece: Slice, seed: int) -> Outcome:
    target = next(target for target in TARGETS if target.name == piece.name)
    started = time.process_time()
    found = list(faults_of(target, piece.count, seed, piece.start))
    seconds = time.process_time() - started
    faults = {
        fault.what[:60]: f"{fault.what} (input {fault.number}: {fault.given})" for fault in found
    }
    shown = tuple(list(faults.values())[:_SHOWN])
    return Outcome({"tries": piece.count, "seconds": seconds}, len(found), shown)


def _kill_work(piece: Slice, seed: int) -> Outcome:
    found = kills.kill_runs(piece.name, piece.count, f"{seed}/{piece.start}")
    return Outcome(dict(asdict(found)), found.wrong)


def _signal_work(piece: Slice, seed: int) -> Outcome:
    found = signals.signalled(piece.name, piece.count, f"{seed}/{piece.start}")
    return Outcome(dict(asdict(found)), found.wrong + found.orphans)


def _same_work(piece: Slice, _: int) -> Outcome:
    same = invariance.CHANGES[piece.name](NAMES[piece.start])
    faults = () if same else (f"{piece.name}: {NAMES[piece.start]} has another model",)
    return Outcome({"learners": 1}, int(not same), faults)


def _alone(work: Callable[..., Any], *given: object) -> Any:
    """Run in a process of its own: what others leave behind blurs what is measured."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *given).result()


def _memory_work(piece: Slice, seed: int) -> Outcome:
    if piece.name == "random joins":
        found = _alone(memory.listed, piece.start, piece.count, seed)
    else:
        found = _alone(memory.listed_sums, [300, 600, 900, 1500])
    refused, wrong = sum(plan.refused for plan in found), [p for p in found if not p.held]
    peak = max(plan.peak for plan in found) / 2**20
    numbers = {"counts": len(found), "refused": refused, "peak": peak}
    return Outcome(numbers, len(wrong), tuple(str(plan) for plan in wrong[:_SHOWN]))


def _load_work(piece: Slice, _: int) -> Outcome:
    found: load.Loaded = _alone(load.loaded_one, piece.count, piece.name)
    peak, size = found.peak / 2**20, found.size / 2**20
    numbers = {"atoms": found.atoms, "size": size, "seconds": found.seconds, "peak": peak}
    return Outcome(numbers, found.faults)


def _soak_work(piece: Slice, _: int) -> Outcome:
    grown = _alone(soak.growth, piece.count)
    numbers = {"cycles": piece.count, "growth": grown / 2**20}
    return Outcome(numbers, int(grown > soak.MOST_GROWTH))


PARTS = {
    "inputs": Part(
        "Made-up and damaged inputs",
        ("inputs", "tries", "CPU seconds", "answered by anything but a value or a located error"),
        _input_lines,
        _input_work,
        lambda n, wrong: (f"{n['tries']:,.0f}", f"{n['seconds']:,.0f}", wrong),
    ),
    "kills": Part(
        "Kills (SIGKILL) at random moments of runs with a checkpoint",
        (
            "learner", "kills", "after a first result", "runs that went on and ended",
            "with another model, or not at all",
        ),
        lambda options: {name: cut("kills", name, options.kills, 10) for name in NAMES},
        _kill_work,
        lambda n, wrong: (*(f"{n[key]:.0f}" for key in ("kills", "kept", "resumed")), wrong),
    ),
    "signals": Part(
        "SIGINT and SIGTERM at random moments of commands",
        (
            "command", "signals", "exit code, words or files not as they should be",
            "processes left behind",
        ),
        lambda options: {
            name: cut("signals", name, options.signals, 4) for name in signals.COMMANDS
        },
        _signal_work,
        lambda n, _: [f"{n[key]:.0f}" for key in ("sent", "wrong", "orphans")],
    ),
    "same": Part(
        "Models that must not change",
        ("change", "learners", "with another model"),
        lambda options: {
            name: cut("same", name, len(NAMES), len(NAMES)) if options.same else []
            for name in invariance.CHANGES
        },
        _same_work,
        lambda n, wrong: (f"{n['learners']:.0f}", wrong),
    ),
    "memory": Part(
        f"Heavy counts within {memory.LIMIT >> 20} MB",
        ("counts", "number", "refused", "highest peak, MB", "beyond the limit by a quarter"),
        lambda options: {
            "random joins": cut("memory", "random joins", options.plans, 1),
            "sums and flips over pairs": cut(
                "memory", "sums and flips over pairs", int(options.plans > 0), 1
            ),
        },
        _memory_work,
        lambda n, wrong: (
            f"{n['counts']:.0f}", f"{n['refused']:.0f}", f"{n['peak']:.1f}", wrong
        ),
    ),
    "load": Part(
        f"Query atoms in chunks, within {load.LIMIT >> 20} MB beside the data",
        ("model, file", "atoms", "size, MB", "seconds", "peak, MB", "faults"),
        lambda options: {
            name: cut("load", name, options.atoms, 1) for name in load.QUESTIONS
        },
        _load_work,
        lambda n, wrong: (*(f"{n[k]:,.0f}" for k in ("atoms", "size", "seconds", "peak")), wrong),
    ),
    "soak": Part(
        "Learning, saving, loading and asking again, in one process",
        ("", "cycles", "growth, MB", f"beyond {soak.MOST_GROWTH >> 20} MB"),
        lambda options: {"all": cut("soak", "all", options.cycles, 1)},
        _soak_work,
        lambda n, wrong: (f"{n['cycles']:.0f}", f"{n['growth']:.1f}", wrong),
    ),
}  # fmt: skip
