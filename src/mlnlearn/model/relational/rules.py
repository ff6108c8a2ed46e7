"""Rules that say in a few sentences what trees say in thousands of leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlnlearn.data.vocabulary import moment_name
from mlnlearn.model.relational.features import AnyFeature, said_number
from mlnlearn.model.relational.trees import LARGEST, FeatureNode, Test


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that must pass, or fail."""

    test: Test
    holds: bool = True

    def __str__(self) -> str:
        return self.test.sentence(self.holds)


@dataclass(frozen=True, slots=True)
class ReadableRule:
    """At most three conditions, and what they say of the target.

    Attributes
    ----------
    conditions
        All must hold.
    weights
        What the rule adds to the score, of each class where there are several.
    share, base
        The share of examples with the label (or the mean of a number) among those under the rule,
        and among all; of several classes, of the one that the rule speaks of most.
    support
        How many examples are under the rule.
    says
        The class that `share` and `base` are of; empty of a number.
    """

    conditions: tuple[Condition, ...]
    weights: tuple[float, ...]
    share: float
    base: float
    support: int
    says: str = ""

    @property
    def lift(self) -> float:
        """How many times the share is that of all."""
        return self.share / self.base if self.base else float("inf")

    @property
    def weight(self) -> float:
        """The weight of what the rule says: of several classes, the largest."""
        return max(self.weights)

    def tree(self) -> FeatureNode:
        """Return the rule as a tree: its weight where all conditions hold, else nothing."""
        nothing = FeatureNode((0.0,) * len(self.weights))
        found = FeatureNode(self.weights)
        for condition in reversed(self.conditions):
            below = (found, nothing) if condition.holds else (nothing, found)
            found = FeatureNode(nothing.values, condition.test, *below)
        return found

    def narrows(self, other: ReadableRule) -> bool:
        """Whether it has all conditions of another rule, and more."""
        more = len(self.conditions) > len(other.conditions)
        return more and self.says == other.says and set(other.conditions) <= set(self.conditions)

    def sentence(self, target: str, moments: bool = False, beside: str = "") -> str:
        """Say the rule in words.

        Parameters
        ----------
        target
            What is predicted.
        moments
            Whether that is a moment.
        beside
            What its share stands beside, besides that of all.
        """
        body = " and ".join(map(str, self.conditions))
        share, base = self.said_share(moments), self._said(self.base, moments)
        if not self.says:
            words = f"{target} is {share} on average"
        else:
            words = f"{target if self.says == 'true' else f'{target} is {self.says}'} in {share}"
        lift = f", {self.lift:.3g} times" if self.says else ""
        return f"if {body}: {words} ({beside}{base} of all{lift}; {self.support:,} examples)"

    def said_share(self, moments: bool = False) -> str:
        """Return its share, or mean, in words."""
        return self._said(self.share, moments)

    def _said(self, value: float, moments: bool) -> str:
        if moments:
            return moment_name(float(round(value)))[:10]
        return f"{value:.1%}" if self.says else said_number(value, 3)


@dataclass(frozen=True, slots=True)
class RuleList:
    """A short list of rules that stands for a model of many trees.

    Attributes
    ----------
    start
        The scores where no rule holds.
    rules
        Those that matter most first.
    kept
        How much of the model's gain over the base rate the list keeps on held-out examples; None
        where none were held out.
    """

    start: tuple[float, ...]
    rules: tuple[ReadableRule, ...]
    kept: float | None = None

    def sentences(self, target: str, moments: bool = False) -> list[str]:
        """Say the rules in words; what narrows an earlier one stands beside it.

        Parameters
        ----------
        target
            What is predicted.
        moments
            Whether that is a moment.
        """
        found = []
        for at, rule in enumerate(self.rules):
            beside = ""
            for number, other in enumerate(self.rules[:at], 1):
                if rule.narrows(other):
                    beside = f"{other.said_share(moments)} by rule {number}, "
            found.append(rule.sentence(target, moments, beside))
        return found

    def trees(self) -> tuple[FeatureNode, ...]:
        """Return the rules as trees."""
        return tuple(rule.tree() for rule in self.rules)


def merged(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return conditions that say the same, of each feature in one breath.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from mlnlearn.model.relational.features import Feature
    >>> low, high = Test(Feature((), "age"), 20.0), Test(Feature((), "age"), 60.0)
    >>> [str(c) for c in merged([Condition(low), Condition(high)])]
    ['age > 60']
    >>> [str(c) for c in merged([Condition(high, False), Condition(low)])]
    ['age > 20', 'age ≤ 60']
    >>> no = Test(Feature((), "member"), None, ("false",))
    >>> [str(c) for c in merged([Condition(replace(no, missing=True)), Condition(no, False)])]
    ['member is not known']
    """
    by_feature: dict[AnyFeature, list[Condition]] = {}
    for condition in conditions:
        by_feature.setdefault(condition.test.feature, []).append(condition)
    return tuple(c for several in by_feature.values() for c in _in_one_breath(several))


def _in_one_breath(several: Sequence[Condition]) -> Iterator[Condition]:
    """Yield what conditions on one feature say together: a span of numbers, or a set of names."""
    feature = several[0].test.feature
    unknown = all(c.test.missing == c.holds for c in several)
    if several[0].test.threshold is None:
        passing = [set(c.test.names) for c in several if c.holds]
        barred = set[str]().union(*(c.test.names for c in several if not c.holds))
        names = set.intersection(*passing) - barred if passing else barred
        missing = unknown == bool(passing)
        yield Condition(Test(feature, None, tuple(sorted(names)), missing), bool(passing))
        return
    limits = [(c.test.threshold or 0.0, c.holds) for c in several]
    above = [limit for limit, holds in limits if holds]
    below = [limit for limit, holds in limits if not holds]
    if above:
        yield Condition(Test(feature, max(above), (), unknown))
    if below and not (above and min(below) == LARGEST):
        yield Condition(Test(feature, min(below), (), not unknown), False)
