"""Wins, losses and ties of LSL against others, beside those published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlnlearn.evaluate.significance import wins_losses_ties
from studies.lsl_data import METRICS
from studies.published import PublishedTable

TIE = 1e-4
"""Differences up to this are ties."""


def tally(
    asked: Sequence[Mapping[str, Any]], other: str, known: PublishedTable, data: str, against: str
) -> list[object]:
    """Return how many queries both answered, of how many, by mean field; tallies by AUC and CLL.

    Parameters
    ----------
    asked
        For each query, the scores of each network; None where it gave no answer.
    other
        The network that LSL is compared with.
    known, data, against
        The paper's table, the row there, and the name of the other system.
    """
    scores = [score for score in asked if score["LSL"] and score[other]]
    rough = sum(score["LSL"]["mean field"] or score[other]["mean field"] for score in scores)
    row: list[object] = [len(scores), len(asked), rough]
    for title, metric in zip(("AUC", "CLL"), METRICS, strict=True):
        ours = [score["LSL"][metric] for score in scores]
        theirs = [score[other][metric] for score in scores]
        found = wins_losses_ties(ours, theirs, tolerance=TIE)
        row.append(known.cell(data, f"{title}, against {against}"))
        row.append(f"{found.wins}/{found.losses}/{found.ties}")
    return row
