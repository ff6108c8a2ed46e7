"""LSM: learning by structural motifs (Kok & Domingos 2010).

Random walks from every constant tell what is near it, and which of the constants near it look alike
from there; alike are merged. The true atoms among a constant and the clusters near it are its
*community*; communities of one shape are a *motif*. Clauses are made of connected atoms of motifs,
so that they are about what often comes together, and not about what meets once by chance.

The paper is silent on some points, or we know it only through what others say of it. Communities
are of one shape when their variables cannot be told apart by colour refinement. A cluster whose
members are linked to each other has two variables; the paper would write ``friends(x,x)``. Clauses
are scored exactly on all data, and no more of them than `max_clauses`, those of the most frequent
motifs first; the paper scores all, for hours. `Motif-S` and `Motif-L` of Khot et al. (2011) are
``max_literals=5`` and ``10``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from mlnlearn.data.load.data import Data
from mlnlearn.run import Course
from mlnlearn.settings import AtLeast, Between
from mlnlearn.structure.motifs.communities import Likeness, clusters, community
from mlnlearn.structure.motifs.walks import walk
from mlnlearn.structure.templates.atoms import AtomGraph
from mlnlearn.structure.templates.learner import Template, TemplateLearner
from mlnlearn.structure.templates.lifted import LiftedAtom, connected_sets

# how often the colours of a motif's variables are refined
_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class LSM(TemplateLearner):
    """Learn clauses by structural motifs, by pseudo-likelihood (LSM; Kok & Domingos 2010).

    The preset ``"paper"`` walks 10,000 times from every constant, looks at all paths of a motif and
    scores all clauses; thresholds are those with which the authors' program is called. Time and
    memory then have no bound but `max_paths` and `max_clauses`, which may be set beside it.

    Parameters
    ----------
    max_literals
        Most literals of a clause: 5 for the short rules of "Motif-S", 10 for those of "Motif-L".
    walks
        Random walks from every constant.
    walk_length
        Most steps of a walk.
    max_time
        Constants with a larger truncated hitting time are not in a community.
    gap
        Constants whose hitting times differ by less may be merged.
    divergence
        Clusters are merged up to this Jensen–Shannon divergence of their paths, in bits.
    top_paths
        How many of a cluster's paths, the most frequent ones, are compared.
    min_atoms
        Motifs that stand for fewer true atoms are left out.
    max_paths
        Most sets of literals of each length that are looked at in a motif; None for all.
    seed
        Of the random walks.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("wrote(person,paper)", "famous(person)", "good(paper)")
    >>> facts = {"wrote": [(f"P{i}", f"B{i // 2}") for i in range(40)],
    ...          "famous": [(f"P{i}",) for i in range(16)], "good": [(f"B{i}",) for i in range(8)]}
    >>> db = Database.from_facts(schema, facts)
    >>> print(LSM(max_literals=3).fit(db).model.rules[3].formula)
    famous(x1) v !good(x2) v !wrote(x1,x2)
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **TemplateLearner.presets["paper"],
            "walks": 10_000,
            "walk_length": 5,
            "max_time": 4.9,
            "gap": 0.1,
            "divergence": 1.0,
            "top_paths": 3,
            "min_atoms": 10,
            "max_paths": None,
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 5
    walks: Annotated[int, AtLeast(1)] = 2000
    walk_length: Annotated[int, AtLeast(1)] = 5
    max_time: Annotated[float, AtLeast(0)] = 4.9
    gap: Annotated[float, AtLeast(0)] = 0.1
    divergence: Annotated[float, Between(0, 1)] = 1.0
    top_paths: Annotated[int, AtLeast(1)] = 3
    min_atoms: Annotated[int, AtLeast(0)] = 10
    max_paths: Annotated[int, AtLeast(1)] | None = 200
    seed: Annotated[int, AtLeast(0)] = 0

    def templates(self, data: Data, course: Course) -> Iterator[Template]:
        """Yield connected atoms of motifs, by length, those of frequent motifs first."""
        motifs = self.motifs(AtomGraph.of(data.databases), course)
        weight: Counter[Template] = Counter()
        for number, (motif, atoms) in enumerate(motifs):
            course.tell("finding paths", number, len(motifs))
            for template in connected_sets(
                motif, self.max_literals, self.max_variables, self.max_paths
            ):
                weight[template] += atoms
        yield from sorted(weight, key=lambda template: (-weight[template], template))

    def motifs(self, graph: AtomGraph, course: Course) -> list[tuple[tuple[LiftedAtom, ...], int]]:
        """Return the motifs, and how many true atoms each stands for."""
        alike = Likeness(self.gap, self.divergence, self.top_paths)
        first: dict[object, tuple[LiftedAtom, ...]] = {}
        weight: Counter[object] = Counter()
        for source in range(len(graph.kind)):
            course.check()
            course.tell("walking", source, len(graph.kind))
            rng = np.random.default_rng((self.seed, source))
            hits = walk(graph, source, self.walks, self.walk_length, rng, self.max_time)
            motif, atoms = community(graph, source, clusters(hits, graph.kind, alike))
            shape = shape_of(motif)
            first.setdefault(shape, motif)
            weight[shape] += atoms
        return [(first[s], n) for s, n in weight.items() if n >= self.min_atoms]


def shape_of(atoms: tuple[LiftedAtom, ...]) -> object:
    """Return what is equal for sets of atoms that differ in the names of variables only.

    Examples
    --------
    >>> shape_of(((0, 1, 2), (1, 2))) == shape_of(((0, 7, 5), (1, 5)))
    True
    >>> shape_of(((0, 1, 2), (1, 2))) == shape_of(((0, 1, 2), (1, 1)))
    False
    """
    colours = {variable: 0 for atom in atoms for variable in atom[1:]}
    for _ in range(_ROUNDS):
        marks: dict[int, list[object]] = {variable: [] for variable in colours}
        for atom in atoms:
            around = tuple(colours[variable] for variable in atom[1:])
            for place, variable in enumerate(atom[1:]):
                marks[variable].append((atom[0], place, around))
        colours = {
            variable: hash((colours[variable], tuple(sorted(marks[variable]))))  # type: ignore[type-var]
            for variable in colours
        }
    return tuple(sorted((atom[0], *(colours[v] for v in atom[1:])) for atom in atoms))
