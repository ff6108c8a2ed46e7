"""``mlnlearn learn``: learn rules and their weights from data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mlnlearn as ml
from mlnlearn.cli.completion import learner_names
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
    TimeColumnOption,
    TriplesOption,
    UntilOption,
    ValidOption,
    cut_off,
    names,
    option,
)
from mlnlearn.cli.outputs import beside_of, check, model_files
from mlnlearn.cli.path_tests import check_path_tests, path_rules_beside, triples_data
from mlnlearn.cli.progress import fit, resumable
from mlnlearn.cli.rows import learn_rows
from mlnlearn.cli.show import (
    SHOWN,
    console,
    heading,
    print_json,
    print_more,
    print_table,
    rules_heading,
)
from mlnlearn.cli.sources import (
    background_of,
    keep_mapping,
    mapping_beside,
    read,
    with_background,
)
from mlnlearn.cli.triples import learn_triples, read_split, relation_targets, triples_learner
from mlnlearn.errors import InputError
from mlnlearn.registry import BASES, LEARNERS, Entry
from mlnlearn.settings import preset_of

if TYPE_CHECKING:  # loading the learners can wait until the command runs
    from mlnlearn.structure.saved import AnyModel


Weighted = list[tuple[str, float | None]]


_LearnerOption = Annotated[
    str,
    typer.Option(help=f"Which learner: {LEARNER_NAMES}.", autocompletion=learner_names),
]
_PredictOption = Annotated[
    str,
    option(
        metavar="TABLE.COLUMN",
        help="Make the examples from --tables: what this column will hold (with --for and "
        "--within).",
    ),
]
_ForOption = Annotated[
    str, option("--for", metavar="TABLE", help="The entities that --predict is about.")
]
_WithinOption = Annotated[str, option(metavar="SPAN", help="How far ahead: 12h, 30d, 8w, 6m, 1y.")]
_TargetOption = Annotated[
    str,
    option(help="What to learn rules for: predicates, with commas; of tables, TABLE.COLUMN."),
]
_BaseOption = Annotated[
    str | None,
    typer.Option(
        help=f"The learner that sem and h-sem are built on: {', '.join(BASES)}.",
        show_default=BASES[0],
    ),
]
_SettingsOption = Annotated[
    bool, typer.Option("--settings", help="List the settings of the learner, and stop.")
]
_SeedOption = Annotated[
    int | None,
    typer.Option(min=0, help="Same seed, same result, where a learner draws.", show_default="0"),
]
_MaxSecondsOption = Annotated[
    float | None, option(help="Stop after so long, with the best model so far.")
]
_CheckpointOption = Annotated[
    Path | None,
    option(help="Keep intermediate results here; a run that was stopped goes on from there."),
]


def learn(
    learner: _LearnerOption = "auto",
    db: NoDatabasesOption = None,
    more: MoreArgument = None,
    schema: SchemaOption = None,
    tables: TablesOption = None,
    triples: TriplesOption = None,
    valid: ValidOption = None,
    order: OrderOption = "",
    path_tests: PathTestsOption = 0,
    boostsrl: BoostSRLOption = None,
    task: TaskOption = None,
    predict: _PredictOption = "",
    for_: _ForOption = "",
    within: _WithinOption = "",
    until: UntilOption = None,
    time_column: TimeColumnOption = None,
    mapping: MappingOption = None,
    target: _TargetOption = "",
    base: _BaseOption = None,
    preset: PresetOption = None,
    set_: SetOption = None,
    settings: _SettingsOption = False,
    seed: _SeedOption = None,
    max_seconds: _MaxSecondsOption = None,
    jobs: JobsOption = 1,
    checkpoint: _CheckpointOption = None,
    out: Annotated[Path | None, option(help="Write the model here; by default TARGET.mln.")] = None,
    force: ForceOption = False,
    json: JsonOption = False,
    engine: EngineOption = None,
    memory: MemoryOption = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
) -> None:
    """Learn rules and their weights from databases or tables."""
    entry = LEARNERS[learner]
    if settings:
        for name, each in {learner: entry, **_under(learner, entry, base)}.items():
            _print_settings(name, each)
        return
    run = ml.Run(max_seconds=max_seconds, workers=jobs, checkpoint=checkpoint)
    background = background_of(boostsrl or ())
    targets = names(target, "--target")
    if background is not None and not targets and (entry.has("target") or entry.has("base")):
        targets = background.targets
    made = _within(predict, for_, within, task)
    if tables is not None and not (targets or made or task) and learner in ("auto", "boost"):
        raise InputError(
            "--target: name the column to predict, as TABLE.COLUMN",
            hint="inspect --tables shows the columns; --task or --predict ask about moments",
        )
    out = out or _named_after(targets, predict, task)
    if triples is not None:
        if db or more or tables or boostsrl or task or made:
            raise InputError("give the data with --triples alone")
        learner, relations, targets = triples_learner(learner), targets, relation_targets(targets)
        entry = LEARNERS[learner]
    check_path_tests(learner, entry, triples, valid, path_tests, schema)
    if task is None and made is None:  # settings are checked before data are read
        chosen = configured(learner, entry, set_ or (), targets, seed, base, preset)
        chosen = with_background(chosen, background, set_ or ())
    if triples is not None and isinstance(chosen, ml.Paths):
        with resumable(run):
            learn_triples(chosen, (triples, valid), order, run, out, force=force, json=json)
        return
    paths, cut = (db or []) + (more or []) + (boostsrl or []), cut_off(until, time_column)
    given = [schema, mapping, task, *(text.partition("=")[2].strip() for text in set_ or ())]
    rows = learner in ("auto", "boost")
    files = _files(out, entry, rows=rows, tables=tables is not None, path_tests=path_tests > 0)
    check(files, force=force, data=paths, tables=tables, others=[*given, triples])
    if checkpoint is not None:  # whose it is, is said in it
        check([checkpoint], force=True, data=[*paths, *files], tables=tables, others=given)
    if triples is None:
        told = (cut, task, made)
        stay = entry.tables or rows
        data, asked = _data(paths, tables, schema, mapping, *told, target, stay=stay)
    else:
        graph, asked = read_split(triples, order=order).train, None
        data = triples_data(graph, schema, (relations, path_tests), out, run)
    if asked or (tables is not None and targets and not rows):
        called = (asked,) if asked else [ml.predicate_of(data, target) for target in targets]
        chosen = configured(learner, entry, set_ or (), called, seed, base, preset)
    with resumable(run):
        if rows:
            learn_rows(learner, chosen, data, run, out, json=json)
        else:
            ordered = (base or learner) in ("mln-bt", "rdn-b", "sem", "h-sem")
            _learn_rules(learner, chosen, data, run, out, json=json, ordered=ordered)


def _files(out: Path, entry: Entry, *, rows: bool, tables: bool, path_tests: bool) -> list[Path]:
    """Return the files that a model will be written to."""
    beside = entry.tables or entry.has("target") or entry.has("base")
    files = [*model_files(out, beside), *(beside_of(out, ".html") if rows else ())]
    # of models that do not say themselves how tables are read
    if tables and not entry.tables and not rows and out.name:
        files.append(mapping_beside(out))
    return [*files, *(path_rules_beside(out) if path_tests else ())]


def _named_after(targets: Sequence[str], predict: str, task: Path | None) -> Path:
    """Return the file for a model where none is named: called as what it predicts.

    Examples
    --------
    >>> str(_named_after(["order items.Größe (cm)"], "", None))
    'Größe_cm.mln'
    """
    asked = task.stem if task else (targets[0] if targets else predict).rpartition(".")[2]
    name = "_".join(re.findall(r"[\w-]+", asked))
    if not name:
        raise InputError("--out: name a file for the model")
    return Path(f"{name}.mln")


def _learn_rules(
    name: str, learner: Any, data: ml.Data, run: ml.Run, out: Path, *, json: bool, ordered: bool
) -> None:
    """Learn a model, write it, and show its rules."""
    with ml.measured() as cost:
        model = fit(name, learner, data, run).model
    model.save(out)
    keep_mapping(out, model, data)
    rules = _rules(model)
    if json:
        print_json(
            {
                "learner": name,
                "rules": [{"rule": rule, "weight": weight} for rule, weight in rules],
                "train_cpu_seconds": cost.cpu_seconds,
                "peak_memory_mb": cost.megabytes,
            }
        )
        return
    _print_rules(rules, ordered=ordered)
    console().print(f"\n{cost}; written to {out}")


def configured(
    name: str,
    entry: Entry,
    texts: Sequence[str],
    target: Sequence[str],
    seed: int | None,
    base: str | None = None,
    preset: str | None = None,
) -> Any:
    """Return a learner with the settings of the command line.

    Examples
    --------
    >>> configured("rdn-b", LEARNERS["rdn-b"], ["steps=3"], ["smokes"], 1).steps
    3
    >>> texts = ["worlds=5", "max_leaves=3"]
    >>> learner = configured("sem", LEARNERS["sem"], texts, ["smokes"], 1, "rdn-b")
    >>> learner.worlds, learner.base.max_leaves
    (5, 3)
    >>> configured("gslp", LEARNERS["gslp"], ["max_literals=4"], [], None, preset="paper").beam
    """
    from mlnlearn.cli.settings import parse_settings  # noqa: PLC0415 - loads the models

    under = _under(name, entry, base)
    entries = {name: entry, **under}
    given = parse_settings(texts, entries)
    known = {
        label: {} if preset is None else preset_of(each.load(), preset, label)
        for label, each in entries.items()
    }
    if under:
        (below,) = under
        if "steps" in given[below]:
            raise InputError(
                f"--set steps: {name} makes iterations times trees_per_step steps",
                hint="set iterations or trees_per_step",
            )
        return _made(
            name,
            entry,
            {**known[name], **given[name]},
            (),
            seed,
            base=_made(below, under[below], {**known[below], **given[below]}, target, seed),
        )
    return _made(name, entry, {**known[name], **given[name]}, target, seed)


def _under(name: str, entry: Entry, base: str | None) -> dict[str, Entry]:
    """Return the learner that another is built on, by name; none where it needs none."""
    if entry.has("base"):
        if base is not None and base not in BASES:
            raise InputError(f"--base: no {base!r}", hint=f"there are: {', '.join(BASES)}")
        return {base or BASES[0]: LEARNERS[base or BASES[0]]}
    if base is not None:
        raise InputError(f"--base: {name} is not built on another learner")
    return {}


def _made(
    name: str,
    entry: Entry,
    settings: dict[str, Any],
    target: Sequence[str],
    seed: int | None,
    **more: Any,
) -> Any:
    given = settings | dict(entry.fixed) | more
    if seed is not None:
        if not entry.has("seed"):
            raise InputError(f"--seed: {name} draws nothing at random")
        given["seed"] = seed
    if entry.has("target"):
        if not target:
            raise InputError(
                f"--target: {name} needs the predicates to learn rules for",
                hint="as in --target advisedBy; a file of triples is given with --triples",
            )
        given["target"] = target[0] if len(target) == 1 else tuple(target)
    elif target:
        raise InputError(f"--target: {name} learns rules for all predicates together")
    return entry.load()(**given)


def _data(
    paths: list[Path],
    tables: str | None,
    schema: Path | None,
    mapping: Path | None,
    cut: ml.CutOff | None,
    task: Path | None,
    within: ml.Within | None,
    target: str,
    *,
    stay: bool,
) -> tuple[ml.Data, str | None]:
    """Read the data, and what a task asks for: databases, or tables, which may `stay` in place."""
    if tables is None:
        for option, given in (("--until", cut), ("--task", task), ("--predict", within)):
            if given is not None:
                raise InputError(f"{option}: give the data with --tables")
    if tables is None or paths:
        return read(paths, tables, schema, mapping), None
    if stay and not (cut or task or within):
        left = ml.left_in_place(tables, schema, mapping)
        if left is not None:
            return left, None
    found = ml.tables_data(
        tables,
        ddl=schema,
        mapping=mapping,
        cut_off=cut,
        task=task,
        within=within,
        target=target,
    )
    return found.data, None if found.task is None else found.task.target


def _within(predict: str, entity: str, span: str, task: Path | None) -> ml.Within | None:
    if not (predict or entity or span):
        return None
    if task is not None or not (predict and entity and span):
        raise InputError("--predict, --for and --within go together, and not with --task")
    return ml.Within(predict, entity, span)


def _rules(model: AnyModel) -> Weighted:
    if isinstance(model, ml.PathModel):
        return [(str(rule), rule.weight_tail) for rule in model.rules()]
    if isinstance(model, ml.BoostedModel | ml.RelationalModel):
        return list(model.rules())
    network = model if isinstance(model, ml.MLN) else model.mln()
    return [(str(rule.formula), rule.weight) for rule in network.rules]


def _print_rules(rules: Weighted, *, ordered: bool) -> None:
    """Print the rules: as they stand where their order has a meaning, else the strongest first."""
    screen = console()
    screen.print(rules_heading(len(rules)))
    if ordered:
        screen.print("of each tree, the first rule that has a grounding counts")
    # by what is shown of the weight, so that round-off does not decide
    ranked = rules if ordered else sorted(rules, key=lambda r: (-round(abs(r[1] or 0.0), 4), r[0]))
    shown = [
        (rule, "always" if weight is None else f"{weight:+.4f}") for rule, weight in ranked[:SHOWN]
    ]
    print_table(screen, ("rule", "weight"), shown)
    print_more(screen, len(rules), "the model has all")


def _print_settings(name: str, entry: Entry) -> None:
    from mlnlearn.cli.settings import explained, settings_of  # noqa: PLC0415 - loads the models

    screen = console()
    screen.print(heading(f"{name}: {entry.summary}"))
    rows = [explained(setting) for setting in settings_of(entry).values()]
    print_table(screen, ("setting", "default", "what it is"), rows, words=(0, 1, 2))
