"""Triples as data of other learners, with path rules as tests that these may take (``--paths``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mlnlearn as ml
from mlnlearn.cli.outputs import beside_of
from mlnlearn.cli.show import complain
from mlnlearn.errors import InputError, Location
from mlnlearn.registry import Entry

_SHARE = 0.2  # of a limited time, that is spent on finding paths


def check_path_tests(
    learner: str,
    entry: Entry,
    triples: Path | None,
    valid: Path | None,
    paths: int,
    schema: Path | None,
) -> None:
    """Refuse options of triples that a learner has no use for."""
    if triples is None:
        if valid or paths:
            raise InputError("--valid and --paths go with --triples")
    elif learner == "paths":
        if paths or schema:
            raise InputError("--paths and --schema go with learners of predicates, not with paths")
    elif valid is not None:
        raise InputError(f"--valid goes with the learner paths, not with {learner}")
    elif paths and not entry.has("target"):
        raise InputError(
            f"--paths goes with learners of one relation, such as rdn-b, not {learner}"
        )
    elif paths and schema:
        raise InputError("--schema and --paths do not go together")


def path_rules_beside(model: Path) -> Iterator[Path]:
    """Yield the file beside a model that has the path rules which are among its tests."""
    return beside_of(model, ".paths.tsv")


def path_rules(graph: ml.Graph, run: ml.Run) -> ml.PathModel:
    """Find path rules, to be tests of another learner."""
    seconds = None if run.max_seconds is None else _SHARE * run.max_seconds
    short = ml.Run(max_seconds=seconds, workers=run.workers, progress=run.progress)
    return ml.Paths(aggregation="maximum", constants=False).fit(graph, short).model


def triples_data(
    graph: ml.Graph, schema: Path | None, tests: tuple[Sequence[str], int], out: Path, run: ml.Run
) -> ml.Data:
    """Return a graph as data of a learner of predicates.

    Parameters
    ----------
    schema
        A file that declares the types of relations, if any does.
    tests
        Relations, and how many paths of each are relations of their own.
    out
        The file of the model, beside which the rules of these paths are written.
    """
    relations, most = tests
    if most:
        rules = path_rules(graph, run)
        for beside in path_rules_beside(out):
            ml.save_path_views(beside, rules, relations, most=most)
        return ml.as_data(ml.path_views(rules, relations, most=most))
    if schema is None:
        return ml.as_data(graph)
    declared = ml.MLN.read(schema).schema
    if not any(name in declared for name in ml.relation_predicates(graph.relations).values()):
        raise InputError(
            "none of these predicates is a relation of --triples", Location(str(schema))
        )
    return ml.as_data(ml.graph_database(graph, schema=declared))


def graph_for(path: Path, model: Any, graph: ml.Graph) -> ml.Graph:
    """Return a graph with the relations that a model reads: those of its path rules, too."""
    missing = _missing(model, graph)
    for beside in path_rules_beside(path):
        if missing and beside.is_file():
            graph = ml.read_path_views(beside, graph)
            missing = _missing(model, graph)
    if missing:
        complain(
            "warning",
            f"the model reads what the triples lack, and it is taken as never true: "
            f"{', '.join(missing[:5])}",
        )
    return graph


def _missing(model: Any, graph: ml.Graph) -> list[str]:
    """Return the predicates of a model that no relation stands for."""
    there = set(ml.relation_predicates(graph.relations).values())
    schema = getattr(model, "schema", None)
    return [] if schema is None else [p.name for p in schema.predicates if p.name not in there]
