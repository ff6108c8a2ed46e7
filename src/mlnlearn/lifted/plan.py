"""Plans: log partition functions as a few functions of domain sizes that call each other.

A plan depends on neither weights nor domain sizes. Each `PlanNode` is a function of some sizes: the
logarithm of a sum of two *branches* (an atom true or false), or of a sum over how many atoms of a
family are true. A branch is linear in the weights and adds multiples of other nodes' values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mlnlearn.errors import MlnError
from mlnlearn.lifted.sizes import SizePolynomial, plus, times
from mlnlearn.lifted.theory import Linear

DEFAULT_STEPS = 30_000
"""Most steps of a search for a plan: some seconds of work."""


class NotLiftable(MlnError):  # noqa: N818 - the name the literature uses
    """No rule of lifted inference applies, or the plan would cost too much.

    Attributes
    ----------
    rules
        Numbers of the weights whose rules are involved; hard rules have no number.
    """

    def __init__(self, message: str, rules: Iterable[int] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.rules = frozenset(rules)


class SearchTooLongError(NotLiftable):
    """The search for a plan takes more work than it is allowed."""


class SearchBudget:
    """How much work the search for a plan may take, in steps rather than seconds.

    One step is about one product of atoms rewritten, so that the same formulas are refused on any
    machine.

    Examples
    --------
    >>> budget = SearchBudget(2)
    >>> budget.spend(2)
    >>> budget.spend(1)
    Traceback (most recent call last):
        ...
    mlnlearn.lifted.plan.SearchTooLongError: the search for a plan exceeds 2 steps
    """

    def __init__(self, steps: int = DEFAULT_STEPS) -> None:
        self.steps = steps
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take note of work about to be done; refuse what exceeds the budget."""
        self.left -= steps
        if self.left < 0:
            raise SearchTooLongError(f"the search for a plan exceeds {self.steps:,} steps")


@dataclass(frozen=True, slots=True)
class Call:
    """A multiple of a node's value at given sizes."""

    node: int
    multiple: SizePolynomial
    arguments: tuple[SizePolynomial, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A sum: linear in the weights, plus multiples of nodes' values."""

    linear: Linear
    calls: tuple[Call, ...] = ()

    def scaled(self, by: SizePolynomial) -> Branch:
        """Multiply the whole branch."""
        linear = {weight: times(value, by) for weight, value in self.linear.items()}
        calls = tuple(Call(c.node, times(c.multiple, by), c.arguments) for c in self.calls)
        return Branch(linear, calls)


def added(branches: Iterable[Branch]) -> Branch:
    """Add branches, merging calls that are equal but for their multiples."""
    linear: dict[int, SizePolynomial] = {}
    calls: dict[tuple[int, tuple[SizePolynomial, ...]], SizePolynomial] = {}
    for branch in branches:
        for weight, value in branch.linear.items():
            linear[weight] = plus(linear.get(weight, ()), value)
        for call in branch.calls:
            key = (call.node, call.arguments)
            calls[key] = plus(calls.get(key, ()), call.multiple)
    kept = tuple(Call(node, value, args) for (node, args), value in calls.items() if value)
    return Branch({weight: value for weight, value in linear.items() if value}, kept)


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A function of sizes.

    Attributes
    ----------
    parameters
        Number of sizes it takes, the symbols 0, 1, ….
    branches
        Without `size`: the two branches whose exponentials are added. With it: one branch, in which
        the symbol `parameters` is the number of true atoms.
    size
        How many atoms are counted over.
    """

    parameters: int
    branches: tuple[Branch, ...]
    size: SizePolynomial | None = None


@dataclass(frozen=True, slots=True)
class LiftedPlan:
    """A compiled theory: nodes, each calling only earlier ones, and the sum that is log Z.

    Attributes
    ----------
    nodes
        The functions.
    root
        log Z, in the symbols of the root blocks.
    axes
        The largest number of nested counting sums.
    """

    nodes: tuple[PlanNode, ...]
    root: Branch
    axes: int
