"""What a formula adds up from: multiples of clauses, some with existential parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from mlnlearn.infer.grounding.quantified import Existential
from mlnlearn.logic.atoms import Atom, Literal
from mlnlearn.logic.cubes import signed_clauses
from mlnlearn.logic.formulas import Formula
from mlnlearn.logic.normalize import clauses_of


@dataclass(frozen=True, slots=True)
class ClauseTerm:
    """A multiple of a clause whose disjuncts are literals and existentials.

    Existentials go by the names of their placeholders.
    """

    coefficient: int
    literals: tuple[Literal, ...]
    existentials: tuple[str, ...] = ()


def soft_terms(skeleton: Formula, *, rewarded: bool = True) -> tuple[int, tuple[ClauseTerm, ...]]:
    """Write the truth of a formula as a constant plus terms.

    A denied existential E is exchanged for an asserted one: the truth of ``c v !E`` is that of
    ``c``, plus 1, minus that of ``c v E``.

    Parameters
    ----------
    skeleton
        A formula with placeholder atoms for its quantified parts.
    rewarded
        Whether its weight is positive (see `signed_clauses`).

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.formulas import Implies
    >>> p, exists = Predicate("p", ("t",))("x"), Predicate("$1", ("",))("x")
    >>> constant, terms = soft_terms(Implies(exists, p))
    >>> constant, [(t.coefficient, [str(lit) for lit in t.literals], t.existentials) for t in terms]
    (1, [(1, ['p(x)'], ()), (-1, ['p(x)'], ('$1',))])
    """
    constant, clauses = signed_clauses(skeleton, rewarded=rewarded)
    terms: list[ClauseTerm] = []
    for coefficient, clause in clauses:
        literals, asserted, denied = _sorted_out(clause)
        waiting = [ClauseTerm(coefficient, literals, asserted)]
        for name in denied:
            constant += sum(term.coefficient for term in waiting)
            waiting += [
                ClauseTerm(-term.coefficient, term.literals, (*term.existentials, name))
                for term in waiting
            ]
        terms += waiting
    return constant, tuple(terms)


def hard_terms(
    skeleton: Formula, existentials: Mapping[str, Existential]
) -> tuple[ClauseTerm, ...]:
    """Return the clauses that a hard formula asks for.

    A denied existential says that each of its groundings is false: its variables become variables
    of the clause.
    """
    terms = []
    for clause in clauses_of(skeleton):
        literals, asserted, denied = _sorted_out(clause)
        for cubes in product(*(existentials[name].cubes for name in denied)):
            denials = tuple(~literal for cube in cubes for literal in cube)
            terms.append(ClauseTerm(1, tuple(dict.fromkeys(literals + denials)), asserted))
    return tuple(terms)


def _sorted_out(
    clause: Iterable[Literal],
) -> tuple[tuple[Literal, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the literals of a clause, its asserted and its denied placeholders."""
    literals, asserted, denied = [], [], []
    for literal in clause:
        name = literal.atom.predicate.name if isinstance(literal.atom, Atom) else ""
        if not name.startswith("$"):
            literals.append(literal)
        elif literal.positive:
            asserted.append(name)
        else:
            denied.append(name)
    return tuple(literals), tuple(asserted), tuple(denied)
