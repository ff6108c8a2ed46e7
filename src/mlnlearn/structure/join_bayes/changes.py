"""Single edges of a DAG dropped, turned and added, as far as the result is a DAG that obeys."""

from __future__ import annotations

from collections.abc import Iterator

from mlnlearn.structure.join_bayes.graphs import Dag, EdgeConstraints, ancestors, bits


class Change(tuple[tuple[int, int], ...]):
    """The nodes whose parents change, each with its new set of parents."""

    __slots__ = ()

    def of(self, dag: Dag) -> Dag:
        """Return the changed DAG."""
        parents = list(dag)
        for node, new in self:
            parents[node] = new
        return tuple(parents)


def single_changes(dag: Dag, rules: EdgeConstraints, max_parents: int) -> Iterator[Change]:
    """Yield all changes of one edge that obey the constraints and close no circle.

    Parameters
    ----------
    dag
        A DAG that obeys the constraints.
    rules
        The constraints.
    max_parents
        No edge is added or turned to a node that has so many parents.

    Examples
    --------
    >>> for change in single_changes((0, 0b1), EdgeConstraints(), 2):
    ...     print(change.of((0, 0b1)))
    (0, 0)
    (2, 0)
    """
    above = ancestors(dag)
    room = [parents.bit_count() < max_parents for parents in dag]
    for child, parents in enumerate(dag):
        required = rules.required_parents.get(child, 0)
        closed = rules.forbidden_parents.get(child, 0)
        for parent in range(len(dag)):
            edge = 1 << parent
            if parent == child or required & edge:
                continue
            if parents & edge:
                rest = parents & ~edge
                yield Change(((child, rest),))
                # turned, it must not close a circle with another way from parent to child
                circle = any(above[other] & edge for other in bits(rest))
                if room[parent] and rules.allows(child, parent) and not circle:
                    yield Change(((child, rest), (parent, dag[parent] | 1 << child)))
            elif room[child] and not closed & edge and not above[parent] >> child & 1:
                yield Change(((child, parents | edge),))
