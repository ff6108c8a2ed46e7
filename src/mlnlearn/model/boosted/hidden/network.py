"""The rules of a boosted model made ground over unknown atoms.

What a rule gives to its head depends on how many groundings its conjunctions have. Every
conjunction is counted once, for each head (or for all heads that agree on the arguments it uses),
in all worlds at once: some groundings are sure, every other needs some unknown atoms to be true.
When an atom changes, only the *counters* of groundings that need it change, and only the trees of
heads that test these counters are walked again: all else stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, bounds_of
from mlnlearn.counting.bindings import is_true
from mlnlearn.counting.pattern import Body
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Floats, step_values
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.boosted.hidden.groundings import Groundings, ground_body
from mlnlearn.model.boosted.hidden.trees import FlatTrees
from mlnlearn.model.boosted.rules import Step, TargetRules, bodies, spelt_out

Kept: TypeAlias = dict[tuple[Predicate, Body], Groundings]
"""Groundings of conjunctions in rules for a target, with the same unknown atoms."""

_MOST_HEADS = 1 << 22


class Rules(NamedTuple):
    """The constant part of a ground network, as compiled loops take it.

    Ranges are given by where they start; the next one's start ends them.

    Attributes
    ----------
    existential
        Whether a tree's value counts once, not once a grounding.
    own
        Per unknown atom, its head.
    next_value
        Per unknown atom, the next of its block, in a circle; itself for an atom of no block.
    atom
        Per head, its unknown atom; -1 for a head known to be false.
    fixed
        Per head, the part of its log-odds that no unknown atom changes.
    uses, grounding
        Per unknown atom, the range of the groundings that need it.
    counter, many
        Per grounding, its counter, and how many groundings of the conjunction it stands for.
    heads, head
        Per counter, the range of the heads that it counts for.
    conjunction
        Per counter, what it counts.
    slope
        Per conjunction, what each grounding adds to the value of a head, where all that test it
        are clauses; else not a number.
    trees, tree
        Per conjunction, the range of its target's trees that test it.
    units
        Per head, where the values of its trees start.
    places, place
        Per head, the range of its counters, one for each conjunction of its target.
    roots
        Per head, where its target's trees start in `root`.
    root, test, yes, no, value
        The trees (see `FlatTrees`), those of all targets one after the other.
    """

    existential: bool
    own: Ints
    next_value: Ints
    atom: Ints
    fixed: Floats
    uses: Ints
    grounding: Ints
    counter: Ints
    many: Ints
    heads: Ints
    head: Ints
    conjunction: Ints
    slope: Floats
    trees: Ints
    tree: Ints
    units: Ints
    places: Ints
    place: Ints
    roots: Ints
    root: Ints
    test: Ints
    yes: Ints
    no: Ints
    value: Floats


@dataclass(frozen=True, eq=False)
class GroundNetwork:
    """Rules over unknown atoms.

    Attributes
    ----------
    rules
        The constant part.
    needs
        Per grounding, how many unknown atoms it needs.
    sure
        Per counter, the groundings that need none.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {}, unknown={"smokes": [("Anna",), ("Bob",)]})
    >>> hidden = HiddenAtoms.of([db], ["smokes"])
    >>> network = GroundNetwork.of([TargetRules(schema["smokes"], -1.0)], False, hidden)
    >>> network.rules.fixed.tolist(), network.size
    ([-1.0, -1.0], 0)
    """

    rules: Rules
    needs: NDArray[np.int16]
    sure: Ints

    @property
    def size(self) -> int:
        """Number of values that unknown atoms may change: one a head and tree."""
        return int(self.rules.units[-1])

    @classmethod
    def of(
        cls,
        targets: Sequence[TargetRules],
        existential: bool,
        hidden: HiddenAtoms,
        kept: Kept | None = None,
    ) -> GroundNetwork:
        """Make the rules ground.

        Every predicate with unknown atoms must be a target. Under existential semantics only the
        rules of the unknown atoms matter, under counting semantics those of all false heads too.
        Conjunctions that `kept` has need no joins; those that are new are put there.
        """
        known = {} if kept is None else kept
        return _assembled([_part(rules, existential, hidden, known) for rules in targets], hidden)


@dataclass(frozen=True, eq=False)
class _TargetPart:
    """The ground rules of one target; heads, counters and groundings are numbered within it.

    `needed` and `needing` are pairs of an unknown atom and a grounding that needs it.
    """

    existential: bool
    atom: Ints
    fixed: Floats
    flat: FlatTrees
    place: Ints
    sure: Ints
    conjunction: Ints
    counter: Ints
    many: Ints
    needed: Ints
    needing: Ints

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which counters may change."""
        found = np.zeros(len(self.sure), np.bool_)
        found[self.counter] = True
        return found


def _part(rules: TargetRules, existential: bool, hidden: HiddenAtoms, kept: Kept) -> _TargetPart:
    steps = (rules.prior, *rules.steps)
    changing = [each for step in steps if _may_change(step, hidden) for each in spelt_out(step)]
    heads = hidden.rows.get(rules.predicate, np.empty((rules.predicate.arity + 1, 0), np.int32))
    if changing and not existential:
        heads = _all_but_true(rules.predicate, hidden)
    flat = FlatTrees.of(changing)
    found, place, first = [], np.empty((heads.shape[1], len(flat.bodies)), np.int64), 0
    for number, body in enumerate(flat.bodies):
        examples, which = _projected(heads, body)
        if (rules.predicate, body) not in kept:
            kept[rules.predicate, body] = ground_body(body, hidden, examples)
        found.append(kept[rules.predicate, body])
        place[:, number] = first + which
        first += examples.shape[1]
    starts = np.cumsum([0, *(len(part.sure) for part in found)])
    firsts = np.cumsum([0, *(len(part.many) for part in found)])
    pairs = [np.nonzero(part.needs >= 0) for part in found]
    whole = _TargetPart(
        existential,
        hidden.numbers(rules.predicate, heads),
        np.zeros(heads.shape[1]),
        flat,
        place,
        _joined([part.sure for part in found]),
        np.repeat(np.arange(len(found)), [len(part.sure) for part in found]),
        _joined([part.example + start for part, start in zip(found, starts, strict=False)]),
        _joined([part.many for part in found]),
        _joined([part.needs[pair] for part, pair in zip(found, pairs, strict=True)]),
        _joined([pair[1] + first for pair, first in zip(pairs, firsts, strict=False)]),
    )
    chosen = (whole.atom >= 0) | whole.moving[place].any(axis=1)
    constant = [step for step in steps if not _may_change(step, hidden)]
    return replace(
        whole,
        atom=whole.atom[chosen],
        place=place[chosen],
        fixed=_fixed(rules, constant, existential, hidden, heads[:, chosen], whole.atom[chosen]),
    )


def _may_change(step: Step, hidden: HiddenAtoms) -> bool:
    return any(p.predicate in hidden.columns for body in bodies(step) for p in body)


def _all_but_true(predicate: Predicate, hidden: HiddenAtoms) -> Codes:
    """Return the atoms of a predicate that are false or unknown, as rows."""
    for database in hidden.databases:
        total = database.ground_atoms(predicate.name)
        if total > _MOST_HEADS:
            raise MemoryLimitError(
                f"{predicate.name} has {total} ground atoms; with unknown atoms in its rules "
                f"the limit is {_MOST_HEADS}",
                hint="leave the predicates with unknown atoms out of its rules",
            )
    rows = hidden.known.atoms(predicate)
    return np.ascontiguousarray(rows[:, ~is_true(hidden.known, predicate, rows)])


def _projected(heads: Codes, body: Body) -> tuple[Codes, Ints]:
    """Return the heads with the arguments that a conjunction uses, each once, and whose they are.

    Other arguments are set to any object: the conjunction does not look at them.
    """
    used = {variable for pattern in body for variable in pattern.variables}
    rows = heads.copy()
    for place in range(len(heads) - 1):
        if place not in used:
            rows[place + 1] = 0
    examples, which = np.unique(rows, axis=1, return_inverse=True)
    return np.ascontiguousarray(examples), which.reshape(-1)


def _fixed(
    rules: TargetRules,
    steps: Sequence[Step],
    existential: bool,
    hidden: HiddenAtoms,
    heads: Codes,
    atom: Ints,
) -> Floats:
    """Return the part of the heads' log-odds that never changes; nobody asks it of known heads."""
    values = np.zeros(len(atom))
    asked = np.flatnonzero(atom >= 0)
    rows = np.ascontiguousarray(heads[:, asked])
    values[asked] = rules.intercept
    for step in steps:
        values[asked] += step_values(step, hidden.known, rows, existential)
    return values


def _assembled(parts: Sequence[_TargetPart], hidden: HiddenAtoms) -> GroundNetwork:
    """Put the targets one after the other, and turn pairs into ranges."""
    head = np.cumsum([0, *(len(part.atom) for part in parts)])
    counter = np.cumsum([0, *(len(part.sure) for part in parts)])
    body = np.cumsum([0, *(len(part.flat.bodies) for part in parts)])
    node = np.cumsum([0, *(len(part.flat.test) for part in parts)])
    tree = np.cumsum([0, *(len(part.flat.roots) for part in parts)])
    atom = _joined([part.atom for part in parts])
    own = np.full(len(hidden), -1, np.int64)
    asked = np.flatnonzero(atom >= 0)
    own[atom[asked]] = asked
    several = list(zip(parts, head, counter, strict=False))
    # only counters that may change need to know their heads
    pairs = [
        (part.place[who, what] + c, who + h)
        for part, h, c in several
        for who, what in [np.nonzero(part.moving[part.place])]
    ]
    heads, head_list = _ranges(
        _joined([p[0] for p in pairs]), _joined([p[1] for p in pairs]), int(counter[-1])
    )
    first = np.cumsum([0, *(len(part.many) for part in parts)])
    needing = _joined([part.needing + start for part, start in zip(parts, first, strict=False)])
    uses, grounding = _ranges(_joined([part.needed for part in parts]), needing, len(hidden))
    tests = [numbers for part in parts for numbers in part.flat.trees_of()]
    trees, tree_list = _ranges(
        np.repeat(np.arange(len(tests)), [len(numbers) for numbers in tests]),
        np.array([number for numbers in tests for number in numbers], np.int64),
        len(tests),
    )
    rules = Rules(
        any(part.existential for part in parts),
        own,
        hidden.next_value,
        atom,
        np.concatenate([part.fixed for part in parts]),
        uses,
        grounding,
        _joined([part.counter + c for part, _, c in several]),
        _joined([part.many for part in parts]),
        heads,
        head_list,
        _joined([part.conjunction + b for part, b in zip(parts, body, strict=False)]),
        np.concatenate([_slopes(part) for part in parts]),
        trees,
        tree_list,
        _starts([(len(part.atom), len(part.flat.roots)) for part in parts]),
        _starts([(len(part.atom), len(part.flat.bodies)) for part in parts]),
        _joined([(part.place + c).reshape(-1) for part, _, c in several]),
        np.repeat(tree[:-1], np.diff(head)),
        _joined([part.flat.roots + n for part, n in zip(parts, node, strict=False)]),
        _joined([part.flat.test for part in parts]),
        _joined([part.flat.yes + n for part, n in zip(parts, node, strict=False)]),
        _joined([part.flat.no + n for part, n in zip(parts, node, strict=False)]),
        np.concatenate([part.flat.value for part in parts]),
    )
    return GroundNetwork(
        rules,
        np.bincount(needing, minlength=int(first[-1])).astype(np.int16),
        _joined([part.sure for part in parts]),
    )


def _slopes(part: _TargetPart) -> Floats:
    """Return what each grounding of a conjunction adds, where only clauses test it; else nan."""
    flat = part.flat
    slopes = np.full(len(flat.bodies), np.nan)
    if part.existential:
        return slopes
    roots = flat.roots
    yes, no = flat.yes[roots], flat.no[roots]
    clauses = (flat.test[yes] < 0) & (flat.test[no] < 0) & (flat.value[no] == 0.0)
    for number, trees in enumerate(flat.trees_of()):
        if clauses[trees].all():
            slopes[number] = flat.value[yes[trees]].sum()
    return slopes


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *arrays]).astype(np.int64)


def _ranges(keys: Ints, values: Ints, size: int) -> tuple[Ints, Ints]:
    """Sort values by their keys; return where each key's values start, and the values."""
    starts = bounds_of(np.bincount(keys, minlength=size))
    return starts, values[np.argsort(keys, kind="stable")]


def _starts(shapes: Sequence[tuple[int, int]]) -> Ints:
    """Return where the parts of each row start when tables are written one after the other."""
    widths = np.concatenate([np.full(rows, width, np.int64) for rows, width in shapes])
    return bounds_of(widths)
