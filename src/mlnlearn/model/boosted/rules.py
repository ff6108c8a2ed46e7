"""What boosting learns: regression trees over conjunctions, and weighted Horn clauses.

Variables are numbers. Those of the target atom come first; a test's new variables take the next
numbers and keep them on the branch where the test holds. On the other branch they are free again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from mlnlearn.counting.pattern import Body, Pattern, equality
from mlnlearn.logic.atoms import Predicate


@dataclass(frozen=True)
class ByConstant:
    """What a rule adds for each constant of one argument of the target: a vector of values.

    The rule's own value counts for all constants; a constant that has no value here has that alone.

    Attributes
    ----------
    place, kind
        Which argument, and its type.
    names, values
        The constants, and what is added for each.

    Examples
    --------
    >>> genres = ByConstant.of(1, "genre", {"Rock": -0.25, "Jazz": 0.5})
    >>> genres.names, genres.added["Rock"], genres.scaled(2.0).values
    (('Jazz', 'Rock'), -0.25, (1.0, -0.5))
    """

    place: int
    kind: str
    names: tuple[str, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, place: int, kind: str, added: Mapping[str, float]) -> ByConstant:
        """Return a vector, its constants in the order of their names."""
        names = tuple(sorted(added))
        return cls(place, kind, names, tuple(added[name] for name in names))

    @cached_property
    def added(self) -> Mapping[str, float]:
        """What is added, by constant."""
        return dict(zip(self.names, self.values, strict=True))

    def scaled(self, factor: float) -> ByConstant:
        """Return the vector with all values multiplied."""
        return replace(self, values=tuple(value * factor for value in self.values))

    def test(self, name: str) -> Body:
        """Return the test whether the argument is a constant."""
        return (Pattern(equality(self.kind), (self.place, name)),)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a branch: what an example gets, per grounding under counting semantics.

    Attributes
    ----------
    value
        What all examples get.
    by
        What those of each constant get besides.
    """

    value: float
    by: ByConstant | None = None

    @property
    def is_zero(self) -> bool:
        """Whether nobody gets anything."""
        return not self.value and (self.by is None or not any(self.by.values))


@dataclass(frozen=True, slots=True)
class Split:
    """A test whether the conjunction of the branch so far and of `test` has a grounding.

    Attributes
    ----------
    test
        One or more patterns.
    yes
        For examples with a grounding; they keep all their groundings.
    no
        For the others, with the groundings they had before the test.
    """

    test: Body
    yes: Node
    no: Node


Node: TypeAlias = Leaf | Split


@dataclass(frozen=True, slots=True)
class Tree:
    """A relational regression tree: every example ends in one leaf."""

    root: Node

    def scaled(self, factor: float) -> Tree:
        """Return the tree with all values multiplied.

        Examples
        --------
        >>> Tree(Leaf(2.0)).scaled(0.5).root.value
        1.0
        """
        return Tree(_scaled(self.root, factor))

    @property
    def paths(self) -> tuple[TreeBranch, ...]:
        """The branches, first those where tests hold: the tree as an ordered list of rules."""
        return tuple(_paths(self.root, (), ()))


@dataclass(frozen=True, slots=True)
class HornClause:
    """``body => target`` with a weight that counts once a grounding of the body.

    Heads of each constant may have a weight besides, as at a `Leaf`.
    """

    body: Body
    weight: float
    by: ByConstant | None = None


@dataclass(frozen=True, slots=True)
class ClauseList:
    """Clauses whose values are added up."""

    clauses: tuple[HornClause, ...]

    def scaled(self, factor: float) -> ClauseList:
        """Return the list with all weights multiplied.

        Examples
        --------
        >>> ClauseList((HornClause((), 2.0),)).scaled(0.5).clauses[0].weight
        1.0
        """
        return ClauseList(
            tuple(
                replace(c, weight=c.weight * factor, by=c.by and c.by.scaled(factor))
                for c in self.clauses
            )
        )


Step: TypeAlias = Tree | ClauseList
"""What one round of boosting adds for one target."""


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """One branch of a tree: the tests that held, those that failed, and the value at the end.

    Attributes
    ----------
    body
        Patterns of all tests that held.
    failed
        For every test that failed, how much of `body` stood before it, and the test.
    value, by
        The leaf's.
    """

    body: Body
    failed: tuple[tuple[int, Body], ...]
    value: float
    by: ByConstant | None = None

    @property
    def size(self) -> float:
        """How much it says: the largest value that it gives, whatever its sign."""
        added = (0.0,) if self.by is None else self.by.values
        return max(abs(self.value + each) for each in added)


@dataclass(frozen=True, slots=True)
class TargetRules:
    """Everything learned about one target predicate.

    Attributes
    ----------
    predicate
        The target.
    bias
        Log-odds before any rule.
    prior
        Clauses given, not learned; and how frequent each constant is, where leaves have vectors.
    steps
        What each round added.
    shifts
        After each round, what to add to the bias so that the mean probability is right; empty for
        nothing.
    """

    predicate: Predicate
    bias: float
    prior: ClauseList = ClauseList(())
    steps: tuple[Step, ...] = ()
    shifts: tuple[float, ...] = ()

    @property
    def intercept(self) -> float:
        """The bias with the shift of the last round: the weight of the target's unit clause."""
        return self.bias + self.shifts[-1] if self.shifts else self.bias

    def first(self, steps: int) -> TargetRules:
        """Return the rules after the first steps only."""
        return replace(self, steps=self.steps[:steps], shifts=self.shifts[:steps])


def roots(step: Step) -> list[Node]:
    """Return the trees of a step; a clause is a tree of one test, worth nothing where it fails.

    Examples
    --------
    >>> from mlnlearn.counting.pattern import Pattern
    >>> rain = Pattern(Predicate("rain", ()), ())
    >>> [root.no for root in roots(ClauseList((HornClause((rain,), 2.0),)))]
    [Leaf(value=0.0, by=None)]
    """
    if isinstance(step, Tree):
        return [step.root]
    ends = [(clause.body, Leaf(clause.weight, clause.by)) for clause in step.clauses]
    return [Split(body, end, Leaf(0.0)) if body else end for body, end in ends]


def nodes(root: Node) -> list[tuple[Body, Node]]:
    """Return every node with the conjunction that led to it: a node, its branches yes, then no.

    Examples
    --------
    >>> from mlnlearn.counting.pattern import Pattern
    >>> rain = Pattern(Predicate("rain", ()), ())
    >>> [len(body) for body, _ in nodes(Split((rain,), Leaf(1.0), Leaf(0.0)))]
    [0, 1, 0]
    """
    return list(_nodes(root, ()))


def bodies(step: Step) -> Iterator[Body]:
    """Yield every conjunction that a step tests for groundings, in full.

    Examples
    --------
    >>> from mlnlearn.counting.pattern import Pattern
    >>> rain = Pattern(Predicate("rain", ()), ())
    >>> [len(body) for body in bodies(Tree(Split((rain,), Leaf(1.0), Leaf(0.0))))]
    [1]
    """
    for root in roots(step):
        yield from (body + node.test for body, node in nodes(root) if isinstance(node, Split))


def paths(step: Step) -> tuple[TreeBranch, ...]:
    """Return the rules of a step in the order they apply: its clauses, or the branches of a tree.

    Examples
    --------
    >>> [path.value for path in paths(Tree(Leaf(0.5)))]
    [0.5]
    """
    if isinstance(step, Tree):
        return step.paths
    return tuple(TreeBranch(clause.body, (), clause.weight, clause.by) for clause in step.clauses)


def spelt_out(step: Step) -> list[Step]:
    """Return steps without vectors that give the same values together.

    A vector is a tree of its own for each constant: it asks first whether the head has that.

    Examples
    --------
    >>> genres = ByConstant(1, "genre", ("Jazz",), (0.5,))
    >>> for tree in spelt_out(Tree(Leaf(1.0, genres))):
    ...     print([(len(path.body), path.value) for path in tree.paths])
    [(0, 1.0)]
    [(1, 0.5), (0, 0.0)]
    """
    vectors = [path.by for path in paths(step) if path.by is not None]
    if not vectors:
        return [step]
    if isinstance(step, ClauseList):
        clauses = []
        for clause in step.clauses:
            clauses.append(replace(clause, by=None))
            if clause.by is not None:
                clauses += [
                    HornClause(clause.by.test(name) + clause.body, value)
                    for name, value in clause.by.added.items()
                ]
        return [ClauseList(tuple(clauses))]
    tests = dict.fromkeys((by.test(name), name) for by in vectors for name in by.names)
    return [
        Tree(_of_constant(step.root, None)),
        *(Tree(Split(test, _of_constant(step.root, name), Leaf(0.0))) for test, name in tests),
    ]


def _of_constant(node: Node, name: str | None) -> Node:
    """Return a tree with what leaves add for a constant alone; for None, what they give to all."""
    if isinstance(node, Leaf):
        if name is None:
            return Leaf(node.value)
        return Leaf(0.0 if node.by is None else node.by.added.get(name, 0.0))
    return Split(node.test, _of_constant(node.yes, name), _of_constant(node.no, name))


def _nodes(node: Node, body: Body) -> Iterator[tuple[Body, Node]]:
    yield body, node
    if isinstance(node, Split):
        yield from _nodes(node.yes, body + node.test)
        yield from _nodes(node.no, body)


def _scaled(node: Node, factor: float) -> Node:
    if isinstance(node, Leaf):
        return Leaf(node.value * factor, node.by and node.by.scaled(factor))
    return Split(node.test, _scaled(node.yes, factor), _scaled(node.no, factor))


def _paths(node: Node, body: Body, failed: tuple[tuple[int, Body], ...]) -> Iterator[TreeBranch]:
    if isinstance(node, Leaf):
        yield TreeBranch(body, failed, node.value, node.by)
        return
    yield from _paths(node.yes, body + node.test, failed)
    yield from _paths(node.no, body, (*failed, (len(body), node.test)))
