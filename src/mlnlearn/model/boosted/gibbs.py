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

    Examples
    --------
    >>> GibbsSettings(samples=1000).burn_in
    50
    """

    samples: int = 200
    burn_in: int = 50
    seed: int = 0
