"""What the suite found, as text: models, comparisons, refusals by path and reason, samplers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agreement.run import PATHS, Tally

_INTRODUCTION = """\
# Agreement

Every path that answers the same question must give the reference's number, or refuse with a reason
that is listed. `tests/agreement/` draws random models (soft, hard, negative, zero and
near-deterministic weights; constants that only rules or comparisons name; exclusive arguments;
types of one constant or none; quantifiers in front and within; predicates without facts; true,
false and unknown evidence; arities from 0 to 6; up to three databases; boosted rules; tables, some
with empty cells; features along links; rules along paths of a graph), lists all worlds of each, and
evaluates every formula by its definition, without the library.
`make deep` writes this page; `make test` runs the first 300 of the same models.

"""


def text_of(found: Tally, first: int, seconds: float) -> str:
    """The page: a table of the paths, one of the reasons, one of the samplers."""
    refused = found.refused.total()
    lines = [
        f"{found.models:,} models (seeds {first} to {first + found.models - 1}), "
        f"{found.comparisons:,} comparisons, {refused:,} refusals, "
        f"**{len(found.differing)} disagreements**; {seconds:,.0f} CPU seconds.",
        "",
        "## Paths",
        "",
        "| path | agreed | refused | share refused |",
        "|---|--:|--:|--:|",
    ]
    for path in PATHS:
        agreed, no = found.agreed[path.name], found.refusals(path.name)
        share = no / (agreed + no) if agreed + no else 0.0
        lines.append(f"| {path.name} | {agreed:,} | {no:,} | {share:.1%} |")
    lines += ["", "## Reasons of refusals", "", "| reason | refusals | paths |", "|---|--:|---|"]
    reasons: Counter[str] = Counter()
    for (_, reason), count in found.refused.items():
        reasons[reason] += count
    for reason, count in reasons.most_common():
        names = sorted({path.partition(":")[0] for path, other in found.refused if other == reason})
        lines.append(f"| {reason} | {count:,} | {', '.join(names)} |")
    lines += ["", "## Samplers", "", *_samplers(found)]
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _samplers(found: Tally) -> Sequence[str]:
    lines = [
        "Differences from the reference over the reported standard errors, for probabilities "
        "between 0.01 and 0.99. One beyond 4 is asked again with four times the samples.",
        "",
        "| path | estimates | root mean square | beyond 2 | beyond 4 |",
        "|---|--:|--:|--:|--:|",
    ]
    for path in PATHS:
        scores = found.scores.get(path.name)
        if scores:
            far = [sum(abs(score) > limit for score in scores) / len(scores) for limit in (2, 4)]
            lines.append(
                f"| {path.name} | {len(scores):,} | {found.spread(path.name):.2f} "
                f"| {far[0]:.2%} | {far[1]:.3%} |"
            )
    return lines
