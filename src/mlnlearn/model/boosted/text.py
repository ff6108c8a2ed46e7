"""Boosted rules as text and as formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mlnlearn.counting.pattern import EQUALS, Body, Pattern
from mlnlearn.logic.atoms import AnyAtom, Atom, Comparison, Constant, Predicate, Term, Variable
from mlnlearn.logic.formulas import And, Exists, Formula, Implies, Not
from mlnlearn.logic.substitute import substitute_formula
from mlnlearn.model.boosted.rules import (
    ClauseList,
    Leaf,
    Node,
    TargetRules,
    Tree,
    TreeBranch,
    paths,
)

_SHOWN = 3


class Naming:
    """Names for numbered variables: the initial of the type, and a number.

    Examples
    --------
    >>> wrote = Predicate("publication", ("title", "person"))
    >>> naming = Naming(Predicate("advisedBy", ("person", "person")))
    >>> print(naming.head, naming.conjunction((Pattern(wrote, (2, 0)), Pattern(wrote, (2, 1)))))
    advisedBy(p1,p2) publication(t1,p1) ^ publication(t1,p2)
    """

    def __init__(self, target: Predicate) -> None:
        self.target = target

    @property
    def head(self) -> Atom:
        """The target atom."""
        return Atom(self.target, tuple(map(Variable, _names(self.target.types))))

    def atoms(self, body: Body, prefix: str = "") -> tuple[AnyAtom, ...]:
        """Return the atoms of a conjunction; `prefix` marks its own variables."""
        types = dict(enumerate(self.target.types))
        for pattern in body:
            for term, kind in zip(pattern.terms, pattern.predicate.types, strict=True):
                if isinstance(term, int):
                    types.setdefault(term, kind)
        names = _names([types[number] for number in sorted(types)])
        heads = self.target.arity
        named = {
            number: Variable(name if number < heads else prefix + name)
            for number, name in zip(sorted(types), names, strict=True)
        }
        return tuple(_atom(pattern, named) for pattern in body)

    def conjunction(self, body: Body) -> str:
        """Return a conjunction as text."""
        return " ^ ".join(map(str, self.atoms(body)))

    def rule(self, body: Body) -> str:
        """Return ``body => head`` as text."""
        return f"{self.conjunction(body)} => {self.head}" if body else str(self.head)

    def weighted(self, path: TreeBranch) -> Iterator[tuple[str | None, str, float]]:
        """Yield ``body => head`` with the value for all heads, then those added by constant.

        In front stands the constant whose heads the rule is about; None for all.

        Examples
        --------
        >>> from mlnlearn.model.boosted.rules import ByConstant
        >>> naming = Naming(Predicate("is", ("track", "genre")))
        >>> jazz = ByConstant.of(1, "genre", {"Jazz": 0.5})
        >>> list(naming.weighted(TreeBranch((), (), 0.0, jazz)))
        [('Jazz', 'is(t1,Jazz)', 0.5)]
        """
        if path.value or path.by is None:
            yield None, self.rule(path.body), path.value
        if path.by is not None:
            formula = _implies(self.atoms(path.body), self.head)
            for name, value in path.by.added.items():
                yield name, str(self.of_constant(formula, path.by.place, name)), value

    def of_constant(self, formula: Formula, place: int, name: str) -> Formula:
        """Return a formula about the heads of one constant."""
        return substitute_formula(formula, {self.axis(place): Constant(name)})

    def axis(self, place: int) -> Variable:
        """Return the head's variable at a place."""
        return Variable(_names(self.target.types)[place])

    def clauses(self, rules: TargetRules) -> list[tuple[str, float]]:
        """Return the clauses of the target with their weights, the head alone first.

        Equal clauses of different steps are one, with the sum of their weights.
        """
        weights = {str(self.head): rules.intercept}
        for step in (rules.prior, *rules.steps):
            if isinstance(step, ClauseList):
                for _, text, weight in (w for path in paths(step) for w in self.weighted(path)):
                    weights[text] = weights.get(text, 0.0) + weight
        return list(weights.items())

    def path(self, path: TreeBranch, existential: bool) -> Formula:
        """Return the formula that a branch of a tree stands for.

        A test fails for an example where no grounding of the branch so far passes it; hence the
        whole branch, under variables of its own, stands with the test under the negation.
        """
        parts: list[Formula] = list(self.atoms(path.body))
        if existential and parts:
            parts = [self._exists(path.body, "")]
        for number, (length, test) in enumerate(path.failed):
            before = tuple(
                pattern
                for pattern in path.body[:length]
                if any(variable >= self.target.arity for variable in pattern.variables)
            )
            parts.append(Not(self._exists(before + test, "n" if number == 0 else f"n{number}_")))
        return _implies(parts, self.head)

    def _exists(self, body: Body, prefix: str) -> Formula:
        atoms = self.atoms(body, prefix)
        found = dict.fromkeys(t for a in atoms for t in a.terms if isinstance(t, Variable))
        own = tuple(variable for variable in found if variable not in self.head.terms)
        inner = _and(atoms)
        return Exists(own, inner) if own else inner

    def tree(self, tree: Tree) -> str:
        """Return a tree as indented text."""
        return "\n".join(self._lines(tree.root, ()))

    def _lines(self, node: Node, body: Body) -> Iterator[str]:
        if isinstance(node, Leaf):
            yield leaf_text(node, "{:+.4f}".format)
            return
        shown = self.atoms(body + node.test)[len(body) :]
        yield " ^ ".join(map(str, shown)) + " ?"
        for label, child, path in (("yes", node.yes, body + node.test), ("no ", node.no, body)):
            lines = list(self._lines(child, path))
            bar = "│" if label == "yes" else " "
            yield f"{'├─' if label == 'yes' else '└─'} {label} {lines[0]}"
            yield from (f"{bar}      {line}" for line in lines[1:])


def leaf_text(leaf: Leaf, number: Callable[[float], str]) -> str:
    """Return what a leaf gives, of many constants those that it tells most about.

    Examples
    --------
    >>> from mlnlearn.model.boosted.rules import ByConstant
    >>> leaf_text(Leaf(0.5, ByConstant.of(1, "genre", {"Jazz": 0.25})), "{:+.2f}".format)
    '+0.50; Jazz +0.75'
    """
    if leaf.by is None:
        return number(leaf.value)
    ranked = sorted(leaf.by.added.items(), key=lambda item: (-abs(item[1]), item[0]))
    parts = [f"{Constant(name)} {number(leaf.value + value)}" for name, value in ranked[:_SHOWN]]
    if len(ranked) > _SHOWN:
        parts.append(f"{len(ranked) - _SHOWN} more")
    start = f"{number(leaf.value)}; " if leaf.value else ""
    return start + ", ".join(parts)


def _names(types: Sequence[str]) -> list[str]:
    used: dict[str, int] = {}
    names = []
    for kind in types:
        letter = kind[:1].lower() if kind[:1].isalpha() and kind[:1].isascii() else "x"
        used[letter] = used.get(letter, 0) + 1
        names.append(f"{letter}{used[letter]}")
    return names


def _atom(pattern: Pattern, named: dict[int, Variable]) -> AnyAtom:
    terms: tuple[Term, ...] = tuple(
        named[term] if isinstance(term, int) else Constant(term) for term in pattern.terms
    )
    if pattern.predicate.name == EQUALS:
        return Comparison(EQUALS, terms[0], terms[1])
    return Atom(pattern.predicate, terms)


def _and(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _implies(parts: Sequence[Formula], head: Atom) -> Formula:
    return Implies(_and(parts), head) if parts else head
