"""How short lists of rules are fitted: as predicts held-out examples best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.blend import believed
from mlnlearn.structure.relational_boosting.distil import (
    DistilSettings,
    distil,
    list_scores,
    rule_bodies,
)
from mlnlearn.structure.relational_boosting.steps import BoostingRun, mean_deviance

_ENOUGH = 500  # held-out examples that tell which way is best
_LESS_RIDGE = 0.05  # the other amount that weights of short lists may be shrunk by


def chosen_settings(
    runs: Sequence[BoostingRun], folds: Sequence[Ints], settings: DistilSettings
) -> tuple[DistilSettings, float | None]:
    """Return how lists are best fitted, and how much of the runs' held-out gain they keep then.

    Where there is no gain over the base rate, a list is to say what the trees say and no more than
    that; what it keeps is then None.

    Parameters
    ----------
    runs
        Of each fold, the run that did not see it.
    folds
        The examples that were held out.
    settings
        What is the same however lists are fitted.
    """
    last = int(np.searchsorted(np.cumsum([len(fold) for fold in folds]), _ENOUGH)) + 1
    tried = list(zip(runs, folds, strict=False))[:last]
    loss, label, weight = runs[0].loss, runs[0].label, runs[0].weight
    rows = np.concatenate([fold for _, fold in tried])
    whole = mean_deviance([run for run, _ in tried], [fold for _, fold in tried])
    rates = [run.loss.start(label[run.rows], weight[run.rows]) for run, _ in tried]
    starts = [
        np.repeat(rate[None], len(fold), 0) for rate, (_, fold) in zip(rates, tried, strict=True)
    ]
    gain = loss.deviance(np.concatenate(starts), label[rows], weight[rows]) - whole
    if gain <= 0:
        return replace(settings, trust=0.0), None
    lost: dict[DistilSettings, Floats] = {}
    bodies = [rule_bodies(run, settings.seed) for run, _ in tried]

    def better(way: DistilSettings, than: DistilSettings) -> DistilSettings:
        """Return the first way where what it gains over the other is not likely to be chance."""
        for one in (way, than):
            if one not in lost:
                found = [
                    list_scores(run, distil(run, one, own), fold)
                    for (run, fold), own in zip(tried, bodies, strict=True)
                ]
                lost[one] = loss.each(np.concatenate(found), label[rows])
        return way if believed(lost[than] - lost[way], weight[rows]) else than

    chosen = replace(settings, trust=0.0)
    for trust in (0.5, 1.0):
        chosen = better(replace(settings, trust=trust), chosen)
    # where labels follow without exception, weights must not be shrunk as much
    chosen = better(replace(chosen, ridge=_LESS_RIDGE * chosen.ridge), chosen)
    kept = 1.0 - (float(np.average(lost[chosen], weights=weight[rows])) - whole) / gain
    return chosen, kept
