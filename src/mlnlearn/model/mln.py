"""Markov logic networks: a schema and weighted rules."""

from __future__ import annotations

from dataclasses import dataclass

from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema


@dataclass(frozen=True)
class MLN:
    """A Markov logic network: weighted formulas over a schema. Immutable."""

    schema: Schema
    rules: tuple[Rule, ...] = ()
