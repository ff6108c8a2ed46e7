"""``mlnlearn infer --tables``: probabilities for the empty cells of tables."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import mlnlearn as ml
from mlnlearn.cli.rows import FILLED_NOTE
from mlnlearn.cli.show import SHOWN, console, heading, print_json, print_more, print_table
from mlnlearn.errors import InputError, Location
from mlnlearn.files import check_new

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.structure.join_bayes.fill import Filled


def fill(
    model: Path,
    tables: str,
    asked: tuple[str, ...],
    *,
    schema: Path | None,
    out: Path | None,
    filled: Path | None,
    json: bool,
) -> None:
    """Predict the empty cells of tables; write probabilities, and tables without empty cells."""
    if filled is not None:
        check_new(filled)
    learned = _read(model)
    found = ml.read_tables(tables, ddl=schema)
    started = time.process_time()
    answered = ml.fill_tables(learned, found, asked)
    seconds = time.process_time() - started
    answers = answered.answers()
    if filled is not None:
        ml.save_tables([*answered.tables, answered.marks()], filled)
    if out is not None:
        ml.write_answers(out, [answers])
    if json:
        print_json(answers.to_dict() | {"cpu_seconds": seconds})
        return
    _print(answered, seconds)
    if out is not None:
        console().print(f"probabilities written to {out}")
    if filled is not None:
        console().print(f"tables without those empty cells written to {filled}; {FILLED_NOTE}")


def _read(path: Path) -> ml.JoinBayesModel:
    found = ml.load_model(path)
    if isinstance(found, ml.JoinBayesModel):
        return found
    raise InputError(
        "a model for --tables is one that laj-dt or mbn learned",
        Location(str(path)),
        hint="learn it with --tables, and keep the .json beside the .mln file as it is",
    )


def _print(answered: Filled, seconds: float) -> None:
    screen = console()
    empty = sum(len(column.rows) for column in answered.columns)
    screen.print(heading(f"{empty:,} empty cells"))
    values = [
        (
            f"{part.table}.{part.column}",
            f"{len(part.rows):,}",
            ", ".join(f"{value} {count:,}" for value, count in Counter(part.best).most_common(4)),
        )
        for part in answered.columns
    ]
    if values:
        print_table(screen, ("column", "empty", "most probable"), values, words=(0, 2))
        screen.print()
    rows = [
        (atom, value, f"{chance:.4f}")
        for part in answered.columns
        for atom, value, chance in part.most_probable(answered.database)
    ]
    if rows:
        print_table(screen, ("cell", "most probable", "probability"), rows[:SHOWN], words=(0, 1))
    print_more(screen, len(rows), "--out or --json gives all values of all")
    screen.print(f"\nexact, given all cells that are not empty; {seconds:.2f} CPU seconds")
