"""HGSM and DMSP: clauses of literals that a truth table says belong together.

HGSM (Dinh, Exbrayat & Vrain, STAIRS 2010) learns rules for all predicates; DMSP (ADMA 2010) for
one, by how well they predict it. Chains of true atoms that leave from a predicate's ground atoms
are made variable; chains that begin alike share what they begin with. Each is a column of the
predicate's truth table, and those of a Markov blanket, found by grow and shrink with χ² tests, are
put together to clauses as far as they are connected. A literal at the end of a chain comes with
those that lead to it: without them it would say nothing of the predicate.

Both papers are known here by what later ones say of them; how long chains are, and at which level
tests are made, are settings. Chains are listed from the schema and kept where they hold. DMSP
chooses clauses by the likelihood of each atom of its predicate given all others, where the paper
samples all of them, and learns weights by it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import LiteralKey, canonical_key
from mlnlearn.settings import AtLeast
from mlnlearn.structure.bottom_up.grow_shrink import blanket
from mlnlearn.structure.bottom_up.learner import BottomUpLearner
from mlnlearn.structure.bottom_up.truth_table import Chain, TruthTable
from mlnlearn.structure.search.moves import is_connected
from mlnlearn.structure.search.settings import TargetSettings
from mlnlearn.structure.templates.learner import Template


@dataclass(frozen=True, kw_only=True)
class HGSM(BottomUpLearner):
    """Learn clauses of literals that depend on each other (HGSM; Dinh et al. 2010).

    The preset ``"paper"`` tries the best clause of each set of literals, leaves out nothing for its
    number, and adds whatever raises the likelihood. How long chains are and the level of the tests
    are those of the defaults: they are not known of the paper.

    Parameters
    ----------
    max_same
        Most literals of one predicate in a clause.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("wrote(person,paper)", "famous(person)", "good(paper)")
    >>> facts = {"wrote": [(f"P{i}", f"B{i // 2}") for i in range(40)],
    ...          "famous": [(f"P{i}",) for i in range(16)], "good": [(f"B{i}",) for i in range(8)]}
    >>> db = Database.from_facts(schema, facts)
    >>> print(HGSM(max_literals=3).fit(db).model.rules[3].formula)
    famous(x1) v !good(x2) v !wrote(x1,x2)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **BottomUpLearner.presets["paper"],
            "max_same": 3,
            "one_a_template": True,
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 5
    max_same: Annotated[int, AtLeast(1)] = 3

    def sets(self, table: TruthTable, head: LiteralKey) -> Iterator[Template]:
        """Yield connected chains: a column's and some of its blanket's, small sets first."""
        chains = [(head,), *linked(head, table.chains)]
        blankets = {
            column: sorted(blanket(table, column, self.alpha, self.max_blanket))
            for column in self.columns(table)
        }
        for size in range(1, self.max_literals):
            for column, own in blankets.items():
                for nodes in combinations(own, size):
                    literals = {atom for node in (column, *nodes) for atom in chains[node]}
                    if is_connected(sorted(literals)) and self.is_varied(literals):
                        yield canonical_key(literals)

    def columns(self, table: TruthTable) -> range:
        """Return the columns whose blankets clauses are made of."""
        return range(table.rows.shape[1])

    def is_varied(self, literals: Iterable[LiteralKey]) -> bool:
        """Tell whether no predicate is there too often."""
        numbers = [literal[0] for literal in literals]
        return max(map(numbers.count, numbers)) <= self.max_same


@dataclass(frozen=True, kw_only=True)
class DMSP(TargetSettings, HGSM):
    """Learn clauses that predict one predicate from the others (DMSP; Dinh et al. 2010).

    The preset ``"paper"`` is that of `HGSM`. It departs from the paper where that samples: clauses
    are chosen by how probable each atom of the target is given all others.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> people = [f"P{i}" for i in range(40)]
    >>> facts = {"smokes": [(p,) for p in people[:20]], "cancer": [(p,) for p in people[:16]]}
    >>> db = Database.from_facts(schema, facts, domains={"person": people})
    >>> print(DMSP(target="cancer").fit(db).model.rules[-1].formula)
    !cancer(x1) v smokes(x1)
    """

    one_a_template: bool = True

    def heads(self, predicates: Sequence[Predicate]) -> Iterator[int]:
        """Yield the number of the target."""
        yield from (n for n, predicate in enumerate(predicates) if predicate.name == self.target)

    def columns(self, table: TruthTable) -> range:
        """Return the target's column."""
        return range(1)

    def may_leave(self, head: int, chain: Chain) -> bool:
        """Tell whether a chain may be a column: one of the target itself would hide the others."""
        return self.recursive or all(literal[0] != head for literal in chain)


def linked(head: LiteralKey, chains: Sequence[Chain]) -> list[Chain]:
    """Return chains over common variables: those that begin alike share the variables of that.

    Examples
    --------
    >>> linked((0, 0), [((1, 0, 1),), ((1, 0, 1), (2, 1)), ((3, 0, 1), (2, 1))])
    [((1, 0, 1),), ((1, 0, 1), (2, 1)), ((3, 0, 2), (2, 2))]
    """
    own = len(head) - 1
    numbers: dict[tuple[Chain, int], int] = {}
    found = []
    for chain in chains:
        known = {term: term for term in range(own)}
        for place, (_, *terms) in enumerate(chain):
            for term in terms:
                if term not in known:
                    key = chain[: place + 1], term
                    known[term] = numbers.setdefault(key, own + len(numbers))
        found.append(tuple((number, *(known[t] for t in terms)) for number, *terms in chain))
    return found
