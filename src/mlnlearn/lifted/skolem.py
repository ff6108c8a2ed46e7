"""Existential quantifiers without enumeration: Skolemisation for weighted model counting.

``EXIST y f(x,y)`` is replaced by an atom z(x), with an atom s(x) beside it whose falsehood weighs
-1, under the hard formulas ``z v s``, ``z v !f`` and ``s v !f`` (Van den Broeck, Meert and
Darwiche, KR 2014). Where some f holds, both must be true. Where none does, the worlds with z true
cancel, and the one with z false and s true remains.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mlnlearn.logic.atoms import Atom, Predicate, Variable
from mlnlearn.logic.formulas import (
    And,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    children,
    free_variables,
    variable_types,
    with_children,
)


@dataclass(slots=True)
class Skolemiser:
    """Replaces quantifiers, and collects the predicates and hard formulas that stand for them.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> likes = Predicate("likes", ("person", "person"))
    >>> work = Skolemiser()
    >>> print(work.without_quantifiers(Exists((Variable("y"),), likes("x", "y"))))
    $exists0(x)
    >>> [str(formula) for formula in work.hard]
    ['$exists0(x) v $skolem0(x)', '$exists0(x) ^ $skolem0(x) v !likes(x,y)']
    """

    exists: list[Predicate] = field(default_factory=list)
    skolem: list[Predicate] = field(default_factory=list)
    hard: list[Formula] = field(default_factory=list)
    _known: dict[tuple[Formula, tuple[str, ...]], Atom] = field(default_factory=dict)

    def without_quantifiers(self, formula: Formula) -> Formula:
        """Return the formula with an atom for every quantified part."""
        return self._walk(formula, variable_types(formula))

    def _walk(self, part: Formula, types: dict[Variable, str]) -> Formula:
        match part:
            case Exists(variables, body):
                return self._exists(variables, self._walk(body, types), types)
            case Forall(variables, body):
                return Not(self._exists(variables, Not(self._walk(body, types)), types))
        return with_children(part, [self._walk(child, types) for child in children(part)])

    def _exists(
        self, bound: tuple[Variable, ...], body: Formula, types: dict[Variable, str]
    ) -> Atom:
        free = tuple(v for v in free_variables(body) if v not in bound)
        kinds = tuple(types[variable] for variable in free)
        # comparisons alone do not tell the types
        key = (Exists(bound, body), kinds)
        if key not in self._known:
            number = len(self.exists)
            self.exists.append(Predicate(f"$exists{number}", kinds))
            self.skolem.append(Predicate(f"$skolem{number}", kinds))
            z, s = Atom(self.exists[-1], free), Atom(self.skolem[-1], free)
            self.hard += [Or((z, s)), Or((And((z, s)), Not(body)))]
            self._known[key] = z
        return self._known[key]
