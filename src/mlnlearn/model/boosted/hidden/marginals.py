"""Questions to a boosted model where parts of the evidence are unknown."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.model.boosted.answers import AnswerPart
from mlnlearn.model.boosted.gibbs import GibbsSettings
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, unknown_predicates
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.rules import TargetRules, bodies


def depends_on_unknown(
    targets: Sequence[TargetRules], existential: bool, database: Database, asked: Collection[str]
) -> bool:
    """Tell whether atoms of the predicates asked for depend on each other or on unknown evidence.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {"smokes": [("Anna",)]})
    >>> depends_on_unknown([TargetRules(schema["smokes"], 0.5)], False, db, ["smokes"])
    False
    """
    names = {rules.predicate.name for rules in targets}
    unknown = names.intersection({*asked, *unknown_predicates([database])})
    return any(
        pattern.predicate.name in unknown
        for rules in targets
        # in a dependency network only the rules of what is unknown have a say
        if not existential or rules.predicate.name in unknown
        for step in (rules.prior, *rules.steps)
        for body in bodies(step)
        for pattern in body
    )


def sampled_marginals(
    targets: Sequence[TargetRules],
    existential: bool,
    databases: Sequence[Database],
    asked: Collection[str],
    settings: GibbsSettings,
) -> list[list[AnswerPart]]:
    """Return the probabilities of all atoms asked for and of all unknown atoms of other targets.

    Parameters
    ----------
    targets, existential
        The model.
    databases
        The evidence, one or more worlds of it. Facts of predicates asked for are not looked at; of
        other targets, all that is not listed as unknown is known.
    asked
        Targets of which every atom is asked for.
    settings
        How long to sample; atoms are drawn one by one, so that there are no groups.

    Returns
    -------
    For each database, its atoms by predicate.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(
    ...     schema, {"smokes": [("Anna",)]}, unknown={"smokes": [("Bob",)]})
    >>> rules = [TargetRules(schema["smokes"], 0.0)]
    >>> [[part.probabilities.tolist() for part in parts]
    ...  for parts in sampled_marginals(rules, False, [db, db], [], GibbsSettings(3, 1))]
    [[[0.5]], [[0.5]]]
    """
    names = [rules.predicate.name for rules in targets]
    hidden = HiddenAtoms.of(databases, [n for n in names if n not in asked], asked)
    network = GroundNetwork.of(targets, existential, hidden)
    sampler = Sampler(network, np.random.default_rng(settings.seed))
    sampler.scatter()
    limit = settings.max_seconds
    end = None if limit is None else time.monotonic() + limit
    sampler.run(settings.burn_in, None if limit is None else time.monotonic() + limit / 4)
    means = sampler.run(settings.samples, end)
    found: list[list[AnswerPart]] = [[] for _ in databases]
    for predicate, parts in hidden.columns.items():
        start = hidden.starts[predicate]
        for number, columns in enumerate(parts):
            end = start + columns.shape[1]
            found[number].append(AnswerPart(predicate, columns, means[start:end]))
            start = end
    return found
