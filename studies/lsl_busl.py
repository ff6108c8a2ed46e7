"""BUSL beside LSL, tables 1, 3 and 4 of Van Haaren et al.: ``python -m studies.lsl_busl``.

Each fold is held out in turn: its exact log-likelihood under the liftable clauses of BUSL with two
kinds of weights, and the predictions of BUSL's networks beside those of LSL.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from mlnlearn.model.mln import MLN
from mlnlearn.structure.bottom_up.busl import BUSL
from mlnlearn.weights.generative import learn_pseudolikelihood
from mlnlearn.weights.likelihood import learn_likelihood, liftable_part, log_likelihood
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.lsl_data import (
    ASKED,
    LEARNER,
    MOST_SECONDS,
    SIGMA,
    Asked,
    Chosen,
    Fold,
    lifted,
    predictions,
    split,
)
from studies.lsl_tallies import TIE, tally
from studies.published import figure, tables

FOLDS = {"imdb_lsl": 5, "uwcse_lsl": 5, "webkb": 4}
TRACTABLE = BUSL(max_literals=4, max_variables=3)
UNRESTRICTED = BUSL(max_literals=5, max_variables=5)
# the two kinds of networks that tables 3 and 4 compare LSL with
OPPONENTS = {"3": ("tractable BUSL", "B+LWL"), "4": ("BUSL", "BUSL")}
STUDY = Study(
    name="lsl_busl",
    title="Lifted structure learning beside BUSL",
    about=(
        "Tables 1, 3 and 4 of Van Haaren, Van den Broeck, Meert and Davis (2015), the rows of "
        "BUSL. BUSL may build clauses of up to four literals and three variables; its clauses "
        "that cannot be lifted with at most two nested sums are dropped, and the weights of the "
        "others are learned by pseudo-likelihood (B+PLL) or by likelihood (B+LWL). Table 4 is "
        "against BUSL with up to five literals and variables, weights by pseudo-likelihood. LSL "
        "has its default settings on all folds. WebKB is taken without `samePerson`."
    ),
    settings={
        "BUSL": TRACTABLE,
        "BUSL, table 4": UNRESTRICTED,
        "LSL": LEARNER,
        "sigma, PLL and LWL": SIGMA,
        "asked": ASKED,
    },
    seeds=1,
    minutes=15,
)


def bottom_up(task: Fold) -> dict[str, Any]:
    """Run BUSL without one fold: the fold's log-likelihoods, networks and CPU seconds."""
    test, train = split(task.data, task.number)
    started = time.process_time()
    tractable = liftable_part(TRACTABLE.fit(train).model, train)
    seconds = time.process_time() - started
    networks = {
        "units": learn_likelihood(MLN(test.schema), train, sigma=SIGMA).mln,
        "B+PLL": learn_pseudolikelihood(tractable, train, sigma=SIGMA).mln,
        "B+LWL": learn_likelihood(tractable, train, sigma=SIGMA, units=False).mln,
    }
    likelihood = {name: log_likelihood(mln, test) for name, mln in networks.items()}
    networks["BUSL"] = UNRESTRICTED.fit(train).model
    return {
        "seconds": seconds,
        "clauses": len(tractable.rules),
        "likelihood": likelihood,
        "networks": {name: str(mln) for name, mln in networks.items()},
    }


def likelihood_sections(
    folds: Sequence[Fold], ours: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """Yield a table for each data set, and what comes of it."""
    known = tables()["vanhaaren2015", "1 and 2"]
    pairs = [f"{who}, {whose}" for who in ("B+PLL", "B+LWL") for whose in ("published", "ours")]
    header = ["test", "unit clauses", "LSL, ours", *pairs, "clauses", "CPU s"]
    ahead, reached = [], []
    for name in FOLDS:
        rows: list[list[object]] = []
        for fold, lsl, busl in zip(folds, ours, others, strict=True):
            if fold.data != name:
                continue
            row = f"{name} {fold.number + 1}"
            found = busl["likelihood"]
            cells: list[object] = [f"{found['units']:.1f}", f"{lsl['likelihood']:.1f}"]
            for who in ("B+PLL", "B+LWL"):
                cells += [known.cell(row, who), f"{found[who]:.1f}"]
                reached.append(round(found[who]) >= figure(known.cell(row, who)))
                ahead.append(lsl["likelihood"] > found[who])
            rows.append(
                [f"fold {fold.number + 1}", *cells, busl["clauses"], f"{busl['seconds']:.1f}"]
            )
        yield f"## {name}\n\n{markdown_table(header, rows)}"
    yield (
        f"LSL is ahead of BUSL's clauses in {sum(ahead)} of {len(ahead)} comparisons (the paper: "
        f"all). Ours of B+PLL and B+LWL are at or above the published ones in {sum(reached)} of "
        f"{len(reached)}."
    )


def tally_sections(folds: Sequence[Fold], found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield wins, losses and ties of LSL against BUSL."""
    rows: list[list[object]] = []
    for number, (title, other) in OPPONENTS.items():
        known = tables()["vanhaaren2015", number]
        for name in FOLDS:
            asked = [
                score
                for fold, by_predicate in zip(folds, found, strict=True)
                if fold.data == name
                for score in by_predicate.values()
            ]
            row: list[object] = [f"{name}, LSL against {title}"]
            rows.append(row + tally(asked, other, known, name, "BUSL"))
    header = ["data", "queries", "of"]
    header += [f"{m}, {whose}" for m in ("AUC", "CLL") for whose in ("published", "ours")]
    yield (
        "## Predictions (tables 3 and 4)\n\nWins/losses/ties over folds and predicates, as on the "
        "page of LSL against MSL: all atoms of a predicate are unknown, all others are evidence; "
        f"queries over {MOST_SECONDS:g} CPU seconds are left out, differences up to {TIE:g} are "
        f"ties.\n\n{markdown_table(header, rows)}"
    )


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    folds = [Fold(name, number) for name, count in FOLDS.items() for number in range(count)]
    others = run_tasks(bottom_up, folds, options, "BUSL")
    tasks = [Chosen(fold.data, fold.number, LEARNER.sigma) for fold in folds]
    ours = run_tasks(lifted, tasks, options, "LSL")
    asked = [
        Asked(
            fold.data,
            fold.number,
            {
                "LSL": lsl["network"],
                **{name: busl["networks"][name] for name in ("B+LWL", "BUSL")},
            },
        )
        for fold, lsl, busl in zip(folds, ours, others, strict=True)
    ]
    scores = run_tasks(predictions, asked, options, "predictions")
    yield from likelihood_sections(folds, ours, others)
    yield from tally_sections(folds, scores)


if __name__ == "__main__":
    run(STUDY, sections)
