"""Why atoms have their log-odds: the rules that apply to them, and those they stand in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Mask, is_true
from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.late import late
from mlnlearn.logic.atoms import Atom, Predicate
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.evaluate import Floats, routes
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, forgotten_targets
from mlnlearn.model.boosted.hidden.components import hidden_components
from mlnlearn.model.boosted.hidden.enumeration import enumerated
from mlnlearn.model.boosted.hidden.marginals import depends_on_unknown
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.influence import influence
from mlnlearn.model.boosted.potentials import own_flip
from mlnlearn.model.boosted.rules import (
    ClauseList,
    HornClause,
    Leaf,
    Step,
    TargetRules,
    TreeBranch,
    nodes,
    roots,
    spelt_out,
)
from mlnlearn.model.boosted.text import Naming
from mlnlearn.model.explanation import (
    Contribution,
    Explanation,
    atom_of,
    by_size,
    codes_of,
    forced,
    with_unknown,
)

special = late("scipy.special")

# a search for a most probable world that is too hard to enumerate
_SWEEPS, _STARTS = 100, 3


def explain_atom(
    targets: Sequence[TargetRules],
    existential: bool,
    database: Database,
    atom: Atom,
    *,
    open: Collection[str] = (),
    closed: Collection[str] = (),
    seed: int = 0,
) -> Explanation:
    """Explain the probability of a ground atom of a target; see `BoostedModel.explain`."""
    predicate, names = atom.predicate, [rules.predicate.name for rules in targets]
    codes = codes_of(database, atom)
    unlisted = forgotten_targets(names, database, open, closed)
    asked = with_unknown(database, predicate, codes)
    asked = replace(asked, open=(asked.open | set(unlisted)) - set(closed))
    hidden = HiddenAtoms.of([asked], names)
    row = hidden.known.numbered(predicate, np.zeros(1, np.int32), codes)
    own = int(hidden.numbers(predicate, row)[0])
    if own < 0:
        return forced(database, atom)
    values = [own]
    while hidden.next_value[values[-1]] != own:
        values.append(int(hidden.next_value[values[-1]]))
    truth, assumed = np.zeros(len(hidden), np.bool_), 0
    if len(hidden) > len(values) and depends_on_unknown(targets, existential, asked, ()):
        truth, assumed = _likeliest(targets, existential, hidden, own, seed)
    truth[values] = False
    world, places = Objects(hidden.completed(truth)), np.array(values) - hidden.starts[predicate]
    rows = np.ascontiguousarray(hidden.rows[predicate][:, places])
    parts = contributions(targets, existential, world, predicate, rows)
    scores = [sum(part.log_odds for part in each) for each in parts]
    if len(values) == 1:
        return Explanation(atom, parts[0], scores[0], float(expit(scores[0])), None, assumed)
    rival = max(range(1, len(values)), key=lambda place: (scores[place], -values[place]))
    return Explanation(
        atom,
        _difference(parts[0], parts[rival]),
        scores[0] - scores[rival],
        float(special.softmax(scores)[0]),
        atom_of(database, atom, hidden.columns[predicate][0][:, places[rival]]),
        assumed,
    )


def _likeliest(
    targets: Sequence[TargetRules], existential: bool, hidden: HiddenAtoms, atom: int, seed: int
) -> tuple[Mask, int]:
    """Return a most probable world of all that depends on an atom, and how much that is."""
    network = GroundNetwork.of(targets, existential, hidden)
    found = hidden_components(network.rules)
    label = found.label[atom]
    order = found.order[found.label[found.order] == label]
    sampler = Sampler(network, np.random.default_rng(seed), order)
    _, best, done = enumerated(sampler, found, np.arange(len(found)) == label)
    return best if done[label] else sampler.descend(_SWEEPS, _STARTS), len(order) - 1


def _difference(
    own: Sequence[Contribution], rival: Sequence[Contribution]
) -> tuple[Contribution, ...]:
    """Return what rules say about one value of a block rather than another."""
    found = {part.rule: part for part in own}
    for part in rival:
        mine = found.get(part.rule, Contribution(part.rule, 0, 0.0))
        flips = None if mine.flips is None or part.flips is None else mine.flips - part.flips
        found[part.rule] = Contribution(part.rule, flips, mine.log_odds - part.log_odds)
    return by_size(part for part in found.values() if part.log_odds)


def contributions(
    targets: Sequence[TargetRules],
    existential: bool,
    world: Objects,
    predicate: Predicate,
    atoms: Codes,
) -> list[tuple[Contribution, ...]]:
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
    >>> contributions([rules], False, world, schema["rich"], np.array([[0], [0]], np.int32))
    [(Contribution(rule='rich(p1)', flips=1, log_odds=-1.5),)]
    """
    own = next(rules for rules in targets if rules.predicate == predicate)
    truth = is_true(world, predicate, atoms)
    head = str(Naming(predicate).head)
    found: list[dict[str, Contribution]] = [
        {head: Contribution(head, 1, own.intercept)} for _ in range(atoms.shape[1])
    ]
    for text, members, counts, values in _own_parts(own, existential, world, atoms, truth):
        _add(found, text, members, counts, values)
    if not existential:
        for rules in targets:
            for text, members, moved, values in _body_parts(rules, world, predicate, atoms, truth):
                _add(found, text, members, moved, values)
    return [by_size(each.values()) for each in found]


_Part = tuple[str, Ints, Ints | None, Floats]
"""A rule, the numbers of the atoms that it matters to, their groundings, what it adds."""


def _add(
    found: list[dict[str, Contribution]],
    text: str,
    members: Ints,
    counts: Ints | None,
    values: Floats,
) -> None:
    """Add what a rule gives to atoms, to what the same rule of other steps gave."""
    for place, member in enumerate(members.tolist()):
        before = found[member][text].log_odds if text in found[member] else 0.0
        count = None if counts is None else int(counts[place])
        found[member][text] = Contribution(text, count, before + float(values[place]))


def _own_parts(
    rules: TargetRules, existential: bool, world: Objects, atoms: Codes, truth: Mask
) -> Iterator[_Part]:
    """Yield the rules of the atoms' predicate that apply to them."""
    naming = Naming(rules.predicate)
    for step in (rules.prior, *rules.steps):
        flip = own_flip(step, rules.predicate, atoms, truth)
        for root in roots(step):
            for (body, node), stop in zip(
                nodes(root), routes(root, world, atoms, flip), strict=True
            ):
                if isinstance(node, Leaf) and not node.is_zero:
                    some = np.flatnonzero(stop.reached).astype(np.int64)
                    counts = stop.counts[some]
                    times = np.ones(len(some)) if existential else counts.astype(np.float64)
                    constants = _constants(node, world, atoms[:, some])
                    path = TreeBranch(body, (), node.value, node.by)
                    for name, text, value in naming.weighted(path):
                        here = np.flatnonzero(constants == name) if name else slice(None)
                        yield text, some[here], counts[here], value * times[here]


def _constants(leaf: Leaf, world: Objects, atoms: Codes) -> NDArray[np.object_]:
    """Return the constant of each atom that a leaf's vector, if it has one, is about."""
    if leaf.by is None:
        return np.empty(0, object)
    names, codes = world.values(leaf.by.kind)
    found: NDArray[np.object_] = np.array(list(names), object)[codes[atoms[leaf.by.place + 1]]]
    return found


def _body_parts(
    rules: TargetRules, world: Objects, predicate: Predicate, atoms: Codes, truth: Mask
) -> Iterator[_Part]:
    """Yield the rules for a target in whose bodies the atoms stand, and what that does to them."""
    naming = Naming(rules.predicate)

    def effect(step: Step) -> Floats:
        return influence(step, rules.predicate, world, predicate, atoms, truth)

    for step in (rules.prior, *rules.steps):
        if isinstance(step, ClauseList):
            for clause in _clauses(step):
                moved = effect(ClauseList((HornClause(clause.body, 1.0),)))
                some = np.flatnonzero(moved)
                number = np.rint(moved[some]).astype(np.int64)
                text = f"{naming.rule(clause.body)} (in its body)"
                yield text, some, number, clause.weight * moved[some]
        else:
            values = effect(step)
            some = np.flatnonzero(values)
            yield f"trees for {naming.head} (in their tests)", some, None, values[some]


def _clauses(step: ClauseList) -> Iterator[HornClause]:
    """Yield clauses without vectors."""
    for each in spelt_out(step):
        yield from each.clauses if isinstance(each, ClauseList) else ()
