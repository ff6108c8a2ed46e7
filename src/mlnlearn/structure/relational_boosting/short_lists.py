"""How short lists of rules are fitted, and how short: as held-out examples say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.blend import believed
from mlnlearn.structure.relational_boosting.distil import (
    DistilSettings,
    TakenRules,
    rule_bodies,
    taken_rules,
)
from mlnlearn.structure.relational_boosting.losses import telling_examples
from mlnlearn.structure.relational_boosting.steps import BoostingRun, mean_deviance

_ENOUGH = 500  # held-out examples that tell which way is best
_LESS_RIDGE = 0.05  # the other amount that weights of short lists may be shrunk by
# Of what the best list gains: what all rules that are left out may gain, and those beyond a few
_WORTH_READING, _WORTH_MORE, _FEW = 0.01, 0.05, 5
_MANY = 1000  # examples of which rules that say little say it nonetheless: none is left out


def chosen_settings(
    runs: Sequence[BoostingRun], folds: Sequence[Ints], settings: DistilSettings
) -> tuple[DistilSettings, float | None]:
    """Return how lists are best fitted, of how many rules, and the held-out gain they keep then.

    Where there is no gain over the base rate, a list is to say what the trees say and no more than
    that; what it keeps is then None. Where examples are few, the last rules are of chance: a list
    ends where the others gain next to nothing, one of more than a few rules where they gain little.

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
    bodies = [rule_bodies(run, settings.seed) for run, _ in tried]
    lists: dict[DistilSettings, list[Floats]] = {}

    def lost(way: DistilSettings) -> list[Floats]:
        """Return the deviance of each held-out example by no rule, by the first, the first two."""
        if way not in lists:
            taken = [
                taken_rules(run, way, own) for (run, _), own in zip(tried, bodies, strict=True)
            ]
            lists[way] = [loss.each(one, label[rows]) for one in _held_out_scores(taken, tried)]
        return lists[way]

    def better(way: DistilSettings, than: DistilSettings) -> DistilSettings:
        """Return the first way where what it gains over the other is not likely to be chance."""
        return way if believed(lost(than)[-1] - lost(way)[-1], weight[rows]) else than

    chosen = replace(settings, trust=0.0)
    for trust in (0.5, 1.0):
        chosen = better(replace(settings, trust=trust), chosen)
    # where labels follow without exception, weights must not be shrunk as much
    chosen = better(replace(chosen, ridge=_LESS_RIDGE * chosen.ridge), chosen)
    deviances = np.array([np.average(each, weights=weight[rows]) for each in lost(chosen)])
    known = np.concatenate([runs[0].rows, folds[0]])
    number = len(deviances) - 1
    if telling_examples(loss, label[known]) < _MANY:
        number = _worth_reading(deviances)
        chosen = replace(chosen, max_rules=number)
    kept = 1.0 - (float(deviances[number]) - whole) / gain
    return chosen, kept


def _held_out_scores(
    taken: Sequence[TakenRules], tried: Sequence[tuple[BoostingRun, Ints]]
) -> Iterator[Floats]:
    """Yield the scores of all held-out examples by lists of more and more rules."""
    by_fold = [
        list(rules.scores(run, fold)) for rules, (run, fold) in zip(taken, tried, strict=True)
    ]
    for number in range(max(map(len, by_fold))):
        yield np.concatenate([scores[min(number, len(scores) - 1)] for scores in by_fold])


def _worth_reading(deviances: Floats) -> int:
    """Return how many rules are enough, by the deviance without any, with the first, and so on.

    A few are read in any case; more of them must say more.

    Examples
    --------
    >>> _worth_reading(np.array([1.0, 0.5, 0.402, 0.4, 0.45]))
    2
    >>> _worth_reading(np.array([1.0, 0.5, 0.47, 0.45, 0.445, 0.44, 0.42, 0.41, 0.4]))
    6
    """
    best = float(deviances.min())
    left, gain = deviances - best, float(deviances[0]) - best
    all_worth, most_worth = (
        int(np.argmax(left <= share * gain)) for share in (_WORTH_READING, _WORTH_MORE)
    )
    return min(all_worth, max(most_worth, _FEW))
