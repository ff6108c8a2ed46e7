"""The "disjunctive" data: ``s(x)`` is true where some ``r(x,y)`` is."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic.names import NumberedVocabulary
from mlnlearn.data.synthetic.truth import Synthetic, Truth
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import Exists, Iff, Implies, Rule
from mlnlearn.logic.schema import Schema

_SCHEMA = Schema.of("q(object,value)", "r(object,value)", "s(object)")


def disjunctive(
    objects: int = 100,
    values: int = 3,
    *,
    rng: np.random.Generator | int,
    copies: int = 1,
    q: float = 0.3,
    r_given_q: float = 0.4,
    r_otherwise: float = 0.05,
) -> Synthetic:
    """Generate the disjunctive data of Khot et al. (2012, section 4.1).

    In order: ``q(x,y)`` is true with probability `q`; ``r(x,y)`` with `r_given_q` where ``q(x,y)``
    is, else with `r_otherwise`; ``s(x)`` is true exactly where ``r(x,y)`` is for some ``y``. All
    draws are independent. The paper has 100 objects, 3 or 10 values, and 10 copies, and gives no
    probabilities; those here agree with its remark that every single ``r(x,y)`` is most likely
    false and leave ``s`` undecided (true for 40% of the objects at 3 values, 81% at 10). Hide a
    part of ``r`` with `mlnlearn.data.synthetic.hide`.

    References
    ----------
    T. Khot, S. Natarajan, K. Kersting, J. Shavlik. Structure learning with hidden data in
    relational domains. StarAI 2012.

    Examples
    --------
    >>> made = disjunctive(1000, 10, rng=0)
    >>> made.databases[0].ground_atoms("r"), len(made.rules)
    (10000, 3)
    """
    generator = np.random.default_rng(rng)
    drawn = [
        _draw(objects, values, generator, q, np.array([r_otherwise, r_given_q]), f"disjunctive{k}")
        for k in range(copies)
    ]
    rules = _rules(float(logit(r_otherwise)), float(logit(r_given_q)))
    return Synthetic(tuple(db for db, _ in drawn), rules, tuple(truth for _, truth in drawn))


def _draw(
    objects: int,
    values: int,
    rng: np.random.Generator,
    q: float,
    r_by_q: np.ndarray[tuple[int], np.dtype[np.float64]],
    name: str,
) -> tuple[Database, dict[str, Truth]]:
    q_true = rng.random((objects, values), np.float32) < q
    r_true = rng.random((objects, values)) < r_by_q[q_true.astype(np.int8)]
    q_facts = np.stack(np.nonzero(q_true)).astype(np.int32)
    s_facts = np.flatnonzero(r_true.any(axis=1)).astype(np.int32)[None]
    database = Database.from_codes(
        _SCHEMA,
        {"object": NumberedVocabulary("X", objects), "value": NumberedVocabulary("Y", values)},
        {"q": q_facts, "r": np.stack(np.nonzero(r_true)), "s": s_facts},
        name=name,
    )
    one_class = (np.zeros(objects, np.int8), np.zeros(values, np.int8))
    r_truth = Truth(
        "r", q_facts, np.full(q_facts.shape[1], r_by_q[1]), one_class, r_by_q[:1].reshape(1, 1)
    )
    s_truth = Truth("s", s_facts, np.ones(s_facts.shape[1]), one_class[:1], np.zeros(1))
    return database, {"r": r_truth, "s": s_truth}


def _rules(base: float, given_q: float) -> tuple[Rule, ...]:
    q, r, s = (_SCHEMA[name] for name in "qrs")
    some = Exists((Variable("y"),), r("x", "y"))
    return (
        Rule(r("x", "y"), base),
        Rule(Implies(q("x", "y"), r("x", "y")), given_q - base),
        Rule(Iff(s("x"), some), hard=True),
    )
