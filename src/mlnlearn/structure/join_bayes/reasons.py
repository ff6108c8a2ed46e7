"""Why an attribute has a value: what each rule adds, counted for the one entity asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import rows_of
from mlnlearn.data.database import Database
from mlnlearn.late import late
from mlnlearn.logic.atoms import Atom, Constant
from mlnlearn.model.bayesnet_nodes import ABSENT, FALSE_TRUE, NetNode
from mlnlearn.model.explanation import Contribution, Explanation, by_size, codes_of
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.features import attribute_features
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.rules import FamilyRules

special = late("scipy.special")

Floats = NDArray[np.float64]


def explain_attribute(
    families: Sequence[FamilyRules],
    weights: Floats,
    nodes: Sequence[NetNode],
    database: Database,
    atom: Atom,
) -> Explanation | None:
    """Explain the value of an attribute by the rules.

    Parameters
    ----------
    families, weights, nodes
        Of the model.
    database
        The rest of the world. Unknown values of other cells say nothing, as in
        `JoinBayesModel.predict`.
    atom
        A ground atom.

    Returns
    -------
    Explanation
        None where the atom is no attribute of an entity or link that is there, or has a value that
        the net does not know.
    """
    node = next((n for n in nodes if n.predicate == atom.predicate and n.main), None)
    if node is None or node.is_link:
        return None
    data = EncodedData([database], NetLayout.from_nodes(nodes))
    keys = codes_of(database, atom)[: len(node.variables), 0].tolist()
    row = _row(data, node, keys)
    value = _value(node, atom)
    if row < 0 or value < 0:
        return None
    name = node.predicate.name
    [features] = attribute_features(FamilyCounter(data), families, {name}, keys)
    start = row * node.size
    counts = features.matrix[start : start + node.size].toarray()
    scores = counts @ weights
    scores[: features.first] = -np.inf
    scores[_excluded(node, database, keys)] = -np.inf
    rivals = np.where(np.arange(node.size) == value, -np.inf, scores)
    rival = int(rivals.argmax())
    if not np.isfinite([scores[value], rivals[rival]]).all():
        return None
    flips = counts[value] - counts[rival]
    used = np.flatnonzero(flips)
    texts = _texts(families, used.tolist())
    parts = [
        Contribution(texts[rule], float(flips[rule]), float(flips[rule] * weights[rule]))
        for rule in used.tolist()
    ]
    against = None
    if not node.is_flag:
        terms = (*atom.terms[:-1], Constant(node.values[rival]))
        against = Atom(atom.predicate, terms)
    log_odds = sum(part.log_odds for part in parts)
    return Explanation(
        atom, by_size(parts), log_odds, float(special.softmax(scores)[value]), against
    )


def _row(data: EncodedData, node: NetNode, keys: list[int]) -> int:
    """Return the entity, or the place of the link among all; -1 where there is none."""
    if node.relationship is None:
        return keys[0]
    links = list(data.links[node.relationship.name])
    sizes = [data.total(kind) for kind in node.relationship.types]
    return int(rows_of(links, [np.array([key]) for key in keys], sizes)[0])


def _value(node: NetNode, atom: Atom) -> int:
    name = FALSE_TRUE[1] if node.is_flag else atom.terms[-1].name
    return -1 if name == ABSENT or name not in node.values else node.values.index(name)


def _excluded(node: NetNode, database: Database, keys: list[int]) -> list[int]:
    """Return the values that the database says are false for the keys."""
    if node.is_flag:
        return []
    false = database.false_facts(node.predicate.name)
    mine = false[-1, (false[:-1] == np.array(keys)[:, None]).all(axis=0)]
    names = database.domains[node.predicate.types[-1]].names
    return [node.values.index(names[k]) for k in mine.tolist() if names[k] in node.values]


def _texts(families: Sequence[FamilyRules], rules: Sequence[int]) -> dict[int, str]:
    """Return the text of rules, numbered through the families."""
    wanted, start = set(rules), 0
    found: dict[int, str] = {}
    for family in families:
        if not wanted.isdisjoint(range(start, start + family.size)):
            places = start + np.flatnonzero(family.emitted)
            formulas = zip(places.tolist(), family.formulas(), strict=True)
            found |= {place: str(formula) for place, formula in formulas if place in wanted}
        start += family.size
    return found
