"""Ground instances of clauses: found by joins where undecided, counted where decided.

A clause is undecided where some literal is and no literal is true. A pass is made for each literal
that can be the first undecided one: the literals before it are then false, and those after it are
not true. How many of the other groundings are true is counted, not enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.count import count_by
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.groundings import Assignments
from mlnlearn.counting.prepare import member_atom
from mlnlearn.counting.query import CountTable
from mlnlearn.errors import InputError
from mlnlearn.infer.grounding.assemble import HARD, Assembler
from mlnlearn.infer.grounding.evidence import Evidence, JoinCondition, Types
from mlnlearn.infer.grounding.quantified import ExistentialTable
from mlnlearn.infer.grounding.terms import ClauseTerm
from mlnlearn.infer.network import Codes, Floats, Ints
from mlnlearn.logic.atoms import Atom, Constant, Literal, Variable
from mlnlearn.logic.formulas import And, Formula, Not, Rule

_WIDE = 10
"""A clause of more literals is enumerated in one pass, groundings that are false included."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class RuleInstances:
    """A formula to ground: one rule for each combination of constants of some variables.

    Attributes
    ----------
    rule
        The rule as the user wrote it, for messages.
    formula
        The formula, with quantified variables of their own names.
    free, types
        Its free variables, and the types of all variables.
    per_constant
        The free variables each of whose values makes a rule of its own.
    first
        Number of the first rule, or `HARD`; others follow in the order of the combinations.
    """

    rule: Rule
    formula: Formula
    free: tuple[Variable, ...]
    types: Types
    per_constant: tuple[Variable, ...]
    first: int

    @property
    def hard(self) -> bool:
        """Whether worlds that violate the formula are impossible."""
        return self.first == HARD


@dataclass(frozen=True, slots=True)
class _ClauseJob:
    """A clause of a formula, to be grounded.

    Attributes
    ----------
    literals, existentials
        The disjuncts.
    types
        The variables of the clause, and those that choose the rule, with their types.
    multiple
        How often a grounding of these variables counts.
    """

    part: RuleInstances
    literals: tuple[Literal, ...]
    existentials: tuple[ExistentialTable, ...]
    types: Types
    multiple: int


class ClauseGrounder:
    """Finds the instances of clauses and hands them to an assembler."""

    def __init__(self, evidence: Evidence, assembler: Assembler) -> None:
        self.evidence = evidence
        self.assembler = assembler
        self._engine = open_engine(evidence.stack)

    def groundings(self, part: RuleInstances) -> int:
        """Return the number of groundings of a formula."""
        return self._size(part.types, part.free)

    def _size(self, types: Types, variables: Iterable[Variable]) -> int:
        return math.prod(self.evidence.stack.size(types[variable]) for variable in variables)

    def add_constant(self, part: RuleInstances, constant: int) -> None:
        """Add a number for each grounding of a formula."""
        if not part.hard:
            rules = self._size(part.types, part.per_constant)
            each = constant * (self.groundings(part) // rules)
            self.assembler.constants[part.first : part.first + rules] += each

    def add(
        self, part: RuleInstances, term: ClauseTerm, tables: Mapping[str, ExistentialTable]
    ) -> None:
        """Add all instances of a term of a formula."""
        literals = [self.evidence.resolved(literal, part.types) for literal in term.literals]
        existentials = tuple(tables[name] for name in term.existentials)
        variables = [*part.per_constant, *(v for table in existentials for v in table.free)]
        variables += [t for lit in literals for t in lit.atom.terms if isinstance(t, Variable)]
        types = {variable: part.types[variable] for variable in variables}
        multiple = term.coefficient * self._size(
            part.types, [variable for variable in part.free if variable not in types]
        )
        # what is not true is taken off again as it is found
        self.add_constant(part, term.coefficient)
        job = _ClauseJob(part, tuple(literals), existentials, types, multiple)
        if not literals and not existentials:
            self._count_false(job, JoinCondition())
        elif existentials or len(literals) > _WIDE:
            self._in_one_pass(job)
        else:
            self._in_passes(job)

    def finish(self, part: RuleInstances) -> None:
        """Merge the clauses of a formula, and see that hard ones leave every variable a value."""
        self.assembler.finish_rule()
        if part.hard:
            variable = self.assembler.impossible_variable()
            if variable is not None:
                raise self._contradiction(part, self.evidence.world.name(variable))

    # Passes -------------------------------------------------------------------------------------

    def _in_passes(self, job: _ClauseJob) -> None:
        """Enumerate undecided groundings, by their first undecided literal; count false ones."""
        undecided = {literal: self.evidence.undecided(literal) for literal in job.literals}

        def rank(literal: Literal) -> int:
            # predicates without any evidence need one pass only, if they come first
            condition = undecided[literal]
            return 2 if condition is None else int(condition != JoinCondition())

        order = sorted(job.literals, key=rank)
        before = JoinCondition()
        for place, literal in enumerate(order):
            condition = undecided[literal]
            if condition is not None:
                after = (self.evidence.unsatisfied(other) for other in order[place + 1 :])
                live = [other for other in order[place:] if undecided[other] is not None]
                for rows, counts in self._rows(job, sum(after, before + condition), live):
                    self._add_rows(job, rows, counts, live)
            violated = self.evidence.violated(literal)
            if violated is None:
                return
            before += violated
        self._count_false(job, before)

    def _rows(
        self, job: _ClauseJob, condition: JoinCondition, live: Sequence[Literal]
    ) -> Iterator[tuple[Assignments, Floats]]:
        """Yield the groundings that meet a condition, equal ones up to decided literals counted."""
        seen = {term for literal in live for term in literal.atom.terms}
        kept = tuple(v for v in job.types if v in seen or v in job.part.per_constant)
        if len(kept) == len(job.types):
            for rows in self.evidence.groundings(condition, job.types):
                yield rows, np.full(len(rows), float(job.multiple))
            return
        table = self._counted(job, condition, kept)
        counts = table.counts.astype(np.float64) * job.multiple
        rows = Assignments(table.database, dict(zip(kept, table.columns, strict=True)))
        for first in range(0, len(rows), _CHUNK):
            piece = slice(first, first + _CHUNK)
            yield rows.rows(piece), counts[piece]

    def _counted(
        self, job: _ClauseJob, condition: JoinCondition, by: Sequence[Variable]
    ) -> CountTable:
        """Count the groundings that meet a condition by some variables."""
        covered = {t for atom in condition.joined + condition.refused for t in atom.terms}
        stack = self.evidence.stack
        rest = [member_atom(stack, kind, v) for v, kind in job.types.items() if v not in covered]
        refused = [Not(atom) for atom in condition.refused]
        return count_by(self._engine, And((*condition.joined, *rest, *refused)), by)

    def _count_false(self, job: _ClauseJob, condition: JoinCondition) -> None:
        """Take off the groundings that evidence makes false."""
        if job.part.hard:
            for rows in self.evidence.groundings(condition, job.types):
                raise self._contradiction(job.part, self._named(job, rows))
            return
        table = self._counted(job, condition, job.part.per_constant)
        owners = self._owners(job, table.columns, len(table))
        np.subtract.at(self.assembler.constants, owners, float(job.multiple) * table.counts)

    def _in_one_pass(self, job: _ClauseJob) -> None:
        """Enumerate all groundings that no literal makes true, then look at the existentials."""
        conditions = (self.evidence.unsatisfied(literal) for literal in job.literals)
        for rows in self.evidence.groundings(sum(conditions, JoinCondition()), job.types):
            found = []
            left = np.arange(len(rows))
            for table in job.existentials:
                holds, owners, literals = table.attach(rows)
                left = left[~holds[left]]
                found.append((owners, literals))
            kept = rows.rows(left)
            number = np.full(len(rows), -1, np.int64)
            number[left] = np.arange(len(left))
            more = [
                (number[owners][number[owners] >= 0], literals[number[owners] >= 0])
                for owners, literals in found
            ]
            counts = np.full(len(kept), float(job.multiple))
            self._add_rows(job, kept, counts, job.literals, more)

    def _add_rows(
        self,
        job: _ClauseJob,
        rows: Assignments,
        counts: Floats,
        literals: Sequence[Literal],
        more: Sequence[tuple[Ints, Ints]] = (),
    ) -> None:
        """Add one clause a row: the undecided ones of some literals, and further ones by row."""
        numbers = [numbers for numbers, _ in more]
        codes = [codes for _, codes in more]
        for literal in literals:
            assert isinstance(literal.atom, Atom)
            places = self.evidence.places(literal.atom, rows)
            if places is None:
                continue
            found = np.flatnonzero(places >= 0)
            numbers.append(found)
            codes.append(2 * places[found] + literal.positive)
        members = np.concatenate([np.empty(0, np.int64), *numbers])
        if job.part.hard:
            empty = np.bincount(members, minlength=len(rows)) == 0
            if empty.any():
                first = rows.rows(np.flatnonzero(empty)[:1])
                raise self._contradiction(job.part, self._named(job, first))
            owners = np.full(len(rows), HARD, np.int64)
        else:
            columns = [rows.columns[variable] for variable in job.part.per_constant]
            owners = self._owners(job, columns, len(rows))
            undecided = np.bincount(owners - job.part.first, counts)
            chosen = slice(job.part.first, job.part.first + len(undecided))
            self.assembler.constants[chosen] -= undecided
        flat = np.concatenate([np.empty(0, np.int64), *codes])
        self.assembler.add(owners, members, flat, counts)

    def _owners(self, job: _ClauseJob, columns: Sequence[Codes], length: int) -> Ints:
        """Return the rule that each row belongs to."""
        numbers = np.zeros(length, np.int64)
        for variable, column in zip(job.part.per_constant, columns, strict=True):
            numbers = numbers * self.evidence.stack.size(job.types[variable]) + column
        return numbers + job.part.first

    # Messages -----------------------------------------------------------------------------------

    def _named(self, job: _ClauseJob, rows: Assignments) -> str:
        """Describe the grounding of the first row."""
        names = []
        for variable, kind in job.types.items():
            constant = Constant(self.evidence.stack.vocabularies[kind][rows.columns[variable][0]])
            names.append(f"{variable.name.partition('#')[0]} = {constant}")
        return ", ".join(names) or "its only grounding"

    def _contradiction(self, part: RuleInstances, where: str) -> InputError:
        return InputError(
            f"the evidence contradicts the hard rule {part.rule} at {where}",
            hint="correct the evidence, or give the rule a weight instead of the full stop",
        )
