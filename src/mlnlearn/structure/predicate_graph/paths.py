"""From paths in the graph to clauses: the heuristic variabilisation (section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.logic.atoms import Predicate
from mlnlearn.structure.predicate_graph.links import SignedPredicate

# A literal under construction: the number of its node and the numbers of its variables.
Draft = list[tuple[int, list[int]]]
Pairs = tuple[tuple[int, int], ...]
# An edge by the numbers of its nodes, and whether it closes a cycle.
Move = tuple[int, int, Pairs, bool]


class Drafting:
    """Turns paths over numbered nodes into literals with numbered variables.

    Predicates are taken in the order of how often they occur in the path, most frequent first. An
    edge starts from the first literal of its first node and adds one of its second node; linked
    arguments take the variables of that literal, all others are new variables.

    The paper's paths only add literals. A closing move ties two literals that are there already, so
    that rules such as ``movie(m,a) ^ movie(m,b) => workedUnder(a,b)`` can be found; such moves come
    last, and tie the first pair of literals whose linked arguments are still apart.

    Examples
    --------
    >>> advised = SignedPredicate(Predicate("advisedBy", ("person", "person")), positive=False)
    >>> student = SignedPredicate(Predicate("student", ("person",)))
    >>> Drafting([advised, student]).draft([(0, 0, ((0, 1),), False), (0, 1, ((0, 0),), False)])
    [(0, [0, 1]), (0, [2, 0]), (1, [0])]
    """

    def __init__(self, nodes: Sequence[SignedPredicate]) -> None:
        numbers: dict[Predicate, int] = {}
        self.predicate = [numbers.setdefault(n.predicate, len(numbers)) for n in nodes]
        self.arity = [node.predicate.arity for node in nodes]

    def draft(self, path: Sequence[Move]) -> Draft | None:
        """Return the literals of a path; None where a closing move finds nothing to tie."""
        literals: Draft = []
        fresh = 0
        for first, second, pairs in self._ordered(path):
            if not literals:
                literals.append((first, list(range(self.arity[first]))))
                fresh = self.arity[first]
            anchor = next(terms for node, terms in literals if node == first)
            terms = _linked(literals, anchor, pairs, self.arity[second])
            for place, term in enumerate(terms):
                if term < 0:
                    terms[place] = fresh
                    fresh += 1
            literals.append((second, terms))
        for first, second, pairs, closes in path:
            if closes and not self._close(literals, first, second, pairs):
                return None
        return literals

    def _ordered(self, path: Sequence[Move]) -> list[tuple[int, int, Pairs]]:
        """Order (and turn) edges to start from nodes that are there, frequent predicates first."""
        waiting = [(first, second, pairs) for first, second, pairs, closes in path if not closes]
        frequency = [0] * len(self.predicate)
        for first, second, _ in waiting:
            frequency[self.predicate[first]] += 1
            frequency[self.predicate[second]] += 1
        often = [frequency[predicate] for predicate in self.predicate]
        nodes = [node for edge in waiting for node in edge[:2]]
        present = {max(nodes, key=lambda node: often[node])}
        found = []
        while waiting:
            chosen, most = 0, -1
            for place, (first, second, _) in enumerate(waiting):
                number = often[first] + often[second]
                if number > most and (first in present or second in present):
                    chosen, most = place, number
            first, second, pairs = waiting.pop(chosen)
            if first not in present:
                first, second, pairs = second, first, tuple((v, u) for u, v in pairs)
            present |= {first, second}
            found.append((first, second, pairs))
        return found

    def _close(self, literals: Draft, first: int, second: int, pairs: Pairs) -> bool:
        """Tie the first pair of literals of two nodes that a link would bring closer."""
        for place, (node, terms) in enumerate(literals):
            for other, (partner, others) in enumerate(literals):
                if place == other or node != first or partner != second:
                    continue
                if any(terms[u] == others[v] for u, v in pairs):
                    continue
                trial = [(n, list(t)) for n, t in literals]
                for u, v in pairs:
                    _merge(trial, trial[place][1][u], trial[other][1][v])
                if self._plain(trial):
                    literals[:] = trial
                    return True
        return False

    def _plain(self, literals: Draft) -> bool:
        """Tell whether no atom occurs twice and no atom repeats a variable."""
        atoms = {(self.predicate[node], tuple(terms)) for node, terms in literals}
        return len(atoms) == len(literals) and all(len(set(t)) == len(t) for _, t in literals)


def _linked(literals: Draft, anchor: list[int], pairs: Pairs, arity: int) -> list[int]:
    """Return the arguments of a new literal that is linked to an old one; open ones are -1."""
    terms = [-1] * arity
    for u, v in pairs:
        if terms[v] >= 0:
            # two places of the old literal are the same place of the new one
            _merge(literals, anchor[u], terms[v])
        terms[v] = anchor[u]
    return terms


def _merge(literals: Draft, new: int, old: int) -> None:
    for _, terms in literals:
        terms[:] = [new if term == old else term for term in terms]
