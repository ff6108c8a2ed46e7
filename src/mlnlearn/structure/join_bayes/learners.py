"""Learners from tables to rules: moralised Bayes nets, and decision trees on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.identity import journal_of
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.declared import declared_mapping
from mlnlearn.errors import CountOverflowError, InputError
from mlnlearn.journal import Journal
from mlnlearn.model.bayesnet import ConditionalTable, ParametrizedBayesNet
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.run import Course, Fitted, Notes
from mlnlearn.settings import Above, AtLeast
from mlnlearn.structure.join_bayes.counts import Counter, Counts
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.feature_rows import typical_counts
from mlnlearn.structure.join_bayes.features import attribute_rows
from mlnlearn.structure.join_bayes.impute import Imputation, Parents
from mlnlearn.structure.join_bayes.joint_weights import joint_weights
from mlnlearn.structure.join_bayes.lattice import MAX_WORK, LearnAndJoin, NodeEdge
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from mlnlearn.structure.join_bayes.placed_counts import PlacedCounter
from mlnlearn.structure.join_bayes.placed_data import PlacedData, counted_in_place
from mlnlearn.structure.join_bayes.placed_features import placed_rows
from mlnlearn.structure.join_bayes.rules import (
    Family,
    FamilyRules,
    rows_and_values,
    table_rules,
    tree_rules,
)
from mlnlearn.structure.learner import Learner
from mlnlearn.weights.objective import GaussianPrior
from mlnlearn.weights.optimize import maximise
from mlnlearn.weights.rows import RowLikelihood

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class JoinBayesNotes(Notes):
    """How learning from tables went.

    Attributes
    ----------
    remarks
        What was left out, one sentence each.
    """

    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _JoinBayesLearner(Learner[JoinBayesModel, JoinBayesNotes]):
    """Settings that all learners from tables share.

    The preset ``"paper"`` has the rules of the net or of its trees and no others, and weights that
    make all attributes of a database most probable together, given its links (Lowd & Domingos
    2007), for which worlds are sampled: one column at a time rather than by MC-SAT.

    Parameters
    ----------
    links
        Learn on all tuples, with a true/false node for each relationship; else only on joins of
        true links, and rules always ask for the links.
    weights
        ``pseudo-likelihood``: weights that make the attributes most probable, each given the rest
        of the database; ``likelihood``: all together, given the links, which takes sampling and a
        hundred times as long; ``log-probability``: logarithms of the net's conditional
        probabilities (of the trees', for `LAJDT`), with rules for parent values never seen as well,
        so that rules and net agree everywhere.
    sigma
        Standard deviation of the Gaussian prior of a weight times the typical number of groundings
        of its rule: a rule that holds a hundred times for one entity gets a prior a hundred times
        as narrow as one that holds once (pseudo-likelihood and likelihood).
    own_rules
        Where the rules of an attribute ask for other entities, add those of the attribute and its
        parents in the same table, so that something is known of entities without links too. With
        ``log-probability``, the rules along links then say how many times as probable a value is
        as by those alone; with `links` as well there are none, as the net needs none.
    sample_size
        Equivalent sample size of the BDeu score.
    max_chain
        The longest chain of relationships to learn on; by default as long as there are.
    max_parents
        The most parents learned for a node.
    max_work
        Bounds what is searched, in rows that are counted. Chains of several relationships are left
        out where they would take more, the costliest first; and in tables and chains of more than
        24 columns, a column is compared with its 12 nearest ones alone. None searches everything.
    """

    tables: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "links": False,
            "weights": "likelihood",
            "own_rules": False,
            "sample_size": 10.0,
            "max_chain": None,
            "max_parents": None,
            "max_work": None,
        }
    }

    links: bool = False
    weights: Literal["pseudo-likelihood", "likelihood", "log-probability"] = "pseudo-likelihood"
    sigma: Annotated[float, Above(0)] = 1.0
    own_rules: bool = True
    sample_size: Annotated[float, Above(0)] = 10.0
    max_chain: Annotated[int, AtLeast(1)] | None = None
    max_parents: Annotated[int, AtLeast(0)] | None = None
    max_work: Annotated[int, AtLeast(0)] | None = MAX_WORK

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[JoinBayesModel, JoinBayesNotes]]:
        """Yield the net and its rules: where time is limited, after each level of the search.

        How the tables became predicates is read off the declarations where the data do not say it
        (see `declared_mapping`). A checkpoint holds the edges found in tables and chains, the
        costly part: a run with other settings for the rules goes on from there, too.
        """
        given = data.databases
        layout = NetLayout.of(given, data.mapping or declared_mapping(given[0].schema))
        if not any(node.is_attribute for node in layout.nodes):
            raise InputError(
                "the tables have no attributes to learn about",
                hint="map some columns as values or flags",
            )
        remarks: dict[str, None] = {}
        if counted_in_place(given):
            yield from self._in_place(data, layout, course, remarks)
            return
        journal = self._journal(course.run.checkpoint, given, layout)
        # Unlinked entities of one population are independent by construction; of several that
        # differ a little they would not be, and cross products make that look significant.
        pooled = EncodedData(given, layout, pooled=True)

        def search(counter: FamilyCounter, label: str) -> Iterator[Parents]:
            return self._nets(counter, journal, course, label, remarks)

        imputation = Imputation(pooled, self.links, self.sample_size, self._most_work, course)
        structures = imputation.structures(search)
        encoded = pooled if len(given) == 1 else EncodedData(given, layout)
        if course.run.max_seconds is None:  # none but the last is wanted
            structures = iter([_last(structures)])
        else:
            structures = chain([(_parents(layout, ()), [])], structures)
        for parents, values in structures:
            counter = FamilyCounter(encoded, [encoded.completed(filled) for filled in values])
            yield self._fitted(data, counter, parents, course, remarks)

    def _in_place(
        self, data: Data, layout: NetLayout, course: Course, remarks: dict[str, None]
    ) -> Iterator[Fitted[JoinBayesModel, JoinBayesNotes]]:
        """Learn by counting where the tables lie."""
        if self.weights == "likelihood":
            raise InputError(
                "weights by likelihood take worlds that are drawn in memory",
                hint="use --engine memory, or --set weights=pseudo-likelihood",
            )
        [database] = data.databases
        placed = PlacedData(database, layout, data.tables)
        path = course.run.checkpoint
        more = {"columns mapped": [repr(layout)], "rows": [placed.digest()] if path else []}
        journal = self._journal(path, (), layout, more)
        structures = self._nets(PlacedCounter(placed), journal, course, "", remarks)
        if course.run.max_seconds is None:  # none but the last is wanted
            structures = iter([_last(structures)])
        else:
            structures = chain([_parents(layout, ())], structures)
        counter = PlacedCounter(placed)
        for parents in structures:
            yield self._fitted(data, counter, parents, course, remarks)

    def _fitted(
        self,
        data: Data,
        counter: FamilyCounter | PlacedCounter,
        parents: Parents,
        course: Course,
        remarks: dict[str, None],
    ) -> Fitted[JoinBayesModel, JoinBayesNotes]:
        net = _net(counter, parents, self.sample_size)
        families = self._families(counter, parents)
        course.tell("rules", len(families), len(families))
        course.tell("weights", 0, 1)
        weights = self._weights(counter, families)
        course.tell("weights", 1, 1)
        schema = data.databases[0].schema
        model = JoinBayesModel(net, tuple(families), weights, schema, data.mapping)
        return Fitted(model, JoinBayesNotes(remarks=tuple(remarks)))

    def _journal(
        self,
        path: str | PathLike[str] | None,
        databases: Sequence[Database],
        layout: NetLayout,
        more: Mapping[str, Sequence[str]] | None = None,
    ) -> Journal:
        """Open the journal of the edges: what these depend on counts, not how rules are made."""
        search = ("links", "sample_size", "max_chain", "max_parents", "max_work")
        return journal_of(
            path,
            self,
            databases,
            more or {"columns mapped": [repr(layout)]},
            name="learn-and-join",
            settings={name: repr(getattr(self, name)) for name in search},
        )

    def _nets(
        self,
        counter: Counter,
        journal: Journal,
        course: Course,
        label: str,
        remarks: dict[str, None],
    ) -> Iterator[Parents]:
        """Yield the parents of all nodes after each level; add what was left out to the remarks."""
        learner = LearnAndJoin(
            counter,
            self.links,
            self.sample_size,
            self.max_chain,
            self.max_parents,
            self.max_work,
            journal,
            course,
            label,
        )
        for edges in learner.levels():
            yield _parents(counter.data.layout, edges)
        remarks.update(dict.fromkeys(learner.remarks))

    def _families(self, counter: Counter, parents: Parents) -> list[FamilyRules]:
        layout = counter.data.layout
        wanted = [
            Family.of(child, above, layout, links=self.links)
            for child, above in parents.items()
            if child.main
        ]
        counter.ahead([((family.child, *family.parents), family.given) for family in wanted])
        found, own = [], []
        for child, above in parents.items():
            if not child.main:
                continue
            family = Family.of(child, above, layout, links=self.links)
            found.append(self._rules(family, family.count(counter)))
            near = tuple(node for node in above if set(node.variables) <= set(child.variables))
            if self._owns_rules and child.is_attribute and len(near) < len(above):
                alone = Family.of(child, near, layout, links=self.links)
                own.append(self._rules(alone, alone.count(counter)))
                if self._from_net:
                    own.append(found[-1].relative_to(own[-1]))
        return [rules.with_seen(counter) for rules in found + own]

    @property
    def _most_work(self) -> int | None:
        """Work for all searches, where cells are empty: two of the longest."""
        return None if self.max_work is None else 2 * self.max_work

    @property
    def _from_net(self) -> bool:
        """Whether the rules must say what the net says, so for rows never seen too."""
        return self.weights == "log-probability"

    @property
    def _owns_rules(self) -> bool:
        # with link indicators the net speaks of entities without links as well
        return self.own_rules and not (self.links and self._from_net)

    @abstractmethod
    def _rules(self, family: Family, counts: Counts) -> FamilyRules:
        """Return the rules of one family."""

    def _weights(
        self, counter: FamilyCounter | PlacedCounter, families: Sequence[FamilyRules]
    ) -> NDArray[np.float64]:
        start = np.concatenate([family.log_probabilities() for family in families])
        if self._from_net:
            return start
        if isinstance(counter, PlacedCounter):
            features = placed_rows(counter, families)
        else:
            features = [
                part
                for data in counter.completions or (counter.data,)
                for part in attribute_rows(FamilyCounter(data), families)
            ]
        scale = typical_counts(features)
        used = scale > 0
        share = 1.0 / max(1, len(counter.completions))
        pieces = [piece for part in features for piece in part.scaled(scale).pieces()]
        likelihood = RowLikelihood([piece.rows(share) for piece in pieces])
        first, prior = np.zeros(len(start)), GaussianPrior(self.sigma)
        # a rule touches few of the many rows: steps of L-BFGS cost less than a Hessian
        optimum = maximise(likelihood.__call__, first, prior=prior, locked=~used)
        # rules that no attribute depends on (say, how probable a link is) keep their probability
        weights = np.where(used, optimum.weights / np.where(used, scale, 1.0), start)
        if self.weights == "likelihood" and isinstance(counter, FamilyCounter):
            worlds = counter.completions or (counter.data,)
            return joint_weights(worlds, families, weights, scale, self.sigma)
        return weights


@dataclass(frozen=True, kw_only=True)
class MBN(_JoinBayesLearner):
    """Moralised Bayes net: one rule for each row of each conditional table.

    Khosravi et al. (2010): learn a Bayes net by learn-and-join, then read every row (child value,
    parent values) as a conjunction. See `LAJDT` for fewer rules.

    Examples
    --------
    >>> from mlnlearn.data.load.build import build_database
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.data.load.tables import Table
    >>> people = {"id": Column.of(["Anna", "Bob", "Carl"]), "sex": Column.of(["f", "m", "m"])}
    >>> tables = build_database([Table("person", people, ("id",))])
    >>> model = MBN(weights="log-probability", sample_size=2).fit(tables).model
    >>> for rule in model.mln().rules:
    ...     print(f"{np.exp(rule.weight):.1f} {rule.formula}")
    0.4 sex(person,"f")
    0.6 sex(person,"m")
    """

    def _rules(self, family: Family, counts: Counts) -> FamilyRules:
        return table_rules(family, counts, self.sample_size, every=self._from_net)


@dataclass(frozen=True, kw_only=True)
class LAJDT(_JoinBayesLearner):
    """Learn-and-join with decision trees: one rule for each branch of a tree and child value.

    Khosravi, Schulte & Hu (2012): learn a Bayes net by learn-and-join, then grow a decision tree
    for each node from its parents; every branch is a conjunction, and the links it runs along are
    part of it. The model's probabilities are exact conditionals given the rest of the database.

    Parameters
    ----------
    min_rows
        At least two branches of a split must have this count.
    pruning
        ``bic``: undo splits that are not worth their parameters; ``collapse``; or ``none``, as in
        the paper: see `grow_tree`.

    Examples
    --------
    >>> from mlnlearn.data.load.build import build_database
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.data.load.tables import Table
    >>> names = {"id": Column.of(list("ABCDEFGH"))}
    >>> people = names | {"sex": Column.of(list("ffffmmmm")), "fan": Column.of(list("xxxxyyyy"))}
    >>> tables = build_database([Table("person", people, ("id",))])
    >>> model = LAJDT().fit(tables).model
    >>> print(model.net)
    sex(person) <- fan(person)
    fan(person)
    >>> found = model.predict(tables.database)["sex"]
    >>> np.exp(found.log_probabilities[0]).round(2)  # of f and m, for A
    array([0.88, 0.12])
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {**_JoinBayesLearner.presets["paper"], "min_rows": 2.0, "pruning": "none"}
    }

    min_rows: Annotated[float, AtLeast(0)] = 2.0
    pruning: Literal["bic", "collapse", "none"] = "bic"

    def _rules(self, family: Family, counts: Counts) -> FamilyRules:
        return tree_rules(
            family, counts, min_rows=self.min_rows, pruning=self.pruning, every=self._from_net
        )


def _parents(layout: NetLayout, edges: Collection[NodeEdge]) -> Parents:
    """Return the parents of every node; of an attribute of a link, that link is always one."""
    nodes = layout.nodes
    every = {*edges, *((r.link, node) for r in layout.relationships for node in r.attributes)}
    return {child: tuple(p for p in nodes if (p, child) in every) for child in nodes}


def _last(items: Iterator[T]) -> T:
    *_, last = items
    return last


def _table_counts(counter: Counter, child: NetNode, above: tuple[NetNode, ...]) -> Counts:
    """Count a conditional table over all tuples of entities.

    Where these are more than 64 bits can count, only those are counted that the links among the
    parents join; without them, all values are then equally probable.
    """
    try:
        return counter.count((child, *above))
    except CountOverflowError:
        asked = {node.relationship for node in above} - {None}
        links = [r for r in counter.data.layout.relationships if r.predicate in asked]
        if not links:
            raise
        return counter.count((child, *above), true=links)


def _net(counter: Counter, parents: Parents, sample_size: float) -> ParametrizedBayesNet:
    """Return the net with its conditional tables, counted over all tuples of entities."""
    nodes = tuple(parents)
    counter.ahead([((child, *above), ()) for child, above in parents.items()])
    place = {node: number for number, node in enumerate(nodes)}
    tables = []
    for child, above in parents.items():
        rows, counts = rows_and_values(_table_counts(counter, child, above))
        tables.append(
            ConditionalTable(tuple(place[node] for node in above), rows, counts, sample_size)
        )
    return ParametrizedBayesNet(nodes, tuple(tables))
