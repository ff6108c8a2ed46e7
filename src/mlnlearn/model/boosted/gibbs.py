"""How long to sample."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GibbsSettings:
    """How long to sample: atoms are drawn one by one, each given all others.

    Attributes
    ----------
    samples
        Sweeps over all atoms that count.
    burn_in
        Sweeps before that.
    seed
        Of the generator.
    max_seconds
        Stop after so long, with the sweeps made so far; None for no limit.

    Examples
    --------
    >>> GibbsSettings(samples=1000).burn_in
    50
    """

    samples: int = 200
    burn_in: int = 50
    seed: int = 0
    max_seconds: float | None = None
