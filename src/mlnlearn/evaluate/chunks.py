"""Answers a part at a time: as many query atoms as there are, in memory for some of them.

Atoms that depend on no other unknown one are answered in the order of their numbers, so many at
once; neither they nor their answers are ever all in memory. Where atoms depend on each other, or
exclude each other (``!``), all are answered together, as by `query`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.objects import Objects
from mlnlearn.data.bands import banded_like
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import number_of_keys, pack, unlisted, unpack
from mlnlearn.errors import InputError
from mlnlearn.evaluate.conditional import are_independent, log_odds, rule_flips
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.infer.grounding.ground import check_rules, ground
from mlnlearn.infer.grounding.worlds import open_predicates
from mlnlearn.infer.query import query
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.logistic import expit
from mlnlearn.model.answers import CLOSED_FORM, Answers, AnswerTable, ComponentSummary
from mlnlearn.model.boosted.hidden.atoms import forgotten_targets
from mlnlearn.model.boosted.hidden.marginals import depends_on_unknown
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.potentials import potentials
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.montecarlo.settings import Sampling

ATOMS = 1 << 18
"""How many atoms are answered at once."""


def query_in_chunks(
    model: MLN | BoostedModel | RelationalModel,
    database: Database,
    predicates: str | Sequence[str],
    *,
    method: str = "auto",
    open: Collection[str] = (),
    closed: Collection[str] = (),
    query_evidence: bool = False,
    sampling: Sampling | None = None,
    atoms: int | None = None,
    whole: bool = False,
) -> Iterator[Answers]:
    """Yield the answers of `query`, or of a boosted model's, a part at a time.

    Parameters
    ----------
    model
        A network with weights, or a boosted model.
    database
        The evidence.
    predicates
        Name or names of the predicates asked for.
    method, open, closed, query_evidence, sampling
        As for `mlnlearn.infer.query.query` and `mlnlearn.model.boosted.model.BoostedModel.query`; a
        boosted model takes no `open`, and `query_evidence` only where it is one of features.
    atoms
        How many atoms to answer at once, where they do not depend on each other; by default a
        quarter of a million.
    whole
        All atoms at once, with a summary of each component, as by `query`.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... cancer(person)
    ... 1.5 smokes(x) => cancer(x)
    ... ''')
    >>> facts = {"smokes": [("Anna",)]}
    >>> db = Database.from_facts(mln.schema, facts, domains={"person": ["Bob", "Carl"]})
    >>> for answers in query_in_chunks(mln, db, "cancer", atoms=2):
    ...     print({name: round(p, 4) for name, p in answers.by_atom().items()})
    {'cancer(Bob)': 0.5, 'cancer(Carl)': 0.5}
    {'cancer(Anna)': 0.8176}
    """
    names = [predicates] if isinstance(predicates, str) else list(dict.fromkeys(predicates))
    if not names:
        raise InputError("no query predicate given", hint="name one, such as smokes")
    in_chunks = method == "auto" and not whole
    about: dict[str, Any] = {"open": open, "closed": closed, "query_evidence": query_evidence}
    if isinstance(model, RelationalModel):
        yield query(model, database, names, method=method, **about)
        return
    if not isinstance(model, MLN) and (open or query_evidence):
        raise InputError("a boosted model takes neither open predicates nor query evidence")
    (database,) = banded_like(model.schema, [database])
    if isinstance(model, BoostedModel):
        plan = _of_rules(model, database, names, closed) if in_chunks else None
        if plan is None:
            yield model.query(database, names, closed=closed, method=method, sampling=sampling)
            return
    else:
        opened = open_predicates(database, names, **about)
        plan = _of_network(model, database, names, opened) if in_chunks else None
        if plan is None:
            how = asdict(sampling or Sampling())
            yield query(model, database, names, method=method, **about, **how)
            return
    for name in names:
        yield from _answered(plan, name, atoms or ATOMS)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How atoms that do not depend on each other are answered.

    Attributes
    ----------
    database
        The evidence, with all constants.
    asker
        By the name of a predicate, a function from codes of atoms to probabilities.
    forgotten
        Predicates of which all atoms are asked for, whatever the database lists.
    opened
        Predicates of which all atoms are asked for that the database does not list; of the others,
        those that it lists as unknown.
    """

    database: Database
    asker: Callable[[str], Callable[[Columns], Floats]]
    forgotten: Collection[str]
    opened: Collection[str]


def _answered(plan: _Plan, name: str, most: int) -> Iterator[Answers]:
    database, predicate = plan.database, plan.database.schema[name]
    domains = tuple(database.domains[kind] for kind in predicate.types)
    ask = plan.asker(name)
    for columns in _unknown(plan, name, most):
        number = columns.shape[1]
        methods = np.full(number, CLOSED_FORM, object)
        table = AnswerTable(predicate, columns, domains, ask(columns), np.zeros(number), methods)
        yield Answers((table,), (ComponentSummary(number, 0, CLOSED_FORM),))


def _unknown(plan: _Plan, name: str, most: int) -> Iterator[Columns]:
    """Yield the atoms asked for, so many at once."""
    database = plan.database
    if name not in plan.opened and name not in plan.forgotten:
        columns = database.unknown_facts(name)
        for start in range(0, columns.shape[1], most):
            yield np.ascontiguousarray(columns[:, start : start + most])
        return
    sizes = domain_sizes(database, name)
    listed = np.empty(0, np.int64)
    if name not in plan.forgotten:
        known = (database.facts(name), database.false_facts(name))
        listed = np.unique(np.concatenate([pack(part, sizes) for part in known]))
    total = number_of_keys(sizes) - len(listed)
    for start in range(0, total, most):
        ranks = np.arange(start, min(start + most, total))
        yield unpack(unlisted(ranks, listed), sizes)


def _of_rules(
    model: BoostedModel, database: Database, names: Sequence[str], closed: Collection[str]
) -> _Plan | None:
    """Return how a boosted model answers, None where atoms depend on each other."""
    targets = [rules.predicate.name for rules in model.targets]
    for name in names:
        model.rules_of(name)  # refuses what is no target
    for name in closed:
        model.schema[name]  # refuses what is no predicate
    if any(name not in database.schema or database.schema.exclusive(name) for name in targets):
        return None
    forgotten = forgotten_targets(targets, database, names, closed)
    if depends_on_unknown(model.targets, model.existential, database, forgotten):
        return None
    world = Objects([database.without_facts(forgotten).closed()])

    def asker(name: str) -> Callable[[Columns], Floats]:
        def ask(columns: Columns) -> Floats:
            zeros = np.zeros(columns.shape[1], np.int32)
            rows = world.numbered(database.schema[name], zeros, columns)
            return np.asarray(
                expit(potentials(model.targets, model.existential, world, name, rows))
            )

        return ask

    return _Plan(database, asker, forgotten, database.open)


def _of_network(
    mln: MLN, database: Database, names: Sequence[str], opened: Collection[str]
) -> _Plan | None:
    """Return how a network answers, None where atoms depend on each other."""
    used = {atom.predicate.name for rule in mln.rules for atom in atoms_of(rule.formula)}
    if any(name not in database.schema for name in used):
        return None  # refused where it is grounded
    unknown = {*names, *(used & set(opened))}
    unknown |= {name for name in used if database.unknown_facts(name).shape[1]}
    if any(database.schema.exclusive(name) for name in unknown):
        return None
    if not are_independent(mln, unknown):
        return None
    (database,) = with_constants_of(mln, [database], names)
    check_rules(mln, database)
    if mln.hard:  # none of them is about unknown atoms; what they say of the others must hold
        ground(MLN(mln.schema, mln.hard), database, closed=sorted(used))
    engine = open_engine([database.closed()])

    def asker(name: str) -> Callable[[Columns], Floats]:
        rules = tuple(rule_flips(mln, engine, name))
        return lambda columns: np.asarray(expit(log_odds(rules, engine, columns)[1]))

    return _Plan(database, asker, (), opened)
