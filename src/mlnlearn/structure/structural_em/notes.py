"""How structural EM went, iteration by iteration."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from msgspec import Struct

from mlnlearn.run import Notes


@dataclass(frozen=True, slots=True)
class Note:
    """One iteration.

    Attributes
    ----------
    before, after
        The expected pseudo-log-likelihood of all target atoms, over the iteration's worlds, under
        the model before and after its M-step: Q(ψₜ; ψₜ) and Q(ψₜ₊₁; ψₜ). The first counts the bias
        as fitted to these worlds.
    r_hat
        Largest R̂ of an unknown atom's probability; 1 where all chains of the E-step agree. None
        with fewer than four worlds, or one that was searched for.
    true_share
        Share of the unknown atoms that are true, over all worlds.
    saved
        Share of the walks through trees that the E-step did without: every visit of an atom walks
        only the trees that the atom touches, not all that some unknown atom touches.
    """

    before: float
    after: float
    r_hat: float | None
    true_share: float
    saved: float

    def to_plain(self) -> dict[str, Any]:
        """Return the note as a journal has it, in which numbers are finite."""
        return asdict(self) | ({"r_hat": "inf"} if self.r_hat == math.inf else {})

    @classmethod
    def from_file(cls, file: NoteFile) -> Note:
        """Undo `to_plain`."""
        r_hat = math.inf if file.r_hat == "inf" else file.r_hat
        return cls(file.before, file.after, r_hat, file.true_share, file.saved)


class NoteFile(Struct, forbid_unknown_fields=True):
    """A note in a journal."""

    before: float
    after: float
    r_hat: float | Literal["inf"] | None
    true_share: float
    saved: float


@dataclass(frozen=True, kw_only=True)
class EMNotes(Notes):
    """How structural EM went.

    Attributes
    ----------
    iterations
        A note on each.
    """

    iterations: tuple[Note, ...] = ()
