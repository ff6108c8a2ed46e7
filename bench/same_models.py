"""Models of two versions, of the same seeds: ``python bench/same_models.py OLD NEW FILE.md``.

OLD and NEW are roots of two trees of the project. Without arguments the models of the version on
the path are printed, as JSON; settings are those that both versions know.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rules = list[tuple[str, float]]
ROUND_OFF = 1e-10
_TEXT = """# The same models as before

What `python bench/same_models.py OLD NEW docs/results/same_models.md` wrote: with the same seeds
and settings, the rules of version 0.1 and of this one, and the largest difference of two weights.
"But for ties": of tests that part examples in the same way, such as being a student where all
others are professors, the first in order is taken now, where round-off decided before; rules then
differ in such tests, and their weights are the same.

| learner | data | rules | the same | weights differ by |
|---|---|---:|---|---:|
{rows}
"""


def learners() -> dict[tuple[str, str], Callable[[], Any]]:
    """Return what is learned, by learner and data; on small data, so that it takes seconds."""
    import mlnlearn as ml  # noqa: PLC0415 - of either version
    from mlnlearn.data.synthetic import hide, smokers, university  # noqa: PLC0415

    areas = university(30, areas=2, rng=0).databases
    people = smokers(60, rng=1).databases
    hidden = hide(people[0], "smokes", 0.4, rng=2)
    tables = ml.benchmark_tables("university")
    base = ml.BoostedMLN(target="cancer", recursive=("smokes",))
    boosted: dict[str, Any] = {"target": "advisedBy", "steps": 4, "seed": 1}
    lifted = ml.LiftedStructureLearner(max_literals=2, max_variables=2, refitted=5)

    def em(mode: Any) -> Any:
        return ml.StructuralEM(base=base, iterations=3, seed=1, mode=mode).fit(hidden)

    def joined(learner: Any) -> Any:
        old = not hasattr(ml, "as_data")
        return learner.fit(*tables) if old else learner.fit(tables)

    return {
        ("MLN-BT", "university"): lambda: ml.BoostedMLN(**boosted).fit(areas),
        ("MLN-BC", "university"): lambda: ml.BoostedMLN(**boosted, representation="clauses").fit(
            areas
        ),
        ("RDN-B", "university"): lambda: ml.BoostedRDN(**boosted).fit(areas),
        ("SEM", "smokers, 40% hidden"): lambda: em("soft"),
        ("H-SEM", "smokers, 40% hidden"): lambda: em("hard"),
        ("LSL", "smokers"): lambda: lifted.fit(list(people)),
        ("LAJ-DT", "university, tables"): lambda: joined(ml.LAJDT()),
        ("MBN", "university, tables"): lambda: joined(ml.MBN()),
    }


def rules_of(found: Any) -> Rules:
    """Return the rules of whatever a learner of either version returns."""
    for name in ("model", "mln"):
        inner = getattr(found, name, None)
        found = found if inner is None else inner() if callable(inner) else inner
    if callable(found.rules):
        return list(found.rules())
    return [(str(rule.formula), rule.weight) for rule in found.rules]


def models_of(root: Path) -> dict[str, Rules]:
    """Learn with one of the versions, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    found: dict[str, Rules] = json.loads(done.stdout)
    return found


def row(name: str, old: Rules, new: Rules) -> str:
    """Compare two models, rule by rule."""
    same = [rule for rule, _ in old] == [rule for rule, _ in new]
    before, after = ([weight for _, weight in rules] for rules in (old, new))
    if not same:
        before, after = sorted(before), sorted(after)
    most = max(abs(was - now) for was, now in zip(before, after, strict=False))
    alike = len(before) == len(after) and most < ROUND_OFF
    word = "yes" if same else "but for ties" if alike else "**no**"
    return f"| {name} | {len(new)} | {word} | {most:.1e} |"


def run() -> None:
    """Print the models of this version, or compare those of two."""
    if len(sys.argv) == 1:
        found = {" | ".join(name): rules_of(make()) for name, make in learners().items()}
        json.dump(found, sys.stdout)
        return
    old, new, page = (Path(argument).resolve() for argument in sys.argv[1:])
    before, after = models_of(old), models_of(new)
    rows = [row(name, before[name], after[name]) for name in before]
    page.write_text(_TEXT.format(rows="\n".join(rows)), encoding="utf-8")


if __name__ == "__main__":
    run()
