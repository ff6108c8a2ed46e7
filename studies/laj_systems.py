"""LSM and LHL on the tables of Khosravi et al. (2012): ``python -m studies.laj_systems``.

Databases and folds are those of the study of learn-and-join; every attribute of every entity and
link is predicted from all the rest of the test database.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.evaluate.metrics import mean_of
from mlnlearn.evaluate.predictions import Predictions
from mlnlearn.model.mln import MLN
from mlnlearn.structure.lifted_graph.learn import LHL
from mlnlearn.structure.motifs.learn import LSM
from mlnlearn.structure.search.settings import SearchSettings
from studies.common import Options, Study, bold_best, markdown_table, run, run_tasks, settings_of
from studies.gslp_cells import value_clauses
from studies.laj_tables import DATA, Fold, deal
from studies.published import NOTHING, tables

LEARNERS: Mapping[str, SearchSettings[Any]] = {
    "LSM": LSM(max_literals=3, max_variables=3, walks=200, max_clauses=1000),
    "LHL": LHL(max_literals=3, max_variables=3, max_clauses=1000),
}
FOLDS = 5
METRICS = ("accuracy", "attribute_cll")
STUDY = Study(
    name="laj_systems",
    title="LSM and LHL on tables",
    about=(
        "Tables 1 to 4 of Khosravi, Schulte and Hu (2012), the columns of LSM and LHL, on the "
        "databases and folds of the page on learn-and-join. A network starts from a unit clause "
        "for each value of each attribute, which rules of variables alone could not tell apart; "
        "`parameters` are all its clauses. Of each attribute of an entity or link exactly one "
        "value is true; it is predicted from all other atoms of the test database. Means over "
        "attributes, then over folds. Clauses have at most three literals and variables here, and "
        "walks are fewer than by default, so that a run takes minutes at most; attributes of many "
        "values have clauses with constants nowhere but in the unit clauses, as in the papers. "
        "The largest figure of each data set is bold, whoever's it is."
    ),
    settings={
        **settings_of(LEARNERS),
        "folds": FOLDS,
    },
    seeds=1,
    minutes=4,
    of_papers=True,
)


@dataclass(frozen=True)
class Task:
    """One learner, and the fold to predict."""

    fold: Fold
    learner: SearchSettings[Any]


def run_task(task: Task) -> dict[str, Any]:
    """Learn from the training databases, and predict the attributes of the one held out."""
    parts, test, _ = deal(task.fold)
    places = value_places(test)
    marked = replace(test.schema, functional=places)
    plain = test.schema.without_functional()
    train = [replace(part, schema=plain) for part in parts]
    learner = replace(task.learner, initial=value_clauses(marked))
    started = time.process_time()
    model = learner.fit(train).model
    seconds = time.process_time() - started
    found = [predicted(model, replace(test, schema=plain), name, places) for name in places]
    means = mean_of(found)
    return {"parameters": len(model.rules), "seconds": seconds, **means}


def value_places(database: Database) -> dict[str, tuple[int, ...]]:
    """Return the place of the value for all attributes, those of links among them."""
    schema = database.schema
    links = {predicate.types for predicate in schema.predicates}
    found = {name: tuple(places) for name, places in schema.functional.items()}
    for predicate in schema.predicates:
        if predicate.arity > 2 and predicate.types[:-1] in links:
            found[predicate.name] = (predicate.arity - 1,)
    return found


def predicted(
    model: MLN, test: Database, name: str, places: Mapping[str, tuple[int, ...]]
) -> dict[str, float]:
    """Score the values of one attribute, each given all other atoms."""
    marked = replace(test.schema, functional={name: places[name]})
    facts = test.facts(name)
    values = test.size(marked[name].types[-1])
    columns = np.repeat(facts, values, axis=1)
    columns[-1] = np.tile(np.arange(values, dtype=columns.dtype), facts.shape[1])
    database = replace(test, schema=marked)
    probability = conditional_probabilities(replace(model, schema=marked), database, name, columns)
    label = columns[-1] == np.repeat(facts[-1], values)
    number = columns.shape[1]
    answers = Predictions(
        marked[name], np.zeros(number, np.int32), columns, probability, label, np.ones(number)
    )
    return answers.scores(METRICS, places[name])


def row_of(label: str, found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the means over folds."""
    row = [label, str(len(found))]
    for name, digits in (("parameters", 1), ("seconds", 1), ("accuracy", 3), ("attribute_cll", 3)):
        row.append(f"{np.mean([one[name] for one in found]):.{digits}f}")
    return row


def sections(options: Options) -> Iterator[str]:
    """Compute the page: a table for each data set."""
    header = ["learner", "folds", "parameters", "seconds", "accuracy", "CLL"]
    for data in DATA:
        rows = []
        for label, learner in LEARNERS.items():
            known = [tables()["khosravi2012", str(n)].cell(data, label) for n in (1, 2, 3, 4)]
            if known[0] != NOTHING:
                rows.append([f"{label}, published", "5", *known])
            tasks = [Task(Fold(data, 0, held), learner) for held in range(FOLDS)]
            rows.append(row_of(label, run_tasks(run_task, tasks, options, f"{data}, {label}")))
        shown = bold_best(rows, (4, 5), lambda _: "")
        yield f"## {data.capitalize()}\n\n{markdown_table(header, shown)}"


if __name__ == "__main__":
    run(STUDY, sections)
