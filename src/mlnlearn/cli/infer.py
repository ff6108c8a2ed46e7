"""``mlnlearn infer``: probabilities of unknown atoms."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

import mlnlearn as ml
from mlnlearn.cli.inspect import JsonOption
from mlnlearn.cli.options import DatabasesOption, ModelOption, MoreArgument, SeedOption, names
from mlnlearn.cli.options import one_database as only
from mlnlearn.cli.show import complain, console, heading, print_json, print_table

_SHOWN = 20

Method = Literal["auto", "exact", "gibbs", "mcsat", "map", "bp"]


def infer(
    model: ModelOption,
    db: DatabasesOption,
    query: Annotated[str, typer.Option(help="Predicates to ask for, with commas.")],
    more: MoreArgument = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="Declarations of the evidence; by default the model's."),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(help="auto: the best for each part; map: a most probable world."),
    ] = "auto",
    open_predicates: Annotated[
        str, typer.Option("--open", help="Predicates whose unlisted atoms are unknown.")
    ] = "",
    closed: Annotated[
        str, typer.Option("--closed", help="Predicates whose unlisted atoms are false.")
    ] = "",
    query_evidence: Annotated[
        bool,
        typer.Option("--query-evidence", help="Ask for atoms listed as ?P(A) only."),
    ] = False,
    samples: Annotated[int, typer.Option(help="Samples, where sampling is needed.", min=1)] = 20000,
    max_seconds: Annotated[
        float | None, typer.Option(help="Time limit of each sampled part.", show_default=False)
    ] = None,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the answers as CSV.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Give the probability of every unknown atom of some predicates."""
    mln = ml.MLN.read(model)
    path = only(db + (more or []))
    declarations = mln.schema if schema is None else ml.read_mln(schema).schema
    evidence = ml.read_db(path, schema=declarations, name=str(path))
    started = time.process_time()
    answers = ml.query(
        mln,
        evidence,
        names(query, "--query"),
        method=method,
        open=names(open_predicates, "--open"),
        closed=names(closed, "--closed"),
        query_evidence=query_evidence,
        samples=samples,
        max_seconds=max_seconds,
        seed=seed,
    )
    seconds = time.process_time() - started
    if out is not None:
        answers.to_csv(out)
    if not answers.converged:
        complain("warning", "some parts did not converge: take more --samples")
    if json:
        print_json(answers.to_dict() | {"cpu_seconds": seconds})
        return
    screen = console()
    screen.print(heading(f"{len(answers)} unknown atoms of {query}"))
    ranked = sorted(answers, key=lambda answer: -answer.probability)[:_SHOWN]
    rows = [(str(a.atom), f"{a.probability:.4f}", f"{a.standard_error:.4f}") for a in ranked]
    print_table(screen, ("atom", "probability", "standard error"), rows)
    if len(answers) > _SHOWN:
        screen.print(f"… and {len(answers) - _SHOWN:,} more; --out or --json gives all")
    used = Counter(component.method for component in answers.components)
    parts = ", ".join(f"{count:,} by {name}" for name, count in used.most_common())
    screen.print(f"\ncomponents: {parts or 'none'}; {seconds:.2f} CPU seconds")
    if out is not None:
        screen.print(f"written to {out}")
