"""What the learners from tables return: a Bayes net, its rules, and probabilities of attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes
from mlnlearn.data.bands import banded_like
from mlnlearn.data.database import Database
from mlnlearn.data.load.mapping import Mapping as TableMapping
from mlnlearn.data.load.mapping import MappingFile
from mlnlearn.documents import SavedModel, decode, in_file, within
from mlnlearn.errors import InputError
from mlnlearn.files import AnyPath
from mlnlearn.infer.explain import explain
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.bayesnet import NetFile, ParametrizedBayesNet
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.model.explanation import Explanation, codes_of, ground_atom
from mlnlearn.model.mln import MLN
from mlnlearn.model.plots import Plots
from mlnlearn.model.shown import ShownRule
from mlnlearn.notebook import Shown, ShownTable
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.features import AttributePrediction, attribute_features
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.reasons import explain_attribute
from mlnlearn.structure.join_bayes.rules import FamilyFile, FamilyRules
from mlnlearn.structure.join_bayes.sentences import shown_rules
from mlnlearn.syntax.mln import parse_mln

Floats = NDArray[np.float64]
FORMAT = "mlnlearn join bayes 1"


@dataclass(frozen=True, eq=False, repr=False)
class JoinBayesModel(Shown, Plots, SavedModel):
    """A parametrized Bayes net and the weighted conjunctions made from it. Immutable.

    Attributes
    ----------
    net
        The net; ``model.net.svg()`` draws it.
    families
        The rules, node by node: rows of conditional tables, or branches of decision trees; then
        those within single tables, if they were asked for.
    weights
        A weight for each leaf and child value, through all families.
    schema
        Predicates of the rules.
    mapping
        How the tables it was learned from became predicates, with the cuts of numeric columns;
        None where that is not known.
    """

    net: ParametrizedBayesNet
    families: tuple[FamilyRules, ...]
    weights: Floats
    schema: Schema
    mapping: TableMapping | None = None

    def mln(self) -> MLN:
        """Return the rules as a Markov logic network."""
        rules: list[Rule] = []
        start = 0
        for family in self.families:
            weights = self.weights[start : start + family.size][family.emitted]
            formulas = family.formulas()
            rules += [
                Rule(formula, float(weight))
                for formula, weight in zip(formulas, weights, strict=True)
            ]
            start += family.size
        return MLN(self.schema, tuple(rules))

    def summary(self) -> str:
        """Say how large the net is."""
        return f"a net of {len(self.net.nodes):,} nodes, with {len(self.weights):,} weights"

    def table(self) -> ShownTable:
        """Return the rules, the strongest first."""
        return self.mln().table()

    def __str__(self) -> str:
        return str(self.mln())

    def predict(self, databases: Database | Sequence[Database]) -> dict[str, AttributePrediction]:
        """Return the exact probability of each attribute's values, given the rest of the database.

        Each attribute of every entity and link is predicted from all other values, unknown values
        (NULL) included; an unknown value says nothing about others.
        """
        given = [databases] if isinstance(databases, Database) else list(databases)
        given = list(banded_like(self.schema, given))
        counter = FamilyCounter(EncodedData(given, NetLayout.from_nodes(self.net.nodes)))
        return {
            part.node.predicate.name: AttributePrediction(
                part.node, part.log_probabilities(self.weights), part.truth
            )
            for part in attribute_features(counter, self.families)
        }

    def explain(
        self,
        database: Database,
        atom: Atom | str,
        *,
        open: Collection[str] = (),
        closed: Collection[str] = (),
        seed: int = 0,
    ) -> Explanation:
        """Explain the probability of an attribute's value by the rules, or of a link.

        An attribute has exactly one value, as in `predict`, whatever the schema says, and unknown
        values of others say nothing. With `open` or `closed`, and for links, the rules speak as a
        network.
        """
        asked = ground_atom(database, atom)
        if not open and not closed:
            found = explain_attribute(self.families, self.weights, self.net.nodes, database, asked)
            if found is not None:
                return found
        nodes = [node for node in self.net.nodes if node.is_attribute and not node.is_flag]
        marked = {node.predicate.name: (node.predicate.arity - 1,) for node in nodes}

        def of_one_value(schema: Schema) -> Schema:
            return replace(schema, functional={**schema.functional, **marked})

        network = MLN(of_one_value(self.schema), self.mln().rules)
        (database,) = banded_like(self.schema, [database])
        data = replace(database, schema=of_one_value(database.schema))
        node = next((node for node in nodes if node.predicate == asked.predicate), None)
        if node is not None:
            data = _without_unseen(data, node, codes_of(data, asked))
        return explain(network, data, asked, open=open, closed=closed, seed=seed)

    def sentences(self, max_rules: int = 20, target: str = "") -> list[ShownRule]:
        """Return the rules that tell most, in words, with shares that can be checked.

        Parameters
        ----------
        max_rules
            Most rules.
        target
            Only of rules that speak of this column, as ``TABLE.COLUMN``, or predicate; those that
            tell it come first.

        Examples
        --------
        >>> from mlnlearn.data.load.build import build_database
        >>> from mlnlearn.data.load.columns import Column
        >>> from mlnlearn.data.load.tables import Table
        >>> from mlnlearn.structure.join_bayes.learners import LAJDT
        >>> cells = {"sex": Column.of(list("ffffmmmm")), "fan": Column.of(list("xxxyyyyy"))}
        >>> people = Table("people", {"id": Column.of(list("ABCDEFGH"))} | cells, ("id",))
        >>> model = LAJDT(sample_size=1, pruning="none").fit(build_database([people])).model
        >>> print(model.sentences()[0].sentence)
        of people with fan x 100.0% have sex f, against 50.0% of all (3 people)
        """
        return shown_rules(self.families, self.weights, self.mapping, target)[:max_rules]

    def parameter_counts(self) -> dict[str, int]:
        """Return the number of parameters under the four definitions found in print.

        ``table_rows``: rows (child value, parent values) of the net's full conditional tables;
        ``observed_rows``: those that occur in the data; ``leaves``: parent combinations that the
        rules tell apart; ``leaf_values``: rules, one for each leaf and child value.
        """
        tables = zip(self.net.nodes, self.net.tables, strict=True)
        return {
            "table_rows": sum(
                node.size * math.prod(self.net.nodes[p].size for p in table.parents)
                for node, table in tables
            ),
            "observed_rows": sum(int((table.counts > 0).sum()) for table in self.net.tables),
            "leaves": sum(len(family.leaves) for family in self.families),
            "leaf_values": sum(int(family.emitted.sum()) for family in self.families),
        }

    def to_plain(self) -> dict[str, Any]:
        """Return the model as plain data, for JSON."""
        places = {node: place for place, node in enumerate(self.net.nodes)}
        return {
            "format": FORMAT,
            "schema": str(self.schema),
            "net": self.net.as_dict(),
            "families": [family.as_dict(places) for family in self.families],
            "weights": self.weights.tolist(),
            "mapping": None if self.mapping is None else self.mapping.as_dict(),
        }

    @staticmethod
    def json_text(content: object) -> str:
        """Return plain data as the text of a file that people can read."""
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def file_text(self) -> str:
        """Return the rules as the text of a file to read."""
        return self.mln().file_text()

    @classmethod
    def from_plain(cls, plain: object, where: AnyPath = "the model") -> JoinBayesModel:
        """Return the model that plain content of a file says."""
        with in_file(where):
            file = decode(plain, JoinBayesFile)
            with within("schema"):
                schema = parse_mln(file.schema).schema
            with within("net"):
                net = ParametrizedBayesNet.from_file(file.net)
                _check_predicates(net, schema)
            layout = NetLayout.from_nodes(net.nodes)
            families = []
            for number, entry in enumerate(file.families):
                with within(f"families[{number}]"):
                    families.append(FamilyRules.from_file(entry, layout, net.nodes))
            places = sum(family.size for family in families)
            if len(file.weights) != places:
                raise InputError(f"weights: expected {places}, found {len(file.weights)}")
            with within("mapping"):
                tables = None if file.mapping is None else TableMapping.from_file(file.mapping)
        weights = np.array(file.weights, np.float64)
        return cls(net, tuple(families), weights, schema, tables)


class JoinBayesFile(Struct, forbid_unknown_fields=True):
    """The model in a file."""

    format: Literal["mlnlearn join bayes 1"]
    schema: str
    net: NetFile
    families: list[FamilyFile]
    weights: list[float]
    mapping: MappingFile | None = None
    checksum: str = ""
    rules: str = ""


def _check_predicates(net: ParametrizedBayesNet, schema: Schema) -> None:
    for number, node in enumerate(net.nodes):
        with within(f"nodes[{number}]"):
            if schema[node.predicate.name].types != node.predicate.types:
                raise InputError(f"{node.predicate} is {schema[node.predicate.name]} in the schema")
            if not node.variables or (node.relationship is None and len(node.variables) > 1):
                raise InputError(f"{node} is no attribute of one kind of entity")


def _without_unseen(database: Database, node: NetNode, codes: Codes) -> Database:
    """Return the database in which values that the net does not know are false for a tuple."""
    values = database.domains[node.predicate.types[-1]].names
    unseen = [code for code, value in enumerate(values) if value not in node.values]
    block = np.repeat(codes, len(unseen), axis=1)
    block[-1] = unseen
    name = node.predicate.name
    false = np.unique(np.concatenate([database.false_facts(name), block], axis=1), axis=1)
    return replace(database, false={**database.false, name: false})
