"""A rule as it is shown to people: a sentence with numbers that can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShownRule:
    """What a rule says, and of how many rows that holds; None where nobody counted.

    Attributes
    ----------
    rule
        The rule in short.
    sentence
        The same as a sentence, such as "of orders sent by courier 34% are returned, against 12% of
        all (888 orders)".
    share
        Of the rows that the condition holds of, the share with what the rule says; of a number, its
        mean there.
    base
        That share (or mean) among all rows.
    support
        The number of rows that the condition holds of.
    weight
        The rule's weight in the model.

    Examples
    --------
    >>> rule = ShownRule("by=courier => returned", "…", 0.34, 0.12, 888, 1.3)
    >>> round(rule.lift, 2), rule.to_dict()["support"]
    (2.83, 888)
    """

    rule: str
    sentence: str
    share: float | None
    base: float | None
    support: int | None
    weight: float

    @property
    def lift(self) -> float | None:
        """How many times the base rate the share is; None where that is not known."""
        if self.share is None or self.base is None:
            return None
        return self.share / self.base if self.base else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, for JSON."""
        return {
            "rule": self.rule,
            "sentence": self.sentence,
            "share": self.share,
            "base": self.base,
            "support": self.support,
            "weight": self.weight,
        }
