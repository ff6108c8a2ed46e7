"""Entity resolution on Cora with a hand-written network: one joint query over four predicates.

Run it with ``python -m studies.cora_resolution``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlnlearn.counting.groundings import enumerate_groundings
from mlnlearn.counting.stack import Stack
from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import is_among, pack
from mlnlearn.evaluate.metrics import scores
from mlnlearn.infer.query import query
from mlnlearn.logic.atoms import Atom, Variable
from mlnlearn.model.answers import Answers, AnswerTable
from mlnlearn.model.mln import MLN
from mlnlearn.weights.generative import learn_pseudolikelihood
from studies.common import Options, Study, markdown_table, run, run_tasks

FIELDS = {"Author": "author", "Title": "title", "Venue": "venue"}
QUERY = ("sameBib", "sameAuthor", "sameTitle", "sameVenue")
# with transitivity there are 200 times as many ground clauses, and a sample takes as much longer
SAMPLING: dict[bool, dict[str, Any]] = {
    False: {"samples": 2000, "burn_in": 100, "chains": 2},
    True: {"samples": 40, "burn_in": 20, "chains": 2},
}

STUDY = Study(
    "cora_resolution",
    "Entity resolution on Cora, one joint query",
    "The four `same*` predicates of fold 1 are unknown together, given all words and fields. A "
    "pair is asked for where its two things share a word (bibliographies: in some field); all "
    "other pairs are taken as different. The rules are those of Singla & Domingos (2006) in "
    "spirit, written by hand; weights are learned by pseudo-likelihood on folds 2–5. Pairs that "
    "are not asked for count as predicted with probability 0 in the metrics.",
    {
        "samples without transitivity": SAMPLING[False],
        "samples with transitivity": SAMPLING[True],
        "sampler": "auto",
        "weights": "PLL, sigma 10",
    },
    seeds=1,
    minutes=3.5,
    of_papers=True,
)


def rules(transitive: bool) -> str:
    """Return the hand-written rules."""
    lines = field_rules()
    lines += [f"{same}(x,y) => {same}(y,x)" for same in QUERY]
    if transitive:
        lines += [f"{same}(x,y) ^ {same}(y,z) => {same}(x,z)" for same in QUERY]
    return "\n".join(lines)


def field_rules() -> list[str]:
    """Return those about words in common, words not in common, and same fields of the same."""
    lines = []
    for name, link in FIELDS.items():
        same = f"same{name}"
        lines += [
            f"hasWord{name}(a,w) ^ hasWord{name}(b,w) => {same}(a,b)",
            f"hasWord{name}(a,w) ^ !hasWord{name}(b,w) => !{same}(a,b)",
            f"{link}(x,a) ^ {link}(y,b) ^ {same}(a,b) => sameBib(x,y)",
            f"{link}(x,a) ^ {link}(y,b) ^ sameBib(x,y) => {same}(a,b)",
        ]
    return lines


def canopies(database: Database) -> dict[str, np.ndarray]:
    """Return, per query predicate, the pairs that share a word."""
    stack = Stack([database])
    schema = database.schema
    a, b = Variable("a"), Variable("b")
    found: dict[str, np.ndarray] = {}
    of_bibs = []
    for name, link in FIELDS.items():
        words = schema[f"hasWord{name}"]
        shared = [words("a", "w"), words("b", "w")]
        found[f"same{name}"] = _pairs(stack, shared, a, b)
        fields = [schema[link]("x", "a"), schema[link]("y", "b"), *shared]
        of_bibs.append(_pairs(stack, fields, Variable("x"), Variable("y")))
    found["sameBib"] = np.unique(np.concatenate(of_bibs, axis=1), axis=1)
    return found


def _pairs(stack: Stack, atoms: list[Atom], left: Variable, right: Variable) -> np.ndarray:
    pieces = [
        np.unique(np.stack([piece.columns[left], piece.columns[right]]), axis=1)
        for piece in enumerate_groundings(stack, atoms)
    ]
    return np.unique(np.concatenate(pieces, axis=1), axis=1)


def evidence(database: Database) -> Database:
    """Forget the truth of the query predicates; the pairs of the canopies are unknown."""
    hidden = database.without_facts(QUERY)
    return Database.from_codes(
        database.schema,
        database.domains,
        hidden.true,
        unknown=canopies(database),
        name=database.name,
    )


def measure(database: Database, table: AnswerTable) -> tuple[int, dict[str, float]]:
    """Return the number of atoms asked for, and metrics over all ground atoms."""
    name = table.predicate.name
    sizes = domain_sizes(database, name)
    total = int(np.prod(sizes))
    probability = np.zeros(total)
    probability[pack(table.columns, sizes)] = table.probability
    facts = np.sort(pack(database.facts(name), sizes))
    truth = is_among(np.arange(total), facts)
    return len(table), scores(truth, probability, metrics=["auc_pr", "cll"])


@dataclass(frozen=True)
class Task:
    """One joint query."""

    transitive: bool


def ask(task: Task) -> dict[str, str]:
    """Learn the weights, ask, and return the section about it."""
    folds = benchmark("cora")
    plain = folds[0].schema.without_functional()
    stripped = [
        Database.from_codes(plain, fold.domains, fold.true, name=fold.name) for fold in folds
    ]
    test = stripped[0]
    mln = MLN.parse(f"{plain}\n{rules(task.transitive)}")
    started = time.process_time()
    model = learn_pseudolikelihood(mln, stripped[1:], weighted=False, sigma=10.0).mln
    learning = time.process_time() - started
    started = time.process_time()
    closed = [predicate.name for predicate in plain.predicates]
    answers = query(model, evidence(test), QUERY, closed=closed, **SAMPLING[task.transitive])
    asking = time.process_time() - started
    rows = []
    for table in answers.tables:
        asked, found = measure(test, table)
        rows.append([table.predicate.name, asked, f"{found['auc_pr']:.3f}", f"{found['cll']:.3f}"])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = (
        f"## {'With' if task.transitive else 'Without'} transitivity\n\n"
        + markdown_table(["predicate", "atoms asked", "AUC-PR", "CLL"], rows)
        + f"\n\nLearning {learning:.1f} CPU s, query {asking:.1f} CPU s, peak memory so far "
        f"{memory:.0f} MB. {_mixing(answers)}"
    )
    return {"text": text}


def _mixing(answers: Answers) -> str:
    """Say how the sampler fared on the largest component."""
    largest = max(answers.components, key=lambda part: part.atoms)
    unsettled = sum(not part.converged for part in answers.components)
    return (
        f"{len(answers.components)} components, {unsettled} not converged; the largest has "
        f"{largest.atoms} atoms and {largest.clauses} clauses: {largest.method}, "
        f"R̂ {_shown(largest.r_hat)}, effective sample size "
        f"{_shown(largest.effective_sample_size)}."
    )


def sections(options: Options) -> Iterator[str]:
    """Compute the page: without and with transitivity."""
    tasks = [Task(transitive) for transitive in (False, True)]
    for found in run_tasks(ask, tasks, options, "queries"):
        yield found["text"]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


if __name__ == "__main__":
    run(STUDY, sections)
