"""How models are asked for probabilities of atoms, and what they may know when they answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import singledispatch
from typing import TypeAlias

import numpy as np

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import Examples
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import pack
from mlnlearn.errors import InputError
from mlnlearn.evaluate.conditional import are_independent, conditional_probabilities
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.evaluate.tables import attribute_probabilities
from mlnlearn.infer.query import query
from mlnlearn.model.boosted.hidden.marginals import depends_on_unknown
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.join_bayes.model import JoinBayesModel


@dataclass(frozen=True)
class Marginals:
    """Ask for atoms of the query predicate given all *other predicates*: the usual protocol.

    All truth values of the query predicate are hidden from the model, so that it must predict its
    atoms together.

    Attributes
    ----------
    hide
        Further predicates to hide: a joint model predicts them together with the query predicate.
    method, sampling
        How a model is queried where atoms depend on each other; see `mlnlearn.infer.query.query`
        and `mlnlearn.model.boosted.model.BoostedModel.query`.

    Examples
    --------
    >>> Marginals(hide=("sameTitle", "sameVenue")).method
    'auto'
    """

    hide: tuple[str, ...] = ()
    method: str = "auto"
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True)
class Conditionals:
    """Ask for each atom given *all other atoms*, those of the query predicate too."""


Given: TypeAlias = Marginals | Conditionals
"""What a model may know of the test data when it predicts an atom."""
MARGINALS = Marginals()
"""The usual protocol with its usual settings."""


def atom_probabilities(
    model: object, database: Database, predicate: str, columns: Columns, given: Given
) -> Floats:
    """Return a model's probabilities of atoms, showing it only what the protocol gives.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)" + chr(10) + "-1.1 smokes(x)")
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]})
    >>> atom_probabilities(mln, db, "smokes", np.array([[0]], np.int32), Conditionals()).round(2)
    array([0.25])
    """
    if isinstance(given, Marginals):
        database = database.without_facts([predicate, *given.hide])
    found = np.asarray(_ask(model, database, predicate, columns, given), np.float64)
    if found.shape != (columns.shape[1],):
        raise InputError(
            f"{type(model).__name__}.predict returned shape {found.shape} for"
            f" {columns.shape[1]} atoms"
        )
    return found


@singledispatch
def _ask(
    model: object, database: Database, predicate: str, columns: Columns, given: Given
) -> Floats:
    predict = getattr(model, "predict", None)
    if predict is not None:
        return np.asarray(predict(database, predicate, columns), np.float64)
    learned = getattr(model, "mln", None)
    if isinstance(learned, MLN):
        # what learners of weights and rules return: a network and how the learning went
        return _ask(learned, database, predicate, columns, given)
    raise InputError(
        f"a {type(model).__name__} cannot predict atoms",
        hint="give it a method predict(database, predicate, columns), or a network mln",
    )


@_ask.register
def _(model: MLN, database: Database, predicate: str, columns: Columns, given: Given) -> Floats:
    if isinstance(given, Conditionals):
        return conditional_probabilities(model, database, predicate, columns)
    hidden = {predicate, *given.hide}
    (database,) = with_constants_of(model, [database], [predicate])
    if given.method == "auto" and not database.has_unknown and are_independent(model, hidden):
        return conditional_probabilities(model, database, predicate, columns)
    others = [p.name for p in database.schema.predicates if p.name not in hidden]
    answers = query(
        model, database, predicate, method=given.method, closed=others, **asdict(given.sampling)
    )
    table = answers.tables[0]
    return _looked_up(database, predicate, columns, table.columns, table.probability)


@_ask.register
def _(
    model: BoostedModel, database: Database, predicate: str, columns: Columns, given: Given
) -> Floats:
    if isinstance(given, Marginals):
        model.rules_of(predicate)
        targets = [rules.predicate.name for rules in model.targets]
        asked = [name for name in targets if name in {predicate, *given.hide}]
        if depends_on_unknown(model.targets, model.existential, database, asked):
            # of what is not hidden, the protocol gives all, as to a network
            answers = model.query(
                database, asked, closed=targets, method=given.method, sampling=given.sampling
            )
            table = next(table for table in answers.tables if table.predicate.name == predicate)
            return _looked_up(database, predicate, columns, table.columns, table.probability)
    count = columns.shape[1]
    atoms = Examples(
        database.schema[predicate],
        np.zeros(count, np.int32),
        columns,
        np.zeros(count, np.bool_),
        np.ones(count),
    )
    return model.probabilities(database, atoms)


@_ask.register
def _(
    model: JoinBayesModel, database: Database, predicate: str, columns: Columns, given: Given
) -> Floats:
    hidden = (predicate, *given.hide) if isinstance(given, Marginals) else ()
    found = attribute_probabilities(model, database, predicate, columns, hidden)
    # of links, the rules speak as a network
    return _ask(model.mln(), database, predicate, columns, given) if found is None else found


def _looked_up(
    database: Database, predicate: str, wanted: Columns, answered: Columns, values: Floats
) -> Floats:
    """Return the values of wanted atoms out of those of all answered ones."""
    sizes = domain_sizes(database, predicate)
    keys = pack(answered, sizes)
    order = np.argsort(keys)
    places = np.searchsorted(keys[order], pack(wanted, sizes))
    chosen: Floats = values[order[places]]
    return chosen


def with_seed(given: Given, seed: int) -> Given:
    """Return the protocol with another seed for its samplers.

    Examples
    --------
    >>> with_seed(Marginals(), 3).sampling.seed
    3
    """
    if isinstance(given, Conditionals):
        return given
    return replace(given, sampling=replace(given.sampling, seed=seed))
