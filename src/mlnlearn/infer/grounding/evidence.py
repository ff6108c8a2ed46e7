"""Evidence as joins: for which groundings a literal is true, false or undecided.

Of every predicate, whichever is shorter is listed: the atoms that may be true, or those that are
false. A condition on a literal then is a relation to join with, or one to keep away from, and
predicates of which nothing is known set no condition at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import pack, places_among
from mlnlearn.counting.comparisons import comparison_atom
from mlnlearn.counting.groundings import Assignments, enumerate_groundings
from mlnlearn.counting.stack import Stack
from mlnlearn.infer.grounding.worlds import Knowledge, World
from mlnlearn.infer.network import Codes, Ints
from mlnlearn.logic.atoms import Atom, Comparison, Literal, Predicate, Variable

Types = Mapping[Variable, str]


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """Atoms to join with and atoms to refuse; both over relations derived from the evidence."""

    joined: tuple[Atom, ...] = ()
    refused: tuple[Atom, ...] = ()

    def __add__(self, other: JoinCondition) -> JoinCondition:
        return JoinCondition(self.joined + other.joined, self.refused + other.refused)


class Evidence:
    """What a world's database decides, as relations on a stack, and where undecided atoms are.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.infer.grounding.worlds import world_of
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> db = Database.from_facts(schema, {"friends": [("Anna", "Bob")], "smokes": [("Bob",)]})
    >>> evidence = Evidence(world_of(db, ["smokes", "friends"], ["smokes"]))
    >>> friends, smokes = Literal(schema["friends"]("x", "y")), Literal(schema["smokes"]("x"))
    >>> rows, = evidence.groundings(evidence.unsatisfied(~friends) + evidence.undecided(smokes), {})
    >>> evidence.places(smokes.atom, rows).tolist()
    [1]
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.stack = Stack([world.database])
        self._starts = world.starts
        self._tables: dict[str, Codes] = {}

    # Literals over relations ------------------------------------------------------------------

    def resolved(self, literal: Literal, types: Types) -> Literal:
        """Turn comparisons into atoms."""
        atom = literal.atom
        if isinstance(atom, Comparison):
            atom = self._comparison(atom, types)
        return Literal(atom, literal.positive)

    def _comparison(self, comparison: Comparison, types: Types) -> Atom:
        if not comparison.equates:
            return comparison_atom(self.stack, comparison, dict(types))
        variables = [term for term in comparison.terms if isinstance(term, Variable)]
        kinds = tuple(types[t if t in variables else variables[0]] for t in comparison.terms)
        predicate = Predicate(f"${kinds[0]} = {kinds[1]}", kinds)
        if not self.stack.derived(predicate):
            left, right = (self.stack.vocabularies[kind] for kind in kinds)
            codes = np.array([right.code(name) for name in left], np.int32)
            same = np.flatnonzero(codes >= 0).astype(np.int32)
            self.stack.derive(predicate, np.zeros(len(same), np.int32), [same, codes[same]])
        return Atom(predicate, comparison.terms)

    # Conditions on literals ----------------------------------------------------------------------

    def undecided(self, literal: Literal) -> JoinCondition | None:
        """Return the condition that a literal is undecided; None where it never is."""
        known = self._known(literal)
        if known is None or not len(known.unknown):
            return None
        if known.sparse:
            return JoinCondition((self._listed("unknown", known, literal),))
        return self._keep_from(known, literal, "true", "false")

    def unsatisfied(self, literal: Literal) -> JoinCondition:
        """Return the condition that the evidence does not make a literal true."""
        known = self._known(literal)
        if known is None:
            return self._plain(literal, not literal.positive)
        if literal.positive:
            return self._keep_from(known, literal, "true")
        if known.sparse:
            return JoinCondition((self._listed("possible", known, literal),))
        return self._keep_from(known, literal, "false")

    def violated(self, literal: Literal) -> JoinCondition | None:
        """Return the condition that evidence makes a literal false; None where it never does."""
        known = self._known(literal)
        if known is None:
            return self._plain(literal, not literal.positive)
        if not literal.positive:
            return (
                JoinCondition((self._listed("true", known, literal),)) if len(known.true) else None
            )
        if known.sparse:
            return JoinCondition((), (self._listed("possible", known, literal),))
        if len(known.true) + len(known.unknown) == known.size:
            return None
        return JoinCondition((self._listed("false", known, literal),))

    def _known(self, literal: Literal) -> Knowledge | None:
        assert isinstance(literal.atom, Atom)
        return self.world.known.get(literal.atom.predicate.name)

    @staticmethod
    def _plain(literal: Literal, wanted: bool) -> JoinCondition:
        """Return the condition for a truth value of an atom that the data decide."""
        assert isinstance(literal.atom, Atom)
        return JoinCondition((literal.atom,)) if wanted else JoinCondition((), (literal.atom,))

    def _keep_from(self, known: Knowledge, literal: Literal, *kinds: str) -> JoinCondition:
        atoms = [self._listed(kind, known, literal) for kind in kinds]
        return JoinCondition((), tuple(a for a in atoms if len(self.stack.relation(a.predicate))))

    def _listed(self, kind: str, known: Knowledge, literal: Literal) -> Atom:
        """Return the literal's atom over the relation of its true, unknown, … atoms."""
        assert isinstance(literal.atom, Atom)
        predicate = Predicate(f"${kind} {known.predicate.name}", known.predicate.types)
        if not self.stack.derived(predicate):
            keys = _keys_of(kind, known)
            self.stack.derive(predicate, np.zeros(len(keys), np.int32), known.columns(keys))
        return Atom(predicate, literal.atom.terms)

    # Groundings ---------------------------------------------------------------------------------

    def groundings(self, condition: JoinCondition, types: Types) -> Iterator[Assignments]:
        """Yield, in chunks, the values of variables (of `types` too) that meet a condition."""
        return enumerate_groundings(self.stack, condition.joined, condition.refused, types)

    def places(self, atom: Atom, rows: Assignments) -> Ints | None:
        """Return, per row, the place of the atom among all values of all variables; -1 if known.

        None where all atoms of the predicate are known.
        """
        known = self.world.known.get(atom.predicate.name)
        if known is None or not len(known.unknown):
            return None
        keys = pack([rows.database, *self._columns(atom, rows)], [1, *known.sizes])
        assert keys is not None
        table = self._table(known)
        if not known.sparse:
            return table[keys].astype(np.int64)
        found = places_among(known.unknown, keys)
        return np.where(found >= 0, table[found], -1)

    def _columns(self, atom: Atom, rows: Assignments) -> list[Codes]:
        return [
            rows.columns[term]
            if isinstance(term, Variable)
            else np.full(len(rows), self.stack.code(kind, term.name), np.int32)
            for term, kind in zip(atom.terms, atom.predicate.types, strict=True)
        ]

    def _table(self, known: Knowledge) -> Codes:
        """Return the places of the unknown atoms; by key where most atoms may be true."""
        name = known.predicate.name
        if name not in self._tables:
            places = (self._starts[known.variable] + known.value).astype(np.int32)
            if not known.sparse:
                table = np.full(known.size, -1, np.int32)
                table[known.unknown] = places
                places = table
            self._tables[name] = places
        return self._tables[name]


def _keys_of(kind: str, known: Knowledge) -> Ints:
    if kind == "true":
        return known.true
    if kind == "unknown":
        return known.unknown
    possible = np.union1d(known.true, known.unknown)
    if kind == "possible":
        return possible
    false = np.ones(known.size, np.bool_)
    false[possible] = False
    return np.flatnonzero(false)
