"""Rows of tables on the command line: learning what to say of them, and saying it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlnlearn as ml
from mlnlearn.cli.progress import fit
from mlnlearn.cli.show import (
    SHOWN,
    complain,
    console,
    heading,
    print_json,
    print_more,
    print_table,
    rules_heading,
)
from mlnlearn.errors import InputError
from mlnlearn.files import check_new, write_files

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from rich.console import Console

    from mlnlearn.evaluate.held_out import HeldOut

FILLED_NOTE = "the table filled_cells says which"
"""Where filled cells are marked."""
_REASONS = 20
_EXPLAINED = 50


def learn_rows(
    name: str, learner: Any, data: ml.Data, run: ml.Run, out: Path, *, json: bool
) -> None:
    """Learn what to say of rows, and show rules beside scores on rows that were kept aside."""
    warn_of_leaks(data, learner.target)
    with ml.measured() as cost:
        held_out, learner, limited = ml.scored_learner(learner, data, run)
        fitted = fit(name, learner, data, limited)
    model, notes = fitted.model, fitted.notes
    model.save(out)
    rules = ml.rules_of(model, learner.target, SHOWN)
    choice = notes if held_out is None or held_out.notes is None else held_out.notes
    chosen = getattr(notes, "chosen", name)
    page = out.with_suffix(".html")
    curve = getattr(getattr(notes, "own", notes), "curve", ())
    shown = ml.rows_report(
        learner.target,
        rules,
        held_out,
        curve,
        databases=data.databases,
        **(shown_of(model, data) if isinstance(model, ml.RelationalModel) else {}),
    )
    write_files({page: shown})
    if json:
        print_json(
            {
                "learner": chosen,
                **chosen_as_plain(choice),
                "rules": [rule.to_dict() for rule in rules],
                "held_out": {} if held_out is None else held_out.scores,
                "baseline": {} if held_out is None else held_out.baseline,
                "cpu_seconds": cost.cpu_seconds,
                "peak_mb": cost.megabytes,
            }
        )
        return
    screen = console()
    _print_rules(screen, rules)
    print_choice(screen, choice)
    _print_scores(screen, held_out)
    screen.print(f"\n{cost}; written to {out}, and to look at: {page}")


def chosen_as_plain(notes: ml.Notes | None) -> dict[str, object]:
    """Return what `auto` tried and why it chose, as plain data; nothing of other learners."""
    if not isinstance(notes, ml.AutoNotes):
        return {}
    tried = [
        {
            "learner": one.learner,
            "score": None if one.failed else one.score,
            "trials": one.folds,
            "behind": None if one.failed else one.behind[0],
            "standard_error": None if one.failed else one.behind[1],
            "cpu_seconds": one.seconds,
            "failed": one.failed,
        }
        for one in notes.tried
    ]
    return {"chosen": notes.chosen, "why": notes.why, "tried": tried}


def print_choice(screen: Console, notes: ml.Notes | None) -> None:
    """Say what `auto` tried and why it chose; nothing of other learners."""
    if not isinstance(notes, ml.AutoNotes):
        return
    screen.print()
    screen.print(heading(f"learned by {notes.chosen}: {notes.why}"))
    for one in notes.tried:
        screen.print(f"  {one}", markup=False, highlight=False)


def warn_of_leaks(data: ml.Data, target: str) -> None:
    """Name columns that may be known only after what is to be predicted has happened."""
    for leak in ml.future_leaks(data, target):
        complain("warning", str(leak))


def _print_rules(screen: Console, rules: Sequence[ml.ShownRule]) -> None:
    screen.print(rules_heading(len(rules)))
    for number, rule in enumerate(rules, start=1):
        screen.print(f"{number:3d}. {rule.sentence}", markup=False, highlight=False)


def _print_scores(screen: Console, held_out: HeldOut | None) -> None:
    if held_out is None:
        complain("note", "there are too few rows to keep some aside, so nothing was scored")
        return
    screen.print()
    screen.print(heading(f"on {held_out.rows:,} rows kept aside ({held_out.how})"))
    rows = [
        (name, f"{score:.3f}", f"{baseline:.3f}") for name, score, baseline in held_out.in_words()
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
    if filled is not None:
        if task is not None:
            raise InputError("--filled: a task has no cells to fill", hint="give --out")
        check_new(filled)
    started = time.process_time()
    found = rows_data(model, tables, task, schema)
    answers = ml.predict_rows(model, found.data, only_empty=task is None)
    if task is None:
        answers = answers.in_order_of(found.keys_of(model.row_set))
    seconds = time.process_time() - started
    if out is not None:
        answers.save(out, found.task)
    if filled is not None:
        done = ml.fill_rows(model, ml.read_tables(tables, ddl=schema))
        ml.save_tables([*done.tables, done.marks], filled)
    if json:
        print_json({"rows": list(answers.records()), "cpu_seconds": seconds})
        return
    screen = console()
    screen.print(heading(f"{len(answers):,} rows: {model.called}"))
    if task is None and not len(answers):
        complain(
            "note",
            f"no cell of {model.called} is empty; --task FILE.csv asks for rows of your choice",
        )
    records = [tuple(r.values()) for _, r in zip(range(SHOWN), answers.records(), strict=False)]
    if records:
        print_table(screen, ("row", *answers.columns()), records, words=(0,))
    print_more(screen, len(answers))
    screen.print(f"\n{seconds:.2f} CPU seconds" + (f"; written to {out}" if out else ""))
    if filled is not None:
        screen.print(f"tables without those empty cells written to {filled}; {FILLED_NOTE}")


def rows_data(
    model: ml.RelationalModel, tables: str, task: Path | None, schema: Path | None
) -> ml.TaskData:
    """Read tables, and the task that is asked of them, as those a model was learned from."""
    if task is None and (left := ml.left_in_place(tables, schema, model.mapping)):
        return ml.TaskData(left, None)
    found = ml.tables_data(
        tables, ddl=schema, mapping=model.mapping, task=task, label=model.column or ""
    )
    if task is None and model.row_set == "task":
        raise InputError(
            "--task: the model is of examples with a moment each",
            hint="name a file with the entities and moments to ask about",
        )
    return found


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
    data = rows_data(model, tables, task, schema).data
    (reasons,) = ml.explain_rows(model, data, [row])
    if json:
        print_json(reasons.to_dict())
        return
    screen = console()
    chance = "" if reasons.probability is None else f", probability {reasons.probability:.4f}"
    screen.print(heading(f"row {reasons.row}, {reasons.target}: {reasons.answer}{chance}"))
    if reasons.against:
        screen.print(f"rather than {reasons.against}")
    first, rest = reasons.contributions[:_REASONS], reasons.contributions[_REASONS:]
    parts = [(part.rule, f"{part.log_odds:+.4f}") for part in first]
    if rest:
        together = sum(part.log_odds for part in rest)
        parts.append((f"{len(rest)} more together; --json gives all", f"{together:+.4f}"))
    print_table(screen, ("because", reasons.unit), parts, words=(0,))


def shown_of(model: ml.RelationalModel, data: ml.Data) -> dict[str, Any]:
    """Return what a page shows of a model beside its rules."""
    return {
        "effects": ml.number_effects(model, data),
        "importances": ml.row_importances(model, data),
        "reasons": list(ml.explain_rows(model, data, most=_EXPLAINED)),
    }


def report_rows(model: ml.RelationalModel, data: ml.Data, out: Path, title: str = "") -> None:
    """Write a page on a model of rows: its rules, scores of the rows given, and reasons."""
    rules, scores = ml.rules_of(model, "", SHOWN), ml.seen_scores(model, data)
    if out.suffix == ".md":
        write_files({out: ml.rows_markdown(model.called, rules, scores, title=title)})
        return
    page = ml.rows_report(
        model.called,
        rules,
        scores,
        title=title,
        databases=data.databases,
        **shown_of(model, data),
    )
    write_files({out: page})
