"""How often each rule would hold, for every value an attribute could take: exact conditionals.

Given the rest of the database, the probability of an attribute's value is proportional to
exp(Σ over rules of weight × groundings that hold with that value). Only rules of families that
contain the attribute matter, as child or as parent. For each such family the groundings are counted
by entity (or link) and by the values of the family's other nodes; what the rules say for each value
is then a lookup. A grounding that asks for an unknown value does not count as one that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mlnlearn.counting.arrays import Codes, Ints, rows_of, run_starts, sort_keys
from mlnlearn.counting.equal_rows import equal_rows
from mlnlearn.late import late
from mlnlearn.logic.atoms import Variable
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.structure.join_bayes.counts import Counts
from mlnlearn.structure.join_bayes.encode import CountedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.feature_rows import FeatureRows, add_marks
from mlnlearn.structure.join_bayes.layout import NetLayout, Relationship
from mlnlearn.structure.join_bayes.rules import FamilyRules
from mlnlearn.structure.join_bayes.trees import weighted_bins
from mlnlearn.threads import in_order

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

    def grouped(self) -> FeatureRows:
        """Return what pseudo-likelihoods need: groundings of the same features together."""
        every = np.arange(len(self.truth))
        return FeatureRows.of(self.node, self.matrix, self.truth, every)

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
    wanted = [
        node
        for node in attributes_of(counter.data.layout)
        if names is None or node.predicate.name in names
    ]
    return [_features(counter, families, node, at) for node in wanted]


def attribute_rows(counter: FamilyCounter, families: Sequence[FamilyRules]) -> list[FeatureRows]:
    """Return the features of all attributes, each attribute's equal groundings together.

    Groundings for which all counts are the same have the same features, so that these are made for
    one of them.
    """
    data = counter.data
    nodes = list(attributes_of(data.layout))
    # the largest first, so that no thread is left with it alone in the end
    order = sorted(range(len(nodes)), key=lambda at: -len(data.values[nodes[at].predicate.name]))
    builders = [GroundBuilder(counter, nodes[at]) for at in order]
    jobs = [(builder, look) for builder in builders for look in looks_of(families, builder.node)]
    size = sum(family.size for family in families)
    with closing(in_order(lambda job: _marked(*job), jobs)) as counted:
        # what is counted for an attribute is put together while the next one's is counted
        parts = (
            (builder, [(look, next(counted)) for look in looks_of(families, builder.node)])
            for builder in builders
        )
        found = dict(zip(order, in_order(lambda part: _rows(*part, size), parts), strict=True))
    return [found[number] for number in range(len(nodes))]


@dataclass(frozen=True, eq=False)
class _Marked:
    """Counts, the grounding that each row is about, and a mark of what each grounding has."""

    counts: Counts
    groundings: Ints
    marks: Ints


def _marked(builder: GroundBuilder, look: Look) -> _Marked:
    counts = builder.counted(look)
    groundings = builder.grounding(counts)
    marks = np.zeros(len(builder.truth), np.int64)
    add_marks(marks, groundings, counts.columns, counts.counts)
    return _Marked(counts, groundings, marks)


def _rows(builder: GroundBuilder, parts: Sequence[tuple[Look, _Marked]], rules: int) -> FeatureRows:
    data, node, truth = builder.counter.data, builder.node, builder.truth
    marks = [part.marks for _, part in parts]
    if data.populations > 1:
        first = data.links[node.relationship.name][0] if node.relationship else slice(None)
        marks.append(data.owner[node.predicate.types[0]][first].astype(np.int64))
    group, chosen = equal_rows(np.stack(marks or [np.zeros(len(truth), np.int64)], axis=1))
    place = np.full(len(truth), -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    for look, part in parts:
        kept = np.flatnonzero(place[part.groundings] >= 0)
        builder.emit(look, part.counts.at(kept), place[part.groundings[kept]])
    return FeatureRows.of(node, builder.matrix(len(chosen), rules), truth, group)


def _features(
    counter: FamilyCounter,
    families: Sequence[FamilyRules],
    node: NetNode,
    at: Sequence[int] | None = None,
) -> AttributeFeatures:
    builder = GroundBuilder(counter, node, at)
    builder.add(families)
    rules = sum(family.size for family in families)
    return AttributeFeatures(node, builder.truth, builder.matrix(len(builder.truth), rules))


def attribute_scores(
    counter: FamilyCounter, families: Sequence[FamilyRules], node: NetNode, weights: Floats
) -> Floats:
    """Return the log-probability of each value of an attribute, up to a constant for each row.

    Shape ``(entities or links, values)``.
    """
    builder = _Scorer(counter, node, weights)
    builder.add(families)
    scores = builder.sums.reshape(-1, node.size)
    scores[:, : int(node.relationship is not None)] = -np.inf
    return scores


def attributes_of(layout: NetLayout) -> Iterator[NetNode]:
    """Yield the attributes of entities, each once, and those of links."""
    yield from (node for node in layout.attributes if node.main)
    for relationship in layout.relationships:
        yield from relationship.attributes


@dataclass(frozen=True, eq=False)
class Look:
    """A family that an attribute is in, at one or two places.

    Attributes
    ----------
    family, start
        The family, and the number of its first rule.
    changed
        The nodes of the family that are the attribute.
    merged
        Two variables that stand for the same entity, where they are.
    sign
        Whether its counts are added or taken off.
    """

    family: FamilyRules
    start: int
    changed: tuple[NetNode, ...]
    merged: tuple[tuple[Variable, Variable], ...] = ()
    sign: int = 1

    @property
    def rest(self) -> list[NetNode]:
        """The other nodes of the family."""
        return [node for node in self.family.nodes if node not in self.changed]

    @property
    def variables(self) -> list[Variable]:
        """All variables of the family."""
        return list(dict.fromkeys(v for node in self.family.nodes for v in node.variables))

    def given(self, owner: Relationship | None) -> tuple[Relationship, ...]:
        """Return the relationships that hold: those of the rules, and the attribute's own."""
        given = self.family.given
        return given if owner is None or owner in given else (*given, owner)

    @property
    def keep(self) -> tuple[Variable, ...]:
        """The variables of the attribute."""
        return tuple(dict(self.merged).get(v, v) for v in self.changed[0].variables)


def looks_of(families: Sequence[FamilyRules], attribute: NetNode) -> Iterator[Look]:
    """Yield each occurrence of an attribute in families, and where two coincide."""
    start = 0
    for family in families:
        same = [node for node in family.nodes if node.predicate == attribute.predicate]
        # without leaves, all tuples have unknown values
        for place, node in enumerate(same if family.leaves else ()):
            yield Look(family, start, (node,))
            for other in same[place + 1 :]:
                merged = ((other.variables[0], node.variables[0]),)
                # where both are the same entity, neither is part of the rest of the database
                yield Look(family, start, (node,), merged, sign=-1)
                yield Look(family, start, (other,), merged, sign=-1)
                yield Look(family, start, (node, other), merged)
        start += family.size


class MatrixBuilder:
    """Gathers the entries of one attribute's matrix."""

    def __init__(self, data: CountedData, node: NetNode) -> None:
        self.data, self.node = data, node
        owners = {r.predicate: r for r in data.layout.relationships}
        self.owner: Relationship | None = (
            None if node.relationship is None else owners[node.relationship]
        )
        self.rows: list[Ints] = []
        self.columns: list[Ints] = []
        self.counts: list[Floats] = []

    def population(self, counts: Counts) -> Codes | None:
        """Return the population that each row of counts is about; None where there is one."""
        return None

    def emit(self, look: Look, counts: Counts, grounding: Ints) -> None:
        """Add what a family says, given its counts and the grounding that each row is about."""
        family, changed = look.family, look.changed
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
            entries = look.sign * counts.counts[holds] / spread(leaf[holds], holds)
            if len(rows) > _MANY:
                # tuples of a grounding far outnumber the rules that speak of it
                order, ordered = sort_keys(rows * family.size + rules)
                first = run_starts(ordered)
                rows, rules = np.divmod(ordered[first], family.size)
                place = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
                entries = weighted_bins(place, entries[order], len(first))
            self.take(rows, rules + look.start, entries)

    def take(self, rows: Ints, rules: Ints, entries: Floats) -> None:
        """Add entries of the matrix."""
        self.rows.append(rows)
        self.columns.append(rules)
        self.counts.append(entries)

    def _spread(
        self, family: FamilyRules, counts: Counts
    ) -> Callable[[Codes, NDArray[np.bool_]], Ints]:
        """Return how often each leaf's rules were counted: once for each free variable's entity.

        A leaf may ask for fewer variables than the whole tree; its rule is about those alone, and
        the rows of counts that reach the leaf add up to a multiple of the others' domains.
        """
        data = self.data
        sizes = np.ones((len(family.leaves), data.populations), np.int64)
        for leaf in range(len(family.leaves)):
            for variable in family.unmentioned(leaf):
                sizes[leaf] *= data.sizes[data.layout.types[variable]]
        owner = self.population(counts)
        if owner is None:
            return lambda leaf, _: sizes[leaf, 0]
        return lambda leaf, rows: sizes[leaf, owner[rows]]

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


class GroundBuilder(MatrixBuilder):
    """Counts what the entries are made of, for all groundings or for one."""

    def __init__(
        self, counter: FamilyCounter, node: NetNode, at: Sequence[int] | None = None
    ) -> None:
        super().__init__(counter.data, node)
        self.counter, self.at = counter, at
        self.truth = counter.data.values[node.predicate.name]

    def add(self, families: Sequence[FamilyRules]) -> None:
        """Add what all families say of every grounding."""
        for look in looks_of(families, self.node):
            counts = self.counted(look)
            self.emit(look, counts, self.grounding(counts))

    def counted(self, look: Look) -> Counts:
        """Count the values of a family's other nodes for each grounding of the attribute."""
        rest, true, keep = look.rest, look.given(self.owner), look.keep
        if all(node.variables == keep for node in look.family.nodes) and not true:
            return self._within_table(rest)
        return self.counter.count(
            rest,
            scope=look.variables,
            true=true,
            keep=keep,
            at=self.at,
            merged=look.merged,
            unknown=True,
        )

    def population(self, counts: Counts) -> Codes | None:
        """Return the population that each row of counts is about; None where there is one."""
        if self.data.populations == 1:
            return None
        return self.counter.data.owner[self.node.predicate.types[0]][counts.kept[0]]

    def _within_table(self, rest: Sequence[NetNode]) -> Counts:
        """Return each entity with the values of its own other attributes: nothing is to count."""
        data = self.counter.data
        entities = np.arange(data.total(self.node.predicate.types[0]), dtype=np.int32)
        if self.at is not None:
            entities = entities[self.at[0] :][:1]
        columns = tuple(data.values[node.predicate.name][entities] for node in rest)
        return Counts(tuple(rest), columns, np.ones(len(entities), np.int64), (entities,))

    def grounding(self, counts: Counts) -> Ints:
        """Return the entity or link that each row of counts is about."""
        if self.owner is None:
            return counts.kept[0].astype(np.int64)
        data, predicate = self.counter.data, self.owner.predicate
        links = data.links[predicate.name]
        if len(counts) == links.shape[1] and all(map(np.array_equal, links, counts.kept)):
            return np.arange(len(counts))  # each link has a row, in order
        sizes = [data.total(kind) for kind in predicate.types]
        return rows_of(list(links), counts.kept, sizes)


class _Scorer(GroundBuilder):
    """Adds entries up at once, times the weights of their rules."""

    def __init__(self, counter: FamilyCounter, node: NetNode, weights: Floats) -> None:
        super().__init__(counter, node)
        self.weights = weights
        self.sums = np.zeros(len(self.truth) * node.size)

    def take(self, rows: Ints, rules: Ints, entries: Floats) -> None:
        self.sums += weighted_bins(rows, entries * self.weights[rules], len(self.sums))


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
