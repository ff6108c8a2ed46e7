"""Test log-likelihoods of LSL on 14 folds, beside those of the paper.

Each fold is held out in turn; the network is learned from the others with the default settings.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

from mlnlearn.data.catalog import benchmark
from mlnlearn.model.mln import MLN
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.weights.likelihood import learn_likelihood, log_likelihood
from studies.common import Options, Study, markdown_table, run

# Van Haaren et al. 2015, tables 1 and 2, in the order of our folds.
PUBLISHED = {
    "imdb_lsl": (-306, -309, -733, -224, -216),
    "uwcse_lsl": (-1447, -511, -1167, -2442, -2227),
    "webkb": (-672, -774, -1043, -1306),
}
LEARNER = LiftedStructureLearner()
STUDY = Study(
    name="lsl_tables",
    title="Lifted structure learning: test log-likelihoods",
    about=(
        "Tables 1 and 2 of Van Haaren, Van den Broeck, Meert and Davis (2015): exact "
        "log-likelihood of each test fold under the network learned from the other folds. WebKB is "
        "taken without `samePerson`. Settings are the defaults, the same for all folds."
    ),
    settings=asdict(LEARNER),
    seeds=1,
)


def measure(task: tuple[str, int]) -> tuple[float, float, int, float]:
    """Learn without one fold: its log-likelihood by units and by LSL, clauses, CPU seconds."""
    name, number = task
    folds = benchmark(name, schema="schema_nosame.mln" if name == "webkb" else "schema.mln")
    test, train = folds[number], folds[:number] + folds[number + 1 :]
    started = time.process_time()
    learned = LEARNER.fit(train)
    spent = time.process_time() - started
    units = learn_likelihood(MLN(folds[0].schema.without_functional()), train)
    found = log_likelihood(units.mln, test), log_likelihood(learned.mln, test)
    sys.stderr.write(f"{name}, fold {number + 1}: {found[1]:.1f} in {spent:.0f} CPU s\n")
    return *found, len(learned.steps), spent


def sections(options: Options) -> Iterator[str]:
    """Compute the page: a table for each data set, and how often the paper's figure is reached."""
    tasks = [(name, fold) for name, values in PUBLISHED.items() for fold in range(len(values))]
    with ProcessPoolExecutor(options.jobs) as workers:
        found = dict(zip(tasks, workers.map(measure, tasks), strict=True))
    reached = 0
    for name, published in PUBLISHED.items():
        rows = []
        for fold, figure in enumerate(published):
            units, ours, clauses, spent = found[name, fold]
            reached += round(ours) >= figure
            rows.append(
                [f"fold {fold + 1}", f"{units:.1f}", figure, f"{ours:.1f}", clauses, f"{spent:.0f}"]
            )
        header = ["test", "unit clauses", "LSL, published", "LSL, ours", "clauses", "CPU s"]
        yield f"## {name}\n\n{markdown_table(header, rows)}"
    yield f"The published likelihood is reached on {reached} of {len(tasks)} folds."


if __name__ == "__main__":
    run(STUDY, sections)
