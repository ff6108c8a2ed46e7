"""What the learners from tables return: a Bayes net, its rules, and probabilities of attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.load.mapping import Mapping as TableMapping
from mlnlearn.errors import InputError
from mlnlearn.files import content_hash, refuse_non_finite, write_files
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.bayesnet import ParametrizedBayesNet
from mlnlearn.model.mln import MLN
from mlnlearn.structure.join_bayes.counts import FamilyCounter
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.features import AttributePrediction, attribute_features
from mlnlearn.structure.join_bayes.layout import Layout
from mlnlearn.structure.join_bayes.rules import FamilyRules
from mlnlearn.syntax.mln import parse_mln

Floats = NDArray[np.float64]
FORMAT = "mlnlearn join bayes 1"


@dataclass(frozen=True, eq=False)
class JoinBayesModel:
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

    def __str__(self) -> str:
        return str(self.mln())

    def predict(self, databases: Database | Sequence[Database]) -> dict[str, AttributePrediction]:
        """Return the exact probability of each attribute's values, given the rest of the database.

        Each attribute of every entity and link is predicted from all other values, unknown values
        (NULL) included; an unknown value says nothing about others.
        """
        given = [databases] if isinstance(databases, Database) else list(databases)
        counter = FamilyCounter(EncodedData(given, Layout.from_nodes(self.net.nodes)))
        return {
            part.node.predicate.name: AttributePrediction(
                part.node, part.log_probabilities(self.weights), part.truth
            )
            for part in attribute_features(counter, self.families)
        }

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model: rules to read at the path, JSON to load beside it (``.json``)."""
        file, rules = Path(path), self.mln().file_text()
        places = {node: place for place, node in enumerate(self.net.nodes)}
        data = {
            "format": FORMAT,
            "schema": str(self.schema),
            "net": self.net.as_dict(),
            "families": [family.as_dict(places) for family in self.families],
            "weights": self.weights.tolist(),
            "mapping": None if self.mapping is None else self.mapping.as_dict(),
            "rules": content_hash(rules),
        }
        # Rules without their JSON would be read as another model; so the JSON comes first.
        texts = {file.with_suffix(".json"): json.dumps(data, indent=1, ensure_ascii=False) + "\n"}
        write_files(texts if file.suffix == ".json" else texts | {file: rules})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> JoinBayesModel:
        """Read a model that `save` wrote."""
        file = Path(path).with_suffix(".json")
        try:
            data: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(f"{file} holds no model: {problem}") from None
        return cls.from_plain(data, str(file))

    @classmethod
    def from_plain(cls, data: object, where: str = "the model") -> JoinBayesModel:
        """Read a model from what `save` writes as JSON."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, dict) else data
            raise InputError(f"{where} holds no such model: its format is {found!r}")
        refuse_non_finite(data, where)
        net = ParametrizedBayesNet.from_dict(data["net"])
        layout = Layout.from_nodes(net.nodes)
        families = tuple(
            FamilyRules.from_dict(entry, layout, net.nodes) for entry in data["families"]
        )
        weights = np.array(data["weights"], np.float64)
        tables = data.get("mapping")
        mapping = None if tables is None else TableMapping.from_dict(tables)
        return cls(net, families, weights, parse_mln(data["schema"]).schema, mapping)
