"""Which learners may be chosen for what is to be predicted, and why others may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mlnlearn.counting.examples import RowExamples
from mlnlearn.data.load.data import Data
from mlnlearn.data.placed import PlacedFacts
from mlnlearn.evaluate.held_out import predicate_of, unlisted
from mlnlearn.registry import LEARNERS

FIRST = "boost"
"""The learner that all others must be better than."""
_OF_FACTS = ("mln-bc", "mln-bt", "rdn-b")
_OF_COLUMNS = ("laj-dt",)
_MOST_PREDICATES = 25  # boosted rules look at pairs of literals
_MOST_POSSIBLE = 5_000_000
_TRIED_EXAMPLES = 20_000
_SETTINGS: Mapping[str, Mapping[str, Any]] = {"laj-dt": {"max_work": 3_000_000}}


@dataclass(frozen=True)
class Portfolio:
    """The learners to choose from.

    Attributes
    ----------
    names
        Their names; of two that do as well, the former is taken.
    left_out
        Why others are not tried, by name.
    """

    names: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def portfolio_for(data: Data, examples: RowExamples) -> Portfolio:
    """Return the learners that apply to examples of some data."""
    others = _OF_FACTS if data.mapping is None else _OF_COLUMNS
    why = _reason(data, examples)
    if why:
        return Portfolio((FIRST,), dict.fromkeys(others, why))
    return Portfolio((FIRST, *others))


def _reason(data: Data, examples: RowExamples) -> str:
    """Say why nothing but the first learner applies; nothing where others do."""
    if isinstance(data.databases[0].true, PlacedFacts):
        return "trials need the tables in memory"
    if not len(examples.classes):
        return "it predicts no numbers"
    if examples.base.times is not None:
        return "it knows no moments"
    home, schema = examples.home, data.databases[0].schema
    if data.mapping is not None:
        entry = data.mapping[home.row_set]
        is_value = home.column is not None and entry[home.column].role in ("value", "flag")
        return "" if is_value else "it predicts columns of values alone"
    predicates = len(schema.predicates)
    if predicates > _MOST_PREDICATES:
        return f"pairs of literals of {predicates} predicates are too many to look at"
    if examples.weight.sum() > _MOST_POSSIBLE:
        return f"{int(examples.weight.sum()):,} possible atoms are too many to look at"
    return ""


def member(name: str, data: Data, target: str, seed: int) -> Any:
    """Return a learner of a portfolio with its settings."""
    entry = LEARNERS[name]
    settings: dict[str, Any] = {**entry.fixed, **_SETTINGS.get(name, {})}
    if entry.has("target"):
        learns_numbers = entry.load().reads_numbers
        settings["target"] = target if learns_numbers else predicate_of(data, target)
    if entry.has("seed"):
        settings["seed"] = seed
    return entry.load()(**settings)


def on_trial(learner: Any) -> Any:
    """Return a learner that takes no more work than is needed to tell how good it is."""
    learner = unlisted(learner)
    if getattr(learner, "max_examples", 0) and not learner.reads_numbers:
        return replace(learner, max_examples=min(learner.max_examples, _TRIED_EXAMPLES))
    return learner
