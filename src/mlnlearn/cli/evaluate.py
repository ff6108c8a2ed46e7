"""``mlnlearn evaluate``: how well learners predict data that they have not seen."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import mlnlearn as ml
from mlnlearn.cli.completion import learner_names
from mlnlearn.cli.evaluate_data import (
    CutsOption,
    DataSplit,
    EntitiesOption,
    GroupsOption,
    PartsOption,
    TimeOption,
    make_folds,
)
from mlnlearn.cli.evaluate_learners import entries, from_tables, grids, with_settings
from mlnlearn.cli.evaluate_rows import evaluate_rows
from mlnlearn.cli.evaluate_show import plain, print_comparisons, print_folds, print_means
from mlnlearn.cli.options import (
    LEARNER_NAMES,
    BoostSRLOption,
    EngineOption,
    ForceOption,
    JobsOption,
    JsonOption,
    MappingOption,
    MasterOption,
    MemoryOption,
    MoreArgument,
    NoDatabasesOption,
    OrderOption,
    PathTestsOption,
    PresetOption,
    SchemaOption,
    SetOption,
    SparkConfOption,
    TablesOption,
    TaskOption,
    TestOption,
    TriplesOption,
    ValidOption,
    names,
    option,
)
from mlnlearn.cli.outputs import check
from mlnlearn.cli.progress import Reporter
from mlnlearn.cli.show import complain, console, print_json
from mlnlearn.cli.sources import background_of, read, with_background
from mlnlearn.cli.triples import evaluate_triples, read_split
from mlnlearn.errors import InputError, MlnError
from mlnlearn.files import write_files
from mlnlearn.registry import Entry

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.evaluate.ask import Given
    from mlnlearn.evaluate.folds import Fold
    from mlnlearn.evaluate.results import Results
    from mlnlearn.evaluate.significance import LearnerComparison


@dataclass(frozen=True)
class _Contest:
    """What all learners are put to alike."""

    folds: Sequence[Fold]
    query: tuple[str, ...]
    negatives: Literal["all"] | float
    given: Given
    attributes: tuple[str, ...]
    mapping: ml.Mapping | None
    types: tuple[str, ...]
    metric: str
    seeds: int
    jobs: int


_LearnerOption = Annotated[
    list[str] | None,
    option(
        help=f"A learner, of {LEARNER_NAMES}; give several to compare them, or all. With "
        "--triples, by default paths.",
        autocompletion=learner_names,
    ),
]
_QueryOption = Annotated[
    str,
    option(
        help="Predicates to predict, with commas; several are hidden and predicted together. "
        "By default, of tables, all their attributes."
    ),
]
_TargetOption = Annotated[
    str,
    option(
        metavar="NAME",
        help="Instead of --query: the column of --tables (TABLE.COLUMN), or the predicate, to "
        "predict of rows or atoms that are kept aside; one database is enough.",
    ),
]
_SplitByOption = Annotated[
    Literal["auto", "time", "random"],
    typer.Option(
        "--split",
        help="With --target or --task: keep the latest rows aside (time) or any (random); "
        "auto: the latest of a task, any of a table.",
    ),
]
_ConditionalOption = Annotated[
    bool,
    typer.Option(
        "--conditional",
        help="Predict each atom given all others, those of the query predicates too.",
    ),
]
_NegativesOption = Annotated[
    str, typer.Option(help="all, or so many sampled false atoms for each true one.")
]
_TryOption = Annotated[
    list[str] | None,
    option(
        "--try",
        metavar="NAME=VALUE",
        help="A value of a setting to choose from, by validation within the training data; "
        "give it once for each value.",
    ),
]
_ChooseByOption = Annotated[
    str, typer.Option(help="The metric by which --try chooses.", show_default=True)
]


def evaluate(
    learner: _LearnerOption = None,
    db: NoDatabasesOption = None,
    more: MoreArgument = None,
    schema: SchemaOption = None,
    tables: TablesOption = None,
    triples: TriplesOption = None,
    valid: ValidOption = None,
    test: TestOption = None,
    order: OrderOption = "",
    path_tests: PathTestsOption = 0,
    boostsrl: BoostSRLOption = None,
    mapping: MappingOption = None,
    query: _QueryOption = "",
    target: _TargetOption = "",
    task: TaskOption = None,
    split_by: _SplitByOption = "auto",
    conditional: _ConditionalOption = False,
    groups: GroupsOption = "",
    entities: EntitiesOption = "",
    parts: PartsOption = 5,
    time: TimeOption = "",
    cuts: CutsOption = "",
    negatives: _NegativesOption = "all",
    preset: PresetOption = None,
    set_: SetOption = None,
    try_: _TryOption = None,
    choose_by: _ChooseByOption = "auc_pr",
    seeds: Annotated[int, typer.Option(help="Repeat with seeds 0, 1, ….", min=1)] = 1,
    jobs: JobsOption = 1,
    out: Annotated[Path | None, option(help="Write the results as JSON.")] = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineOption = None,
    memory: MemoryOption = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Train on some of the data, predict the rest, and so on for every fold in turn."""
    if triples is not None:
        if db or more or tables:
            raise InputError("give the data with --triples alone")
        check([out], force=force, data=[triples, *filter(None, (valid, test))])
        graph = read_split(triples, valid, test, order=order)
        evaluate_triples(
            learner or ["paths"], set_ or (), graph, paths=path_tests, jobs=jobs, out=out, json=json
        )
        return
    if path_tests:
        raise InputError("--paths goes with --triples")
    if target or task is not None:
        _of_rows(
            learner or ["auto"],
            (db or []) + (more or []) + (boostsrl or []),
            tables,
            schema,
            mapping,
            query,
            target=target,
            task=task,
            split=split_by,
            seeds=seeds,
            settings=set_ or (),
            out=out,
            force=force,
            json=json,
        )
        return
    if not learner:
        raise InputError("--learner: name a learner", hint=f"there are: {LEARNER_NAMES}")
    ratio = _negatives(negatives)
    chosen = entries(learner)
    split = DataSplit(groups, entities, parts, time, cuts)
    paths = (db or []) + (more or []) + (boostsrl or [])
    given = [text.partition("=")[2].strip() for text in (*(set_ or ()), *(try_ or ()))]
    check([out], force=force, data=paths, tables=tables, others=[schema, mapping, *given])
    data = read(paths, tables, schema, mapping)
    if not all(entry.load().reads_numbers for entry in chosen.values()):
        data = data.banded()
    queries, learners = _asked_of(chosen, data, query, boostsrl or (), set_ or (), preset)
    tried = grids(chosen, try_ or ())
    contest = _contest(split, data, queries, ratio, conditional, choose_by, seeds, jobs)
    found, failed = _run_all(chosen, learners, tried, contest)
    if not found:
        raise typer.Exit(1)
    _show(found, seeds, out=out, json=json)
    if failed:
        complain("error", f"no results of {', '.join(failed)}, for the reasons above")
        raise typer.Exit(1)


def _show(found: list[Results], seeds: int, *, out: Path | None, json: bool) -> None:
    """Write and show the results of all learners, and how they compare."""
    compared = _compared(found)
    if out is not None:
        text = json_text.dumps(plain(found, compared), indent=1, ensure_ascii=False)
        write_files({out: text + "\n"})
    if json:
        print_json(plain(found, compared))
    else:
        screen = console()
        for results in found:
            print_folds(screen, results, seeds)
        print_means(screen, found)
        print_comparisons(screen, compared)
        if out is not None:
            screen.print(f"\nwritten to {out}")


def _of_rows(
    learners: list[str],
    paths: list[Path],
    tables: str | None,
    schema: Path | None,
    mapping: Path | None,
    query: str,
    *,
    target: str,
    task: Path | None,
    split: Literal["auto", "time", "random"],
    seeds: int,
    settings: Sequence[str],
    out: Path | None,
    force: bool,
    json: bool,
) -> None:
    """Evaluate on rows of tables, or atoms of databases."""
    if query or (target and task is not None):
        raise InputError("give one of --target, --task and --query")
    if task is not None and (tables is None or paths):
        raise InputError("--task: give the data with --tables")
    chosen = entries(learners)
    check([out], force=force, data=paths, tables=tables, others=[schema, mapping, task])
    if tables is None or paths:
        data, asked = read(paths, tables, schema, mapping), target
    else:
        given = ml.tables_data(tables, ddl=schema, mapping=mapping, task=task, target=target)
        data, asked = given.data, target if given.task is None else given.task.target
    evaluate_rows(chosen, settings, data, asked, split, seeds, out=out, json=json)


def _negatives(text: str) -> Literal["all"] | float:
    if text == "all":
        return "all"
    try:
        ratio = float(text)
    except ValueError:
        ratio = math.nan
    if not 0 < ratio < math.inf:
        raise InputError(f"--negatives {text}: expected all, or a number above 0")
    return ratio


def _asked_of(
    chosen: dict[str, Entry],
    data: ml.Data,
    query: str,
    boostsrl: Sequence[Path],
    settings: Sequence[str],
    preset: str | None,
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the predicates to predict, and the learners with their settings."""
    background = background_of(boostsrl)
    if background is not None and not query.strip():
        query = ",".join(background.targets)
    queries = _queries(query, data)
    learners = with_settings(chosen, settings, queries, _asks_for_links(queries, data), preset)
    return queries, {
        name: with_background(each, background, settings) for name, each in learners.items()
    }


def _queries(text: str, data: ml.Data) -> tuple[str, ...]:
    found = names(text, "--query")
    for name in found:
        data.databases[0].schema[name]
    if not found and data.mapping is not None:
        found = data.mapping.with_role("value", "flag")
    if not found:
        raise InputError("--query: name the predicates to predict")
    return found


def _asks_for_links(query: tuple[str, ...], data: ml.Data) -> bool:
    """Whether a predicate that relates entities is to be predicted, no attribute of them."""
    return not set(data.tables.with_role("value", "flag")).issuperset(query)


def _contest(
    split: DataSplit,
    data: ml.Data,
    query: tuple[str, ...],
    negatives: Literal["all"] | float,
    conditional: bool,
    metric: str,
    seeds: int,
    jobs: int,
) -> _Contest:
    return _Contest(
        make_folds(split, data),
        query,
        negatives,
        ml.Conditionals() if conditional else ml.Marginals(hide=query),
        () if data.mapping is None else data.mapping.with_role("value"),
        data.mapping,
        split.types,
        metric,
        seeds,
        jobs,
    )


def _run_all(
    chosen: dict[str, Entry],
    learners: dict[str, Any],
    tried: dict[str, dict[str, list[Any]]],
    contest: _Contest,
) -> tuple[list[Results], list[str]]:
    """Run all learners; where there are several, one that cannot learn stops no other."""
    found: list[Results] = []
    failed: list[str] = []
    for name, learner in learners.items():
        try:
            ready = from_tables(learner, chosen[name], contest.mapping)
            found.append(_run(name, _tuned(ready, tried[name], contest), contest))
        except MlnError as error:
            if len(learners) == 1:
                raise
            complain("error", f"{name}: {error}")
            failed.append(name)
    return found, failed


def _tuned(learner: Any, grid: dict[str, list[Any]], contest: _Contest) -> Any:
    """Return the learner, or one that first chooses among the values to try."""
    if not grid:
        return learner
    return ml.Tuned(
        learner,
        grid,
        contest.query,
        contest.metric,
        contest.negatives,
        contest.given,
        contest.attributes,
        contest.types,
    )


def _run(name: str, learner: Any, contest: _Contest) -> Results:
    with Reporter(name) as report:
        return ml.cross_validate(
            learner,
            contest.folds,
            contest.query,
            negatives=contest.negatives,
            seeds=contest.seeds,
            jobs=contest.jobs,
            given=contest.given,
            attributes=contest.attributes,
            name=name,
            progress=report,
        )


def _compared(found: Sequence[Results]) -> list[LearnerComparison]:
    """Compare the first learner with each of the others, by every metric."""
    first, *others = found
    return [ml.compare(first, other, metric) for other in others for metric in first.metrics]
