"""Why likelihoods of LSL's page differ from the paper's: ``python -m studies.lsl_why``.

What weights by pseudo-likelihood do to the likelihood of whole databases, and what becomes of LSL
where it adds whatever raises the likelihood of the training folds, as its paper says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlnlearn.counting.engines import open_engine
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.clauses import as_clause
from mlnlearn.logic.formulas import Rule, atoms_of
from mlnlearn.model.mln import MLN
from mlnlearn.structure.lifted_search.candidates import growing_types
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.weights.generative import learn_pseudolikelihood
from mlnlearn.weights.likelihood import (
    learn_likelihood,
    liftable_part,
    likelihood_of,
    log_likelihood,
)
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.lsl_data import FOLDS, SIGMA, TRACTABLE, Fold, published, split

PAPER = LiftedStructureLearner.preset("paper", max_rounds=10)
FIRST = 5
SIGMAS = (SIGMA, 10.0, 2.0)
STUDY = Study(
    name="lsl_why",
    title="Lifted structure learning: why likelihoods differ from the paper's",
    about=(
        "Two questions that tables 1 and 2 of Van Haaren, Van den Broeck, Meert and Davis (2015) "
        "leave, on the data of the page on LSL: why weights by pseudo-likelihood make whole "
        "databases far less likely here than in the paper, and what LSL learns by the paper's own "
        "criterion."
    ),
    settings={"LSL, preset paper": PAPER, "MSL": TRACTABLE["MSL"], "sigma": SIGMA},
    seeds=1,
    minutes=2,
    of_papers=True,
)

Test = Callable[[Rule], bool]


def is_twice(rule: Rule) -> bool:
    r"""Tell whether a predicate stands in a rule more than once.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... p(t,t)
    ... q(t)
    ... 1 !p(x,y) v p(y,x)
    ... 1 !p(x,y) v q(x)
    ... ''')
    >>> [is_twice(rule) for rule in mln.rules]
    [True, False]
    """
    names = [atom.predicate.name for atom in atoms_of(rule.formula)]
    return len(set(names)) < len(names)


def is_growing(rule: Rule) -> bool:
    """Tell whether the pull of a clause on an atom grows with a domain."""
    clause = as_clause(rule.formula)
    return clause is not None and bool(growing_types(clause))


PARTS: Mapping[str, tuple[Test, ...]] = {
    "all clauses": (),
    "none that grows with a domain": (is_growing,),
    "none with a predicate twice": (is_twice,),
    "neither": (is_growing, is_twice),
}


def by_pseudolikelihood(task: Fold) -> dict[str, Any]:
    """Learn MSL's liftable clauses without a fold, and weigh them in several ways."""
    test, train = split(task.data, task.number)
    every = liftable_part(TRACTABLE["MSL"].fit(train).model, train)
    found: dict[str, Any] = {"parts": {}, "sigmas": {}}
    for label, tests in PARTS.items():
        kept = [rule for rule in every.rules if not any(test(rule) for test in tests)]
        part = replace(every, rules=tuple(kept))
        learned = learn_pseudolikelihood(part, train, sigma=SIGMA).mln
        exact = learn_likelihood(part, train, sigma=SIGMA, units=False).mln
        found["parts"][label] = {
            "clauses": sum(not isinstance(rule.formula, Atom) for rule in kept),
            "PLL": log_likelihood(learned, test),
            "LWL": log_likelihood(exact, test),
        }
        if not tests:
            found["atoms"] = numbers(train, {"PLL": learned, "LWL": exact})
            found["clauses"] = [(rule.weight, str(rule.formula)) for rule in learned.rules]
    for sigma in SIGMAS:
        learned = learn_pseudolikelihood(every, train, sigma=sigma).mln
        found["sigmas"][f"{sigma:g}"] = {
            "test": log_likelihood(learned, test),
            "train": float(np.mean([log_likelihood(learned, database) for database in train])),
            "largest": max(map(abs, learned.weights)),
        }
    return found


def numbers(train: Sequence[Database], networks: Mapping[str, MLN]) -> dict[str, Any]:
    """Return how many atoms of each predicate are true, and how many networks expect, exactly."""
    found: dict[str, Any] = {
        predicate.name: {"true": sum(database.count(predicate.name) for database in train)}
        for predicate in train[0].schema.predicates
    }
    for label, mln in networks.items():
        likelihood = likelihood_of(mln, open_engine(train))
        _, slope = likelihood(np.array(mln.weights))
        for place, rule in enumerate(mln.soft):
            atom = rule.formula
            if isinstance(atom, Atom) and len(set(atom.terms)) == len(atom.terms):
                found[atom.predicate.name][label] = float(likelihood.counts[place] - slope[place])
    return found


def by_the_paper(task: Fold) -> dict[str, Any]:
    """Run LSL by its paper's criterion without a fold; likelihoods after some clauses and all."""
    test, train = split(task.data, task.number)
    started = time.process_time()
    learned = PAPER.fit(train)
    seconds = time.process_time() - started
    units = [rule for rule in learned.model.rules if isinstance(rule.formula, Atom)]
    others = [rule for rule in learned.model.rules if not isinstance(rule.formula, Atom)]
    few = replace(learned.model, rules=(*units, *others[:FIRST]))
    early = learn_likelihood(few, train, sigma=SIGMA, units=False).mln
    return {
        "seconds": seconds,
        "clauses": len(learned.notes.steps),
        "early": log_likelihood(early, test),
        "all": log_likelihood(learned.model, test),
        "train": learned.notes.likelihood,
    }


@dataclass(frozen=True)
class _Table:
    title: str
    text: str
    table: str

    def __str__(self) -> str:
        return f"## {self.title}\n\n{self.text}\n\n{self.table}"


def pseudo_sections(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield how likely folds are under weights that pseudo-likelihood finds best, and why."""
    rows: list[list[object]] = [
        [f"{data}, sigma {sigma}", *(f"{one[name]:.1f}" for name in ("test", "train", "largest"))]
        for data, result in found.items()
        for sigma, one in result["sigmas"].items()
    ]
    table = markdown_table(["M+PLL", "test fold", "training folds, mean", "largest weight"], rows)
    widest, *_, narrowest = (f"{sigma:g}" for sigma in SIGMAS)
    better = [
        data
        for data, result in found.items()
        if result["sigmas"][narrowest]["test"] > result["sigmas"][widest]["test"]
    ]
    printed = ", ".join(f"{data} {published(data, 0, 'M+PLL')}" for data in found)
    text = (
        f"First fold held out; published: {printed}. Were the weights too closely fitted to the "
        "training folds, these would be likely all the same; their means stand beside the test "
        f"fold. The narrowest prior is better than the widest on {', '.join(better) or 'none'}; "
        "the paper's is that of its program, the widest here."
    )
    yield str(_Table("Weights by pseudo-likelihood: the prior", text, table))
    header = ["data: predicate", "true atoms", "expected, M+PLL", "expected, M+LWL"]
    rows = [
        [f"{data}: {name}", one["true"], f"{one['PLL']:,.0f}", f"{one['LWL']:,.0f}"]
        for data, result in found.items()
        for name, one in result["atoms"].items()
    ]
    text = (
        "Atoms of the training folds, and how many of them the networks expect to be true, "
        "exactly, when nothing is known. Weights by likelihood match the numbers in the data; "
        "weights by pseudo-likelihood make each atom probable given all others as they are, and "
        "may put nearly all probability on other worlds. The clauses below tell which."
    )
    yield str(_Table("What such networks expect", text, markdown_table(header, rows)))
    rows = [
        [f"{data}: {label}", one["clauses"], f"{one['PLL']:.1f}", f"{one['LWL']:.1f}"]
        for data, result in found.items()
        for label, one in result["parts"].items()
    ]
    text = (
        "Test fold, the same clauses without some of them, weights learned anew. A clause grows "
        "with a domain where a variable stands in one of its literals alone, so that its pull on "
        "another literal is as strong as there are objects; with a predicate twice, atoms pull at "
        "each other. The programs that the paper ran found other clauses, which it does not list."
    )
    header = ["data: clauses", "clauses", "M+PLL", "M+LWL"]
    yield str(_Table("Which clauses do it", text, markdown_table(header, rows)))
    yield "Weights by pseudo-likelihood:\n\n" + "\n".join(
        f"- {data}: " + "; ".join(f"`{weight:.2f} {clause}`" for weight, clause in one["clauses"])
        for data, one in found.items()
    )


def paper_section(folds: Sequence[Fold], found: Sequence[Mapping[str, Any]]) -> str:
    """Return what LSL learns by the paper's criterion."""
    rows: list[list[object]] = []
    reached = 0
    for fold, one in zip(folds, found, strict=True):
        printed = published(fold.data, fold.number, "LSL")
        reached += round(max(one["early"], one["all"])) >= printed
        cells = [f"{one[name]:.1f}" for name in ("early", "all", "train")]
        label = f"{fold.data}, fold {fold.number + 1}"
        rows.append([label, printed, *cells, one["clauses"], f"{one['seconds']:.0f}"])
    text = (
        "LSL by `preset paper`: clauses of all kinds, the best by training likelihood in each "
        f"round, a wide prior; {PAPER.max_rounds} rounds here, where the paper goes on until "
        "nothing fits into its limits. Likelihoods of the test fold after "
        f"{FIRST} clauses and after all; the better of the two reaches the published one on "
        f"{reached} of {len(folds)} folds. How far such clauses carry is a matter of the test "
        "fold's domains; nothing in the training likelihood tells when to stop."
    )
    header = ["test", "published", f"{FIRST} clauses", "all", "training", "clauses", "CPU s"]
    return str(_Table("LSL by the paper's criterion", text, markdown_table(header, rows)))


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    first = [Fold(data, 0) for data in FOLDS]
    found = run_tasks(by_pseudolikelihood, first, options, "pseudo-likelihood")
    folds = [Fold(data, number) for data, count in FOLDS.items() for number in range(count)]
    papers = run_tasks(by_the_paper, folds, options, "the paper's criterion")
    yield from pseudo_sections(dict(zip(FOLDS, found, strict=True)))
    yield paper_section(folds, papers)


if __name__ == "__main__":
    run(STUDY, sections)
