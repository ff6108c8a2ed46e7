"""Commands on knowledge graphs: what ``--triples`` makes of learn, evaluate, infer and explain."""

from __future__ import annotations

import json as json_text
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlnlearn as ml
from mlnlearn.cli.outputs import check, model_files
from mlnlearn.cli.path_tests import graph_for, path_rules
from mlnlearn.cli.progress import Reporter, fit
from mlnlearn.cli.show import (
    SHOWN,
    complain,
    console,
    heading,
    print_json,
    print_table,
)
from mlnlearn.errors import InputError
from mlnlearn.files import write_files
from mlnlearn.registry import LEARNERS

if TYPE_CHECKING:  # loading the models can wait until the command runs
    from mlnlearn.evaluate.measure import Cost
    from mlnlearn.model.ranking import Ranking


@contextmanager
def remarks_as_warnings() -> Iterator[None]:
    """Print what is strange in data as warnings of the program."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        complain("warning", str(warning.message))


def read_split(
    triples: Path, valid: Path | None = None, test: Path | None = None, *, order: str = ""
) -> ml.GraphSplit:
    """Read the files of a graph."""
    with remarks_as_warnings():
        return ml.read_graph(triples, valid, test, order=order)


def triples_learner(name: str) -> str:
    """Return the learner of triples, where the choice is left to us."""
    return "paths" if name == "auto" else name


def relation_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """Return the predicates that relations become, of which a learner is to learn rules."""
    return tuple(ml.relation_predicates(targets).values())


def fit_triples(learner: ml.Paths, split: ml.GraphSplit, run: ml.Run) -> tuple[ml.PathModel, Cost]:
    """Run the learner, showing how far it is."""
    with ml.measured() as cost:
        fitted = fit("paths", learner, split, run)
    return fitted.model, cost


def learn_triples(
    learner: ml.Paths,
    files: tuple[Path, Path | None],
    order: str,
    run: ml.Run,
    out: Path,
    *,
    force: bool,
    json: bool,
) -> None:
    """Learn path rules, write them, and show the surest; as a network where `out` is ``.mln``.

    The files are those of triples to learn from, and to choose by.
    """
    outputs = [out] if out.suffix == ".mln" else list(model_files(out, beside=True))
    rules = [Path(learner.rules)] if learner.rules else []
    check(outputs, force=force, data=[*(file for file in files if file), *rules])
    model, cost = fit_triples(learner, read_split(*files, order=order), run)
    if out.suffix == ".mln":
        _learn_network(model, cost, out, json=json)
        return
    model.save(out)
    if json:
        print_json(
            {
                "learner": "paths",
                "closed_rules": len(model.closed),
                "constant_rules": len(model.constants),
                **_as_json(cost),
            }
        )
        return
    show_rules(model)
    console().print(f"\n{cost}; written to {out}")


def _as_json(cost: Cost) -> dict[str, float]:
    return {"train_cpu_seconds": cost.cpu_seconds, "peak_memory_mb": cost.megabytes}


def _learn_network(model: ml.PathModel, cost: Cost, out: Path, *, json: bool) -> None:
    """Learn the weights of the best rules as a network, write it, and show it."""
    with ml.measured() as weighing:
        mln = ml.path_network(model)
    mln.save(out)
    both = cost + weighing
    if json:
        listed = [{"rule": str(rule.formula), "weight": rule.weight} for rule in mln.rules]
        print_json({"learner": "paths", "rules": listed, **_as_json(both)})
        return
    screen = console()
    screen.print(heading(f"{len(mln.rules):,} weighted formulas"))
    best = sorted(mln.rules, key=lambda rule: -abs(rule.weight or 0.0))[:SHOWN]
    rows = [(str(rule.formula), f"{rule.weight:.3f}") for rule in best]
    print_table(screen, ("formula", "weight"), rows, words=(0,))
    screen.print(f"\n{both}; written to {out}")


def show_rules(model: ml.PathModel) -> None:
    """Print the surest rules."""
    screen = console()
    screen.print(
        heading(f"{len(model.closed):,} closed rules, {len(model.constants):,} with constants")
    )
    rows = []
    for rule, _ in zip(model.rules(), range(SHOWN), strict=False):
        rows.append((str(rule), f"{rule.support:,}", f"{rule.body:,}", f"{rule.confidence:.3f}"))
    print_table(screen, ("rule", "support", "body", "confidence"), rows)
    more = len(model.closed) + len(model.constants) - len(rows)
    if more:
        screen.print(f"the file of the model has {more:,} more")


def evaluate_triples(
    names: Sequence[str],
    settings: Sequence[str],
    split: ml.GraphSplit,
    *,
    paths: int,
    jobs: int,
    out: Path | None,
    json: bool,
) -> None:
    """Learn from the training triples and rank the answers of the test triples."""
    if len(names) != 1:
        raise InputError("--triples goes with one learner")
    if not split.test.shape[1]:
        raise InputError("--test: there are no triples to rank")
    name = triples_learner(names[0])
    model, cost = _ranker(name, settings, split, paths, ml.Run(workers=jobs))
    with ml.measured() as scoring:
        ranking = model.rank(split.test, filtered=split.all)
    found = {
        "learner": name,
        **ranking.to_dict(),
        "cpu_seconds": (cost + scoring).cpu_seconds,
        "learn_cpu_seconds": cost.cpu_seconds,
        "score_cpu_seconds": scoring.cpu_seconds,
        "peak_mb": (cost + scoring).megabytes,
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


def _ranker(
    name: str, settings: Sequence[str], split: ml.GraphSplit, paths: int, run: ml.Run
) -> tuple[ml.PathModel | ml.TripleRanker, Cost]:
    """Learn, by any learner whose models give atoms a probability, and return what ranks."""
    from mlnlearn.cli.learn import configured  # noqa: PLC0415 - which imports this module

    entry = LEARNERS[name]
    if paths and not entry.has("target"):
        raise InputError(f"--paths goes with learners of one relation, such as rdn-b, not {name}")
    if name == "paths":
        return fit_triples(configured(name, entry, settings, (), None), split, run)
    if entry.tables:
        raise InputError(
            f"{name} learns from tables, and a graph has none",
            hint="triples are ranked by paths, or by learners of predicates such as rdn-b",
        )
    graph = split.train
    with Reporter(name) as report, ml.measured() as cost:
        run = replace(run, progress=report)
        if not (entry.has("target") or entry.has("base")):
            model: Any = configured(name, entry, settings, (), None).fit(graph, run).model
            return ml.TripleRanker(model, graph), cost
        predicates = ml.relation_predicates(graph.relations)
        asked = [graph.relations[code] for code in sorted(set(split.test[1].tolist()))]
        learners = {
            relation: configured(name, entry, settings, (predicates[relation],), None)
            for relation in asked
            if (graph.triples[1] == graph.relations.code(relation)).any()
        }
        views = {}
        if paths:
            rules = path_rules(graph, run)
            views = {relation: ml.path_views(rules, relation, most=paths) for relation in learners}
        model = ml.learn_relations(learners, graph, run, views)
    return ml.TripleRanker(model, graph, views), cost


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


def read_ranker(model: Path, triples: Path, order: str) -> ml.PathModel | ml.TripleRanker:
    """Read a model, and the triples to ask it about."""
    found = ml.load_model(model)
    graph = read_split(triples, order=order).train
    if isinstance(found, ml.PathModel):
        return found.with_graph(graph)
    return ml.TripleRanker(found, graph_for(model, found, graph))


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
    found = read_ranker(model, triples, order)
    started = time.process_time()
    answers = found.top(relation, head=head, tail=tail, k=k)
    seconds = time.process_time() - started
    if out is not None:
        ml.write_ranked(out, answers)
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
    found = read_ranker(model, triples, order)
    if not isinstance(found, ml.PathModel):
        raise InputError(
            "--triple goes with a model of the learner paths",
            hint="explain atoms of other models with --db and --atom",
        )
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


def triples_page(
    model: ml.PathModel,
    files: tuple[Path | None, Path | None, Path | None],
    order: str,
    title: str,
    *,
    markdown: bool = False,
) -> str:
    """Return a page about path rules; with files of test triples, on how these rank, too."""
    write = ml.graph_markdown if markdown else ml.graph_report
    triples, valid, test = files
    if test is None:
        return write(model, title=title)
    if triples is None:
        raise InputError("--test: name the known triples with --triples, too")
    split = read_split(triples, valid, test, order=order)
    if not split.test.shape[1]:
        raise InputError("--test: there are no triples to rank")
    ranking = model.with_graph(split.train).rank(split.test, filtered=split.all)
    return write(model, ranking, title=title)
