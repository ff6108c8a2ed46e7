"""What an atom in bodies of rules for another target does to its odds (Khot et al. 2011, eq. 12).

A rule ``body => head`` of weight w is violated by every grounding with a true body and a false
head. All rules for a target together give a head ``h`` the value ``f(h)``; the log-probability of a
world contains ``-Σ f(h)`` over the false heads. Making an atom ``x`` true in bodies hence adds
``-Σ [f(h; x true) - f(h; x false)]`` to its log-odds, the sum over all false heads: this holds for
clauses and trees alike, and however many literals of a body the atom is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints, pack, unpack
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.bindings import Bindings, Flip, Mask
from mlnlearn.model.boosted.evaluate import Floats, step_values
from mlnlearn.model.boosted.rules import Body, ClauseList, Step, Tree, bodies, tests
from mlnlearn.model.boosted.world import Pattern, World, equality

_CHUNK = 1 << 16
_MOST_ROWS = 1 << 23


def influence(
    step: Step, head: Predicate, world: World, predicate: Predicate, examples: Codes, known: Mask
) -> Floats:
    """Return what a step for one target adds to the log-odds of atoms of another predicate.

    Parameters
    ----------
    step
        Rules under counting semantics.
    head
        Their target.
    world
        The facts, those of the target among them.
    predicate, examples
        The atoms: a row of databases, then one of each argument's objects.
    known
        Which of them are true in the data.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import HornClause
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> facts = {"smokes": [("Anna",)], "cancer": [("Anna",)]}
    >>> world = World([Database.from_facts(schema, facts, domains={"person": ["Bob"]})])
    >>> step = ClauseList((HornClause((Pattern(schema["smokes"], (0,)),), 0.7),))
    >>> people = np.array([[0, 0], [0, 1]], np.int32)  # Bob, who has no cancer, and Anna
    >>> influence(step, schema["cancer"], world, schema["smokes"], people,
    ...           np.array([False, True])).tolist()
    [-0.7, 0.0]
    """
    if not any(pattern.predicate == predicate for body in bodies(step) for pattern in body):
        return np.zeros(examples.shape[1])
    first, kind = _kinds(step, head, predicate, examples, known)
    result = np.zeros(len(first))

    def part(start: int, end: int) -> Floats:
        chosen = first[start:end]
        everywhere = np.ones(len(chosen), np.bool_)
        columns = np.ascontiguousarray(examples[:, chosen])
        flip = Flip(predicate, columns, everywhere, known[chosen])
        through = _Through(world, head, flip)
        if isinstance(step, ClauseList):
            return through.clauses(step)
        return through.tree(step)

    _in_chunks(result, part)
    return result[kind]


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


class _TooManyRowsError(Exception):
    """Cut the examples and try again."""


def _in_chunks(result: Floats, part: Callable[[int, int], Floats]) -> None:
    waiting = [(s, min(s + _CHUNK, len(result))) for s in range(0, len(result), _CHUNK)]
    while waiting:
        start, end = waiting.pop()
        try:
            result[start:end] = part(start, end)
        except _TooManyRowsError:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]


class _Through:
    """Groundings of bodies that go through the atoms of a chunk, all of them taken as true."""

    def __init__(self, world: World, head: Predicate, flip: Flip) -> None:
        self.world = world
        self.head = head
        self.flip = flip
        self.size = flip.columns.shape[1]
        self.start = Bindings.of(world, flip.columns, flip)

    def clauses(self, step: ClauseList) -> Floats:
        """Count the groundings with a false head; a clause's value is linear in them."""
        result = np.zeros(self.size)
        for clause in step.clauses:
            earlier: list[Pattern] = []
            for place, pattern in enumerate(clause.body):
                if pattern.predicate != self.flip.predicate:
                    continue
                table, numbers = self._groundings(clause.body, place)
                for other in earlier:  # a grounding counts at the first literal that is the atom
                    table = table.where(~table.meets_flip(_placed(other, numbers)))
                result -= clause.weight * self._with_false_head(table, numbers)
                earlier.append(pattern)
        return result

    def _with_false_head(self, table: Bindings, numbers: dict[int, int]) -> Ints:
        """Count rows times values of unbound head arguments for which the head is false."""
        free = [place for place in range(self.head.arity) if place not in numbers]
        many = np.ones(len(table), np.int64)
        for place in free:
            many *= np.diff(self.world.offsets[self.head.types[place]])[table.columns[0]]
        total = np.bincount(table.example, many, minlength=self.size).astype(np.int64)
        return total - table.count(self._head_pattern(table, numbers))

    def _head_pattern(self, table: Bindings, numbers: dict[int, int]) -> Pattern:
        fresh = iter(range(table.variables, table.variables + self.head.arity))
        terms = tuple(
            numbers[place] if place in numbers else next(fresh) for place in range(self.head.arity)
        )
        return Pattern(self.head, terms)

    def tree(self, step: Tree) -> Floats:
        """Take the tree's values for every false head that some test reaches through the atom."""
        found = [np.empty((self.head.arity + 2, 0), np.int32)]
        for before, test in dict.fromkeys(tests(step)):
            # a literal of an earlier test was met, for as many heads or more, at that test
            for place, pattern in enumerate(test, len(before)):
                if pattern.predicate != self.flip.predicate:
                    continue
                table, numbers = self._groundings(before + test, place, heads_only=True)
                found.append(self._false_heads(table, numbers))
        pairs = _distinct(np.concatenate(found, axis=1))
        self._check(pairs.shape[1])
        atom, heads = pairs[0], np.ascontiguousarray(pairs[1:])
        # against the data, each atom's other truth value; the value as it is, once a head
        known = self.flip.known[atom]
        columns = np.ascontiguousarray(self.flip.columns[:, atom])
        other = step_values(
            step, self.world, heads, False, Flip(self.flip.predicate, columns, ~known, known)
        )
        change = np.where(known, 1.0, -1.0) * (self._values(step, heads) - other)
        return -np.bincount(atom, change, minlength=self.size).astype(np.float64)

    def _values(self, step: Tree, heads: Codes) -> Floats:
        """Return the values of heads, many of them equal, in the world of the data."""
        radices = [len(self.world.databases), *map(self.world.objects, self.head.types)]
        keys = pack(list(heads), radices)
        if keys is None:
            return step_values(step, self.world, heads, False)
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        different = np.ascontiguousarray(heads[:, first])
        return step_values(step, self.world, different, False)[place]

    def _false_heads(self, table: Bindings, numbers: dict[int, int]) -> Codes:
        """Return the distinct pairs of an atom's number and a false head, as columns."""
        numbers = dict(numbers)
        for place, kind in enumerate(self.head.types):
            if place not in numbers:
                fresh = table.variables
                anything = Pattern(equality(kind), (fresh, fresh))
                sizes = np.diff(self.world.offsets[kind])
                self._check(int(sizes[table.columns[0]].sum()))
                table, numbers[place] = table.join(anything), fresh
        places = [numbers[place] + 1 for place in range(self.head.arity)]
        rows = _distinct(np.stack([table.example, table.columns[0], *table.columns[places]]))
        plain = Bindings.of(self.world, np.ascontiguousarray(rows[1:]))
        return rows[:, plain.count(Pattern(self.head, tuple(range(self.head.arity)))) == 0]

    def _groundings(
        self, body: Body, place: int, heads_only: bool = False
    ) -> tuple[Bindings, dict[int, int]]:
        """Return the groundings in which the literal at a place is the atom.

        With the table comes the number that every variable of the body has in it. Where only the
        heads are wanted, rows that no longer differ in what matters are merged on the way.
        """
        table, numbers = self._unified(body[place])
        rest = list(body[:place] + body[place + 1 :])
        while rest:
            literal = max(rest, key=lambda p: sum(v in numbers for v in p.variables))
            rest.remove(literal)
            table, numbers = self._joined(table, numbers, literal)
            if heads_only:
                wanted = {v for pattern in rest for v in pattern.variables}
                table, numbers = self._merged(table, numbers, wanted)
        return table, numbers

    def _merged(
        self, table: Bindings, numbers: dict[int, int], wanted: set[int]
    ) -> tuple[Bindings, dict[int, int]]:
        """Drop the variables that are neither wanted nor the head's, and repeated rows."""
        kept = [v for v in numbers if v in wanted or v < self.head.arity]
        columns = [numbers[variable] + 1 for variable in kept]
        rows = _distinct(np.stack([table.example, table.columns[0], *table.columns[columns]]))
        merged = Bindings(
            self.world, rows[0].copy(), np.ascontiguousarray(rows[1:]), self.size, self.flip
        )
        return merged, {variable: number for number, variable in enumerate(kept)}

    def _unified(self, pattern: Pattern) -> tuple[Bindings, dict[int, int]]:
        """Start from the atoms that are instances of the pattern."""
        general = Bindings(
            self.world, self.start.example, self.start.columns[:1], self.size, self.flip
        )
        numbers = {variable: number for number, variable in enumerate(pattern.variables)}
        keep = general.meets_flip(_placed(pattern, numbers))
        first = {term: place for place, term in reversed(list(enumerate(pattern.terms)))}
        chosen = [0, *(first[variable] + 1 for variable in pattern.variables)]
        columns = np.ascontiguousarray(self.flip.columns[chosen][:, keep])
        return Bindings(
            self.world, self.start.example[keep], columns, self.size, self.flip
        ), numbers

    def _joined(
        self, table: Bindings, numbers: dict[int, int], literal: Pattern
    ) -> tuple[Bindings, dict[int, int]]:
        numbers = dict(numbers)
        for variable in literal.variables:
            numbers.setdefault(variable, len(numbers))
        placed = _placed(literal, numbers)
        self._check(int(table.count(placed).sum()))
        return table.join(placed), numbers

    def _check(self, rows: int) -> None:
        if rows > _MOST_ROWS and self.size > 1:
            raise _TooManyRowsError


def _distinct(columns: Codes) -> Codes:
    """Return the distinct columns, sorted."""
    if not columns.shape[1]:
        return columns
    sizes = (columns.max(axis=1).astype(np.int64) + 1).tolist()
    keys = pack(list(columns), sizes)
    if keys is None:
        return np.unique(columns, axis=1)
    # sorting and comparing neighbours is several times faster than np.unique, which hashes
    ordered = np.sort(keys)
    ordered = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return np.stack(unpack(ordered, sizes))


def _placed(pattern: Pattern, numbers: dict[int, int]) -> Pattern:
    terms = tuple(numbers[term] if isinstance(term, int) else term for term in pattern.terms)
    return Pattern(pattern.predicate, terms)
