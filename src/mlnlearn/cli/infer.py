"""``mlnlearn infer``: probabilities of unknown atoms."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mlnlearn as ml
from mlnlearn.cli.completion import offered
from mlnlearn.cli.fill import fill
from mlnlearn.cli.options import (
    BoostSRLOption,
    ClosedOption,
    EngineOption,
    ForceOption,
    JsonOption,
    MappingOption,
    MasterOption,
    MemoryOption,
    ModelOption,
    MoreArgument,
    OpenOption,
    OrderOption,
    SeedOption,
    SparkConfOption,
    TablesOption,
    TaskOption,
    TriplesOption,
    finite,
    names,
    option,
    read_model,
)
from mlnlearn.cli.options import one_database as only
from mlnlearn.cli.outputs import check
from mlnlearn.cli.rows import answer_rows
from mlnlearn.cli.show import (
    SHOWN,
    complain,
    console,
    heading,
    print_json,
    print_more,
    print_table,
)
from mlnlearn.cli.sources import evidence_for, tables_for
from mlnlearn.cli.triples import answer_triples
from mlnlearn.errors import InputError
from mlnlearn.registry import METHODS

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.model.answers import Answer, Answers

    Model = ml.MLN | ml.BoostedModel | ml.RelationalModel


_QueryOption = Annotated[
    str,
    option(
        help="Predicates to ask for, with commas; with --tables, by default all columns that "
        "have empty cells."
    ),
]
_HeadOption = Annotated[str | None, option(help="With --triples: the head whose tails to give.")]
_TailOption = Annotated[str | None, option(help="With --triples: the tail whose heads to give.")]
_FilledOption = Annotated[
    Path | None,
    option(
        metavar="FILE.sqlite|DIR",
        help="With --tables: write the tables with empty cells filled in, to a new SQLite "
        "file or a new folder of CSV files.",
    ),
]
_SchemaOption = Annotated[
    Path | None,
    typer.Option(
        help="Declarations of the evidence, by default the model's; with --tables, an .sql "
        "file with the keys of a folder of tables."
    ),
]
_MethodOption = Annotated[
    str,
    typer.Option(
        help=f"How: {', '.join(METHODS)}, or lifted. auto: the best for each part; map: a most "
        "probable world; lifted: exact without grounding.",
        autocompletion=offered(METHODS, "lifted"),
    ),
]
_QueryEvidenceOption = Annotated[
    bool,
    typer.Option("--query-evidence", help="Ask for atoms listed as ?P(A) only."),
]
_SamplesOption = Annotated[
    int | None,
    option(help="Samples, where sampling is needed; by default as many as `query` takes.", min=1),
]
_MaxSecondsOption = Annotated[
    float | None, option(help="Time limit of each sampled part.", min=0, callback=finite)
]
_OutOption = Annotated[
    Path | None,
    option(help="Write the answers, as CSV, or Parquet if the name ends in .parquet."),
]


def infer(
    model: ModelOption,
    db: Annotated[list[Path] | None, option("--db", help="The database that is given.")] = None,
    query: _QueryOption = "",
    more: MoreArgument = None,
    tables: TablesOption = None,
    triples: TriplesOption = None,
    order: OrderOption = "",
    relation: Annotated[str, option(help="With --triples: the relation to ask for.")] = "",
    head: _HeadOption = None,
    tail: _TailOption = None,
    k: Annotated[int, typer.Option("-k", help="With --triples: how many answers.", min=1)] = 10,
    boostsrl: BoostSRLOption = None,
    task: TaskOption = None,
    filled: _FilledOption = None,
    mapping: MappingOption = None,
    schema: _SchemaOption = None,
    method: _MethodOption = "auto",
    open_predicates: OpenOption = "",
    closed: ClosedOption = "",
    query_evidence: _QueryEvidenceOption = False,
    samples: _SamplesOption = None,
    max_seconds: _MaxSecondsOption = None,
    seed: SeedOption = 0,
    out: _OutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineOption = None,
    memory: MemoryOption = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Give the probability of every unknown atom of some predicates.

    A boosted model gives that of all atoms of the targets asked for, whatever is known of them;
    another target is evidence where the database lists any of its atoms, else unknown. With
    --tables, a model of laj-dt or mbn gives that of the values of empty cells (NULL), a model of
    one column that of its empty cells, or of the rows of a --task.
    """
    paths = (db or []) + (more or [])
    if triples is not None:
        if paths or tables or boostsrl:
            raise InputError("give the data with --triples alone")
        question = (relation, head, tail)
        answer_triples(model, triples, order, question, k, out=out, force=force, json=json)
        return
    others = [schema, filled, mapping, task]
    check([out], force=force, data=paths, tables=tables, model=model, others=others)
    if tables is not None and _is_of_tables(model, task, filled):
        if paths or method != "auto" or open_predicates or closed or query_evidence:
            raise InputError("--tables goes with none of --db, --method, --open, --closed")
        _of_tables(model, tables, task, query, schema=schema, out=out, filled=filled, json=json)
        return
    if task is not None:
        raise InputError("--task goes with --tables")
    if filled is not None:
        raise InputError("--filled goes with --tables")
    found = read_model(model)
    if tables is not None:
        evidence, targets = _from_tables(model, paths, tables, schema, mapping)
    else:
        found, evidence, targets = _evidence(found, paths, boostsrl or [], schema, query)
    query_evidence = query_evidence or (bool(boostsrl) and isinstance(found, ml.MLN))
    query = query.strip() or ",".join(targets)
    if not query:
        raise InputError("--query: name the predicates to ask for")
    asked = names(query, "--query")
    opened, shut = names(open_predicates, "--open"), names(closed, "--closed")
    sampling = ml.Sampling(seed=seed, max_seconds=max_seconds)
    if samples is not None:
        sampling = replace(sampling, samples=samples)
    started = time.process_time()
    chunks: Iterable[Answers]
    if isinstance(found, ml.MLN) and method == "lifted":
        if query_evidence:
            raise InputError("--method lifted does not take --query-evidence")
        chunks = [ml.lifted_query(found, evidence, asked, open=opened, closed=shut)]
    else:
        _check_method(found, method, opened, query_evidence)
        chunks = ml.query_in_chunks(
            found,
            evidence,
            asked,
            method=method,
            open=opened,
            closed=shut,
            query_evidence=query_evidence,
            sampling=sampling,
            whole=json,  # which lists every component
        )
    _show(chunks, query, started, out=out, json=json)


def _show(
    chunks: Iterable[Answers], query: str, started: float, *, out: Path | None, json: bool
) -> None:
    """Write the answers as they come, and show the best, or all."""
    if json:
        (answers,) = chunks = list(chunks)
    summary = _Summary()
    seen = summary.seeing(chunks)
    if out is not None:
        ml.write_answers(out, seen)
    deque(seen, maxlen=0)  # what nobody wrote
    seconds = time.process_time() - started
    if not summary.converged:
        complain("warning", "some parts did not converge: take more --samples or another --method")
    if json:
        print_json(answers.to_dict() | {"cpu_seconds": seconds})
        return
    summary.show(query, seconds)
    if out is not None:
        console().print(f"written to {out}")


def _is_of_tables(model: Path, task: Path | None, filled: Path | None) -> bool:
    """Tell whether cells or rows are asked for: by models of tables, or by the options."""
    if task is not None or filled is not None:
        return True
    return isinstance(ml.load_model(model), ml.JoinBayesModel | ml.RelationalModel)


def _from_tables(
    model: Path, paths: list[Path], tables: str, schema: Path | None, mapping: Path | None
) -> tuple[ml.Database, tuple[str, ...]]:
    """Read tables, and which predicates the model predicts, where it knows."""
    if paths:
        raise InputError("give the data with --db or with --tables, not both")
    found: Any = ml.load_model(model)
    targets = tuple(rules.predicate.name for rules in getattr(found, "targets", ()))
    return tables_for(model, found, tables, schema, mapping), targets


def _evidence(
    model: Model,
    paths: list[Path],
    boostsrl: list[Path],
    schema: Path | None,
    query: str,
) -> tuple[Model, ml.Database, tuple[str, ...]]:
    """Read what is given, and what a folder of BoostSRL asks for."""
    if boostsrl:
        if paths or schema or len(boostsrl) > 1:
            raise InputError("--boostsrl: name one folder, and neither --db nor --schema")
        background = ml.read_boostsrl(boostsrl[0])
        return model, background.asked(), background.targets
    targets = tuple(rules.predicate.name for rules in getattr(model, "targets", ()))
    if not query.strip() and not targets:
        raise InputError(
            "--query: name the predicates to ask for",
            hint="as in --query advisedBy; learn and inspect show what there is",
        )
    return *evidence_for(model, only(paths), schema), targets


def _check_method(model: object, method: str, opened: Collection[str], asks_listed: bool) -> None:
    """Refuse what only networks can do."""
    if isinstance(model, ml.MLN):
        return
    asks_listed = asks_listed and not isinstance(model, ml.RelationalModel)
    if opened or asks_listed or method not in ("auto", "exact", "gibbs"):
        raise InputError(
            f"a boosted model takes neither --open nor --query-evidence nor --method {method}",
            hint="it predicts its targets from all other predicates; methods are auto, exact"
            " and gibbs",
        )


class _Summary:
    """What is shown of answers that are seen a part at a time: the best, and how all were found."""

    def __init__(self) -> None:
        self.atoms, self.converged = 0, True
        self.best: list[Answer] = []
        self.methods: Counter[str] = Counter()

    def seeing(self, chunks: Iterable[Answers]) -> Iterator[Answers]:
        """Yield the parts, looking at each."""
        for answers in chunks:
            self.atoms += len(answers)
            self.converged &= answers.converged
            self.methods.update(component.method for component in answers.components)
            ranked = [*self.best, *answers.top(SHOWN)]
            self.best = sorted(ranked, key=lambda answer: -answer.probability)[:SHOWN]
            yield answers

    def show(self, query: str, seconds: float) -> None:
        """Print it."""
        screen = console()
        screen.print(heading(f"{self.atoms:,} atoms of {query}"))
        rows = [
            (
                str(a.atom),
                f"{a.probability:.4f}",
                "unknown" if math.isnan(a.standard_error) else f"{a.standard_error:.4f}",
            )
            for a in self.best
        ]
        print_table(screen, ("atom", "probability", "standard error"), rows)
        print_more(screen, self.atoms)
        parts = ", ".join(f"{count:,} by {name}" for name, count in self.methods.most_common())
        screen.print(f"\ncomponents: {parts or 'none'}; {seconds:.2f} CPU seconds")


def _of_tables(
    model: Path,
    tables: str,
    task: Path | None,
    query: str,
    *,
    schema: Path | None,
    out: Path | None,
    filled: Path | None,
    json: bool,
) -> None:
    """Answer for tables: the rows of a task, the empty cells of one column, or of all."""
    asked = names(query, "--query")
    found = ml.load_model(model)
    if isinstance(found, ml.RelationalModel):
        if asked:
            raise InputError("--query: the model knows what it predicts", hint="leave it out")
        answer_rows(found, tables, task, schema=schema, out=out, filled=filled, json=json)
        return
    if task is not None:
        raise InputError("--task: the model is not one that learn --task made")
    fill(model, tables, asked, schema=schema, out=out, filled=filled, json=json)
