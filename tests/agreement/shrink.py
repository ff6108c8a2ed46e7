"""Making a failing case small: drop rules, facts and databases while the answer stays wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from agreement.case import Case, Facts
from agreement.language import Formula, Quantified, Rule, atoms_of, children, free_variables


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A case that still fails, and of which no single part can be dropped."""
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(case):
            if _fails(smaller, fails):
                case, shrunk = smaller, True
                break
    return case


def _fails(case: Case, fails: Callable[[Case], bool]) -> bool:
    try:
        return fails(case)
    except Exception:
        return False


def _smaller(case: Case) -> Iterator[Case]:
    for number in range(len(case.rules)):
        yield replace(case, rules=case.rules[:number] + case.rules[number + 1 :])
    for number in range(1, len(case.training)):
        kept = [i for i in range(len(case.training)) if i != number]
        yield replace(
            case,
            training=tuple(case.training[i] for i in kept),
            hidden=tuple(case.hidden[i] for i in kept),
        )
    yield from _fewer_predicates(case)
    for place, rule in enumerate(case.rules):
        for formula in _parts(rule.formula):
            rules = (*case.rules[:place], Rule(formula, rule.weight), *case.rules[place + 1 :])
            yield replace(case, rules=rules)
    for facts in _fewer(case.evidence):
        yield replace(case, evidence=facts)
    for number, (known, hidden) in enumerate(zip(case.training, case.hidden, strict=True)):
        for facts in _fewer(known):
            training = (*case.training[:number], facts, *case.training[number + 1 :])
            yield replace(case, training=training)
        for facts in _fewer(hidden):
            yield replace(case, hidden=(*case.hidden[:number], facts, *case.hidden[number + 1 :]))
    for name in case.query:
        rest = tuple(other for other in case.query if other != name)
        if rest:
            yield replace(case, query=rest)
    for name in case.open:
        yield replace(case, open=tuple(other for other in case.open if other != name))
    for name in case.closed:
        yield replace(case, closed=tuple(other for other in case.closed if other != name))


def _fewer_predicates(case: Case) -> Iterator[Case]:
    used = {atom.name for rule in case.rules for atom in atoms_of(rule.formula)}
    used |= {name for facts in (*case.training, case.evidence) for name, _ in facts.listed}
    for predicate in case.predicates:
        if predicate.name not in used | set(case.query) and len(case.predicates) > 1:
            kept = tuple(p for p in case.predicates if p != predicate)
            types = tuple(k for k in case.types if any(k in p.types for p in kept))
            yield replace(
                case,
                predicates=kept,
                types=types,
                declared=tuple((k, names) for k, names in case.declared if k in types),
                open=tuple(name for name in case.open if name != predicate.name),
                closed=tuple(name for name in case.closed if name != predicate.name),
            )


def _parts(formula: Formula) -> Iterator[Formula]:
    """Formulas with one node less."""
    yield from children(formula)
    if isinstance(formula, Quantified) and len(formula.variables) > 1:
        for variable in formula.variables:
            rest = tuple(v for v in formula.variables if v != variable)
            if variable not in free_variables(formula.body):
                yield replace(formula, variables=rest)


def _fewer(facts: Facts) -> Iterator[Facts]:
    for kind in ("true", "false", "unknown"):
        for atom in sorted(getattr(facts, kind)):
            yield replace(facts, **{kind: getattr(facts, kind) - {atom}})
