"""``mlnlearn count``: true groundings of a formula."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

import mlnlearn as ml
from mlnlearn.cli.options import (
    FILES,
    EngineOption,
    JsonOption,
    MappingOption,
    MasterOption,
    MemoryOption,
    SchemaOption,
    SparkConfOption,
    TablesOption,
)
from mlnlearn.cli.show import (
    SHOWN,
    console,
    heading,
    print_json,
    print_more,
    print_table,
    share,
)
from mlnlearn.cli.sources import read
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import (
    EitherSign,
    Formula,
    Rule,
    children,
    free_variables,
    variable_types,
)

Rows = list[tuple[tuple[str, ...], int]]


def count(
    formula: Annotated[str, typer.Argument(help="A formula in the .mln language.")],
    files: Annotated[list[Path] | None, FILES] = None,
    schema: SchemaOption = None,
    by: Annotated[
        str, typer.Option("--by", help="Count for each value of these variables, e.g. x,y.")
    ] = "",
    tables: TablesOption = None,
    mapping: MappingOption = None,
    json: JsonOption = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show how it would be counted, and how large it gets.")
    ] = False,
    engine: EngineOption = None,
    memory: MemoryOption = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Count the true groundings of a formula, over all databases together.

    With --by, values without a true grounding are left out. Tables of facts (see schema.mln) are
    counted where they are, by --engine duckdb within --memory.
    """
    if tables is None and not files:
        raise typer.BadParameter("name one or more files, or tables, with --tables")
    databases = read(files or [], tables, schema, mapping).databases
    parsed = ml.parse_formula(formula, databases[0].schema, "formula").formula
    _refuse_either_sign(parsed)
    rule = ml.MLN(databases[0].schema, (Rule(parsed),))
    counting = ml.open_engine(ml.with_constants_of(rule, databases))
    if plan:
        console().print(ml.explain_plan(counting, parsed), markup=False, soft_wrap=True)
        return
    groups = _variables(by, parsed)
    total = sum(ml.true_groundings(counting, parsed))
    possible = sum(ml.groundings(counting, parsed))
    rows = _rows(counting, parsed, groups) if groups else []
    if json:
        listed = [[*names, number] for names, number in rows]
        print_json({"total": total, "groundings": possible, "by": listed})
        return
    out = console()
    out.print(heading(str(parsed)))
    percent = f" ({share(total, possible)})" if possible else ""
    out.print(f"{total:,} of {possible:,} groundings are true{percent}")
    if groups:
        out.print()
        titles = (*map(str, groups), "true groundings")
        shown = [(*names, f"{number:,}") for names, number in rows[:SHOWN]]
        print_table(out, titles, shown, words=range(len(groups)))
        print_more(out, len(rows), "--json lists all")


def _refuse_either_sign(formula: Formula) -> None:
    if isinstance(formula, EitherSign):
        raise InputError(
            f"{formula} stands for two formulas",
            hint=f"count {formula.atom} and !{formula.atom} one at a time",
        )
    for part in children(formula):
        _refuse_either_sign(part)


def _variables(by: str, formula: Formula) -> tuple[Variable, ...]:
    """Read the names after ``--by``, which must be free variables of the formula."""
    names = dict.fromkeys(name.strip() for name in by.split(",") if name.strip())
    free = [str(variable) for variable in free_variables(formula)]
    foreign = [name for name in names if name not in free]
    if foreign:
        there = f"it has {', '.join(free)}" if free else "it has none"
        what = "no free variable" if len(foreign) == 1 else "no free variables"
        raise InputError(f"--by: {', '.join(foreign)}: {what} of {formula}", hint=there)
    return tuple(map(Variable, names))


def _rows(engine: ml.Engine, formula: Formula, by: tuple[Variable, ...]) -> Rows:
    """Count by constants, over all databases; greatest counts first."""
    found = ml.count_by(engine, formula, by)
    types = variable_types(formula)
    names = [
        map(engine.stack.vocabularies[types[variable]].names.__getitem__, column.tolist())
        for variable, column in zip(by, found.columns, strict=True)
    ]
    sums: Counter[tuple[str, ...]] = Counter()
    for row, number in zip(zip(*names, strict=True), found.counts.tolist(), strict=True):
        sums[row] += number
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))
