"""Grounding: a model and a database become a network of what the evidence leaves open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MemoryLimitError, raise_all
from mlnlearn.infer.grounding.assemble import HARD, Assembler
from mlnlearn.infer.grounding.evidence import Evidence
from mlnlearn.infer.grounding.instances import ClauseGrounder, RuleInstances
from mlnlearn.infer.grounding.quantified import (
    ExistentialTable,
    TangledError,
    without_quantifiers,
)
from mlnlearn.infer.grounding.terms import ClauseTerm, hard_terms, soft_terms
from mlnlearn.infer.grounding.worlds import open_predicates, world_of
from mlnlearn.infer.network import Network
from mlnlearn.logic.atoms import Constant
from mlnlearn.logic.constants import constants_of
from mlnlearn.logic.expand import expand_rule
from mlnlearn.logic.formulas import Rule, atoms_of, free_variables, variable_types
from mlnlearn.logic.normalize import ground_quantifiers
from mlnlearn.logic.substitute import renamed_apart
from mlnlearn.model.mln import MLN


def ground(
    mln: MLN,
    database: Database,
    query: Collection[str] = (),
    *,
    open: Collection[str] = (),
    closed: Collection[str] = (),
    query_evidence: bool = False,
) -> Network:
    """Ground a model in a database.

    The variables are the unknown atoms of the predicates that rules or the query mention, in the
    order of the schema.

    Parameters
    ----------
    mln
        The model; every soft rule needs a weight.
    database
        The evidence, with all constants that the rules name in its domains.
    query
        Predicates asked for: open, whatever the database lists of them.
    open, closed, query_evidence
        Which atoms are unknown; see `mlnlearn.infer.grounding.worlds.open_predicates`.

    Examples
    --------
    >>> from mlnlearn.logic.formulas import And, Implies
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> rule = Rule(Implies(And((friends("x", "y"), smokes("x"))), smokes("y")), 1.1)
    >>> facts = {"friends": [("Anna", "Bob"), ("Bob", "Carl")], "smokes": [("Anna",)]}
    >>> network = ground(MLN(schema, (rule,)), Database.from_facts(schema, facts), ["smokes"])
    >>> network.variables, network.clauses, network.constants.tolist(), network.unary.tolist()
    (2, 1, [7.0], [0.0, 1.1, 0.0, 0.0])
    """
    check_rules(mln, database)
    opened = open_predicates(
        database, query, open=open, closed=closed, query_evidence=query_evidence
    )
    used = {atom.predicate.name for rule in mln.rules for atom in atoms_of(rule.formula)}
    evidence = Evidence(world_of(database, used | set(query), opened))
    domains = database.domains
    rules, parts = _expanded(mln, domains)
    grounder = ClauseGrounder(evidence, Assembler(evidence.world, rules))
    for part in parts:
        _ground_part(grounder, part, domains)
    network = grounder.assembler.network()
    network.refuse_overflow()
    return network


def check_rules(mln: MLN, database: Database) -> None:
    """Refuse rules without weights, and such as the database has no predicates or constants for."""
    problems = []
    for rule in mln.rules:
        for predicate in dict.fromkeys(atom.predicate for atom in atoms_of(rule.formula)):
            if predicate.name not in database.schema:
                problems.append(
                    InputError(f"the database has no predicate {predicate.name}: {rule}")
                )
            elif database.schema[predicate.name].types != predicate.types:
                other = database.schema[predicate.name]
                problems.append(InputError(f"the database has {other}, not {predicate}: {rule}"))
        for kind, name in sorted(constants_of(rule.formula)):
            if kind in database.domains and name not in database.domains[kind]:
                problems.append(
                    InputError(
                        f"the database has no {kind} {Constant(name)}: {rule}",
                        hint="ground in mlnlearn.with_constants_of(mln, [database])",
                    )
                )
        if not rule.hard and rule.weight is None and rule.weighted_by is None:
            problems.append(
                InputError(
                    f"inference needs a weight for every rule: {rule}",
                    hint="give a weight, make it hard with a full stop, or learn weights first",
                )
            )
    raise_all(problems)


def _expanded(
    mln: MLN, domains: Mapping[str, Collection[str]]
) -> tuple[list[Rule], list[RuleInstances]]:
    """Spell out shorthands: all soft rules, and the formulas that stand for ranges of them."""
    rules: list[Rule] = []
    parts: list[RuleInstances] = []
    for rule in mln.rules:
        for signed in expand_rule(replace(rule, per_constant=()), domains):
            formula = renamed_apart(signed.formula)
            types, free = variable_types(formula), free_variables(formula)
            untyped = [str(variable) for variable in free if variable not in types]
            if untyped:
                raise InputError(
                    f"no type for variable {', '.join(untyped)} in {rule}",
                    hint="let every variable stand in an atom",
                )
            if rule.hard:
                parts.append(RuleInstances(rule, formula, free, types, (), HARD))
            else:
                own = expand_rule(replace(signed, per_constant=rule.per_constant), domains)
                parts.append(
                    RuleInstances(rule, formula, free, types, rule.per_constant, len(rules))
                )
                rules += own
    return rules, parts


def _ground_part(
    grounder: ClauseGrounder, part: RuleInstances, domains: Mapping[str, Collection[str]]
) -> None:
    if not grounder.groundings(part):
        return
    try:
        constant, terms, tables = _terms(grounder.evidence, part, domains)
    except MemoryLimitError as error:
        raise MemoryLimitError(
            f"{part.rule} has too many alternatives over unknown atoms: {error.message}",
            hint="let evidence decide all but one atom under its quantifiers, or split the rule",
        ) from error
    grounder.add_constant(part, constant)
    try:
        for term in terms:
            grounder.add(part, term, tables)
    except MemoryLimitError as error:
        raise MemoryLimitError(
            f"{part.rule} has too many groundings with unknown atoms: {error.message}",
            hint="let evidence decide more of its atoms, drop the rule, or ask about fewer atoms",
        ) from error
    grounder.finish(part)


def _terms(
    evidence: Evidence, part: RuleInstances, domains: Mapping[str, Collection[str]]
) -> tuple[int, tuple[ClauseTerm, ...], dict[str, ExistentialTable]]:
    """Return what a formula adds up from, and the tables of its existentials."""
    skeleton, found = without_quantifiers(part.formula, domains)
    try:
        tables = {
            name: ExistentialTable(evidence, existential, part.types)
            for name, existential in found.items()
        }
    except TangledError:
        skeleton, found, tables = ground_quantifiers(part.formula, domains), {}, {}
    if part.hard:
        return 0, hard_terms(skeleton, found), tables
    constant, terms = soft_terms(skeleton, rewarded=(part.rule.weight or 0.0) >= 0.0)
    return constant, terms, tables
