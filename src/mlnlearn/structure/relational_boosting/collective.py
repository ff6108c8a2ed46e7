"""Whether labels that are not known are better answered together: tried on hidden ones."""

from __future__ import annotations

import numpy as np

from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import Relational
from mlnlearn.model.relational.collective import Sweeps
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.model.relational.own import without_labels
from mlnlearn.structure.relational_boosting.blend import believed

_HIDDEN, _MOST_HIDDEN = 0.5, 2000
_SWEEPS = Sweeps(chains=2, burn_in=5, counted=15)
_LEAST = 1e-6


def gains_together(
    model: RelationalModel, view: Relational, examples: RowExamples, seed: int
) -> bool:
    """Hide half of the labels, and tell whether a model says them better all together.

    It is asked both ways; only a gain that is not likely to be chance counts. Of relations, whose
    possible rows are many, labels are answered one by one.

    Parameters
    ----------
    model
        A model that reads labels of other rows.
    view, examples
        What it was learned from.
    seed
        Of what is hidden.
    """
    home = examples.home
    if home.column is None or model.kind == "squares":
        return False
    known = np.flatnonzero(examples.known)
    number = min(int(_HIDDEN * len(known)), _MOST_HIDDEN)
    if number < 2:
        return False
    rows = np.random.default_rng([seed, 11]).choice(known, number, replace=False)
    hidden = np.zeros(examples.base.rows, np.bool_)
    hidden[rows] = True
    seen = without_labels(view, home, examples.base, hidden)
    label = examples.label[rows].astype(np.int64)
    alone = model.probabilities(seen, examples.base)[rows, label]
    both = model.together(seen, examples.base, _SWEEPS).values[rows, label]
    gains = np.log(np.maximum(both, _LEAST)) - np.log(np.maximum(alone, _LEAST))
    return believed(gains, examples.weight[rows]) > 0
