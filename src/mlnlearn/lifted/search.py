"""The plan search: the first rule that applies, and the cheapest family to count on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from mlnlearn.lifted.normal import NormalForm, normal_form
from mlnlearn.lifted.plan import (
    Branch,
    Call,
    LiftedPlan,
    NotLiftable,
    PlanNode,
    SearchBudget,
    SearchTooLongError,
    added,
)
from mlnlearn.lifted.rules import countable, ground_atom, separator
from mlnlearn.lifted.sizes import ONE, SizePolynomial, constant, shifted, symbols_of, times
from mlnlearn.lifted.theory import (
    Theory,
    components,
    conditioned,
    counted,
    grounded,
)

_TYPICAL = 100.0
# With more nested sums than this the first family that works is counted on, not the cheapest.
_COMPARED_AXES = 3
_MOST_AXES = 64


class _OutOfAxesError(Exception):
    """More nested sums would be needed than this attempt allows."""


@dataclass(frozen=True, slots=True)
class _Range:
    """What is known of a symbol while compiling: a typical size, and whether it is summed over."""

    size: float
    varies: bool


def compile_plan(
    theory: Theory,
    *,
    sizes: Mapping[int, float] | None = None,
    max_axes: int | None = None,
    budget: SearchBudget | None = None,
) -> LiftedPlan:
    """Compile a theory whose blocks' sizes are the symbols 0, 1, ….

    Parameters
    ----------
    theory
        A shattered theory.
    sizes
        Typical sizes by symbol, to choose between plans; the plan holds for all sizes.
    max_axes
        Most nested counting sums; cost grows with the domain size to this power.
    budget
        How much work the search may take.

    Raises
    ------
    NotLiftable
        Where no plan is found; names the weights of the products that stopped it.

    Examples
    --------
    >>> from mlnlearn.lifted.sizes import symbol
    >>> theory = Theory({0: symbol(0)}, {0: (0,)})
    >>> theory.add_soft([(0, (0,)), (0, (1,))], {0: ONE}, ONE)  # weight 0 for p(x) ^ p(y)
    >>> compile_plan(theory).axes
    1
    """
    hints = sizes or {}
    count = 1 + max(symbols_of(theory.blocks.values()), default=-1)
    scope = tuple(_Range(hints.get(number, _TYPICAL), False) for number in range(count))
    most = _MOST_AXES if max_axes is None else max_axes
    allowed = budget or SearchBudget()
    weights = {w for linear in theory.soft.values() for w in linear if w >= 0}
    limits = [*range(1, min(most, _COMPARED_AXES) + 1)]
    if most > _COMPARED_AXES:
        limits.append(most)
    for limit in limits or [0]:
        search = _PlanSearch(limit, allowed)
        try:
            root = search.theory(theory, scope)
        except _OutOfAxesError:
            continue
        except SearchTooLongError as problem:
            raise SearchTooLongError(problem.message, weights) from None
        return _pruned(search.nodes, root, search.axes)
    raise NotLiftable(f"every plan needs more than {most} nested sums", weights)


class _PlanSearch:
    """One attempt, with a limit of nested sums."""

    def __init__(self, limit: int, budget: SearchBudget) -> None:
        self.limit = limit
        self.budget = budget
        self.axes = 0
        self.nodes: list[PlanNode] = []
        self.degrees: list[int] = []
        self.known: dict[Hashable, int] = {}
        self.failed: dict[Hashable, Exception] = {}
        self.costs: dict[tuple[int, tuple[_Range, ...]], float] = {}

    def theory(self, theory: Theory, scope: Sequence[_Range]) -> Branch:
        """Compile a theory in a scope of symbols: constants, and its components one by one."""
        self.budget.spend(theory.work)
        parts = [Branch(theory.constants())]
        parts += [self.component(part, scope) for part in components(theory)]
        return added(parts)

    def component(self, part: Theory, scope: Sequence[_Range]) -> Branch:
        """Compile a component by the first rule that applies."""
        if ground_atom(part) is None:
            widest = max(map(len, part.families.values()))
            for width in range(1, widest + 1):
                places = separator(part, width)
                if places is not None:
                    family, chosen = next(iter(places.items()))
                    size = part.blocks[part.families[family][chosen[0]]]
                    copies = _subsets(size, width)
                    return self.theory(grounded(part, places), scope).scaled(copies)
        return self.call(part, scope)

    def call(self, part: Theory, scope: Sequence[_Range]) -> Branch:
        """Compile a component as a node of its own, or find it among those there are."""
        form = normal_form(part)
        inner = tuple(_range_of(argument, scope) for argument in form.arguments)
        key = (form.key, tuple(known.varies for known in inner))
        if key in self.failed:
            raise self.failed[key]
        if key not in self.known:
            try:
                node = self.node(form, inner)
            except SearchTooLongError:
                raise
            except (NotLiftable, _OutOfAxesError) as problem:
                self.failed[key] = problem
                raise
            self.known[key] = len(self.nodes)
            self.nodes.append(node)
        return Branch({}, (Call(self.known[key], ONE, form.arguments),))

    def node(self, form: NormalForm, scope: tuple[_Range, ...]) -> PlanNode:
        """Split on a ground atom, or count on a family with one argument."""
        atom = ground_atom(form.theory)
        if atom is not None:
            branches = [
                self.theory(conditioned(form.theory, atom, truth), scope) for truth in (True, False)
            ]
            return PlanNode(len(scope), tuple(branches))
        if 1 + sum(known.varies for known in scope) > self.limit:
            if not countable(form.theory):
                raise _stuck(form.theory)
            raise _OutOfAxesError
        best = self.best_count(form.theory, scope)
        self.axes = max(self.axes, 1 + sum(known.varies for known in scope))
        return best

    def best_count(self, theory: Theory, scope: tuple[_Range, ...]) -> PlanNode:
        """Try the families that can be counted on, and keep the cheapest node."""
        found: list[tuple[float, PlanNode]] = []
        problem: Exception | None = None
        for family in countable(theory):
            size = theory.blocks[theory.families[family][0]]
            inner = (*scope, _Range(_range_of(size, scope).size + 1.0, True))
            try:
                branch = self.theory(counted(theory, family, len(scope)), inner)
            except SearchTooLongError:
                raise
            except (NotLiftable, _OutOfAxesError) as error:
                problem = (
                    error if problem is None or isinstance(error, _OutOfAxesError) else problem
                )
                continue
            found.append((self.branch_cost(branch, inner), PlanNode(len(scope), (branch,), size)))
            if self.limit > _COMPARED_AXES:
                break
        if not found:
            raise problem or _stuck(theory)
        return min(found, key=lambda pair: pair[0])[1]

    def branch_cost(self, branch: Branch, scope: tuple[_Range, ...]) -> float:
        """Estimate the work of a branch for all values of its symbols."""
        rows = prod(known.size for known in scope if known.varies)
        total = rows * (1 + len(branch.calls))
        for call in branch.calls:
            inner = tuple(_range_of(argument, scope) for argument in call.arguments)
            total += self.node_cost(call.node, inner)
        return total

    def node_cost(self, number: int, scope: tuple[_Range, ...]) -> float:
        """Estimate the work of a node for all values of its parameters."""
        key = (number, scope)
        if key not in self.costs:
            node = self.nodes[number]
            inner = scope
            if node.size is not None:
                inner = (*scope, _Range(_range_of(node.size, scope).size + 1.0, True))
            self.costs[key] = sum(self.branch_cost(branch, inner) for branch in node.branches)
        return self.costs[key]


def _stuck(theory: Theory) -> NotLiftable:
    weights = {w for linear in theory.soft.values() for w in linear if w >= 0}
    return NotLiftable("no rule of lifted inference applies", weights)


def _range_of(value: SizePolynomial, scope: Sequence[_Range]) -> _Range:
    size, varies = 1.0, False
    for powers, coefficient in value:
        for number in powers:
            varies |= scope[number].varies
            if coefficient > 0:
                size = max(size, scope[number].size)
    return _Range(size, varies)


def _subsets(size: SizePolynomial, width: int) -> SizePolynomial:
    """Return the number of sets of `width` objects."""
    total = ONE
    for taken in range(width):
        total = times(times(total, shifted(size, -taken)), constant(Fraction(1, taken + 1)))
    return total


def _pruned(nodes: Sequence[PlanNode], root: Branch, axes: int) -> LiftedPlan:
    """Keep the nodes that are called, in order."""
    used: set[int] = set()
    waiting = [call.node for call in root.calls]
    while waiting:
        number = waiting.pop()
        if number not in used:
            used.add(number)
            waiting += [call.node for b in nodes[number].branches for call in b.calls]
    places = {number: place for place, number in enumerate(sorted(used))}

    def renumber(branch: Branch) -> Branch:
        calls = (Call(places[c.node], c.multiple, c.arguments) for c in branch.calls)
        return Branch(branch.linear, tuple(calls))

    kept = (nodes[number] for number in sorted(used))
    renamed = (PlanNode(n.parameters, tuple(map(renumber, n.branches)), n.size) for n in kept)
    return LiftedPlan(tuple(renamed), renumber(root), axes)
