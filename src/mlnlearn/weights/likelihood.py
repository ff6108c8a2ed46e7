"""Exact maximum likelihood: log Z and expected counts by lifted inference.

The log-likelihood of databases d is the sum of w·n(d) - log Z_d(w), concave in the weights; its
gradient is observed minus expected counts (Van den Broeck, Meert and Davis 2013; Van Haaren et al.
2015, section 2.3). The formulas are compiled once; every step of the optimiser evaluates two passes
over arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.blocks import Blocks
from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.query import Engine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database, constants_by_type
from mlnlearn.data.sampling import pack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.infer.exact import exact
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.lifted.compile import exactly_one
from mlnlearn.lifted.partition import Partition, partitions, under_schema
from mlnlearn.lifted.plan import NotLiftable
from mlnlearn.logic.atoms import Atom
from mlnlearn.model.domains import carrying_domains, with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.data import engine_of, refuse_violations
from mlnlearn.weights.result import LearnedWeights, best_weights

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogLikelihood:
    """The log-likelihood of databases as a function of the weights.

    Attributes
    ----------
    counts
        True groundings of each soft rule, summed over databases.
    circuits
        log Z, one circuit for databases with the same named constants; see `partitions`.
    """

    counts: Floats
    circuits: tuple[Partition, ...]

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient."""
        value = float(self.counts @ weights)
        gradient = self.counts.copy()
        for circuit in self.circuits:
            log_z, expected = circuit.evaluate(weights)
            value -= float(log_z.sum())
            gradient -= expected
        return value, gradient


def likelihood_of(
    mln: MLN, engine: Engine, *, max_axes: int | None = None, grounding: bool = True
) -> LogLikelihood:
    """Compile a network's formulas for the databases of an engine, which must be complete.

    What cannot be lifted is grounded where it is small, unless `grounding` is False.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)").with_unit_clauses()
    >>> people = {"person": ["Anna", "Bob", "Carl", "Dora"]}
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]}, domains=people)
    >>> value, gradient = likelihood_of(mln, open_engine([db]))(np.zeros(1))
    >>> print(f"{value:.4f}", gradient)
    -2.7726 [-1.]
    """
    databases = engine.stack.databases
    _refuse_unknown(databases)
    refuse_violations(engine, (*(rule.formula for rule in mln.hard), *exactly_one(mln.schema)))
    counts = [sum(true_groundings(engine, rule.formula)) for rule in mln.soft]
    circuits = partitions(mln, databases, max_axes=max_axes, grounding=grounding)
    return LogLikelihood(np.array(counts, np.float64), circuits)


def liftable_part(mln: MLN, data: Sequence[Database] | Engine, *, max_axes: int | None = 2) -> MLN:
    """Return a network without the soft rules that would make its likelihood too costly.

    Rules are taken in their order, unit clauses first; one that cannot be lifted together with
    those before it is left out.

    Parameters
    ----------
    mln
        The rules.
    data
        The databases whose likelihood is wanted.
    max_axes
        Most nested sums that lifted inference may use; None for any number.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... likes(person,person)
    ... 0 likes(x,y)
    ... 1 likes(x,y) ^ likes(y,z) => likes(x,z)
    ... 1 likes(x,y) => likes(y,x)
    ... ''')
    >>> db = Database.from_facts(mln.schema, {"likes": [("Anna", "Bob")]})
    >>> for rule in liftable_part(mln, [db]).rules:
    ...     print(rule.formula)
    likes(x,y)
    likes(x,y) => likes(y,x)
    """
    engine: Engine = open_engine(data) if isinstance(data, Sequence) else data
    kept = replace(mln, rules=mln.hard)
    for rule in sorted(mln.soft, key=lambda rule: not isinstance(rule.formula, Atom)):
        more = replace(kept, rules=(*kept.rules, rule))
        try:
            likelihood_of(more, engine, max_axes=max_axes, grounding=False)
        except (NotLiftable, MemoryLimitError):
            continue
        kept = more
    return kept


def domain_sizes(stack: Stack) -> list[dict[str, int]]:
    """Return the size of every type, for each database."""
    tables = {kind: stack.sizes(kind) for kind in stack.schema.types}
    return [
        {kind: int(table[number]) for kind, table in tables.items()} for number in range(len(stack))
    ]


def _refuse_unknown(databases: Sequence[Database]) -> None:
    for database in databases:
        if database.has_unknown:
            raise InputError(
                f"{database.name or 'a database'} has unknown atoms, so that its likelihood is a "
                "sum over worlds, with several maxima in the weights",
                hint="learn with EM (learn_em), or take them as false with Database.closed()",
            )


def learn_likelihood(
    mln: MLN,
    data: Sequence[Database] | Engine,
    *,
    sigma: float = 100.0,
    l1: float = 0.0,
    units: bool = True,
    max_axes: int | None = None,
    max_iterations: int = 1000,
) -> LearnedWeights:
    """Learn weights that maximise the exact log-likelihood (LWL).

    Parameters
    ----------
    mln
        The rules; weights they have are starting values, locked ones stay.
    data
        Databases, each with its own constants, or an engine that holds them; unknown atoms are
        refused.
    sigma
        Standard deviation of the Gaussian prior around zero.
    l1
        Weight of an additional L1 penalty.
    units
        Add a unit clause for every predicate that has none.
    max_axes
        Most nested sums that lifted inference may use; None for any number.
    max_iterations
        Limit of optimiser iterations.

    Raises
    ------
    NotLiftable
        Where the formulas cannot be lifted and are too many to ground; names those that stop it.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)")
    >>> people = {"person": ["Anna", "Bob", "Carl", "Dora"]}
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]}, domains=people)
    >>> learned = learn_likelihood(mln, [db])
    >>> print(f"{learned.mln.weights[0]:.2f} {learned.likelihood:.4f}")  # log odds of 1 in 4
    -1.10 -2.2493
    """
    full = mln.with_unit_clauses() if units else mln
    engine = engine_of(full, data)
    databases = engine.stack.databases
    full = carrying_domains(full.expanded(constants_by_type(databases)), databases)
    likelihood = likelihood_of(full, engine, max_axes=max_axes)
    return best_weights(
        full, likelihood, sigma=sigma, l1=l1, tolerance=1e-12, max_iterations=max_iterations
    )


def log_likelihood(mln: MLN, database: Database, *, max_axes: int | None = None) -> float:
    """Return the exact log-likelihood of a database under a network with weights.

    All atoms of the network's predicates count, also those of predicates in no rule. Unknown atoms
    are summed out: the answer is the probability of what is known, log Z of the worlds that agree
    with it less log Z of all.

    Parameters
    ----------
    mln
        The network, with weights.
    database
        The database; its unknown atoms are summed out.
    max_axes
        How many counts a lifted plan may sum over at once; by default as many as are
        needed.

    Raises
    ------
    NotLiftable
        Where log Z can neither be lifted nor grounded.
    TooHardError
        Where the unknown atoms depend on each other so much that they cannot be summed out.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)" + chr(10) + "0 smokes(x)")
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]}, domains={"person": ["Bob"]})
    >>> print(f"{log_likelihood(mln, db):.4f}")  # two fair coins
    -1.3863
    """
    (database,) = with_constants_of(mln, [database])
    full = mln.expanded(constants_by_type([database]))
    if not database.has_unknown:
        return likelihood_of(full, open_engine([database]), max_axes=max_axes)(full.weights)[0]
    (circuit,) = partitions(full, [database], max_axes=max_axes)
    return _log_weight(full, database) - float(circuit.evaluate(full.weights)[0][0])


def _log_weight(mln: MLN, database: Database) -> float:
    """Return the logarithm of the summed weight of all worlds that agree with a database."""
    own = under_schema(database, mln.schema)
    _refuse_empty_blocks(own)
    names = [predicate.name for predicate in mln.schema.predicates]
    closed = [name for name in names if name not in own.open]
    return exact(ground(mln, own, names, open=sorted(own.open), closed=closed)).log_z


def _refuse_empty_blocks(database: Database) -> None:
    """Refuse data that are no world: a block of which neither is any value true nor unknown."""
    for predicate in database.schema.predicates:
        marked = database.schema.exclusive(predicate.name)
        if marked and predicate.name not in database.open:
            sizes = [database.size(kind) for kind in predicate.types]
            blocks = Blocks(predicate, sizes, marked, database)
            listed = (database.facts(predicate.name), database.unknown_facts(predicate.name))
            blocks.refuse_empty(pack(np.concatenate(listed, axis=1), sizes))
