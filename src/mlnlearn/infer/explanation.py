"""What an explanation says: rules with their flip counts and log-odds, as a table and in words."""

from __future__ import annotations

from dataclasses import dataclass

from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.formulas import Rule


@dataclass(frozen=True)
class Contribution:
    """What one rule says about the atom.

    Attributes
    ----------
    rule
        The rule.
    flips
        True groundings with the atom true minus those with it false.
    log_odds
        Weight times flips; infinite for a hard rule that decides.
    """

    rule: Rule
    flips: float
    log_odds: float


@dataclass(frozen=True)
class Explanation:
    """Why an atom is probable or not, given the rest of the world.

    Attributes
    ----------
    atom
        The atom.
    contributions
        The rules that it matters to, those of largest effect first.
    log_odds
        Their sum: log-odds of true against false, or for a value of a ``!`` block, against the
        best other value of the block.
    probability
        Probability that the atom is true, given the rest.
    against
        The other value of the block that the atom is compared with; None for a plain atom.
    assumed
        How many other unknown atoms were set to their most probable state.
    """

    atom: Atom
    contributions: tuple[Contribution, ...]
    log_odds: float
    probability: float
    against: Atom | None = None
    assumed: int = 0

    def sentence(self) -> str:
        """Say in words what pushes the atom most."""
        versus = f" rather than {self.against}" if self.against else ""
        text = f"{self.atom}{versus} has probability {self.probability:.3f} given the rest"
        up = [c for c in self.contributions if c.log_odds > 0]
        down = [c for c in self.contributions if c.log_odds < 0]
        if not up and not down:
            return f"{text}: no rule says anything about it."
        parts = [
            f"'{found[0].rule.formula}' {verb} it most ({found[0].log_odds:+.2f} by "
            f"{_groundings(found[0].flips)})"
            for found, verb in ((up, "supports"), (down, "opposes"))
            if found
        ]
        return f"{text}: {', '.join(parts)}."

    def __str__(self) -> str:
        lines = [f"{self.atom}: probability {self.probability:.4f}, log-odds {self.log_odds:+.4f}"]
        if self.against:
            lines.append(f"compared with {self.against}")
        if self.assumed:
            lines.append(f"with {self.assumed} other unknown atoms at their most probable state")
        if self.contributions:
            lines.append("log-odds  groundings  rule")
        lines += [f"{c.log_odds:+8.4f}  {c.flips:+10g}  {c.rule}" for c in self.contributions]
        return "\n".join([*lines, self.sentence()])


def _groundings(flips: float) -> str:
    return f"{abs(flips):g} grounding{'s' if abs(flips) != 1 else ''}"
