"""The reasons for which a path may refuse a question; any other refusal is a fault."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A reason, the text it is known by, and the paths that may give it."""

    name: str
    text: str
    paths: str = ""

    def fits(self, path: str, message: str) -> bool:
        return bool(re.match(self.paths, path) and re.search(self.text, message))


REASONS = (
    Reason("no world is possible", "no world is possible|contradict"),
    Reason("a block has no value left", "leaves no value for"),
    Reason("a block has several values", "lists several true values|more than one value"),
    Reason("a block of the data has no value", "do not have exactly one true (value|atom)"),
    Reason("evidence tells objects apart", "tells objects apart", "marginals: .*lifted"),
    Reason(
        "lifted: order of objects",
        "no order of objects",
        "marginals: .*lifted|loglik|weights: like",
    ),
    Reason(
        "lifted: the search for a plan is too long",
        "search for a plan exceeds",
        "marginals: .*lifted",
    ),
    Reason(
        "lifted: not liftable",
        "cannot be lifted|no rule of lifted inference applies",
        "marginals: .*lifted|loglik|weights",
    ),
    Reason(
        "quantified predicate has no flip counts",
        "stands under a quantifier",
        "flips|pll|weights: (pseudo|hard)|boosted: each atom, to_mln",
    ),
    Reason(
        "a rule falls apart into too many parts",
        "too many alternatives over unknown atoms",
        "boosted: to_mln",
    ),
    Reason("unknown atoms", "unknown atoms?", "weights|loglik"),
    Reason("data violate a hard formula", "violates? a hard formula", "pll|loglik|weights"),
)


def reason_of(path: str, message: str) -> str | None:
    """Name the reason of a refusal, None where it is not listed."""
    return next((reason.name for reason in REASONS if reason.fits(path, message)), None)
