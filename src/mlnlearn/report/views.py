"""What a report needs of a model, for each kind of model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import Marginals
from mlnlearn.evaluate.predictions import Predictions, predict_examples
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.logic.schema import Schema
from mlnlearn.model.bayesnet_nodes import ABSENT, FALSE_TRUE
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.mln import MLN
from mlnlearn.report.reasons import Reasons, boosted_reasons, network_reasons
from mlnlearn.report.rules import as_implication
from mlnlearn.structure.join_bayes.features import AttributePrediction
from mlnlearn.structure.join_bayes.model import JoinBayesModel

MOST_EXAMPLES = 200_000
"""Atoms beyond this number are represented by a weighted sample of the false ones."""


class View(ABC):
    """A model as a report sees it."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What kind of model it is, in words."""

    @abstractmethod
    def network(self) -> MLN | None:
        """Return the rules as a network; None where there is no network of the same meaning."""

    @abstractmethod
    def queries(self) -> tuple[str, ...]:
        """Return the predicates that the model is about."""

    @abstractmethod
    def predictions(
        self, databases: Sequence[Database], predicate: str, others: Sequence[str]
    ) -> Predictions:
        """Predict atoms of a predicate; `others` are the predicates predicted along with it."""

    def values(self, predicate: Predicate, schema: Schema) -> tuple[int, ...]:
        """Return the places of a predicate that hold one value of several; none, as a rule."""
        return schema.functional.get(predicate.name, ())

    @abstractmethod
    def reasons(self, databases: Sequence[Database], atoms: Predictions) -> list[Reasons]:
        """Explain atoms."""


@dataclass(frozen=True)
class NetworkView(View):
    """A Markov logic network."""

    mln: MLN

    kind = "Markov logic network"

    def network(self) -> MLN:
        """Return the network itself."""
        return self.mln

    def queries(self) -> tuple[str, ...]:
        """Return the predicates that rules conclude, else all that stand in rules."""
        splits = [as_implication(rule.formula) for rule in self.mln.rules]
        heads = [atom for split in splits if split for atom in atoms_of(split[1])]
        used = heads or [atom for rule in self.mln.rules for atom in atoms_of(rule.formula)]
        return tuple(dict.fromkeys(atom.predicate.name for atom in used))

    def predictions(
        self, databases: Sequence[Database], predicate: str, others: Sequence[str]
    ) -> Predictions:
        """Predict atoms given all predicates that are not predicted along with them."""
        examples = examples_of(databases, predicate)
        return predict_examples(self.mln, databases, examples, Marginals(hide=tuple(others)))

    def reasons(self, databases: Sequence[Database], atoms: Predictions) -> list[Reasons]:
        """Weigh flip counts."""
        places = self.values(atoms.predicate, self.mln.schema)
        return network_reasons(self.mln, databases, atoms, places)


@dataclass(frozen=True)
class BoostedView(View):
    """A boosted model."""

    model: BoostedModel

    @property
    def kind(self) -> str:
        """Which boosted network, and its number of steps."""
        what = "dependency network" if self.model.existential else "Markov logic network"
        return f"Boosted {what}, {self.model.steps} steps"

    def network(self) -> MLN | None:
        """Return branches and clauses as formulas; a joint dependency network has none."""
        if self.model.existential and self.model.is_joint:
            return None
        return self.model.to_mln()

    def queries(self) -> tuple[str, ...]:
        """Return the targets."""
        return tuple(rules.predicate.name for rules in self.model.targets)

    def predictions(
        self, databases: Sequence[Database], predicate: str, others: Sequence[str]
    ) -> Predictions:
        """Predict atoms given all predicates that are not predicted along with them."""
        self.model.rules_of(predicate)
        examples = examples_of(databases, predicate)
        return predict_examples(self.model, databases, examples, Marginals(hide=tuple(others)))

    def reasons(self, databases: Sequence[Database], atoms: Predictions) -> list[Reasons]:
        """Find the branches and clauses that apply."""
        return boosted_reasons(self.model, databases, atoms)


@dataclass(frozen=True)
class BayesView(View):
    """A Bayes net with its rules."""

    model: JoinBayesModel

    kind = "Bayes net and its rules"

    def network(self) -> MLN:
        """Return the rules made from the net."""
        return self.model.mln()

    def queries(self) -> tuple[str, ...]:
        """Return the attributes."""
        nodes = self.model.net.nodes
        return tuple(node.predicate.name for node in nodes if node.is_attribute and node.main)

    def predictions(
        self, databases: Sequence[Database], predicate: str, others: Sequence[str]
    ) -> Predictions:
        """Predict every value given all other values, as the model does."""
        parts = []
        for database in databases:
            found = self.model.predict(database)
            if predicate not in found:
                raise InputError(
                    f"{predicate} is no attribute of the net; there are: {', '.join(found)}"
                )
            parts.append(_atoms_of(found[predicate], database))
        return Predictions(
            parts[0].predicate,
            np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts]),
            np.concatenate([part.columns for part in parts], axis=1),
            np.concatenate([part.probability for part in parts]),
            np.concatenate([part.label for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )

    def values(self, predicate: Predicate, schema: Schema) -> tuple[int, ...]:
        """Return the place of an attribute's value, the last; a flag has none."""
        node = next(n for n in self.model.net.nodes if n.predicate == predicate)
        return () if node.is_flag else (predicate.arity - 1,)

    def reasons(self, databases: Sequence[Database], atoms: Predictions) -> list[Reasons]:
        """Weigh flip counts, of an attribute those of choosing one of its values."""
        places = self.values(atoms.predicate, self.model.schema)
        return network_reasons(self.model.mln(), databases, atoms, places)


def view_of(model: object) -> View:
    """Return the view of a model.

    Examples
    --------
    >>> view_of(MLN.parse("smokes(person)" + chr(10) + "-1.5 smokes(x)")).queries()
    ('smokes',)
    """
    if isinstance(model, MLN):
        return NetworkView(model)
    if isinstance(model, BoostedModel):
        return BoostedView(model)
    if isinstance(model, JoinBayesModel):
        return BayesView(model)
    learned = getattr(model, "mln", None)
    if isinstance(learned, MLN):
        # what learners of weights and rules return: a network and how the learning went
        return NetworkView(learned)
    raise InputError(
        f"no report for a {type(model).__name__}",
        hint="give a Markov logic network, a boosted model, or a Bayes net with its rules",
    )


def examples_of(databases: Sequence[Database], predicate: str) -> Examples:
    """Return all atoms of a predicate; where there are very many, a sample of the false ones.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> len(examples_of([db], "likes"))
    4
    """
    positives = sum(database.count(predicate) for database in databases)
    total = sum(database.ground_atoms(predicate) for database in databases)
    ratio = None if total <= MOST_EXAMPLES else MOST_EXAMPLES / max(positives, 1)
    return positives_and_negatives(databases, predicate, ratio=ratio)


def _atoms_of(found: AttributePrediction, database: Database) -> Predictions:
    """Turn the distribution of an attribute into atoms: one for every entity and value."""
    node = found.node
    link = node.relationship
    count = len(found.truth)
    keys: Columns = (
        np.arange(count, dtype=np.int32)[None] if link is None else database.facts(link.name)
    )
    values: dict[int, int | None]
    if node.is_flag:
        values = {node.values.index(FALSE_TRUE[1]): None}
    else:
        domain = database.domains[node.predicate.types[-1]]
        codes = {place: domain.code(name) for place, name in enumerate(node.values)}
        values = {p: c for p, c in codes.items() if node.values[p] != ABSENT and c >= 0}
    known = np.flatnonzero(found.truth < node.size)
    columns, probability, label = [], [], []
    for place, code in values.items():
        entities = list(keys[:, known])
        if code is not None:
            entities.append(np.full(len(known), code, np.int32))
        columns.append(np.stack(entities))
        probability.append(np.exp(found.log_probabilities[known, place]))
        label.append(found.truth[known] == place)
    return Predictions(
        node.predicate,
        np.zeros(len(known) * len(values), np.int32),
        np.concatenate(columns, axis=1).astype(np.int32),
        np.clip(np.concatenate(probability), 0.0, 1.0),
        np.concatenate(label),
        np.ones(len(known) * len(values)),
    )
