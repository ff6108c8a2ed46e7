"""Smokers and their friends: the cancer data, at any size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mlnlearn.compiled import njit
from mlnlearn.data.database import Database
from mlnlearn.data.sampling import distinct
from mlnlearn.data.synthetic.names import NumberedVocabulary
from mlnlearn.data.synthetic.truth import Synthetic, Truth
from mlnlearn.logic.formulas import And, Formula, Implies, Rule
from mlnlearn.logic.schema import Schema

Flags = NDArray[np.bool_]
Weights = tuple[float, float, float]

_SCHEMA = Schema.of("stress(person)", "smokes(person)", "cancer(person)", "friends(person,person)")


def smokers(
    people: int,
    *,
    rng: np.random.Generator | int,
    copies: int = 1,
    stress: float = 0.3,
    mean_degree: float = 4.0,
    smokes: Weights = (-0.8, 1.5, 0.25),
    cancer: Weights = (-2.5, 1.5, 0.6),
    sweeps: int = 30,
) -> Synthetic:
    """Generate the cancer data of Khot et al. (2012, section 4.2).

    In this order:

    1. Everybody has stress with probability `stress`, independently.
    2. ``round(people · mean_degree / 2)`` different pairs of people are friends, every set of pairs
       equally likely; ``friends`` is symmetric.
    3. Who smokes is drawn from the Markov logic network with weights `smokes` for ``smokes(x)``,
       ``stress(x) => smokes(x)`` and ``friends(x,y) ^ smokes(x) => smokes(y)``, given 1 and 2, by
       `sweeps` sweeps of Gibbs sampling from a start at random. There the log-odds of ``smokes(x)``
       are linear in x's smoking minus non-smoking friends, since ``friends`` is symmetric.
    4. Cancer has log-odds linear, with weights `cancer`, in 1, x's smoking, and the number of x's
       smoking friends; independently given 1-3. The conditional of the rules for ``cancer(x)``,
       ``smokes(x) => cancer(x)`` and ``friends(x,y) ^ smokes(y) => cancer(x)`` is exactly this.

    The true probabilities returned are those of step 4. The paper gives the shape only; the
    numbers are ours. They keep the friends' influence weak enough that the sampler mixes within a
    few sweeps.

    References
    ----------
    T. Khot, S. Natarajan, K. Kersting, J. Shavlik. Structure learning with hidden data in
    relational domains. StarAI 2012.

    Examples
    --------
    >>> made = smokers(1000, rng=7)
    >>> made.databases[0].count("friends")
    4000
    >>> for rule in made.rules:
    ...     print(rule.weight, rule.formula)
    -0.8 smokes(x)
    1.5 stress(x) => smokes(x)
    0.25 friends(x,y) ^ smokes(x) => smokes(y)
    -2.5 cancer(x)
    1.5 smokes(x) => cancer(x)
    0.6 friends(x,y) ^ smokes(y) => cancer(x)
    """
    generator = np.random.default_rng(rng)
    drawn = [
        _draw(people, generator, stress, mean_degree, smokes, cancer, sweeps, f"smokers{k}")
        for k in range(copies)
    ]
    truths = tuple(truth for _, truth in drawn)
    return Synthetic(tuple(db for db, _ in drawn), _rules(smokes, cancer), truths)


def _draw(
    people: int,
    rng: np.random.Generator,
    stress: float,
    mean_degree: float,
    smokes: Weights,
    cancer: Weights,
    sweeps: int,
    name: str,
) -> tuple[Database, dict[str, Truth]]:
    stressed = rng.random(people) < stress
    friends = _friends(people, round(people * mean_degree / 2), rng)
    smoking = _smoking(stressed, friends, smokes, sweeps, rng)
    company = np.bincount(friends[0][smoking[friends[1]]], minlength=people)
    probability = expit(cancer[0] + cancer[1] * smoking + cancer[2] * company)
    ill = rng.random(people) < probability

    def unary(flags: Flags) -> NDArray[np.int32]:
        return np.flatnonzero(flags).astype(np.int32)[None]

    database = Database.from_codes(
        _SCHEMA,
        {"person": NumberedVocabulary("P", people)},
        {
            "stress": unary(stressed),
            "smokes": unary(smoking),
            "cancer": unary(ill),
            "friends": friends,
        },
        name=name,
    )
    everybody = np.arange(people, dtype=np.int32)[None]
    one_class = (np.zeros(people, np.int8),)
    return database, {"cancer": Truth("cancer", everybody, probability, one_class, np.zeros(1))}


def _friends(people: int, pairs: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw unordered pairs, and return them in both directions, sorted.

    Pair number ``r`` is person ``r mod n`` and the one ``r div n + 1`` seats further round a table:
    this meets every pair once, and needs no square roots.
    """
    ranks = distinct(people * (people - 1) // 2, pairs, rng)
    distance, first = np.divmod(ranks, max(people, 1))
    second = (first + distance + 1) % max(people, 1)
    keys = np.concatenate([first * people + second, second * people + first])
    keys.sort()
    return np.stack(np.divmod(keys, max(people, 1))).astype(np.int32)


def _smoking(
    stressed: Flags,
    friends: NDArray[np.int32],
    weights: Weights,
    sweeps: int,
    rng: np.random.Generator,
) -> Flags:
    own = weights[0] + weights[1] * stressed
    degrees = np.bincount(friends[0], minlength=len(stressed))
    starts = np.concatenate([[0], np.cumsum(degrees)])
    smoking: Flags = rng.random(len(stressed)) < expit(own)
    for _ in range(sweeps):
        _sweep(smoking, own, weights[2], starts, friends[1], rng.random(len(stressed)))
    return smoking


@njit(cache=True)
def _sweep(smoking, own, influence, starts, friends, draws):  # type: ignore[no-untyped-def]
    """Redraw everybody's smoking in turn, given everybody else's, in place."""
    for person in range(len(smoking)):
        balance = 0
        for place in range(starts[person], starts[person + 1]):
            balance += 1 if smoking[friends[place]] else -1
        log_odds = own[person] + influence * balance
        smoking[person] = draws[person] < 1.0 / (1.0 + np.exp(-log_odds))


def _rules(smokes: Weights, cancer: Weights) -> tuple[Rule, ...]:
    s, c, t, f = (_SCHEMA[name] for name in ("smokes", "cancer", "stress", "friends"))
    formulas: list[Formula] = [
        s("x"),
        Implies(t("x"), s("x")),
        Implies(And((f("x", "y"), s("x"))), s("y")),
        c("x"),
        Implies(s("x"), c("x")),
        Implies(And((f("x", "y"), s("y"))), c("x")),
    ]
    return tuple(Rule(formula, w) for formula, w in zip(formulas, smokes + cancer, strict=True))
