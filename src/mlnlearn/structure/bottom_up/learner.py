"""What BUSL, HGSM and DMSP share: truth tables of predicates, and literals that go together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from mlnlearn.counting.stack import Stack
from mlnlearn.data.load.data import Data
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import LiteralKey
from mlnlearn.run import Course
from mlnlearn.settings import AtLeast, Between
from mlnlearn.structure.bottom_up.grow_shrink import strongest
from mlnlearn.structure.bottom_up.truth_table import Chain, TruthTable, chains_of, truth_table
from mlnlearn.structure.templates.learner import Template, TemplateLearner


@dataclass(frozen=True, kw_only=True)
class BottomUpLearner(TemplateLearner):
    """Base of learners that read from truth tables which literals go together.

    The preset ``"paper"`` has no bounds on their number, and adds whatever raises the likelihood.

    Parameters
    ----------
    max_links
        Most atoms of a chain that leaves from a ground atom.
    max_new
        Most variables of a chain that are not those of the atom it leaves from.
    max_nodes
        Most chains of a predicate's truth table, those that it depends on most; None for all.
    alpha
        Columns depend on each other where a test's p-value is below this.
    max_blanket
        Most columns that a column is held to depend on directly; None for any number.
    seed
        Of the draw of false atoms, where there are very many.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **TemplateLearner.presets["paper"],
            "min_gain": 0.0,
            "flips": None,
            "max_nodes": None,
            "max_blanket": None,
        }
    }

    max_links: Annotated[int, AtLeast(1)] = 2
    max_new: Annotated[int, AtLeast(0)] = 1
    max_nodes: Annotated[int, AtLeast(1)] | None = 30
    alpha: Annotated[float, Between(0, 1)] = 0.05
    max_blanket: Annotated[int, AtLeast(1)] | None = 6
    seed: Annotated[int, AtLeast(0)] = 0

    @abstractmethod
    def sets(self, table: TruthTable, head: LiteralKey) -> Iterator[Template]:
        """Yield literals that go together, the likeliest first."""

    def heads(self, predicates: Sequence[Predicate]) -> Iterator[int]:
        """Yield the numbers of the predicates whose truth tables are made."""
        yield from range(len(predicates))

    def may_leave(self, head: int, chain: Chain) -> bool:
        """Tell whether a chain may be a column of the truth table of a predicate."""
        return True

    def templates(self, data: Data, course: Course) -> Iterator[Template]:
        """Yield what truth tables say goes together, predicates in turn."""
        stack = Stack(data.databases)
        predicates = stack.schema.predicates
        rng = np.random.default_rng(self.seed)
        found = []
        for number in self.heads(predicates):
            course.check()
            course.tell(f"what {predicates[number].name} depends on", number, len(predicates))
            chains = chains_of(predicates, number, self.max_links, self.max_new)
            useful = [chain for chain in chains if self.may_leave(number, chain)]
            table = truth_table(stack, predicates[number], useful, rng)
            head = (number, *range(predicates[number].arity))
            sets = self.sets(strongest(table, self.max_nodes), head)
            found.append([template for template in sets if self.fits(template)])
        # each predicate has its turn: what is cut off at the end is what each likes least
        longest = max(map(len, found), default=0)
        for place in range(longest):
            yield from (one[place] for one in found if place < len(one))

    def fits(self, template: Template) -> bool:
        """Tell whether a clause may have so many literals and variables."""
        variables = {term for _, *terms in template for term in terms}
        return 2 <= len(template) <= self.max_literals and len(variables) <= self.max_variables
