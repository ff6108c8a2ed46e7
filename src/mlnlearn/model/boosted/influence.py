"""What an atom in bodies of rules for another target does to its odds (Khot et al. 2011, eq. 12).

A rule ``body => head`` of weight w is violated by every grounding with a true body and a false
head. All rules for a target together give a head ``h`` the value ``f(h)``; the log-probability of a
world contains ``-Σ f(h)`` over the false heads. Making an atom ``x`` true in bodies hence adds
``-Σ [f(h; x true) - f(h; x false)]`` to its log-odds, the sum over all false heads but ``x``
itself: this holds for clauses and trees alike, and however many literals of a body the atom is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints, pack
from mlnlearn.counting.bindings import Bindings, Flip, Mask
from mlnlearn.counting.chunks import in_chunks
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.counting.through import CHUNK, Through
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Floats, step_values
from mlnlearn.model.boosted.rules import ClauseList, Step, bodies, spelt_out
from mlnlearn.model.boosted.tree_influence import tree_influence


def influence(
    step: Step, head: Predicate, world: Objects, predicate: Predicate, examples: Codes, known: Mask
) -> Floats:
    """Return what a step for one target adds to the log-odds of atoms in its bodies.

    Parameters
    ----------
    step
        Rules under counting semantics.
    head
        Their target.
    world
        The facts, those of the target among them.
    predicate, examples
        The atoms: a row of databases, then one of each argument's objects. Of atoms of the target
        itself only what they do to other heads is returned.
    known
        Which of them are true in the data.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import HornClause
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> facts = {"smokes": [("Anna",)], "cancer": [("Anna",)]}
    >>> world = Objects([Database.from_facts(schema, facts, domains={"person": ["Bob"]})])
    >>> step = ClauseList((HornClause((Pattern(schema["smokes"], (0,)),), 0.7),))
    >>> people = np.array([[0, 0], [0, 1]], np.int32)  # Bob, who has no cancer, and Anna
    >>> influence(step, schema["cancer"], world, schema["smokes"], people,
    ...           np.array([False, True])).tolist()
    [-0.7, 0.0]
    """
    is_in = any(pattern.predicate == predicate for body in bodies(step) for pattern in body)
    if not is_in or not len(known):
        return np.zeros(len(known))
    several = spelt_out(step)
    if len(several) > 1:
        total = np.zeros(len(known))
        for each in several:
            total += influence(each, head, world, predicate, examples, known)
        return total
    step = several[0]
    first, kind = _kinds(step, head, predicate, examples, known)
    atoms, truth = np.ascontiguousarray(examples[:, first]), known[first]
    if isinstance(step, ClauseList):
        result = _through_clauses(step, head, world, predicate, atoms, truth)
    else:
        result = tree_influence(step, head, world, predicate, atoms, truth)
    result = result[kind]
    if predicate == head:
        false = np.flatnonzero(~known)
        result[false] += _own_change(step, world, head, np.ascontiguousarray(examples[:, false]))
    return result


def _own_change(step: Step, world: Objects, head: Predicate, heads: Codes) -> Floats:
    """Return what false heads add to their own values by becoming true."""
    flip = Flip(head, heads, np.ones(heads.shape[1], np.bool_), np.zeros(heads.shape[1], np.bool_))
    return step_values(step, world, heads, False, flip) - step_values(step, world, heads, False)


def _kinds(
    step: Step, head: Predicate, predicate: Predicate, examples: Codes, known: Mask
) -> tuple[Ints, Ints]:
    """Return one atom of each kind that the step cannot tell apart, and every atom's kind.

    Where an argument is always a variable that stands nowhere else, only the number of facts
    counts, not which they are: atoms that differ there only have the same influence.
    """
    told = [0]
    for place in range(predicate.arity):
        for body in bodies(step):
            terms = [term for pattern in body for term in pattern.terms]
            here = [p.terms[place] for p in body if p.predicate == predicate]
            if any(isinstance(t, str) or t < head.arity or terms.count(t) > 1 for t in here):
                told.append(place + 1)
                break
    columns = [*examples[told], known.astype(np.int32)]
    keys = pack(columns, [int(column.max(initial=0)) + 1 for column in columns])
    if keys is None:
        everything = np.arange(examples.shape[1])
        return everything, everything
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind


def _through_clauses(
    step: ClauseList,
    head: Predicate,
    world: Objects,
    predicate: Predicate,
    atoms: Codes,
    known: Mask,
) -> Floats:
    """Count the groundings with a false head."""
    result = np.zeros(len(known))
    heads = frozenset(range(head.arity))

    def run(start: int, end: int) -> None:
        chunk = slice(start, end)
        through = Through.of(world, predicate, atoms[:, chunk], known[chunk])
        result[chunk] = 0.0
        for clause in step.clauses:
            for place in through.places(clause.body):
                table, numbers = through.groundings(clause.body, place, heads)
                result[chunk] -= clause.weight * _with_false_head(head, table, numbers)

    in_chunks(len(result), CHUNK, run)
    return result


def _with_false_head(head: Predicate, table: Bindings, numbers: dict[int, int]) -> Ints:
    """Count groundings times values of unbound head arguments for which the head is false."""
    many = table.multiplicity.copy()
    fresh = table.variables
    terms = []
    for place, kind in enumerate(head.types):
        if place not in numbers:
            many *= np.diff(table.world.offsets[kind])[table.columns[0]]
            fresh += 1
        terms.append(numbers.get(place, fresh - 1))
    total = np.bincount(table.example, many, minlength=table.size).astype(np.int64)
    return total - replace(table, flip=None).count(Pattern(head, tuple(terms)))
