"""Rows of tables on the command line: learning what to say of them, and saying it."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlnlearn as ml
from mlnlearn.cli.show import complain, console, heading, print_json, print_table
from mlnlearn.cli.sources import Sources, load_tables, read_source
from mlnlearn.errors import InputError
from mlnlearn.files import write_files

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from rich.console import Console

    from mlnlearn.data.load.task import Task
    from mlnlearn.evaluate.held_out import HeldOut
    from mlnlearn.evaluate.rows import RowAnswers
    from mlnlearn.model.shown import ShownRule

FILLED_NOTE = "the table filled_cells says which"
"""Where filled cells are marked."""
_SQL = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR", "BOOLEAN": "BOOLEAN"}
_SHOWN = 20
_EXPLAINED = 50
_MEGABYTE = 1e6


def learn_rows(
    name: str, learner: Any, sources: Sources, run: ml.Run, out: Path, *, json: bool
) -> None:
    """Learn what to say of rows, and show rules beside scores on rows that were kept aside."""
    from mlnlearn.cli.learn import fit  # noqa: PLC0415 - that module imports this one
    from mlnlearn.evaluate.held_out import held_out_scores  # noqa: PLC0415 - loads the models
    from mlnlearn.evaluate.measure import measured  # noqa: PLC0415
    from mlnlearn.report.rows import rows_report  # noqa: PLC0415

    mapping = sources.mappings[0] if sources.mappings else None
    data = ml.Data(tuple(sources.databases), mapping)
    limit = run.max_seconds
    share = None if limit is None else limit / 2
    with measured() as cost:
        held_out = held_out_scores(learner, data, ml.Run(max_seconds=share))
        fitted = fit(name, learner, sources, replace(run, max_seconds=share))
    model, notes = fitted.model, fitted.notes
    model.save(out)
    rules = _shown(model)
    chosen = getattr(notes, "chosen", name)
    page = out.with_suffix(".html")
    curve = getattr(getattr(notes, "own", notes), "curve", ())
    write_files({page: rows_report(learner.target, rules, held_out, curve)})
    if json:
        print_json(
            {
                "learner": chosen,
                "rules": [rule.to_dict() for rule in rules],
                "held_out": {} if held_out is None else held_out.scores,
                "baseline": {} if held_out is None else held_out.baseline,
                "cpu_seconds": cost.cpu_seconds,
                "peak_mb": cost.peak_bytes / _MEGABYTE,
            }
        )
        return
    screen = console()
    _print_rules(screen, rules)
    _print_scores(screen, held_out)
    screen.print(
        f"\n{cost.cpu_seconds:.2f} CPU seconds, {cost.peak_bytes / _MEGABYTE:,.0f} MB; "
        f"written to {out}, and to look at: {page}"
    )


def _shown(model: Any) -> list[ShownRule]:
    """Return the rules to be shown; those of a model of predicates as they are written."""
    from mlnlearn.model.shown import ShownRule  # noqa: PLC0415 - with the model

    if isinstance(model, ml.RelationalModel):
        return model.shown_rules(_SHOWN)
    rules = list(model.rules())[:_SHOWN]
    return [ShownRule(text, text, None, None, None, weight) for text, weight in rules]


def _print_rules(screen: Console, rules: Sequence[ShownRule]) -> None:
    screen.print(heading(f"{len(rules):,} rules"))
    for number, rule in enumerate(rules, start=1):
        screen.print(f"{number:3d}. {rule.sentence}", markup=False, highlight=False)


def _print_scores(screen: Console, held_out: HeldOut | None) -> None:
    from mlnlearn.report.rows import NAMES  # noqa: PLC0415 - loads the evaluation

    if held_out is None:
        complain("note", "there are too few rows to keep some aside, so nothing was scored")
        return
    screen.print()
    screen.print(heading(f"on {held_out.rows:,} rows kept aside ({held_out.how})"))
    rows = [
        (NAMES[metric], f"{score:.3f}", f"{held_out.baseline[metric]:.3f}")
        for metric, score in held_out.scores.items()
    ]
    print_table(screen, ("score", "model", "base rate"), rows)


def answer_rows(
    model: ml.RelationalModel,
    tables: str,
    task: Path | None,
    *,
    schema: Path | None,
    out: Path | None,
    filled: Path | None,
    json: bool,
) -> None:
    """Predict the labels of a task, or the empty cells of the column that a model is of."""
    from mlnlearn.data.load.save import check_new  # noqa: PLC0415 - loads NumPy
    from mlnlearn.evaluate.rows import predict_rows  # noqa: PLC0415 - loads the models

    if filled is not None:
        if task is not None:
            raise InputError("--filled: a task has no cells to fill", hint="give --out")
        check_new(filled)

    started = time.process_time()
    found, data = rows_data(model, tables, task, schema)
    answers = predict_rows(model, data, only_empty=task is None)
    seconds = time.process_time() - started
    if out is not None:
        _write(out, answers, found.task)
    if filled is not None:
        _fill(model, tables, schema, filled)
    if json:
        print_json({"rows": list(answers.records()), "cpu_seconds": seconds})
        return
    screen = console()
    screen.print(heading(f"{len(answers):,} rows: {model.target}"))
    records = [tuple(r.values()) for _, r in zip(range(_SHOWN), answers.records(), strict=False)]
    if records:
        print_table(screen, ("row", *answers.columns()), records, words=(0,))
    if len(answers) > _SHOWN:
        screen.print(f"… and {len(answers) - _SHOWN:,} more; --out or --json gives all")
    screen.print(f"\n{seconds:.2f} CPU seconds" + (f"; written to {out}" if out else ""))
    if filled is not None:
        screen.print(f"tables without those empty cells written to {filled}; {FILLED_NOTE}")


def rows_data(
    model: ml.RelationalModel, tables: str, task: Path | None, schema: Path | None
) -> tuple[Sources, ml.Data]:
    """Read tables, and the task that is asked of them, as those a model was learned from."""
    found = load_tables(tables, schema, model.mapping, task=task, label=model.column or "")
    if task is None and model.row_set == "task":
        raise InputError(
            "--task: the model is of examples with a moment each",
            hint="name a file with the entities and moments to ask about",
        )
    return found, ml.Data(tuple(found.databases), found.mappings[0])


def _fill(model: ml.RelationalModel, tables: str, schema: Path | None, filled: Path) -> None:
    from mlnlearn.data.load.save import save_tables  # noqa: PLC0415 - loads NumPy
    from mlnlearn.evaluate.rows import fill_rows  # noqa: PLC0415 - loads the models

    done = fill_rows(model, read_source(tables, schema))
    save_tables([*done.tables, done.marks], filled)


def _write(out: Path, answers: RowAnswers, task: Task | None) -> None:
    """Write the rows of a task, or the names of rows, with the answers beside them."""
    from mlnlearn.data.load.columns import Column  # noqa: PLC0415 - loads NumPy
    from mlnlearn.data.load.save import cell_type  # noqa: PLC0415
    from mlnlearn.model.answer_files import write_table  # noqa: PLC0415

    columns: dict[str, Sequence[str]] = {"row": list(answers.names)}
    if task is not None:
        columns = _cells(task)
    said = answers.columns()
    if set(said) & set(columns):  # a task may have a column of that name itself
        said = {f"{name} of {answers.target}": cells for name, cells in said.items()}
    columns = {**columns, **said}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    types = {
        name: _SQL[cell_type(Column.of([c or None for c in cells]))]
        for name, cells in columns.items()
    }
    write_table(out, text.getvalue(), types)


def explain_row(
    model: ml.RelationalModel,
    tables: str,
    row: str,
    task: Path | None,
    *,
    schema: Path | None,
    json: bool,
) -> None:
    """Show what pushes the answer for one row of tables up or down."""
    from mlnlearn.evaluate.row_reasons import explain_rows  # noqa: PLC0415 - loads the models

    _, data = rows_data(model, tables, task, schema)
    (reasons,) = explain_rows(model, data, [row])
    if json:
        print_json(reasons.to_dict())
        return
    screen = console()
    chance = "" if reasons.probability is None else f", probability {reasons.probability:.4f}"
    screen.print(heading(f"row {reasons.row}, {reasons.target}: {reasons.answer}{chance}"))
    if reasons.against:
        screen.print(f"rather than {reasons.against}")
    parts = [(part.rule, f"{part.log_odds:+.4f}") for part in reasons.contributions]
    print_table(screen, ("because", reasons.unit), parts, words=(0,))


def report_rows(model: ml.RelationalModel, data: ml.Data, out: Path, title: str = "") -> None:
    """Write a page on a model of rows: its rules, scores of the rows given, and reasons."""
    from mlnlearn.evaluate.held_out import seen_scores  # noqa: PLC0415 - loads the models
    from mlnlearn.evaluate.row_reasons import explain_rows  # noqa: PLC0415
    from mlnlearn.report.rows import rows_report  # noqa: PLC0415

    reasons = list(explain_rows(model, data, most=_EXPLAINED))
    scores = seen_scores(model, data)
    page = rows_report(model.target, _shown(model), scores, title=title, reasons=reasons)
    write_files({out: page})


def _cells(task: Task) -> dict[str, Sequence[str]]:
    from mlnlearn.data.load.task import ROW  # noqa: PLC0415 - loads NumPy

    return {
        name: [column.names[code] if code >= 0 else "" for code in column.codes.tolist()]
        for name, column in task.table.columns.items()
        if name != ROW
    }
