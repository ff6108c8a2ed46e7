"""Queries: the probability of every unknown atom of some predicates, given the evidence."""

from __future__ import annotations

import logging
from collections.abc import Collection

import numpy as np

from mlnlearn.data.database import Database, asked_database
from mlnlearn.errors import InputError
from mlnlearn.infer.components import components
from mlnlearn.infer.dispatch import Inference, infer
from mlnlearn.infer.elimination import DEFAULT_LIMIT
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.network import GroundAtoms, Network
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.answers import Answers, AnswerTable
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.montecarlo.settings import Sampling

_LOG = logging.getLogger(__name__)


def query(
    model: object,
    database: Database,
    predicates: str | Collection[str],
    *,
    method: str = "auto",
    open: Collection[str] = (),
    closed: Collection[str] = (),
    query_evidence: bool = False,
    include_evidence: bool = False,
    samples: int = Sampling.samples,
    burn_in: int = Sampling.burn_in,
    chains: int = Sampling.chains,
    seed: int = Sampling.seed,
    max_seconds: float | None = None,
    precision: float | None = None,
    workers: int = 1,
    limit: int = DEFAULT_LIMIT,
) -> Answers:
    """Return the probability of every unknown atom of the query predicates.

    Parameters
    ----------
    model
        A network with weights, or any other model that a learner of atoms returns. Boosted models
        answer for their targets; they take no `open` or `include_evidence`, and `query_evidence`
        only where they read labels of other rows (`RelationalModel`).
    database
        The evidence. Constants that rules name belong to their types, whether or not it has them.
    predicates
        Name or names of the predicates asked for.
    method
        ``"auto"``: the best for each component. ``"exact"``: exact or an error. ``"gibbs"``,
        ``"mcsat"``: that sampler. ``"bp"``: loopy belief propagation. ``"map"``: a most probable
        world, whose atoms get probability 1 or 0. Or the name of one that another package offers
        (see ``docs/extending.md``).
    open, closed, query_evidence
        Which atoms are unknown; see `mlnlearn.infer.grounding.worlds.open_predicates`.
    include_evidence
        Whether to list known atoms of the query predicates too, with probability 1 or 0.
    samples, burn_in, chains, seed, max_seconds, precision, workers
        For the samplers; see `mlnlearn.montecarlo.settings.Sampling`. Limits hold for each
        component.
    limit
        Most table cells of variable elimination for one component.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.5 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> facts = {"friends": [("Anna", "Bob"), ("Bob", "Carl")], "smokes": [("Anna",)]}
    >>> print(query(mln, Database.from_facts(mln.schema, facts), "smokes"))
    probability  standard error  atom
         0.7327          0.0000  smokes(Bob)
         0.7327          0.0000  smokes(Carl)
    2 atoms; 1 component by enumeration
    """
    names = [predicates] if isinstance(predicates, str) else list(dict.fromkeys(predicates))
    if not names:
        raise InputError("no query predicate given", hint="name one, such as smokes")
    database = asked_database(database)
    sampling = Sampling(samples, burn_in, chains, seed, max_seconds, precision, workers)
    if isinstance(model, BoostedModel | RelationalModel):
        _check_boosted(model, open, query_evidence, include_evidence)
        if isinstance(model, RelationalModel):
            return model.query(
                database, names, closed=closed, method=method, query_evidence=query_evidence
            )
        return model.query(database, names, closed=closed, method=method, sampling=sampling)
    mln = _network_of(model)
    (database,) = with_constants_of(mln, [database], names)
    network = ground(mln, database, names, open=open, closed=closed, query_evidence=query_evidence)
    found = components(network)
    _LOG.info("%d unknown values in %d independent parts", network.variables, len(found))
    asked = [atoms for atoms in network.atoms if atoms.predicate.name in names]
    wanted = np.zeros(len(found), np.bool_)
    for atoms in asked:
        wanted[found.label[atoms.variable]] = True
    result = infer(found, method, wanted=wanted, sampling=sampling, limit=limit)
    unknown = {atoms.predicate.name: atoms for atoms in asked}
    tables = []
    for name in names:
        predicate = database.schema[name]
        table = _table(network, database, predicate, unknown.get(name), result)
        tables.append(_with_evidence(table, database) if include_evidence else table)
    return Answers(tuple(tables), result.components)


def _check_boosted(
    model: BoostedModel | RelationalModel,
    open: Collection[str],
    query_evidence: bool,
    include_evidence: bool,
) -> None:
    """Refuse what only networks can do."""
    asks_listed = query_evidence and not isinstance(model, RelationalModel)
    if open or include_evidence or asks_listed:
        raise InputError(
            "a boosted model takes neither open predicates nor query evidence",
            hint="it predicts its targets from all other predicates",
        )


def _network_of(model: object) -> MLN:
    """Return the network that a model is, or stands for."""
    found = getattr(model, "mln", model)
    found = found() if callable(found) else found
    if isinstance(found, MLN):
        return found
    raise InputError(
        f"a {type(model).__name__} is no model of atoms that can be asked for",
        hint="give a network, or what a learner of rules for atoms returned",
    )


def _table(
    network: Network,
    database: Database,
    predicate: Predicate,
    atoms: GroundAtoms | None,
    result: Inference,
) -> AnswerTable:
    """Return the answers for the unknown atoms of a predicate.

    An atom that is true because its block has no other value left is no variable of the network;
    its probability is 1.
    """
    columns = [network.forced.get(predicate.name, np.empty((predicate.arity, 0), np.int32))]
    number = columns[0].shape[1]
    probability, error = [np.ones(number)], [np.zeros(number)]
    method = [np.full(number, "evidence", object)]
    if atoms is not None:
        places = network.unary_starts[atoms.variable] + atoms.value
        columns.append(atoms.columns)
        probability.append(result.marginals[places])
        error.append(result.standard_error[places])
        method.append(result.method[atoms.variable])
    return AnswerTable(
        predicate,
        np.concatenate(columns, axis=1),
        tuple(database.domains[kind] for kind in predicate.types),
        np.concatenate(probability),
        np.concatenate(error),
        np.concatenate(method),
    )


def _with_evidence(table: AnswerTable, database: Database) -> AnswerTable:
    """Add the known atoms of the predicate: 1 for those in the database, 0 for all others."""
    predicate = table.predicate
    sizes = tuple(database.size(kind) for kind in predicate.types)
    shape = sizes or (1,)
    probability, error = np.zeros(shape), np.zeros(shape)
    method = np.full(shape, "evidence", object)
    for columns, values, errors, methods in (
        (database.facts(predicate.name), 1.0, 0.0, "evidence"),
        (table.columns, table.probability, table.standard_error, table.method),
    ):
        place = tuple(columns) if sizes else np.zeros(columns.shape[1], np.int64)
        probability[place], error[place], method[place] = values, errors, methods
    columns = np.indices(sizes, np.int32).reshape(len(sizes), -1)
    return AnswerTable(
        predicate, columns, table.domains, probability.ravel(), error.ravel(), method.ravel()
    )
