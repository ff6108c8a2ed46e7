"""BUSL: bottom-up structure learning (Mihalkova & Mooney 2007).

For each predicate, chains of true atoms that leave from its ground atoms are *template nodes*; a
truth table says which hold where. Nodes that depend on each other, by grow and shrink with χ²
tests, are the edges of a Markov network template, and its cliques that hold the predicate are what
clauses are made of: all literals of the clique's nodes, with all signs.

Departures: nodes are listed from the schema and kept where they hold somewhere, which gives those
that following true atoms would meet; of more than `max_nodes`, those that depend most on the
predicate stay. Clauses are added by weighted pseudo-likelihood as in the paper, screened by the
score test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

from mlnlearn.logic.canonical import LiteralKey, canonical_key
from mlnlearn.settings import AtLeast
from mlnlearn.structure.bottom_up.grow_shrink import markov_network
from mlnlearn.structure.bottom_up.learner import BottomUpLearner
from mlnlearn.structure.bottom_up.truth_table import Chain, TruthTable
from mlnlearn.structure.templates.learner import Template


@dataclass(frozen=True, kw_only=True)
class BUSL(BottomUpLearner):
    """Learn clauses bottom-up, by pseudo-likelihood (BUSL; Mihalkova & Mooney 2007).

    The preset ``"paper"`` leaves out no template node, clique or clause for their number, and adds
    whatever raises the likelihood; how long chains are and the level of the tests are those of the
    defaults, of which we know no others. Time and memory then have no bound but `max_clauses`.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("wrote(person,paper)", "famous(person)", "good(paper)")
    >>> facts = {"wrote": [(f"P{i}", f"B{i // 2}") for i in range(40)],
    ...          "famous": [(f"P{i}",) for i in range(16)], "good": [(f"B{i}",) for i in range(8)]}
    >>> db = Database.from_facts(schema, facts)
    >>> print(BUSL(max_literals=3).fit(db).model.rules[3].formula)
    famous(x1) v !good(x2) v !wrote(x1,x2)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **BottomUpLearner.presets["paper"],
            "min_weight": 0.5,
            "max_links": 2,
            "max_new": 1,
            "alpha": 0.05,
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 5
    flips: Annotated[int, AtLeast(0)] | None = None
    min_weight: Annotated[float, AtLeast(0)] = 0.5

    def sets(self, table: TruthTable, head: LiteralKey) -> Iterator[Template]:
        """Yield the literals of cliques that hold the head, small ones first."""
        neighbours = markov_network(table, self.alpha, self.max_blanket)
        for size in range(1, self.max_literals):
            for nodes in combinations(sorted(neighbours[0]), size):
                if all(other in neighbours[one] for one, other in combinations(nodes, 2)):
                    yield joined(head, [table.chains[node - 1] for node in nodes])


def joined(head: LiteralKey, chains: Sequence[Chain]) -> Template:
    """Return the literals of a head and some chains; what is not the head's is each chain's own.

    Examples
    --------
    >>> joined((0, 0), [((1, 0, 1),), ((1, 0, 1), (2, 1))])
    ((0, 0), (1, 0, 1), (1, 0, 2), (2, 2))
    """
    literals, fresh = [head], len(head) - 1
    for chain in chains:
        new: dict[int, int] = {}
        for number, *terms in chain:
            for term in terms:
                if term >= len(head) - 1 and term not in new:
                    new[term] = fresh
                    fresh += 1
            literals.append((number, *(new.get(term, term) for term in terms)))
    return canonical_key(literals)
