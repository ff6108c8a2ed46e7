"""How often each rule would hold, for every value an attribute could take: exact conditionals.

Given the rest of the database, the probability of an attribute's value is proportional to
exp(Σ over rules of weight × groundings that hold with that value). Only rules of families that
contain the attribute matter, as child or as parent. For each such family the groundings are counted
by entity (or link) and by the values of the family's other nodes; what the rules say for each value
is then a lookup. A grounding that asks for an unknown value does not count as one that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from mlnlearn.counting.arrays import Codes, Ints, rows_of, run_starts, sort_keys
from mlnlearn.late import late
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.structure.join_bayes.counts import Counts, FamilyCounter
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship
from mlnlearn.structure.join_bayes.rules import FamilyRules
from mlnlearn.structure.join_bayes.trees import weighted_bins
from mlnlearn.weights.rows import RowBlocks, Rows

special = late("scipy.special")

Floats = NDArray[np.float64]

_MANY = 1 << 20
"""More entries than these are added up before they are kept."""


@dataclass(frozen=True, eq=False)
class AttributeFeatures:
    """What all rules say about one attribute of every entity, or of every link.

    Attributes
    ----------
    node
        The attribute.
    truth
        Its value for each entity or link; the number of values where it is unknown.
    matrix
        Sparse; a row for each (entity or link, value), a column for each rule: how many groundings
        of the rule would hold.
    """

    node: NetNode
    truth: Codes
    matrix: csr_matrix

    @property
    def first(self) -> int:
        """The first value that can be predicted: after N/A, for attributes of links."""
        return int(self.node.relationship is not None)

    def scaled(self, scale: Floats) -> AttributeFeatures:
        """Return the features with each rule's counts divided by a number, where that is not 0."""
        factors = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        return replace(self, matrix=self.matrix.multiply(factors[None, :]).tocsr())

    def rows(self, share: float = 1.0) -> Rows:
        """Return the choices among values, one of each group of groundings with the same features.

        Thousands of links share a few feature rows. Rows are compared by their products with a
        random vector: equal rows have equal products, different ones practically never.
        """
        rng, size = np.random.default_rng(0), self.node.size
        marks = (self.matrix @ rng.normal(size=self.matrix.shape[1])).reshape(-1, size)
        _, first, place = np.unique(marks, axis=0, return_index=True, return_inverse=True)
        known = self.truth < size
        keys = place.reshape(-1)[known] * size + self.truth[known]
        true = np.bincount(keys, minlength=len(first) * size).astype(np.float64) * share
        matrix = self.matrix[(first[:, None] * size + np.arange(size)).reshape(-1)]
        features = np.flatnonzero(matrix.getnnz(axis=0))
        # what cannot be predicted is not among the choices
        members = np.arange(len(true)).reshape(-1, size)[:, self.first :]
        blocks = RowBlocks(members.reshape(-1), np.arange(len(members)) * members.shape[1])
        total = true.reshape(-1, size).sum(axis=1)
        return Rows(features, csr_array(matrix[:, features]), true, total, blocks)

    def log_probabilities(self, weights: Floats) -> Floats:
        """Return the log-probability of each value, shape ``(entities or links, values)``."""
        scores = (self.matrix @ weights).reshape(-1, self.node.size)
        scores[:, : self.first] = -np.inf
        return np.asarray(special.log_softmax(scores, axis=1))


def attribute_features(
    counter: FamilyCounter,
    families: Sequence[FamilyRules],
    names: Container[str] | None = None,
    at: Sequence[int] | None = None,
) -> list[AttributeFeatures]:
    """Return the features of all attributes; rules are numbered through the families in order.

    With `names`, only those of these predicates; with `at`, only of the entity, or of the link
    between these entities (the rows of all others are empty).
    """
    data, layout = counter.data, counter.data.layout
    starts = np.cumsum([0, *(family.size for family in families)])
    found = []
    for node in _attributes(layout):
        if names is not None and node.predicate.name not in names:
            continue
        truth = data.values[node.predicate.name]
        builder = _MatrixBuilder(counter, node, at)
        for family, start in zip(families, starts[:-1].tolist(), strict=True):
            builder.add(family, start)
        found.append(AttributeFeatures(node, truth, builder.matrix(len(truth), int(starts[-1]))))
    return found


def attribute_scores(
    counter: FamilyCounter, families: Sequence[FamilyRules], node: NetNode, weights: Floats
) -> Floats:
    """Return the log-probability of each value of an attribute, up to a constant for each row.

    Shape ``(entities or links, values)``.
    """
    builder, start = _Scorer(counter, node, weights), 0
    for family in families:
        builder.add(family, start)
        start += family.size
    scores = builder.sums.reshape(-1, node.size)
    scores[:, : int(node.relationship is not None)] = -np.inf
    return scores


def typical_counts(features: Sequence[AttributeFeatures]) -> Floats:
    """Return the root mean square of each rule's counts where it holds at all; 0 where never."""
    rules = features[0].matrix.shape[1]
    squares, entries = np.zeros(rules), np.zeros(rules)
    for part in features:
        squares += np.bincount(part.matrix.indices, part.matrix.data**2, rules)
        entries += np.bincount(part.matrix.indices, minlength=rules)
    return np.sqrt(squares / np.maximum(entries, 1.0))


def _attributes(layout: NetLayout) -> Iterator[NetNode]:
    yield from (node for node in layout.attributes if node.main)
    for relationship in layout.relationships:
        yield from relationship.attributes


class _MatrixBuilder:
    """Gathers the entries of one attribute's matrix."""

    def __init__(
        self, counter: FamilyCounter, node: NetNode, at: Sequence[int] | None = None
    ) -> None:
        self.counter, self.node, self.at = counter, node, at
        layout = counter.data.layout
        owners = {r.predicate: r for r in layout.relationships}
        self.owner: Relationship | None = (
            None if node.relationship is None else owners[node.relationship]
        )
        self.rows: list[Ints] = []
        self.columns: list[Ints] = []
        self.counts: list[Floats] = []

    def add(self, family: FamilyRules, start: int) -> None:
        """Add a family: each occurrence of the attribute, and where two coincide."""
        if not family.leaves:  # all of its tuples have unknown values
            return
        same = [node for node in family.nodes if node.predicate == self.node.predicate]
        for node in same:
            self._add(family, start, (node,), ())
        for place, node in enumerate(same):
            for other in same[place + 1 :]:
                merged = ((other.variables[0], node.variables[0]),)
                # where both are the same entity, neither is part of the rest of the database
                self._add(family, start, (node,), merged, sign=-1)
                self._add(family, start, (other,), merged, sign=-1)
                self._add(family, start, (node, other), merged)

    def _add(
        self,
        family: FamilyRules,
        start: int,
        changed: tuple[NetNode, ...],
        merged: tuple[tuple[Variable, Variable], ...],
        sign: int = 1,
    ) -> None:
        rest = [node for node in family.nodes if node not in changed]
        true = family.given
        if self.owner is not None and self.owner not in true:
            true = (*true, self.owner)
        keep = changed[0].variables
        if merged:
            keep = tuple(dict(merged).get(variable, variable) for variable in keep)
        if all(node.variables == keep for node in family.nodes) and not true:
            counts = self._within_table(rest)
        else:
            counts = self.counter.count(
                rest,
                scope=_variables(family.nodes),
                true=true,
                keep=keep,
                at=self.at,
                merged=merged,
                unknown=True,
            )
        grounding = self._grounding(counts)
        known = dict(zip(counts.nodes, counts.columns, strict=True))
        shown = family.emitted
        about = np.array([family.mentions(leaf, changed) for leaf in range(len(family.leaves))])
        spread = self._spread(family, counts)
        for value in range(self.node.size):
            known |= {node: np.full(len(counts), value, np.int32) for node in changed}
            leaf = family.leaf_of([known[node] for node in family.parents], len(counts))
            asked = known[family.child]
            holds = (leaf >= 0) & (asked < family.child.size)
            rule = np.where(holds, leaf * family.child.size + asked, 0)
            holds &= shown[rule] & about[leaf]
            rows = grounding[holds] * self.node.size + value
            rules = rule[holds].astype(np.int64)
            entries = sign * counts.counts[holds] / spread(leaf[holds], holds)
            if len(rows) > _MANY:
                # tuples of a grounding far outnumber the rules that speak of it
                order, ordered = sort_keys(rows * family.size + rules)
                first = run_starts(ordered)
                rows, rules = np.divmod(ordered[first], family.size)
                place = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
                entries = weighted_bins(place, entries[order], len(first))
            self.take(rows, rules + start, entries)

    def take(self, rows: Ints, rules: Ints, entries: Floats) -> None:
        """Add entries of the matrix."""
        self.rows.append(rows)
        self.columns.append(rules)
        self.counts.append(entries)

    def _within_table(self, rest: Sequence[NetNode]) -> Counts:
        """Return each entity with the values of its own other attributes: nothing is to count."""
        data = self.counter.data
        entities = np.arange(data.total(self.node.predicate.types[0]), dtype=np.int32)
        if self.at is not None:
            entities = entities[self.at[0] :][:1]
        columns = tuple(data.values[node.predicate.name][entities] for node in rest)
        return Counts(tuple(rest), columns, np.ones(len(entities), np.int64), (entities,))

    def _spread(
        self, family: FamilyRules, counts: Counts
    ) -> Callable[[Codes, NDArray[np.bool_]], Ints]:
        """Return how often each leaf's rules were counted: once for each free variable's entity.

        A leaf may ask for fewer variables than the whole tree; its rule is about those alone, and
        the rows of counts that reach the leaf add up to a multiple of the others' domains.
        """
        data = self.counter.data
        sizes = np.ones((len(family.leaves), data.populations), np.int64)
        for leaf in range(len(family.leaves)):
            for variable in family.unmentioned(leaf):
                sizes[leaf] *= data.sizes[data.layout.types[variable]]
        owner = data.owner[self.node.predicate.types[0]][counts.kept[0]]
        return lambda leaf, rows: sizes[leaf, owner[rows]]

    def _grounding(self, counts: Counts) -> Ints:
        """Return the entity or link that each row of counts is about."""
        if self.owner is None:
            return counts.kept[0].astype(np.int64)
        data, predicate = self.counter.data, self.owner.predicate
        sizes = [data.total(kind) for kind in predicate.types]
        return rows_of(list(data.links[predicate.name]), counts.kept, sizes)

    def matrix(self, groundings: int, rules: int) -> csr_matrix:
        """Return the matrix; entries of the same place are summed."""
        shape = (groundings * self.node.size, rules)
        if not self.rows:
            return csr_matrix(shape, dtype=np.float64)
        entries = np.concatenate(self.counts)
        places = np.concatenate(self.rows), np.concatenate(self.columns)
        matrix = csr_matrix((entries, places), shape=shape)
        matrix.eliminate_zeros()
        return matrix


class _Scorer(_MatrixBuilder):
    """Adds entries up at once, times the weights of their rules."""

    def __init__(self, counter: FamilyCounter, node: NetNode, weights: Floats) -> None:
        super().__init__(counter, node)
        self.weights = weights
        self.sums = np.zeros(len(counter.data.values[node.predicate.name]) * node.size)

    def take(self, rows: Ints, rules: Ints, entries: Floats) -> None:
        self.sums += weighted_bins(rows, entries * self.weights[rules], len(self.sums))


def _variables(nodes: Sequence[NetNode]) -> list[Variable]:
    return list(dict.fromkeys(variable for node in nodes for variable in node.variables))


@dataclass(frozen=True, eq=False)
class AttributePrediction:
    """Probabilities of an attribute's values, for every entity or link.

    Entities come in the order of their type's domain, links in that of their facts; with several
    databases, those of the first come first.

    Attributes
    ----------
    node
        The attribute.
    log_probabilities
        Shape ``(entities or links, values)``.
    truth
        The true value, or the number of values where it is unknown.
    """

    node: NetNode
    log_probabilities: Floats
    truth: Codes

    @property
    def _known(self) -> tuple[Floats, Codes]:
        known = self.truth < self.node.size
        return self.log_probabilities[known], self.truth[known]

    @property
    def accuracy(self) -> float:
        """Share of known values that are the most probable ones; k equal ones count 1/k."""
        logs, truth = self._known
        best = np.isclose(logs, logs.max(axis=1, keepdims=True), rtol=0.0, atol=1e-12)
        shares = best / best.sum(axis=1, keepdims=True)
        return float(shares[np.arange(len(truth)), truth].mean()) if len(truth) else np.nan

    @property
    def cll(self) -> float:
        """Mean log-probability of the known values."""
        logs, truth = self._known
        return float(logs[np.arange(len(truth)), truth].mean()) if len(truth) else np.nan


def averages(predictions: Mapping[str, AttributePrediction]) -> tuple[float, float]:
    """Return accuracy and conditional log-likelihood, averaged over the attributes."""
    found = list(predictions.values())
    accuracies = [part.accuracy for part in found]
    return float(np.nanmean(accuracies)), float(np.nanmean([part.cll for part in found]))
