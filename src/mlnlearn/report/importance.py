"""What predictions rest on: how much is lost when the facts of one predicate are dealt anew.

The facts of one predicate are given to other constants at random, so that they keep their number
and shape but say nothing any more about what is predicted. How much the log-likelihood falls is
what they said. Weights of rules do not tell that: a rule of large weight that hardly ever applies
is of little use, and rules whose weights cancel out are of none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mlnlearn.data.database import Columns, Database
from mlnlearn.evaluate.predictions import Predictions
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.report.markup import Markup, number, tag
from mlnlearn.report.views import View

MOST_WORK = 2_000_000
"""Beyond so many predicted atoms, over all predicates, nothing is measured."""


def importances(
    view: View, databases: Sequence[Database], predictions: Predictions, others: Sequence[str]
) -> dict[str, float] | None:
    """Return the loss in log-likelihood of an atom by predicate, the largest first.

    None where measuring would take too long, or the model has no network that says what it uses.

    Examples
    --------
    >>> from mlnlearn.model.mln import MLN
    >>> from mlnlearn.report.views import view_of
    >>> mln = MLN.parse('''
    ... ill(person)
    ... smokes(person)
    ... noise(person)
    ... 4 smokes(x) => ill(x)
    ... -2 ill(x)
    ... 0.01 noise(x) => ill(x)
    ... ''')
    >>> people = [(f"P{k}",) for k in range(20)]
    >>> facts = {"ill": people[:10], "smokes": people[:10], "noise": people[5:15]}
    >>> db = Database.from_facts(mln.schema, facts, domains={"person": [p for p, in people]})
    >>> view = view_of(mln)
    >>> found = importances(view, [db], view.predictions([db], "ill", ()), ())
    >>> list(found), found["smokes"] > 0.5 > abs(found["noise"])
    (['smokes', 'noise'], True)
    """
    network = view.network()
    if network is None:
        return None
    target = predictions.predicate.name
    used = {atom.predicate.name for rule in network.rules for atom in atoms_of(rule.formula)}
    names = [name for name in sorted(used - {target, *others}) if name in databases[0].schema]
    if len(predictions) * len(names) > MOST_WORK:
        return None
    whole = _likelihood(predictions)
    lost = {}
    for name in names:
        shuffled = [_dealt_anew(database, name) for database in databases]
        lost[name] = whole - _likelihood(view.predictions(shuffled, target, others))
    return dict(sorted(lost.items(), key=lambda item: -item[1]))


def _likelihood(predictions: Predictions) -> float:
    return float(predictions.scores(["cll"])["cll"])


def _dealt_anew(database: Database, name: str) -> Database:
    """Return the database with one predicate's facts about other constants, values as before."""
    rng = np.random.default_rng(0)
    predicate = database.schema[name]
    kept = set(database.schema.functional.get(name, ()))
    tables = [rng.permutation(database.size(kind)).astype(np.int32) for kind in predicate.types]

    def dealt(codes: Columns) -> Columns:
        places = range(len(codes))
        columns = [codes[k] if k in kept else tables[k][codes[k]] for k in places]
        moved = np.stack(columns) if columns else codes
        return np.ascontiguousarray(moved[:, np.lexsort(moved[::-1])]) if columns else codes

    def changed(facts: Mapping[str, Columns]) -> Mapping[str, Columns]:
        return {**facts, name: dealt(facts[name])} if name in facts else facts

    return replace(
        database,
        true=changed(database.true),
        false=changed(database.false),
        unknown=changed(database.unknown),
        cells=changed(database.cells),
    )


_OF_PREDICATES = (
    "How much each predicate matters: what the mean log-likelihood of an atom loses when the "
    "predicate’s facts are dealt to other constants at random."
)


def importance_bars(lost: dict[str, float], note: str = _OF_PREDICATES) -> Markup:
    """Return a bar for each predicate, as long as its share of what all lose together."""
    total = sum(max(value, 0.0) for value in lost.values()) or 1.0
    rows = [
        tag(
            "li",
            tag("code", name),
            tag("span", tag("i", style=f"width:{100 * max(value, 0) / total:.1f}%"), class_="bar"),
            tag("b", number(value, 4, signed=True)),
        )
        for name, value in lost.items()
    ]
    return tag("div", tag("p", note, class_="note"), tag("ul", *rows, class_="bars"))
