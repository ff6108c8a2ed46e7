"""Tiny learners and data to try the machinery of evaluation on."""

from dataclasses import dataclass

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN

SCHEMA = Schema.of("friends(person,person)", "smokes(person)", "age(person,years!)")


def people(seed, count=12):
    """A random database in which friends of smokers tend to smoke."""
    rng = np.random.default_rng([7, seed])
    names = [f"P{seed}_{i}" for i in range(count)]
    pairs = [(a, b) for a in names for b in names if a != b and rng.random() < 0.2]
    seeds = {name for name in names if rng.random() < 0.3}
    smokers = seeds | {b for a, b in pairs if a in seeds and rng.random() < 0.6}
    return Database.from_facts(
        SCHEMA,
        {
            "friends": pairs,
            "smokes": [(name,) for name in sorted(smokers)],
            "age": [(name, str(rng.integers(3))) for name in names],
        },
        domains={"person": names, "years": ["0", "1", "2"]},
        name=f"people {seed}",
    )


@dataclass(frozen=True)
class Noisy:
    """Predicts the share of true atoms in training, with noise from its seed."""

    target: str = "smokes"
    noise: float = 0.1
    seed: int = 0

    def fit(self, databases):
        examples = positives_and_negatives(databases, self.target)
        return NoisyModel(examples.labels.mean(), self.noise, self.seed)


@dataclass(frozen=True)
class NoisyModel:
    rate: float
    noise: float
    seed: int

    def predict(self, database, predicate, columns):
        assert not database.count(predicate), "the answers must be hidden"
        rng = np.random.default_rng(self.seed)
        return np.clip(self.rate + self.noise * rng.normal(size=columns.shape[1]), 0, 1)


@dataclass(frozen=True)
class Degree:
    """Predicts ``smokes`` by the number of friends; needs no training."""

    steepness: float = 1.0

    def fit(self, databases):
        assert databases
        return self

    def predict(self, database, predicate, columns):
        assert predicate == "smokes"
        degree = np.bincount(database.facts("friends")[1], minlength=database.size("person"))
        return 1 / (1 + np.exp(-self.steepness * (degree - degree.mean())))[columns[0]]


@dataclass(frozen=True)
class Rules:
    """A fixed Markov logic network."""

    text: str

    def fit(self, databases):
        return MLN.parse(f"{databases[0].schema}\n{self.text}")
