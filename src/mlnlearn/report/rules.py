"""The rules of a network with what the data say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlnlearn.counting.count import groundings, true_groundings
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.counting.query import Engine
from mlnlearn.data.database import Database, constants_by_type
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.formulas import And, Formula, Implies, Not, Or, Rule, atoms_of
from mlnlearn.model.mln import MLN
from mlnlearn.model.sentence import sentence
from mlnlearn.resources import in_use


@dataclass(frozen=True, slots=True)
class RankedRule:
    """A rule, and how it fares in all databases together.

    Attributes
    ----------
    rule
        The rule.
    sentence
        The rule in words.
    support
        Of an implication, the groundings in which body and head both hold; else those in which
        the formula holds. None where counting was too large.
    precision
        Of an implication, the share of the groundings of its body in which the head holds; else
        the share of all groundings in which the formula holds. None without any.
    base
        Of an implication, the share of all groundings of its head that hold, whatever the body.
    true, groundings
        How many groundings hold, of how many.
    target
        The predicates of the head, or of the whole formula where there is none.
    """

    rule: Rule
    sentence: str
    support: int | None
    precision: float | None
    true: int | None
    groundings: int | None
    base: float | None = None
    target: str = ""


def written_out(mln: MLN, databases: Sequence[Database]) -> MLN:
    """Return the network with ``+x`` written out over the constants of all databases.

    Examples
    --------
    >>> mln = MLN.parse("likes(person,food)" + chr(10) + "1 likes(x,+f)")
    >>> db = Database.from_facts(mln.schema, {"likes": [("Anna", "Pie"), ("Bob", "Jam")]})
    >>> [str(rule) for rule in written_out(mln, [db]).rules]
    ['1.0 likes(x,Pie)', '1.0 likes(x,Jam)']
    """
    return mln.expanded(constants_by_type(databases))


def counting_engine(databases: Sequence[Database]) -> Engine:
    """Return an engine for counts that are shown and no more.

    Unless another one is in use, it counts in memory alone: what does not fit there would take
    minutes on disk, and is left out.
    """
    resources = in_use()
    if resources.engine != "auto":
        return open_engine(databases)
    return MemoryEngine(databases, memory_limit=resources.nbytes, cache=resources.cache)


def ranked_rules(rules: Sequence[Rule], engine: Engine, most: int) -> list[RankedRule]:
    """Return the strongest rules, hard ones first, with their counts.

    Examples
    --------
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.1 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> facts = {"friends": [("Anna", "Bob"), ("Anna", "Carl")], "smokes": [("Anna",), ("Bob",)]}
    >>> engine = MemoryEngine([Database.from_facts(mln.schema, facts)])
    >>> [found] = ranked_rules(mln.rules, engine, 10)
    >>> found.support, found.precision, found.true, found.groundings, found.target
    (1, 0.5, 8, 9, 'smokes')
    >>> round(found.base, 3)
    0.667
    """
    order = sorted(rules, key=lambda rule: (not rule.hard, -abs(rule.weight or 0.0)))
    bases: dict[Formula, float | None] = {}
    return [_counted(rule, engine, bases) for rule in order[:most]]


def _counted(rule: Rule, engine: Engine, bases: dict[Formula, float | None]) -> RankedRule:
    split = as_implication(rule.formula)
    target = _target(split[1] if split else rule.formula)
    try:
        total = sum(groundings(engine, rule.formula))
        base = None
        if split is None:
            support = true = sum(true_groundings(engine, rule.formula))
            of = total
        else:
            body, head = split
            support = sum(true_groundings(engine, And((body, head))))
            broken = sum(true_groundings(engine, And((body, Not(head)))))
            true, of = total - broken, support + broken
            if head not in bases:
                everywhere = sum(groundings(engine, head))
                bases[head] = (
                    sum(true_groundings(engine, head)) / everywhere if everywhere else None
                )
            base = bases[head]
    except (MemoryLimitError, CountOverflowError):
        return RankedRule(rule, sentence(rule), None, None, None, None, target=target)
    share = support / of if of else None
    return RankedRule(rule, sentence(rule), support, share, true, total, base, target)


def _target(formula: Formula) -> str:
    return ", ".join(dict.fromkeys(atom.predicate.name for atom in atoms_of(formula)))


def as_implication(formula: Formula) -> tuple[Formula, Formula] | None:
    """Return body and head of an implication, or of a clause with one positive literal.

    Examples
    --------
    >>> mln = MLN.parse("a()" + chr(10) + "b()" + chr(10) + "1 !a() v b()")
    >>> body, head = as_implication(mln.rules[0].formula)
    >>> print(body, head)
    a b
    """
    if isinstance(formula, Implies):
        return formula.left, formula.right
    if not isinstance(formula, Or):
        return None
    heads = [part for part in formula.parts if isinstance(part, Atom)]
    denied = [part for part in formula.parts if isinstance(part, Not)]
    if len(heads) != 1 or len(denied) != len(formula.parts) - 1:
        return None
    body = tuple(part.part for part in denied)
    return (body[0] if len(body) == 1 else And(body)), heads[0]
