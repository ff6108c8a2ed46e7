"""A university made up by known rules, and what counts and learners find in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

import mlnlearn as ml
from mlnlearn.cli.demo import DemoResult
from mlnlearn.cli.show import print_table, share
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Exists, Formula, Implies, Not, Or, free_variables
from mlnlearn.model.sentence import say

if TYPE_CHECKING:  # loading the generators can wait until the command runs
    from mlnlearn.data.synthetic.truth import Synthetic

_STUDENTS, _AREAS, _SEED = 1000, 5, 1
_FEWER_STUDENTS = 100  # to learn from, in seconds
_HEAD = "advisedBy(s,p)"
_TARGET = "advisedBy"
_PAIR = "student(s) ^ professor(p)"
# Bodies that look plausible, but that nothing was planted for.
_DECOYS = (
    "publication(t,p)",
    "taughtBy(c,p,q)",
    "inPhase(s,Pre_Quals)",
    "inPhase(s,Post_Quals)",
    "yearsInProgram(s,Year_3)",
    "hasPosition(p,Faculty_adjunct)",
    "hasPosition(p,Faculty_emeritus)",
)


@dataclass(frozen=True)
class DemoRule:
    """A rule with what counting says of it.

    Attributes
    ----------
    body
        The condition, as it is written.
    planted
        Whether the data were made with it.
    pairs, advised
        For how many pairs of student and professor it holds; how many of them are true.
    lift
        How much more often they are true than pairs are at large.
    """

    body: str
    planted: bool
    pairs: int
    advised: int
    lift: float


@dataclass(frozen=True)
class LearnedRules:
    """Rules learned on some areas, and how they predict another.

    Attributes
    ----------
    clauses, trees
        What was learned.
    scores
        AUC-PR and CLL of the learners and of the true probabilities, by name.
    """

    clauses: ml.BoostedModel
    trees: ml.BoostedModel
    scores: dict[str, dict[str, float]]


def university(out: Console, kept: Path | None) -> DemoResult:
    """Make up a university, rank conditions for advising by counting, and learn rules for it."""
    made = ml.synthetic.university(_STUDENTS, areas=_AREAS, rng=_SEED)
    facts = sum(database.true_atoms for database in made.databases)
    out.print(
        f"A made-up university of {_AREAS} areas with {_STUDENTS:,} students each, {facts:,} facts."
        f" Conditions for {_HEAD}, counted:",
        end="\n\n",
    )
    _print_ranking(out, rank_rules(made))
    smaller = ml.synthetic.university(_FEWER_STUDENTS, areas=_AREAS, rng=_SEED)
    if kept:
        _keep(smaller, kept)
    learned = learn_rules(smaller)
    title = "Who advises whom, in a university made up by known rules"
    sentences = learned_sentences(smaller, learned.clauses)
    return DemoResult(
        sentences,
        len(sentences),
        f"Learned on {_AREAS - 1} areas of {_FEWER_STUDENTS} students, tested on another",
        {
            label: {name: f"{values[score]:{form}}" for name, values in learned.scores.items()}
            for score, label, form in (
                ("auc_pr", "area under the precision-recall curve", ".3f"),
                ("cll", "mean log-likelihood", ".4f"),
            )
        },
        ml.report_page(learned.trees, [smaller.databases[-1]], title=title),
    )


def _keep(made: Synthetic, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "schema.mln").write_text(f"{made.schema}\n", encoding="utf-8")
    for number, database in enumerate(made.databases, start=1):
        ml.write_db(database, folder / f"area{number}.db")


def learned_sentences(made: Synthetic, clauses: ml.BoostedModel) -> list[str]:
    """Say the learned rules of positive weight, with what counting in the training areas says."""
    engine = ml.open_engine(made.databases[:-1])
    (head, _), *rules = clauses.rules()
    target = ml.parse_formula(head, made.schema).formula
    total, true = (sum(count(engine, target)) for count in (ml.groundings, ml.true_groundings))
    said = []
    for text, weight in sorted(rules, key=lambda rule: -rule[1]):
        body = ml.parse_formula(text.removesuffix(f" => {head}"), made.schema).formula
        held = _some(body, target)
        pairs = sum(ml.true_groundings(engine, And((held, Or((target, Not(target)))))))
        both = sum(ml.true_groundings(engine, And((held, target))))
        if weight > 0 and pairs:
            said.append(
                f"if {say(body)}: {say(target)} in {share(both, pairs)} "
                f"({share(true, total)} of all; {pairs:,} pairs; weight {weight:+.2f})"
            )
    return said


def rank_rules(made: Synthetic) -> list[DemoRule]:
    """Count planted and other conditions for advising, and sort them by lift."""
    engine = ml.open_engine(made.databases)
    head = ml.parse_formula(_HEAD, made.schema).formula
    pair = ml.parse_formula(_PAIR, made.schema).formula

    def count(*parts: Formula) -> int:
        return sum(ml.true_groundings(engine, And(parts)))

    rate = count(pair, head) / count(pair)
    ranked = []
    for body, planted in _conditions(made):
        held = _some(body, head)
        pairs, advised = count(held, pair), count(held, pair, head)
        lift = advised / pairs / rate if pairs else 0.0
        ranked.append(DemoRule(str(body), planted, pairs, advised, lift))
    return sorted(ranked, key=lambda rule: -rule.lift)


def learn_rules(made: Synthetic) -> LearnedRules:
    """Boost clauses and trees for advising on all areas but the last; score them there."""
    *train, test = made.databases
    clauses = ml.BoostedMLN(target=_TARGET, representation="clauses").fit(train).model
    trees = ml.BoostedMLN(target=_TARGET, representation="trees").fit(train).model
    atoms = ml.positives_and_negatives([test], _TARGET)
    rate = ml.positives_and_negatives(train, _TARGET).labels.mean()
    predicted = {
        "boosted clauses": ml.predict_examples(clauses, [test], atoms).probability,
        "boosted trees": ml.predict_examples(trees, [test], atoms).probability,
        "base rate": np.full(len(atoms), rate),
        "the true model": made.truth[-1][_TARGET].probability(atoms.columns),
    }
    found = {
        name: ml.scores(atoms.labels, probability, metrics=("auc_pr", "cll"))
        for name, probability in predicted.items()
    }
    return LearnedRules(clauses, trees, found)


def _conditions(made: Synthetic) -> Iterator[tuple[Formula, bool]]:
    for rule in made.rules:
        match rule.formula:
            case Implies(Exists(), _):
                continue  # its body without the quantifier is planted too
            case Implies(body, _) if not rule.hard:
                yield body, True
    for text in _DECOYS:
        yield ml.parse_formula(text, made.schema).formula, False


def _some(body: Formula, head: Formula) -> Formula:
    """Bind the variables that are not in the head, so that pairs are counted, not groundings."""
    shared = free_variables(head)
    inner: tuple[Variable, ...] = tuple(v for v in free_variables(body) if v not in shared)
    return Exists(inner, body) if inner else body


def _print_ranking(out: Console, ranked: list[DemoRule]) -> None:
    rows = [
        (
            rule.body,
            "*" if rule.planted else "",
            f"{rule.pairs:,}",
            f"{rule.advised:,}",
            share(rule.advised, rule.pairs),
            f"{rule.lift:.2f}",
        )
        for rule in ranked
    ]
    print_table(out, ("Condition", "", "pairs", "advised", "confidence", "lift"), rows)
    planted = [rule.planted for rule in ranked]
    top = planted.index(False)
    out.print(
        f"\n* planted when the data were made: {sum(planted)} of {len(ranked)} conditions. "
        f"The first {top} of the list are all planted."
    )
