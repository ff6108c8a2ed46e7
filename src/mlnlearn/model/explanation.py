"""What an explanation says: rules with their flip counts and log-odds, as a table and in words.

Every kind of model explains an atom by the same rules of the game: what the database says of the
atom itself is ignored, and likewise which value of its ``!`` block is true; predicates of which the
database lists nothing are unknown, of the others what is not listed is false; and other unknown
atoms that matter are set to their most probable state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import pack
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Variable
from mlnlearn.logic.formulas import Exists, Rule
from mlnlearn.model.plots import plot_waterfall
from mlnlearn.syntax import parse_formula

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one rule says about the atom.

    Attributes
    ----------
    rule
        The rule as text, without its weight; a hard rule ends in a full stop.
    flips
        True groundings with the atom true minus those with it false; of a boosted rule for the
        atom's predicate, groundings of its body. None for trees that the atom stands in, which have
        no single number.
    log_odds
        What it adds to the log-odds; infinite for a hard rule that decides.
    """

    rule: str
    flips: float | None
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

    def plot(self, most: int = 10, ax: Axes | None = None) -> Axes:
        """Draw how the log-odds add up, as a waterfall; needs the extra ``mlnlearn[plot]``.

        Parameters
        ----------
        most
            How many rules, those of largest effect; the others are one bar.
        ax
            Where to draw; a new figure by default.
        """
        parts = [(part.rule, part.log_odds) for part in self.contributions]
        return plot_waterfall(parts, f"{self.atom}: {self.probability:.3f}", most=most, ax=ax)

    def sentence(self) -> str:
        """Say in words what pushes the atom most."""
        versus = f" rather than {self.against}" if self.against else ""
        text = f"{self.atom}{versus} has probability {self.probability:.3f} given the rest"
        up = [c for c in self.contributions if c.log_odds > 0]
        down = [c for c in self.contributions if c.log_odds < 0]
        if not up and not down:
            return f"{text}: no rule says anything about it."
        parts = [
            f"'{found[0].rule}' {verb} it most ({found[0].log_odds:+.2f}"
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
        for part in self.contributions:
            flips = "" if part.flips is None else f"{part.flips:+g}"
            lines.append(f"{part.log_odds:+8.4f}  {flips:>10}  {part.rule}")
        return "\n".join([*lines, self.sentence()])


def _groundings(flips: float | None) -> str:
    if flips is None:
        return ""
    return f" by {abs(flips):g} grounding{'s' if abs(flips) != 1 else ''}"


def by_size(contributions: Iterable[Contribution]) -> tuple[Contribution, ...]:
    """Return contributions, those of largest effect first.

    Examples
    --------
    >>> [part.rule for part in by_size([Contribution("p", 1, 0.5), Contribution("q", 1, -2.0)])]
    ['q', 'p']
    """
    return tuple(sorted(contributions, key=lambda part: -abs(part.log_odds)))


def forced(database: Database, atom: Atom) -> Explanation:
    """Explain the only value that is left in a block: exactly one must be true."""
    places = database.schema.exclusive(atom.predicate.name)
    values = {place: Variable(f"y{place + 1}") for place in places}
    terms = tuple(values.get(place, term) for place, term in enumerate(atom.terms))
    some = Rule(Exists(tuple(values.values()), Atom(atom.predicate, terms)), hard=True)
    return Explanation(atom, (Contribution(str(some), 1.0, math.inf),), math.inf, 1.0)


def ground_atom(database: Database, atom: Atom | str) -> Atom:
    """Read and check the atom to explain."""
    found = parse_formula(atom, database.schema).formula if isinstance(atom, str) else atom
    if not isinstance(found, Atom) or not all(isinstance(term, Constant) for term in found.terms):
        raise InputError(f"{atom} is not a ground atom", hint="name one, such as smokes(Anna)")
    return found


def codes_of(database: Database, atom: Atom) -> Codes:
    """Return the codes of a ground atom's constants, shape (arity, 1)."""
    codes = []
    for term, kind in zip(atom.terms, atom.predicate.types, strict=True):
        code = database.domains[kind].code(term.name)
        if code < 0:
            raise InputError(f"the database has no {kind} {term}")
        codes.append([code])
    return np.array(codes, np.int32).reshape(len(codes), 1)


def atom_of(database: Database, like: Atom, codes: Columns) -> Atom:
    """Undo `codes_of`, for an atom of the same predicate."""
    (names,) = database.decode(like.predicate.name, codes.reshape(-1, 1))
    return Atom(like.predicate, tuple(Constant(name) for name in names))


def with_unknown(database: Database, predicate: Predicate, codes: Codes) -> Database:
    """Return the database with a ground atom unknown.

    Where its predicate is functional, all values of the atom's block are unknown that evidence does
    not exclude.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("town(person,place!)")
    >>> db = Database.from_facts(schema, {"town": [("Anna", "Oslo"), ("Bob", "Bonn")]})
    >>> atom = ground_atom(db, "town(Anna,Bonn)")
    >>> asked = with_unknown(db, atom.predicate, codes_of(db, atom))
    >>> list(asked.decode("town", asked.unknown_facts("town")))
    [('Anna', 'Oslo'), ('Anna', 'Bonn')]
    """
    name = predicate.name
    marked = database.schema.exclusive(name)
    fixed = [place for place in range(predicate.arity) if place not in marked]

    def others(facts: Columns) -> Columns:
        return facts[:, ~(facts[fixed] == codes[fixed]).all(axis=0)]

    false = database.false_facts(name)
    false = false[:, ~(false == codes).all(axis=0)]
    unknown = codes
    if marked:
        axes = [
            np.arange(database.size(kind), dtype=np.int32) if place in marked else codes[place]
            for place, kind in enumerate(predicate.types)
        ]
        unknown = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
        sizes = domain_sizes(database, name)
        unknown = unknown[:, ~np.isin(pack(unknown, sizes), pack(false, sizes))]
    rest = others(database.unknown_facts(name))
    return Database.from_codes(
        database.schema,
        database.domains,
        {**database.true, name: others(database.facts(name))},
        {**database.false, name: false},
        {**database.unknown, name: np.concatenate([rest, unknown], axis=1)},
        open=database.open,
        name=database.name,
        cells={other: keys for other, keys in database.cells.items() if other != name},
    )
