"""Learners from tables among the others: what they learn from, and what they say of atoms."""

from __future__ import annotations

from collections.abc import Mapping as Settings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import Keys, is_among, pack
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.model.bayesnet_nodes import FALSE_TRUE, NetNode
from mlnlearn.structure.join_bayes.model import JoinBayesModel


class LearnsFromTables(Protocol):
    """A learner that is told which tables its databases were made from."""

    def fit(self, data: Data) -> object:
        """Return a model."""
        ...


@dataclass(frozen=True)
class WithMapping:
    """A learner from tables together with the mapping of the tables: a learner like any other.

    Parameters
    ----------
    learner
        The learner.
    mapping
        How the tables became predicates.

    Examples
    --------
    >>> from mlnlearn.data.load.declared import declared_mapping
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.structure.join_bayes.learners import MBN
    >>> schema = Schema.of("sex(person,sex_value!)")
    >>> db = Database.from_facts(schema, {"sex": [("Anna", "f"), ("Bob", "m"), ("Carl", "m")]})
    >>> model = WithMapping(MBN(), declared_mapping(schema)).fit([db]).model
    >>> print(model.net)
    sex(person)
    """

    learner: LearnsFromTables
    mapping: Mapping

    def fit(self, databases: Sequence[Database]) -> object:
        """Learn from databases made from such tables."""
        return self.learner.fit(Data(tuple(databases), self.mapping))

    def with_settings(self, settings: Settings[str, Any]) -> WithMapping:
        """Return the same with other settings of the learner, a dataclass."""
        return replace(self, learner=replace(cast(Any, self.learner), **settings))


def attribute_probabilities(
    model: JoinBayesModel,
    database: Database,
    predicate: str,
    columns: Columns,
    hidden: Sequence[str] = (),
) -> Floats | None:
    """Return a model's probabilities of an attribute's atoms; None where it is no attribute.

    Each is exact given all values that are not hidden; hidden values say nothing about each other.
    What is asked of entities that are not linked, as attributes of a link, is false.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.structure.join_bayes.learners import MBN
    >>> schema = Schema.of("sex(person,sex_value!)")
    >>> db = Database.from_facts(schema, {"sex": [("Anna", "f"), ("Bob", "m"), ("Carl", "m")]})
    >>> model = MBN().fit([db]).model
    >>> attribute_probabilities(model, db, "sex", np.array([[0, 0], [0, 1]], np.int32)).round(2)
    array([0.4, 0.6])
    """
    nodes = {n.predicate.name: n for n in model.net.nodes if n.is_attribute and n.main}
    node = nodes.get(predicate)
    if node is None:
        return None
    for name in hidden:
        if name in nodes and nodes[name].is_flag:
            database = _unknown_flag(database, nodes[name])
    found = model.predict(database)[predicate]
    keys = columns if node.is_flag else columns[:-1]
    rows, there = _rows(database, node, keys)
    values = _value_codes(database, node, columns)
    known = there & (values >= 0)
    answers = np.zeros(columns.shape[1])
    answers[known] = np.exp(found.log_probabilities[rows[known], values[known]])
    return answers


def _unknown_flag(database: Database, node: NetNode) -> Database:
    """Return the database in which nothing is known of a flag, where silence would mean no."""
    name = node.predicate.name
    tuples = (
        np.arange(database.size(node.predicate.types[0]), dtype=np.int32)[None, :]
        if node.relationship is None
        else database.facts(node.relationship.name)
    )
    without = database.without_facts([name])
    return replace(without, unknown={**without.unknown, name: tuples})


def _rows(database: Database, node: NetNode, keys: Columns) -> tuple[Keys, NDArray[np.bool_]]:
    """Return the row of the prediction for each entity or tuple, and whether there is one."""
    if node.relationship is None:
        return keys[0].astype(np.int64), np.ones(keys.shape[1], np.bool_)
    sizes = domain_sizes(database, node.relationship.name)
    links = pack(database.facts(node.relationship.name), sizes)
    wanted = pack(keys, sizes)
    return np.searchsorted(links, wanted), is_among(wanted, links)


def _value_codes(database: Database, node: NetNode, columns: Columns) -> Keys:
    """Return each atom's value as the model counts them, -1 for one never seen in training."""
    if node.is_flag:
        return np.full(columns.shape[1], node.values.index(FALSE_TRUE[1]))
    code_of = {name: code for code, name in enumerate(node.values)}
    names = database.domains[node.predicate.types[-1]].names
    table = np.array([code_of.get(name, -1) for name in names], np.int64)
    found: Keys = table[columns[-1]]
    return found
