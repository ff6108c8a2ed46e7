"""Why atoms have their log-odds: the rules that apply to them, and those they stand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Mask
from mlnlearn.counting.objects import Objects
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.influence import influence
from mlnlearn.model.boosted.potentials import is_true, own_values
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Step, TargetRules
from mlnlearn.model.boosted.text import Naming


@dataclass(frozen=True, slots=True)
class Reason:
    """One part of an atom's log-odds.

    Attributes
    ----------
    rule
        A rule, as text.
    count
        How many groundings of its body the atom has; where the atom stands in the body, how many
        more groundings hold with the atom true than with it false. None for trees that it stands
        in, which have no single number.
    contribution
        What it adds to the log-odds, over all steps that hold it.
    """

    rule: str
    count: int | None
    contribution: float


def reasons(
    targets: Sequence[TargetRules],
    existential: bool,
    world: Objects,
    predicate: Predicate,
    atoms: Codes,
) -> list[list[Reason]]:
    """Return the parts of each atom's log-odds, the largest first.

    They add up to the log-odds given all else (`potentials`): what the rules for the atoms' own
    predicate give them, and under counting semantics what the atoms do in bodies of rules for
    other atoms, of any target (eq. 12 of Khot et al. 2011).

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("rich(person)")
    >>> world = Objects([Database.from_facts(schema, {}, domains={"person": ["Bob"]})])
    >>> rules = TargetRules(schema["rich"], -1.5)
    >>> reasons([rules], False, world, schema["rich"], np.array([[0], [0]], np.int32))
    [[Reason(rule='rich(p1)', count=1, contribution=-1.5)]]
    """
    own = next(rules for rules in targets if rules.predicate == predicate)
    truth = is_true(world, predicate, atoms)
    head = str(Naming(predicate).head)
    found: list[dict[str, Reason]] = [
        {head: Reason(head, 1, own.intercept)} for _ in range(atoms.shape[1])
    ]
    parts = _own_parts(own, existential, world, atoms, truth)
    for text, members, counts, values in parts:
        _add(found, text, members, counts, values)
    if not existential:
        for rules in targets:
            for text, members, moved, values in _body_parts(rules, world, predicate, atoms, truth):
                _add(found, text, members, moved, values)
    return [sorted(each.values(), key=lambda reason: -abs(reason.contribution)) for each in found]


_Part = tuple[str, Ints, Ints | None, Floats]
"""A rule, the numbers of the atoms that it matters to, their groundings, what it adds."""


def _add(
    found: list[dict[str, Reason]], text: str, members: Ints, counts: Ints | None, values: Floats
) -> None:
    """Add what a rule gives to atoms, to what the same rule of other steps gave."""
    for place, member in enumerate(members.tolist()):
        before = found[member][text].contribution if text in found[member] else 0.0
        count = None if counts is None else int(counts[place])
        found[member][text] = Reason(text, count, before + float(values[place]))


def _own_parts(
    rules: TargetRules, existential: bool, world: Objects, atoms: Codes, truth: Mask
) -> Iterator[_Part]:
    """Yield the rules of the atoms' predicate that apply to them."""
    predicate, naming = rules.predicate, Naming(rules.predicate)
    for step in (rules.prior, *rules.steps):
        if isinstance(step, ClauseList):
            everyone = np.arange(len(truth))
            weighted = [(clause.body, clause.weight, everyone) for clause in step.clauses]
        else:
            paths = step.paths
            numbered = step.with_values([float(number) for number in range(len(paths))])
            leaf = own_values(numbered, world, predicate, atoms, truth, existential=True)
            weighted = [
                (path.body, path.value, np.flatnonzero(leaf == number))
                for number, path in enumerate(paths)
            ]
        for body, weight, members in weighted:
            if len(members):
                rows, known = np.ascontiguousarray(atoms[:, members]), truth[members]
                once = ClauseList((HornClause(body, 1.0),))
                counts = own_values(once, world, predicate, rows, known, existential=False)
                some = np.flatnonzero(counts > 0)
                number = counts[some].astype(np.int64)
                times = np.ones(len(some)) if existential else counts[some]
                yield naming.rule(body), members[some].astype(np.int64), number, weight * times


def _body_parts(
    rules: TargetRules, world: Objects, predicate: Predicate, atoms: Codes, truth: Mask
) -> Iterator[_Part]:
    """Yield the rules for a target in whose bodies the atoms stand, and what that does to them."""
    naming = Naming(rules.predicate)

    def effect(step: Step) -> Floats:
        return influence(step, rules.predicate, world, predicate, atoms, truth)

    for step in (rules.prior, *rules.steps):
        if isinstance(step, ClauseList):
            for clause in step.clauses:
                moved = effect(ClauseList((HornClause(clause.body, 1.0),)))
                some = np.flatnonzero(moved)
                number = np.rint(moved[some]).astype(np.int64)
                text = f"{naming.rule(clause.body)} (in its body)"
                yield text, some, number, clause.weight * moved[some]
        else:
            values = effect(step)
            some = np.flatnonzero(values)
            yield f"trees for {naming.head} (in their tests)", some, None, values[some]
