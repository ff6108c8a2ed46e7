"""Why atoms have their log-odds: the contributions of rules, for many atoms at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.query import Engine
from mlnlearn.data.database import Columns, Database
from mlnlearn.errors import InputError
from mlnlearn.evaluate.predictions import Predictions
from mlnlearn.logic.formulas import atoms_of
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.explain import contributions
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.explanation import Contribution, by_size, with_unknown
from mlnlearn.model.mln import MLN
from mlnlearn.report.rules import written_out


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why one atom is probable or not, given all other atoms as in the data.

    Attributes
    ----------
    parts
        The rules, those of largest effect first.
    is_choice
        Whether the atom is one value of several: the sum is then the weight of the value, to be
        compared with those of the others.

    Examples
    --------
    >>> Reasons((Contribution("1.5 friends(x,y) ^ smokes(x) => smokes(y)", 2, 3.0),)).total
    3.0
    """

    parts: tuple[Contribution, ...]
    is_choice: bool = False

    @property
    def total(self) -> float:
        """Sum of the parts; not a number where hard rules contradict each other."""
        ups = [part.log_odds for part in self.parts]
        return math.nan if math.inf in ups and -math.inf in ups else float(sum(ups))

    @property
    def probability(self) -> float | None:
        """Probability given all other atoms; None for a value of several."""
        return None if self.is_choice or math.isnan(self.total) else float(expit(self.total))


def network_reasons(
    mln: MLN, databases: Sequence[Database], atoms: Predictions, places: tuple[int, ...]
) -> list[Reasons]:
    """Weigh the flip counts of every rule.

    A rule that has the predicate under a quantifier has no flip counts and is left out.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)" + chr(10) + "-1.5 smokes(x)")
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]})
    >>> one = np.zeros(1, np.int32)
    >>> atoms = Predictions(mln.schema["smokes"], one, one[None], one + 0.2, one > 0, one + 1.0)
    >>> network_reasons(mln, [db], atoms, ())[0].parts
    (Contribution(rule='smokes(x)', flips=1, log_odds=-1.5),)
    """
    engine = open_engine([database.closed() for database in databases])
    predicate, numbers = atoms.predicate, atoms.database.astype(np.int64)
    found: list[list[Contribution]] = [[] for _ in range(len(atoms))]
    for rule in written_out(mln, databases).rules:
        if predicate not in {atom.predicate for atom in atoms_of(rule.formula)}:
            continue
        try:
            flips = flip_counts(engine, rule.formula, predicate, places)
        except InputError:
            continue
        counts = flips.at(engine.stack, numbers, _stacked(engine, databases, atoms))
        weight = math.inf if rule.hard else rule.weight or 0.0
        text = str(rule.formula)
        for row in np.flatnonzero(counts).tolist() if weight else ():
            found[row].append(Contribution(text, int(counts[row]), weight * int(counts[row])))
    return [Reasons(by_size(parts), bool(places)) for parts in found]


def _stacked(engine: Engine, databases: Sequence[Database], atoms: Predictions) -> list[Codes]:
    """Return the atoms' constants in the codes that all databases of the engine share."""
    columns = []
    for kind, codes in zip(atoms.predicate.types, atoms.columns, strict=True):
        shared = np.empty(len(atoms), np.int32)
        for number, database in enumerate(databases):
            mine = atoms.database == number
            names = database.domains[kind].names
            wanted, back = np.unique(codes[mine], return_inverse=True)
            table = [engine.stack.code(kind, names[code]) for code in wanted.tolist()]
            shared[mine] = np.array(table, np.int32)[back]
        columns.append(shared)
    return columns


def boosted_reasons(
    model: BoostedModel, databases: Sequence[Database], atoms: Predictions
) -> list[Reasons]:
    """Give the rules that apply to each atom, and those in whose bodies it stands.

    A value of a ``!`` block is a choice: its block is taken out of the data.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import TargetRules
    >>> schema = Schema.of("rich(person)")
    >>> model = BoostedModel(schema, False, (TargetRules(schema["rich"], -1.5),))
    >>> db = Database.from_facts(schema, {"rich": [("Anna",)]})
    >>> one = np.zeros(1, np.int32)
    >>> atoms = Predictions(schema["rich"], one, one[None], one + 0.2, one > 0, one + 1.0)
    >>> boosted_reasons(model, [db], atoms)[0].parts
    (Contribution(rule='rich(p1)', flips=1, log_odds=-1.5),)
    """

    def parts_of(
        given: Sequence[Database], number: Codes, columns: Columns
    ) -> list[tuple[Contribution, ...]]:
        world = Objects(given)
        rows = world.numbered(atoms.predicate, number, columns)
        return contributions(model.targets, model.existential, world, atoms.predicate, rows)

    if not databases[0].schema.exclusive(atoms.predicate.name):
        return [Reasons(parts) for parts in parts_of(databases, atoms.database, atoms.columns)]
    found = []
    for place, number in enumerate(atoms.database.tolist()):
        columns = atoms.columns[:, [place]]
        # the weight of choosing a value is what it adds to a block in which all are false
        rest = with_unknown(databases[number], atoms.predicate, columns).closed()
        (parts,) = parts_of([rest], np.zeros(1, np.int32), columns)
        found.append(Reasons(parts, is_choice=True))
    return found
