"""Which rows are kept aside.

Where rows have times, the latest are kept aside; of several databases, whole ones; else rows are
drawn at random, alike from every class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.examples import RowExamples
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ranking import Floats

Mask = NDArray[np.bool_]

SplitBy = Literal["auto", "time", "random"]
"""How rows are kept aside: the latest, or any."""
FEWEST = 20
"""With fewer examples of known label than this, none are kept aside."""


@dataclass(frozen=True, eq=False)
class HeldOutSplit:
    """Which examples are kept aside.

    Attributes
    ----------
    test
        Those kept aside.
    how
        How they were chosen, in words.
    """

    test: Mask
    how: str

    def training(self, examples: RowExamples) -> RowExamples:
        """Return the examples with the labels of those kept aside hidden."""
        return replace(examples, label=np.where(self.test, np.nan, examples.label))


def split_examples(
    examples: RowExamples,
    *,
    share: float = 0.2,
    seed: int = 0,
    by: SplitBy = "auto",
    times: Floats | None = None,
) -> HeldOutSplit | None:
    """Choose examples to be kept aside; None where there are too few of them.

    Parameters
    ----------
    examples
        Rows with labels.
    share
        The share that is kept aside.
    seed
        Of the draw.
    by
        ``"time"`` keeps the latest rows aside, ``"random"`` any; by default the latest where
        questions have moments.
    times
        When rows are from, where they have no moments.
    """
    known = np.flatnonzero(examples.known)
    if len(known) < FEWEST:
        return None
    test = np.zeros(len(examples.label), np.bool_)
    parts = np.unique(examples.base.part[known])
    times = times if by == "time" and examples.base.times is None else examples.base.times
    if by == "time" and (times is None or not len(np.unique(times[known])) > 1):
        raise InputError(
            f"{examples.home.row_set} has no times to split by",
            hint="split at random, or say in a mapping which column is the time",
        )
    if len(parts) > 1:
        number = max(1, round(share * len(parts)))
        chosen = parts[-number:]
        test[known[np.isin(examples.base.part[known], chosen)]] = True
        how = f"{number} of {len(parts)} databases"
    elif by != "random" and times is not None and len(np.unique(times[known])) > 1:
        limit = np.nanquantile(times[known], 1 - share, method="higher")
        test[known[times[known] >= limit]] = True
        how = f"the latest {test.sum() / len(known):.0%} of the rows"
    else:
        rng = np.random.default_rng(seed)
        groups = examples.label[known] if examples.classes else np.zeros(len(known))
        for value in np.unique(groups):
            rows = known[groups == value]
            test[rng.choice(rows, round(share * len(rows)), replace=False)] = True
        how = f"{share:.0%} of the rows, drawn at random"
    both = 0 < test.sum() < len(known)
    return HeldOutSplit(test, how) if both else None
