"""LHL: learning by a lifted hypergraph (Kok & Domingos 2009).

Constants that behave alike are clustered; the true atoms among clusters are a graph that is far
smaller than that of the constants. Clauses are made of connected atoms of it, and must be better
than their parts.

Departures. Each database is clustered by itself. By default all pairs that do not touch each other
are merged in a round, the best first, and only pairs that share many neighbours are tried; the
paper merges one pair at a time. Of each set of literals, a few places in the graph are followed
further; the paper follows all. A cluster whose members are linked to each other has two variables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from mlnlearn.data.load.data import Data
from mlnlearn.run import Course
from mlnlearn.settings import AtLeast
from mlnlearn.structure.lifted_graph.clusters import Clustering
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph
from mlnlearn.structure.templates.learner import Template, TemplateLearner
from mlnlearn.structure.templates.lifted import connected_sets, lifted_atoms


@dataclass(frozen=True, kw_only=True)
class LHL(TemplateLearner):
    """Learn clauses along a graph of clustered constants (LHL; Kok & Domingos 2009).

    The preset ``"paper"`` merges one pair of clusters at a time, of all that share a neighbour,
    follows all paths of the graph, and scores all clauses. Time and memory then have no bound but
    `max_paths` and `max_clauses`, which may be set beside it. Where we do not know what the paper
    does, it has the defaults: how many literals are asserted, and a cluster whose members are
    linked to each other has two variables.

    Parameters
    ----------
    cost
        What a combination of clusters with a true atom costs, in nats: more makes fewer clusters.
    partners
        With how many others, those that share most neighbours with it, a cluster may be merged;
        None for all.
    mergers
        ``"rounds"``: all pairs that do not touch each other are merged in a round, the best first;
        ``"pairs"``: one pair at a time, the best of all.
    max_places
        At how many places of the graph the same literals are followed further; None for all.
    max_paths
        Most sets of literals of each length that are followed further in a database; None for all.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("wrote(person,paper)", "famous(person)", "good(paper)")
    >>> facts = {"wrote": [(f"P{i}", f"B{i // 2}") for i in range(40)],
    ...          "famous": [(f"P{i}",) for i in range(16)], "good": [(f"B{i}",) for i in range(8)]}
    >>> db = Database.from_facts(schema, facts)
    >>> print(LHL(max_literals=3).fit(db).model.rules[3].formula)
    famous(x1) v !good(x2) v !wrote(x1,x2)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **TemplateLearner.presets["paper"],
            "cost": 1.0,
            "partners": None,
            "mergers": "pairs",
            "max_places": None,
            "max_paths": None,
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 5
    cost: Annotated[float, AtLeast(0)] = 1.0
    partners: Annotated[int, AtLeast(1)] | None = 5
    mergers: Literal["rounds", "pairs"] = "rounds"
    max_places: Annotated[int, AtLeast(1)] | None = 2
    max_paths: Annotated[int, AtLeast(1)] | None = 1000

    def templates(self, data: Data, course: Course) -> Iterator[Template]:
        """Yield connected atoms among clusters, those of most databases first."""
        found: Counter[Template] = Counter()
        for number, database in enumerate(data.databases):
            course.check()
            course.tell("clustering", number, len(data.databases))
            graph = AtomGraph.of([database])
            clustering = Clustering(graph, self.cost, self.partners)
            by_pairs = self.mergers == "pairs"
            clusters = clustering.merged_by_pairs() if by_pairs else clustering.merged()
            atoms = np.flatnonzero((graph.nodes != NOTHING).any(axis=1))
            lifted = lifted_atoms(graph, atoms, np.append(clusters, NOTHING))
            found.update(
                connected_sets(
                    lifted, self.max_literals, self.max_variables, self.max_paths, self.max_places
                )
            )
        # as they were found, where they are as frequent: the shortest first
        yield from sorted(found, key=lambda template: -found[template])
