"""``mlnlearn weights``: learn the weights of given rules."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import mlnlearn as ml
from mlnlearn.cli.options import (
    EngineOption,
    ForceOption,
    JsonOption,
    MappingOption,
    MasterOption,
    MemoryOption,
    ModelOption,
    ModelOutOption,
    MoreArgument,
    NoDatabasesOption,
    SchemaOption,
    SeedOption,
    SparkConfOption,
    TablesOption,
    finite,
    names,
    option,
    read_network,
)
from mlnlearn.cli.outputs import check
from mlnlearn.cli.show import console, print_json, print_table, rules_heading
from mlnlearn.cli.sources import tables_for
from mlnlearn.errors import InputError

if TYPE_CHECKING:  # loading the learners can wait until the command runs
    from collections.abc import Sequence

    from mlnlearn.weights.result import LearnedWeights

Method = Literal["wpll", "pll", "conditional", "em", "likelihood"]


def weights(
    model: ModelOption,
    db: NoDatabasesOption = None,
    more: MoreArgument = None,
    tables: TablesOption = None,
    schema: SchemaOption = None,
    mapping: MappingOption = None,
    method: Annotated[
        Method,
        typer.Option(
            help="wpll, pll: (weighted) pseudo-likelihood; conditional: likelihood of the query "
            "predicates given the others; em: pseudo-likelihood with unknown atoms filled in; "
            "likelihood: the exact one, for rules that can be lifted."
        ),
    ] = "wpll",
    query: Annotated[
        str, typer.Option(help="Predicates to predict, with commas; the others are evidence.")
    ] = "",
    sigma: Annotated[
        float | None,
        option(
            help="Standard deviation of the prior; 100, and 2 for conditional.",
            min=1e-6,
            callback=finite,
        ),
    ] = None,
    l1: Annotated[
        float, typer.Option(help="Weight of an additional L1 penalty.", min=0.0, callback=finite)
    ] = 0.0,
    units: Annotated[
        bool, typer.Option(help="Add a unit clause for predicates that have none.")
    ] = True,
    seed: SeedOption = 0,
    out: ModelOutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineOption = None,
    memory: MemoryOption = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Learn the weights of the rules in a model from databases."""
    paths = (db or []) + (more or [])
    others = [schema, mapping]
    check([out], force=force, data=paths, tables=tables, model=model, others=others)
    if (tables is None) == (not paths):
        raise InputError("give the data with --db or with --tables")
    mln = read_network(model)
    if tables is not None:
        databases = [tables_for(model, mln, tables, schema, mapping)]
    else:
        declared = mln.schema if schema is None else ml.read_mln(schema).schema
        databases = [found for path in paths for found in ml.read_databases(path, declared)]
    targets = names(query, "--query")
    for name in targets:
        mln.schema[name]
    started = time.process_time()
    learned = _learn(mln, databases, method, targets, sigma, l1, units, seed)
    seconds = time.process_time() - started
    if out is not None:
        learned.mln.save(out)
    if json:
        _print_json(learned, seconds)
        return
    screen = console()
    screen.print(rules_heading(len(learned.mln.rules)))
    rows = [
        (str(rule.formula), "always" if rule.hard else f"{rule.weight:.4f}")
        for rule in learned.mln.rules
    ]
    print_table(screen, ("rule", "weight"), rows)
    value = "" if math.isnan(learned.objective) else f"objective {learned.objective:.4f} after "
    screen.print(f"\n{value}{learned.iterations} iterations, {seconds:.2f} CPU seconds")
    if out is not None:
        screen.print(f"written to {out}")


def _learn(
    mln: ml.MLN,
    databases: Sequence[ml.Database],
    method: Method,
    query: tuple[str, ...],
    sigma: float | None,
    l1: float,
    units: bool,
    seed: int,
) -> LearnedWeights:
    if method == "conditional":
        return ml.learn_conditional(
            mln, databases, query, sigma=sigma or 2.0, l1=l1, units=units, seed=seed
        )
    if method == "em":
        if l1 or query:
            raise InputError("--method em takes neither --l1 nor --query")
        return ml.learn_em(mln, databases, sigma=sigma or 100.0, units=units, seed=seed)
    if method == "likelihood":
        if query:
            raise InputError("--method likelihood takes no --query")
        return ml.learn_likelihood(mln, databases, sigma=sigma or 100.0, l1=l1, units=units)
    return ml.learn_pseudolikelihood(
        mln,
        databases,
        weighted=method == "wpll",
        query=query,
        sigma=sigma or 100.0,
        l1=l1,
        units=units,
    )


def _print_json(learned: LearnedWeights, seconds: float) -> None:
    objective = None if math.isnan(learned.objective) else learned.objective
    rules = [{"formula": str(rule.formula), "weight": rule.weight} for rule in learned.mln.rules]
    print_json(
        {
            "objective": objective,
            "iterations": learned.iterations,
            "cpu_seconds": seconds,
            "rules": rules,
        }
    )
