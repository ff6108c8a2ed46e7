"""Compiled loops over a ground network: change an atom, draw an atom, sweep over all.

The state of a world is a `HiddenWorld`, all of whose arrays are functions of its `truth` alone, to
the last bit, whatever way led there. `changed` and `seen` are scratch space: groundings, and marks.
`work` counts walks through trees, and marks the change at hand.

What is called for every atom is in small functions with one loop each, the last call of which is
always made: there numba sees that it need not count who holds each of the two dozen arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Ints
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import Mask

WALKS, MARK = range(2)
"""Places of `work`."""


class HiddenWorld(NamedTuple):
    """A world of unknown atoms, and what follows from it.

    Attributes
    ----------
    truth
        Per atom, whether it is true.
    needs
        Per grounding, how many of its atoms are false.
    counts
        Per counter, its groundings.
    values
        Per head and tree, the tree's value.
    false_heads
        Per counter, how many of the heads that it counts for are false; nothing where no rule is
        a clause, since only clauses are evaluated by it.
    """

    truth: Mask
    needs: NDArray[np.int16]
    counts: Ints
    values: Floats
    false_heads: Ints


@njit(cache=True)
def _walk(rules, head, root, counts):  # type: ignore[no-untyped-def]
    """Return a tree's value for a head."""
    node, many = root, 1
    while rules.test[node] >= 0:
        found = counts[rules.place[rules.places[head] + rules.test[node]]]
        if found > 0:
            many = found
            node = rules.yes[node]
        else:
            node = rules.no[node]
    return rules.value[node] if rules.existential else rules.value[node] * many


@njit(cache=True)
def fill(rules, counts, values):  # type: ignore[no-untyped-def]
    """Walk all trees of all heads."""
    for head in range(len(rules.atom)):
        for unit in range(rules.units[head], rules.units[head + 1]):
            root = rules.root[rules.roots[head] + unit - rules.units[head]]
            values[unit] = _walk(rules, head, root, counts)


@njit(cache=True)
def _count(rules, atom, state, changed):  # type: ignore[no-untyped-def]
    """Change an atom and its groundings; list in `changed` those that came or went."""
    truth, needs, counts = state.truth, state.needs, state.counts
    number, was_true = 0, truth[atom]
    sign = -1 if was_true else 1
    for grounding in rules.grounding[rules.uses[atom] : rules.uses[atom + 1]]:
        lacking = needs[grounding]
        needs[grounding] = lacking - sign
        if lacking == (0 if was_true else 1):
            counts[rules.counter[grounding]] += sign * rules.many[grounding]
            changed[number] = grounding
            number += 1
    truth[atom] = not was_true
    return number


@njit(cache=True)
def _count_heads(rules, atom, state):  # type: ignore[no-untyped-def]
    """Count the false heads of counters anew, after an atom has changed."""
    false_heads, own = state.false_heads, rules.own[atom]
    change = -1 if state.truth[atom] else 1
    for place in rules.place[rules.places[own] : rules.places[own + 1]]:
        false_heads[place] += change


@njit(cache=True)
def _walk_changed(rules, atom, number, state, changed, seen, work, keep):  # type: ignore[no-untyped-def]
    """Walk the trees that test the counters of some groundings; new values are stored if `keep`.

    Returns by how much the values of false heads grew, but for the atom's own.
    """
    truth, counts, values = state.truth, state.counts, state.values
    work[MARK] += 1
    mark, growth, walks = work[MARK], 0.0, 0
    for place in range(number):
        counter = rules.counter[changed[place]]
        conjunction = rules.conjunction[counter]
        for place_of_head in range(rules.heads[counter], rules.heads[counter + 1]):
            head = rules.head[place_of_head]
            for which in range(rules.trees[conjunction], rules.trees[conjunction + 1]):
                tree = rules.tree[which]
                unit = rules.units[head] + tree
                if seen[unit] == mark:
                    continue
                seen[unit] = mark
                walks += 1
                value = _walk(rules, head, rules.root[rules.roots[head] + tree], counts)
                more = value - values[unit]
                if keep:
                    values[unit] = value
                owner = rules.atom[head]
                if owner < 0 or (owner != atom and not truth[owner]):
                    growth += more
    work[WALKS] += walks
    return growth


@njit(cache=True)
def flip(rules, atom, state, changed, seen, work):  # type: ignore[no-untyped-def]
    """Change an atom and all that depends on it.

    Returns by how much the values of other, false heads grew.
    """
    number = _count(rules, atom, state, changed)
    if len(state.false_heads) > 0:
        _count_heads(rules, atom, state)
    return _walk_changed(rules, atom, number, state, changed, seen, work, True)


@njit(cache=True)
def _complete(rules, atom, state, changed):  # type: ignore[no-untyped-def]
    """Count the groundings that lack a false atom alone, and list those in `changed`."""
    needs, counts = state.needs, state.counts
    number = 0
    for grounding in rules.grounding[rules.uses[atom] : rules.uses[atom + 1]]:
        if needs[grounding] == 1:
            counts[rules.counter[grounding]] += rules.many[grounding]
            changed[number] = grounding
            number += 1
    return number


@njit(cache=True)
def _uncount(rules, number, state, changed):  # type: ignore[no-untyped-def]
    """Take back the counts of the groundings that are listed."""
    counts = state.counts
    for grounding in changed[:number]:
        counts[rules.counter[grounding]] -= rules.many[grounding]


@njit(cache=True)
def _complete_clauses(rules, atom, state, changed):  # type: ignore[no-untyped-def]
    """Do so for trees alone; return how many, and by how much the values of clauses grow.

    Clauses grow by the same for each of their false heads, which are counted.
    """
    own = rules.own[atom]
    start, end = rules.places[own], rules.places[own + 1]
    first = rules.conjunction[rules.place[start]] if end > start else 0
    growth, number = 0.0, 0
    for grounding in rules.grounding[rules.uses[atom] : rules.uses[atom + 1]]:
        if state.needs[grounding] != 1:
            continue
        counter = rules.counter[grounding]
        conjunction = rules.conjunction[counter]
        slope = rules.slope[conjunction]
        if np.isnan(slope):
            state.counts[counter] += rules.many[grounding]
            changed[number] = grounding
            number += 1
            continue
        others, mine = state.false_heads[counter], start + conjunction - first
        if start <= mine < end and rules.place[mine] == counter:
            others -= 1
        growth += slope * rules.many[grounding] * others
    return number, growth


@njit(cache=True)
def _growth_if_true(rules, atom, state, changed, seen, work):  # type: ignore[no-untyped-def]
    """Return what `flip` of a false atom would, and leave all as it is.

    Most atoms are false and stay so, and most of their groundings lack other atoms too: these are
    looked at, not changed.
    """
    growth = 0.0
    if len(state.false_heads) == 0:
        number = _complete(rules, atom, state, changed)
    else:
        number, growth = _complete_clauses(rules, atom, state, changed)
    growth += _walk_changed(rules, atom, number, state, changed, seen, work, False)
    _uncount(rules, number, state, changed)
    return growth


@njit(cache=True)
def own_total(rules, atom, state):  # type: ignore[no-untyped-def]
    """Return the log-odds that an atom has by its own rules."""
    head, values = rules.own[atom], state.values
    total = rules.fixed[head]
    for unit in range(rules.units[head], rules.units[head + 1]):
        total += values[unit]
    return total


@njit(cache=True)
def assign(rules, wanted, state, changed, seen, work):  # type: ignore[no-untyped-def]
    """Go over to another world."""
    for atom in range(len(wanted)):
        if wanted[atom] != state.truth[atom]:
            flip(rules, atom, state, changed, seen, work)


@njit(cache=True)
def log_odds_of(rules, atom, state, changed, seen, work):  # type: ignore[no-untyped-def]
    """Return the log-odds of an atom given all others; the atom is left false, or changed.

    A head's rules are violated where it is false: a world's log-probability is minus the sum of
    the values of its false heads (eq. 12 of Khot et al. 2011). In a dependency network an atom
    has its own rules only.
    """
    if rules.existential:
        if state.truth[atom]:
            flip(rules, atom, state, changed, seen, work)
        return own_total(rules, atom, state)
    if state.truth[atom]:
        growth = flip(rules, atom, state, changed, seen, work)
        return own_total(rules, atom, state) + growth
    value = own_total(rules, atom, state)
    return value - flip(rules, atom, state, changed, seen, work)


@njit(cache=True)
def _log_odds_staying(rules, atom, state, changed, seen, work):  # type: ignore[no-untyped-def]
    """Return the log-odds of an atom given all others; the atom is left false."""
    if state.truth[atom] or rules.existential:
        return log_odds_of(rules, atom, state, changed, seen, work)
    value = own_total(rules, atom, state)
    return value - _growth_if_true(rules, atom, state, changed, seen, work)


@njit(cache=True)
def chance(log_odds):  # type: ignore[no-untyped-def]
    """Return the probability that has these log-odds."""
    if log_odds < 0.0:
        grown = np.exp(log_odds)
        return grown / (1.0 + grown)
    return 1.0 / (1.0 + np.exp(-log_odds))


@njit(cache=True)
def value_scores(rules, first, state, changed, seen, work):  # type: ignore[no-untyped-def]
    """Return the log-weights of the values of a block, given all else; all are left false."""
    truth, atom, values = state.truth, first, 0
    while values == 0 or atom != first:
        if truth[atom]:
            flip(rules, atom, state, changed, seen, work)
        atom = rules.next_value[atom]
        values += 1
    scores = np.empty(values)
    for place in range(values):
        scores[place] = log_odds_of(rules, atom, state, changed, seen, work)
        if truth[atom]:
            flip(rules, atom, state, changed, seen, work)
        atom = rules.next_value[atom]
    return scores


@njit(cache=True)
def shares(scores):  # type: ignore[no-untyped-def]
    """Return the probabilities of values that have these log-weights."""
    found = np.exp(scores - scores.max())
    return found / found.sum()


@njit(cache=True)
def _draw_value(rules, first, state, changed, seen, work, draw, sharpness, sums):  # type: ignore[no-untyped-def]
    """Draw the true value of a block, and return whether it is another than before."""
    truth = state.truth
    before, atom = first, rules.next_value[first]
    while not truth[before] and atom != first:
        before, atom = atom, rules.next_value[atom]
    was_true = truth[before]
    scores = value_scores(rules, first, state, changed, seen, work)
    chances, highest = shares(scores), scores.max()
    # apart, since infinity times zero is no number
    sharp = np.where(scores == highest, 1.0, np.exp(sharpness * (scores - highest)))
    left = draw * sharp.sum()
    chosen = wanted = first
    for place in range(len(scores)):
        sums[chosen] += chances[place]
        if left >= 0.0 and sharp[place] > 0.0:
            wanted = chosen
            left -= sharp[place]
        chosen = rules.next_value[chosen]
    flip(rules, wanted, state, changed, seen, work)
    return not was_true or wanted != before


@njit(cache=True, nogil=True)
def sweep(rules, order, state, changed, seen, work, draws, sharpness, sums):  # type: ignore[no-untyped-def]
    """Draw atoms and values of blocks in turn, given all others; add probabilities to `sums`.

    Log-odds are multiplied by `sharpness` before a draw; an infinite one takes the likelier value.
    Returns how many atoms changed.
    """
    truth = state.truth
    changes = 0
    for number in range(len(order)):
        atom = order[number]
        greedy = np.isinf(sharpness)
        if rules.next_value[atom] != atom:
            draw = 0.0 if greedy else draws[number]
            changes += _draw_value(rules, atom, state, changed, seen, work, draw, sharpness, sums)
            continue
        before = truth[atom]
        odds = _log_odds_staying(rules, atom, state, changed, seen, work)
        sums[atom] += chance(odds)
        wanted = odds > 0.0 if greedy else draws[number] < chance(sharpness * odds)
        if wanted != truth[atom]:
            flip(rules, atom, state, changed, seen, work)
        changes += wanted != before
    return changes


@njit(cache=True)
def log_odds(rules, state, changed, seen, work, out):  # type: ignore[no-untyped-def]
    """Write the log-odds of every atom given all others; the world stays as it is."""
    truth = state.truth
    for atom in range(len(truth)):
        before = truth[atom]
        out[atom] = _log_odds_staying(rules, atom, state, changed, seen, work)
        if truth[atom] != before:
            flip(rules, atom, state, changed, seen, work)


@njit(cache=True)
def value_chances(rules, order, state, changed, seen, work, out):  # type: ignore[no-untyped-def]
    """Write the probabilities of the values of blocks given all others; the world stays."""
    before = state.truth.copy()
    for first in order:
        if rules.next_value[first] == first:
            continue
        chances = shares(value_scores(rules, first, state, changed, seen, work))
        atom = first
        for place in range(len(chances)):
            out[atom] = chances[place]
            if before[atom]:
                flip(rules, atom, state, changed, seen, work)
            atom = rules.next_value[atom]
