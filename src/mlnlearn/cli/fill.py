"""``mlnlearn infer --tables``: probabilities for the empty cells of tables."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import mlnlearn as ml
from mlnlearn.cli.rows import FILLED_NOTE
from mlnlearn.cli.show import console, heading, print_json, print_table
from mlnlearn.cli.sources import read_source
from mlnlearn.errors import InputError, Location

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.data.database import Database
    from mlnlearn.model.answers import Answers, AnswerTable
    from mlnlearn.structure.join_bayes.fill import Filled, FilledColumn
    from mlnlearn.structure.join_bayes.model import JoinBayesModel

_SHOWN = 20


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
    from mlnlearn.data.load.save import check_new, save_tables  # noqa: PLC0415 - loads NumPy
    from mlnlearn.structure.join_bayes.fill import fill_tables  # noqa: PLC0415

    if filled is not None:
        check_new(filled)
    learned = _read(model)
    found = read_source(tables, schema)
    started = time.process_time()
    answered = fill_tables(learned, found, asked)
    seconds = time.process_time() - started
    answers = _answers(answered)
    if filled is not None:
        save_tables([*answered.tables, answered.marks()], filled)
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


def _read(path: Path) -> JoinBayesModel:
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
    rows = [row for part in answered.columns for row in _rows(part, answered.database)]
    if rows:
        print_table(screen, ("cell", "most probable", "probability"), rows[:_SHOWN], words=(0, 1))
    if len(rows) > _SHOWN:
        screen.print(f"… and {len(rows) - _SHOWN:,} more; --out or --json gives all values of all")
    screen.print(f"\nexact, given all cells that are not empty; {seconds:.2f} CPU seconds")


def _rows(part: FilledColumn, database: Database) -> list[tuple[str, str, str]]:
    names = zip(*_keys(part, database), strict=True)
    best = zip(part.best, part.probabilities.max(axis=1).tolist(), strict=True)
    node = part.prediction.node
    return [
        (f"{node.predicate.name}({','.join(key)})", value, f"{chance:.4f}")
        for key, (value, chance) in zip(names, best, strict=True)
    ]


def _keys(part: FilledColumn, database: Database) -> list[list[str]]:
    """Return the names of the entities of each empty cell, one list for each key."""
    node = part.prediction.node
    kinds = node.predicate.types[: len(node.variables)]
    codes = (
        [part.groundings]
        if node.relationship is None
        else [column[part.groundings] for column in database.facts(node.relationship.name)]
    )
    return [
        [database.domains[kind].names[code] for code in column.tolist()]
        for kind, column in zip(kinds, codes, strict=True)
    ]


def _answers(answered: Filled) -> Answers:
    """Return the probabilities in the form of all other answers: an atom for each value."""
    from mlnlearn.model.answers import Answers, ComponentSummary  # noqa: PLC0415 - loads NumPy

    tables = tuple(_table(part, answered.database) for part in answered.columns)
    parts = [ComponentSummary(len(table), 0, "closed form") for table in tables]
    return Answers(tables, tuple(parts))


def _table(part: FilledColumn, database: Database) -> AnswerTable:
    import numpy as np  # noqa: PLC0415 - loaded with the model anyway

    from mlnlearn.data.vocabulary import Vocabulary  # noqa: PLC0415
    from mlnlearn.model.answers import AnswerTable  # noqa: PLC0415

    node = part.prediction.node
    first = int(node.relationship is not None)  # after N/A
    keys = _keys(part, database)
    vocabularies = [Vocabulary(dict.fromkeys(names)) for names in keys]
    codes = [[v.codes[name] for name in names] for v, names in zip(vocabularies, keys, strict=True)]
    if node.is_flag:
        chances = part.probabilities[:, -1]
        columns = np.array(codes, np.int32).reshape(len(keys), -1)
    else:
        values = node.values[first:]
        chances = part.probabilities[:, first:].reshape(-1)
        vocabularies.append(Vocabulary(values))
        repeated = np.repeat(np.array(codes, np.int32), len(values), axis=1)
        cycled = np.tile(np.arange(len(values), dtype=np.int32), len(part.rows))
        columns = np.vstack([repeated, cycled])
    errors = np.zeros(len(chances))
    method = np.full(len(chances), "closed form", object)
    return AnswerTable(node.predicate, columns, tuple(vocabularies), chances, errors, method)
