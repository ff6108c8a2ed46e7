"""Small changes of clauses: add a literal, remove one, flip a sign (Kok & Domingos 2005)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, TypeAlias

from msgspec import Meta

from mlnlearn.documents import Place
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import ClauseKey, LiteralKey, canonical_key, clause_of, key_of
from mlnlearn.logic.clauses import Clause

ClauseFile: TypeAlias = list[Annotated[list[Place], Meta(min_length=1)]]
"""A clause as journals have it: its key."""


@dataclass(frozen=True)
class Language:
    """The clauses that may be built: connected, of few literals and variables.

    Clauses are keys (see `mlnlearn.logic.canonical`); a literal's predicate has number ``2p``
    where it is denied and ``2p + 1`` where it is asserted.

    Examples
    --------
    >>> smokes, friends = Predicate("smokes", ("t",)), Predicate("friends", ("t", "t"))
    >>> language = Language((smokes, friends), max_literals=2, max_variables=2)
    >>> [str(language.clause(key)) for key in language.neighbours(language.units[0])]
    ['!smokes(x1)', '!friends(x1,x1) v smokes(x1)', 'friends(x1,x1) v smokes(x1)', \
'!friends(x1,x2) v smokes(x1)', 'friends(x1,x2) v smokes(x1)', '!friends(x1,x2) v smokes(x2)', \
'friends(x1,x2) v smokes(x2)']
    """

    predicates: tuple[Predicate, ...]
    max_literals: int
    max_variables: int

    @cached_property
    def units(self) -> tuple[ClauseKey, ...]:
        """The clauses of a single literal: every predicate with distinct variables, both signs."""
        return tuple(
            canonical_key([(2 * number + sign, *range(predicate.arity))])
            for number, predicate in enumerate(self.predicates)
            for sign in (1, 0)
        )

    def key(self, given: Clause) -> ClauseKey | None:
        """Return the key of a clause; None where it has constants or comparisons."""
        return key_of(given, self.predicates.index)

    def clause(self, key: ClauseKey) -> Clause:
        """Return the clause of a key, in canonical form."""
        return clause_of(key, [(p, sign) for p in self.predicates for sign in (False, True)])

    def read_clause(self, literals: ClauseFile) -> Clause:
        """Return the clause of literals that a file holds.

        Examples
        --------
        >>> language = Language((Predicate("smokes", ("t",)),), max_literals=2, max_variables=2)
        >>> print(language.read_clause([[1, 0]]))
        smokes(x1)
        >>> language.read_clause([[1, 0, 0]])
        Traceback (most recent call last):
        mlnlearn.errors.InputError: [[1, 0, 0]] is no clause
        """
        key = tuple(tuple(literal) for literal in literals)
        types: dict[int, str] = {}
        fits = 0 < len(key) <= self.max_literals and is_connected(key)
        for number, *terms in key:
            fits = fits and number // 2 < len(self.predicates)
            kinds = self.predicates[number // 2].types if fits else ()
            fits = fits and len(terms) == len(kinds)
            fits = fits and all(
                types.setdefault(term, k) == k for term, k in zip(terms, kinds, strict=False)
            )
        if not fits:
            raise InputError(f"{literals!r:.100} is no clause")
        return self.clause(key)

    def neighbours(self, key: ClauseKey) -> list[ClauseKey]:
        """Return the clauses one change away, each once."""
        found = [*self._flipped(key), *self._shorter(key), *self.longer(key)]
        return [other for other in dict.fromkeys(found) if other != key]

    def longer(self, key: ClauseKey) -> list[ClauseKey]:
        """Return the clauses with one literal more, which shares a variable with the others."""
        if len(key) >= self.max_literals:
            return []
        atoms = {(literal[0] // 2, *literal[1:]) for literal in key}
        found = [
            canonical_key((*key, (2 * atom[0] + sign, *atom[1:])))
            for atom in self._atoms(key)
            if atom not in atoms
            for sign in (0, 1)
        ]
        return list(dict.fromkeys(found))

    def _atoms(self, key: ClauseKey) -> Iterator[LiteralKey]:
        """Yield atoms over the variables of a clause, at least one, and new ones in order."""
        types = {
            term: kind
            for number, *terms in key
            for term, kind in zip(terms, self.predicates[number // 2].types, strict=True)
        }
        fresh = range(len(types), max(self.max_variables, len(types)))
        for number, predicate in enumerate(self.predicates):
            for terms in product((*types, *fresh), repeat=predicate.arity):
                new = list(dict.fromkeys(term for term in terms if term not in types))
                if new != list(fresh[: len(new)]) or len(new) == len(set(terms)):
                    continue
                kinds = dict(types)
                pairs = zip(terms, predicate.types, strict=True)
                if all(kinds.setdefault(term, kind) == kind for term, kind in pairs):
                    yield (number, *terms)

    def _flipped(self, key: ClauseKey) -> Iterator[ClauseKey]:
        for place, literal in enumerate(key):
            flipped = (literal[0] ^ 1, *literal[1:])
            yield canonical_key((*key[:place], flipped, *key[place + 1 :]))

    def _shorter(self, key: ClauseKey) -> Iterator[ClauseKey]:
        for place in range(len(key)):
            rest = key[:place] + key[place + 1 :]
            if rest and is_connected(rest):
                yield canonical_key(rest)


def is_connected(literals: Sequence[LiteralKey]) -> bool:
    """Tell whether shared variables lead from any literal to any other.

    Examples
    --------
    >>> is_connected([(0, 1, 2), (1, 2, 3)]), is_connected([(0, 1), (1, 2)])
    (True, False)
    """
    reached, waiting = set(literals[0][1:]), list(literals[1:])
    while waiting:
        joined = [literal for literal in waiting if reached.intersection(literal[1:])]
        if not joined:
            return False
        waiting = [literal for literal in waiting if literal not in joined]
        reached.update(term for literal in joined for term in literal[1:])
    return True
