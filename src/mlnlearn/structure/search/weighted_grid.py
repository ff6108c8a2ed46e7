"""A grid whose atoms have weights, as those of a weighted pseudo-likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlnlearn.counting.dense import Floats
from mlnlearn.counting.grid import MOST_CELLS, Grid
from mlnlearn.counting.query import Engine
from mlnlearn.logic.formulas import Formula
from mlnlearn.structure.search.background import repeated_places
from mlnlearn.weights.data import refuse_violations
from mlnlearn.weights.pseudolikelihood import one_conditional


class WeightedGrid(Grid):
    """Truth values of all ground atoms, and their weights.

    Parameters
    ----------
    engine
        The data.
    hard
        Formulas that hold: atoms they decide have no weight.
    most_cells
        Cells of the largest array that may be built.

    Attributes
    ----------
    weight
        By predicate, the weight of each atom: of its predicate and database, they add up to 1.
    """

    def __init__(
        self, engine: Engine, hard: Sequence[Formula] = (), most_cells: int = MOST_CELLS
    ) -> None:
        super().__init__(engine, most_cells)
        self._shares: dict[tuple[str, tuple[int, ...]], list[tuple[Floats, Floats]]] = {}
        self.weight: dict[str, Floats] = {}
        for predicate in self.stack.schema.predicates:
            inside = self.true[predicate.name] + self.false[predicate.name]
            scale = one_conditional(self.stack, predicate)
            self.weight[predicate.name] = inside * scale.reshape(-1, *(1 for _ in predicate.types))
        refuse_violations(engine, hard)
        for formula in hard:
            self._decide(formula)

    def _decide(self, formula: Formula) -> None:
        """Take the weight from atoms that a formula decides, and from values it forbids."""
        for predicate in self.stack.schema.predicates:
            flips = self.formula_flips(formula, predicate).values
            true, axes = self.true[predicate.name], self._axes(predicate.name)
            # the formula holds in the data: an atom it depends on is decided, and of a block
            # only the values that are as good as the true one are possible
            needed = (flips * true).sum(axis=axes, keepdims=True) if axes else np.zeros(())
            self.weight[predicate.name] *= flips == needed

    def _axes(self, predicate: str) -> tuple[int, ...]:
        return tuple(place + 1 for place in self.exclusive(predicate))

    def probability(self, predicate: str, odds: Floats) -> Floats:
        """Return the probability of each atom from its log-odds, or within its block; 0 outside."""
        inside, axes = self.weight[predicate] > 0.0, self._axes(predicate)
        if not axes:
            return np.where(inside, 0.5 * (1.0 + np.tanh(0.5 * odds)), 0.0)
        # what is infinite for all values of a block tells none of them apart
        scores = np.where(inside, np.clip(odds, -1e300, 1e300), -np.inf)
        highest = scores.max(axis=axes, keepdims=True)
        raised = np.exp(scores - np.where(np.isinf(highest), 0.0, highest))
        result: Floats = raised / np.maximum(raised.sum(axis=axes, keepdims=True), 1e-300)
        return result

    def log_score(self, predicate: str, probability: Floats) -> float:
        """Return the weighted log-probability of the atoms' truth values."""
        true, weight = self.true[predicate], self.weight[predicate]
        logs = true * np.log(probability)
        if not self.exclusive(predicate):
            logs = logs + (1.0 - true) * np.log1p(-probability)
        return float((weight * logs).sum())

    def shares(self, predicate: str, places: tuple[int, ...]) -> list[tuple[Floats, Floats]]:
        """Return the weights of true and of all atoms by constants at some places.

        For each class of atoms, by which of their arguments are equal; none is empty.
        """
        found = self._shares.get((predicate, places))
        if found is None:
            total = self.weight[predicate]
            cells = np.indices(total.shape[1:], np.int32)
            classes = np.zeros(total.shape[1:], np.int64)
            repeated = repeated_places(self.stack.schema[predicate])
            for number, (first, second) in enumerate(repeated):
                classes |= (cells[first] == cells[second]).astype(np.int64) << number
            axes = tuple(i + 1 for i in range(classes.ndim) if i not in places)
            found = []
            for number in np.unique(classes):
                own = np.where(classes == number, total, 0.0)
                found.append(((own * self.true[predicate]).sum(axis=axes), own.sum(axis=axes)))
            self._shares[predicate, places] = found
        return found
