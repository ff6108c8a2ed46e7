"""The tasks of the default learner's page: a system learns a target, and is scored."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import mlnlearn
from mlnlearn.evaluate.auto import Auto
from mlnlearn.evaluate.held_out import answers_for, baseline
from mlnlearn.evaluate.measure import measured
from mlnlearn.evaluate.metrics import scores
from mlnlearn.evaluate.row_split import HeldOutSplit
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from studies import default_data, propositional
from studies.default_data import Problem, problem_of

Floats = NDArray[np.float64]
OURS: dict[str, Any] = {"auto": Auto, "boost": RelationalBoost}


@dataclass(frozen=True)
class Task:
    """A system on a target, with one seed; the code that it runs is part of the task."""

    data: str
    target: str
    seed: int
    system: str
    code: str


@cache
def code_of(system: str) -> str:
    """Return a digest of the code that a system's figures depend on.

    Those of the peers rest on the problems and on the peer, not on the learners of the library.
    """
    library = sorted(Path(mlnlearn.__file__).parent.rglob("*.py")) if system in OURS else []
    own = [Path(str(module.__file__)) for module in (default_data, propositional)]
    text = b"".join(path.read_bytes() for path in [*library, *own, Path(__file__)])
    return hashlib.sha256(text).hexdigest()[:16]


def solve(task: Task) -> dict[str, Any]:
    """Learn, and score the examples kept aside."""
    warnings.simplefilter("ignore")
    problem = problem_of(task.data, task.target, task.seed)
    found: dict[str, Any] = {}
    with measured() as cost:
        if task.system in OURS:
            learner = OURS[task.system](target=problem.target, seed=task.seed)
            fitted = learner.fit(problem.training)
            model = fitted.model
            chances = answers_for(
                model, problem.hidden, problem.view, problem.examples, problem.test
            )
            found["chosen"] = getattr(fitted.notes, "chosen", task.system)
        else:
            with threadpool_limits(limits=1):  # threads that wait for each other cost time, too
                chances = _peer(task, problem)
    found["cpu"] = cost.cpu_seconds
    base = baseline(problem.examples, HeldOutSplit(problem.test, ""))
    found["scores"] = score(problem, chances)
    found["base"] = score(problem, base)
    if task.system in OURS and isinstance(model, RelationalModel) and model.listed is not None:
        short = answers_for(
            model.distilled(), problem.hidden, problem.view, problem.examples, problem.test
        )
        found["list"] = score(problem, short)
    return found


def _peer(task: Task, problem: Problem) -> Floats:
    table, _ = propositional.features(problem.view, problem.examples, problem.test, task.seed)
    train = problem.examples.known & ~problem.test
    found = propositional.fit_predict(task.system, table, problem.examples, train, task.seed)
    return found[problem.test]


def score(problem: Problem, chances: Floats) -> dict[str, float]:
    """Return average precision over atoms and the mean log-likelihood of rows, or the error."""
    examples = problem.examples
    label, weight = examples.label[problem.test], examples.weight[problem.test]
    number = len(examples.classes)
    if not number:
        return {"mae": float(np.abs(chances[:, 0] - label).mean())}
    if number == 2:
        return scores(label > 0, chances[:, 1], weight, metrics=("ap", "cll"))
    true = label.astype(np.int64)
    atoms = true[:, None] == np.arange(number)
    weights = np.repeat(weight, number)
    ap = scores(atoms.ravel(), chances.ravel(), weights, metrics=("ap",))["ap"]
    sure = np.clip(chances[np.arange(len(true)), true], 1e-6, 1.0)
    return {"ap": ap, "cll": float(np.average(np.log(sure), weights=weight))}
