"""Commands on knowledge graphs: what ``--triples`` makes of learn, evaluate, infer and explain."""

from __future__ import annotations

import json as json_text
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mlnlearn as ml
from mlnlearn.cli.outputs import check
from mlnlearn.cli.progress import Reporter
from mlnlearn.cli.show import complain, console, heading, print_json, print_table
from mlnlearn.errors import InputError
from mlnlearn.files import write_files
from mlnlearn.registry import LEARNERS

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.data.graph import GraphSplit
    from mlnlearn.evaluate.measure import Cost
    from mlnlearn.model.paths.model import PathModel
    from mlnlearn.model.ranking import Ranking

_SHOWN = 20
_MEGABYTE = 1e6

TriplesOption = Annotated[
    Path | None,
    typer.Option(
        "--triples",
        metavar="FILE",
        help="A knowledge graph: a file of triples (head, relation, tail) with tabs or commas, or "
        "N-Triples; also gzip.",
        show_default=False,
    ),
]
OrderOption = Annotated[
    str,
    typer.Option(
        "--order",
        help='The order of the cells of --triples, such as "relation head tail".',
        show_default=False,
    ),
]
ValidOption = Annotated[
    Path | None,
    typer.Option(
        "--valid", metavar="FILE", help="Triples to choose settings by.", show_default=False
    ),
]
TestOption = Annotated[
    Path | None,
    typer.Option("--test", metavar="FILE", help="Triples to rank.", show_default=False),
]


@contextmanager
def remarks_as_warnings() -> Iterator[None]:
    """Print what is strange in data as warnings of the program."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        complain("warning", str(warning.message))


def read_split(
    triples: Path, valid: Path | None = None, test: Path | None = None, order: str = ""
) -> GraphSplit:
    """Read the files of a graph."""
    with remarks_as_warnings():
        return ml.read_graph(triples, valid, test, order=order)


def path_learner(name: str, learner: Any) -> ml.Paths:
    """Return the learner, if it is one for triples."""
    if not isinstance(learner, ml.Paths):
        raise InputError(
            f"--triples goes with the learner paths, not {name}",
            hint="other learners take databases, which triples_from_csv makes of triples",
        )
    return learner


def fit(learner: ml.Paths, split: GraphSplit, run: ml.Run) -> tuple[PathModel, Cost]:
    """Run the learner, showing how far it is."""
    from mlnlearn.evaluate.measure import measured  # noqa: PLC0415 - loads the evaluation

    with Reporter("paths") as report, measured() as cost:
        fitted = learner.fit(split, replace(run, progress=report))
    if fitted.notes.stopped:
        complain("note", f"{fitted.notes.stopped}; the model is the best so far")
    return fitted.model, cost


def learn_triples(
    learner: ml.Paths,
    split: GraphSplit,
    run: ml.Run,
    out: Path,
    *,
    json: bool,
) -> None:
    """Learn path rules, write them, and show the surest."""
    model, cost = fit(learner, split, run)
    model.save(out)
    if json:
        print_json(
            {
                "learner": "paths",
                "closed_rules": len(model.closed),
                "constant_rules": len(model.constants),
                "train_cpu_seconds": cost.cpu_seconds,
                "peak_memory_mb": cost.peak_bytes / _MEGABYTE,
            }
        )
        return
    show_rules(model)
    console().print(
        f"\n{cost.cpu_seconds:.2f} CPU seconds, {cost.peak_bytes / _MEGABYTE:,.0f} MB; "
        f"written to {out}"
    )


def show_rules(model: PathModel) -> None:
    """Print the surest rules."""
    screen = console()
    screen.print(
        heading(f"{len(model.closed):,} closed rules, {len(model.constants):,} with constants")
    )
    rows = []
    for rule, _ in zip(model.rules(), range(_SHOWN), strict=False):
        rows.append((str(rule), f"{rule.support:,}", f"{rule.body:,}", f"{rule.confidence:.3f}"))
    print_table(screen, ("rule", "support", "body", "confidence"), rows)
    screen.print("the file of the model has more")


def evaluate_triples(
    names: Sequence[str],
    settings: Sequence[str],
    split: GraphSplit,
    *,
    jobs: int,
    out: Path | None,
    json: bool,
) -> None:
    """Learn from the training triples and rank the answers of the test triples."""
    from mlnlearn.cli.settings import parse_settings  # noqa: PLC0415 - loads the models
    from mlnlearn.evaluate.measure import measured  # noqa: PLC0415 - loads the evaluation

    if len(names) != 1:
        raise InputError("--triples goes with one learner")
    if not split.test.shape[1]:
        raise InputError("--test: there are no triples to rank")
    name, entry = names[0], LEARNERS[names[0]]
    made = entry.load()(**parse_settings(settings, {name: entry})[name], **entry.fixed)
    model, cost = fit(path_learner(name, made), split, ml.Run(workers=jobs))
    with measured() as scoring:
        ranking = model.rank(split.test, filtered=split.all)
    found = {
        "learner": "paths",
        **ranking.to_dict(),
        "cpu_seconds": cost.cpu_seconds + scoring.cpu_seconds,
        "learn_cpu_seconds": cost.cpu_seconds,
        "score_cpu_seconds": scoring.cpu_seconds,
        "peak_mb": max(cost.peak_bytes, scoring.peak_bytes) / _MEGABYTE,
        "remarks": list(split.remarks),
    }
    if out is not None:
        write_files({out: json_text.dumps(found, indent=1, ensure_ascii=False) + "\n"})
    if json:
        print_json(found)
        return
    show_ranking(ranking)
    console().print(
        f"\nlearned in {cost.cpu_seconds:.1f} CPU seconds, ranked in {scoring.cpu_seconds:.1f}; "
        f"{found['peak_mb']:,.0f} MB"
    )


def show_ranking(ranking: Ranking) -> None:
    """Print metrics, in all and by relation."""
    screen = console()
    screen.print(heading(str(ranking)))
    if ranking.unknown:
        screen.print(f"{ranking.unknown:,} answers are unknown to the training data: ranked last")
    rows = []
    for name, part in sorted(ranking.by_relation().items(), key=lambda p: -p[1]["queries"]):
        numbers = (part[key] for key in ("mrr", "hits_at_1", "hits_at_3", "hits_at_10"))
        sides = (part.get(side, {}).get("mrr") for side in ("head", "tail"))
        rows.append(
            (
                name,
                f"{part['queries']:,}",
                *(f"{number:.3f}" for number in numbers),
                *("" if side is None else f"{side:.3f}" for side in sides),
            )
        )
    titles = ("relation", "queries", "MRR", "Hits@1", "Hits@3", "Hits@10", "heads", "tails")
    print_table(screen, titles, rows)


def read_path_model(model: Path, triples: Path, order: str) -> PathModel:
    """Read a path model, and the triples to follow its rules in."""
    found = ml.load_model(model)
    if not isinstance(found, ml.PathModel):
        raise InputError("--triples goes with a model of the learner paths")
    return found.with_graph(read_split(triples, order=order).train)


def answer_triples(
    model: Path,
    triples: Path,
    order: str,
    question: tuple[str, str | None, str | None],
    k: int,
    *,
    out: Path | None,
    force: bool,
    json: bool,
) -> None:
    """Give the best answers of a query."""
    relation, head, tail = question
    if not relation or (head is None) == (tail is None):
        raise InputError("name --relation, and either --head or --tail")
    check([out], force=force, data=[triples], model=model)
    found = read_path_model(model, triples, order)
    started = time.process_time()
    answers = found.top(relation, head=head, tail=tail, k=k)
    seconds = time.process_time() - started
    if json:
        listed = [{"entity": answer.entity, "score": answer.score} for answer in answers]
        print_json({"relation": relation, "head": head, "tail": tail, "answers": listed})
        return
    screen = console()
    shown = f"{relation}({head}, ?)" if tail is None else f"{relation}(?, {tail})"
    screen.print(heading(shown))
    rows = [(answer.entity, f"{answer.score:.3f}") for answer in answers]
    print_table(screen, ("answer", "score"), rows)
    screen.print(f"\n{seconds:.3f} CPU seconds")


def explain_triple(
    model: Path, triples: Path, order: str, triple: tuple[str, str, str], *, json: bool
) -> None:
    """Show which rules speak for a triple."""
    found = read_path_model(model, triples, order)
    explained = found.explain(*triple)
    head, relation, tail = explained.triple
    if json:
        print_json(
            {
                "head": head,
                "relation": relation,
                "tail": tail,
                "known": explained.known,
                "score": explained.score,
                "rank": explained.rank,
                "reasons": [
                    {
                        "rule": str(reason.rule),
                        "weight": reason.weight,
                        "paths": [list(path) for path in reason.paths],
                        "walks": reason.walks,
                    }
                    for reason in explained.reasons
                ],
            }
        )
        return
    screen = console()
    known = "known" if explained.known else "not known"
    screen.print(heading(f"{relation}({head}, {tail}): {known}; the tail ranks {explained.rank:g}"))
    rows = [
        (
            str(reason.rule),
            f"{reason.weight:.3f}",
            "; ".join(" – ".join(path) for path in reason.paths),
        )
        for reason in explained.reasons
    ]
    print_table(screen, ("rule", "weight", "along"), rows, words=(0, 2))
