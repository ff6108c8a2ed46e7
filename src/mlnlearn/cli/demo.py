"""``mlnlearn demo``: a university made up by known rules, and what counts and learners find."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import mlnlearn as ml
from mlnlearn.cli.inspect import print_profile
from mlnlearn.cli.outputs import ForceOption, check
from mlnlearn.cli.show import console, heading, print_table, share
from mlnlearn.files import write_files
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Exists, Formula, Implies, free_variables

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


def demo(
    report: Annotated[
        Path | None, typer.Option(help="Write a page about the learned trees here.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Make up a university by known rules, look into it, and learn the rules again."""
    check([report], force=force)
    started = time.perf_counter()
    out = console()
    made = ml.synthetic.university(_STUDENTS, areas=_AREAS, rng=_SEED)
    out.print(heading(f"1. A university of {_AREAS} areas, made up by known rules"), end="\n\n")
    print_profile(out, ml.profile(made.databases), made.schema)
    ranked = rank_rules(made)
    out.print(heading(f"2. Who advises whom? Conditions for {_HEAD}, by lift"), end="\n\n")
    _print_ranking(out, ranked)
    out.print()
    smaller = ml.synthetic.university(_FEWER_STUDENTS, areas=_AREAS, rng=_SEED)
    title = (
        f"3. Rules learned on {_AREAS - 1} areas of {_FEWER_STUDENTS} students, tested on another"
    )
    out.print(heading(title), end="\n\n")
    learned = learn_rules(smaller)
    _print_learned(out, learned)
    if report is not None:
        title = "Who advises whom, in a university made up by known rules"
        write_files({report: ml.report_page(learned.trees, [smaller.databases[-1]], title=title)})
        out.print(f"\nThe trees, drawn, with curves and every prediction explained: {report}")
    out.print(f"\nDone in {time.perf_counter() - started:.1f} s.")


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
    predicted = {
        "boosted clauses": ml.predict_examples(clauses, [test], atoms).probability,
        "boosted trees": ml.predict_examples(trees, [test], atoms).probability,
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


def _print_learned(out: Console, learned: LearnedRules) -> None:
    # All rules have the same head, except the first, which has no condition.
    (head, always), *rules = learned.clauses.rules()
    rows = [("(always)", f"{always:+.2f}")] + [
        (rule.removesuffix(f" => {head}"), f"{weight:+.2f}")
        for rule, weight in sorted(rules, key=lambda rule: -rule[1])
    ]
    print_table(out, (f"Condition for {head}", "weight"), rows)
    out.print()
    scored = [
        (name, f"{values['auc_pr']:.3f}", f"{values['cll']:.4f}")
        for name, values in learned.scores.items()
    ]
    print_table(out, ("Test", "AUC-PR", "CLL"), scored)
