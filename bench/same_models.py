"""Models of two versions, of the same seeds: ``python bench/same_models.py OLD NEW FILE.md``.

OLD and NEW are roots of two trees of the project. Without arguments the models of the version on
the path are printed, as JSON; settings are those that both versions know.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Rules = list[tuple[str, float]]
Answers = dict[str, float]
Learnt = tuple[Rules, Answers]
ROUND_OFF = 1e-10
_TEXT = """# The same models as before

What `python bench/same_models.py OLD NEW docs/results/same_models.md` wrote: with the same seeds
and settings, the rules of version 0.1 and of this one, and the largest difference of two weights.
Boosted models are also asked for every atom of the databases that they were learned from, whatever
of them was an example: how many atoms these are, and the largest difference of two probabilities.
"But for ties": of tests that part all examples in the same way, such as being a student where all
others are professors, the first in order is taken now, where round-off decided before. Rules then
name other tests; their weights are the same, and so are the probabilities of all atoms. A model is
said to be another (**no**) where a weight or a probability differs by more than {round_off:g}.

| learner | data | rules | the same | weights differ by | atoms | probabilities differ by |
|---|---|---:|---|---:|---:|---:|
{rows}
"""


def learners() -> dict[tuple[str, str], tuple[Callable[[], Any], Sequence[Any]]]:
    """Return what is learned and asked, by learner and data; so small that it takes seconds."""
    import mlnlearn as ml  # noqa: PLC0415 - of either version
    from mlnlearn.data.catalog import benchmark  # noqa: PLC0415
    from mlnlearn.data.synthetic import hide, smokers, university  # noqa: PLC0415

    areas = university(30, areas=2, rng=0).databases
    people = smokers(60, rng=1).databases
    hidden = hide(people[0], "smokes", 0.4, rng=2)
    tables = ml.benchmark_tables("university")
    base = ml.BoostedMLN(target="cancer", recursive=("smokes",))
    lifted = ml.LiftedStructureLearner(max_literals=2, max_variables=2, refitted=5)

    def boosted(learner: Any, data: Sequence[Any], **settings: Any) -> Any:
        made = learner(target="advisedBy", seed=1, **settings)
        return lambda: made.fit(data), data

    def em(mode: Any) -> Any:
        return lambda: ml.StructuralEM(base=base, iterations=3, seed=1, mode=mode).fit(hidden), ()

    def joined(learner: Any) -> Any:
        old = not hasattr(ml, "as_data")
        return lambda: learner.fit(*tables) if old else learner.fit(tables), ()

    clauses: dict[str, Any] = {"representation": "clauses"}
    found = {}
    uwcse = benchmark("uwcse", schema="schema_khot.mln")[:2]
    for name, data, steps in (("university", areas, 4), ("UW-CSE, two folds", uwcse, 20)):
        found["MLN-BT", name] = boosted(ml.BoostedMLN, data, steps=steps)
        found["MLN-BC", name] = boosted(ml.BoostedMLN, data, steps=steps, **clauses)
        found["RDN-B", name] = boosted(ml.BoostedRDN, data, steps=steps)
    return found | {
        ("SEM", "smokers, 40% hidden"): em("soft"),
        ("H-SEM", "smokers, 40% hidden"): em("hard"),
        ("LSL", "smokers"): (lambda: lifted.fit(list(people)), ()),
        ("LAJ-DT", "university, tables"): joined(ml.LAJDT()),
        ("MBN", "university, tables"): joined(ml.MBN()),
    }


def model_of(found: Any) -> Any:
    """Return the model of whatever a learner of either version returns."""
    for name in ("model", "mln"):
        inner = getattr(found, name, None)
        found = found if inner is None else inner() if callable(inner) else inner
    return found


def rules_of(model: Any) -> Rules:
    """Return the rules of a model with their weights."""
    if callable(model.rules):
        return list(model.rules())
    return [(str(rule.formula), rule.weight) for rule in model.rules]


def answers_of(model: Any, databases: Sequence[Any]) -> Answers:
    """Return the probabilities of all atoms of a model's target, by number of database and name."""
    found: Answers = {}
    for number, database in enumerate(databases):
        for answer in model.query(database):  # an atom and its probability, in version 0.1
            pair = (answer.atom, answer.probability) if hasattr(answer, "atom") else answer
            found[f"{number}: {pair[0]}"] = float(pair[1])
    return found


def learnt() -> dict[str, Learnt]:
    """Learn with the version on the path."""
    found = {}
    for name, (make, asked) in learners().items():
        model = model_of(make())
        found[" | ".join(name)] = rules_of(model), answers_of(model, asked)
    return found


def models_of(root: Path) -> dict[str, Learnt]:
    """Learn with one of the versions, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    found: dict[str, Learnt] = json.loads(done.stdout)
    return found


def row(name: str, before: Learnt, after: Learnt) -> str:
    """Compare two models, rule by rule and atom by atom."""
    (old, known), (new, found) = before, after
    same = [rule for rule, _ in old] == [rule for rule, _ in new]
    was, now = ([weight for _, weight in rules] for rules in (old, new))
    if not same:
        was, now = sorted(was), sorted(now)
    most = max(abs(one - other) for one, other in zip(was, now, strict=False))
    apart = max((abs(known[atom] - found[atom]) for atom in known), default=0.0)
    alike = len(was) == len(now) and known.keys() == found.keys()
    alike &= max(most, apart) < ROUND_OFF and (same or len(known) > 0)
    word = ("yes" if same else "but for ties") if alike else "**no**"
    asked = f"{len(known):,} | {apart:.1e}" if known else " | "
    return f"| {name} | {len(new)} | {word} | {most:.1e} | {asked} |"


def run() -> None:
    """Print the models of this version, or compare those of two."""
    if len(sys.argv) == 1:
        json.dump(learnt(), sys.stdout)
        return
    old, new, page = (Path(argument).resolve() for argument in sys.argv[1:])
    before, after = models_of(old), models_of(new)
    rows = "\n".join(row(name, before[name], after[name]) for name in before)
    page.write_text(_TEXT.format(rows=rows, round_off=ROUND_OFF), encoding="utf-8")


if __name__ == "__main__":
    run()
