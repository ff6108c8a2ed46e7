"""Which examples have groundings of a conjunction, as SQL that grows with the facts alone.

Literals are joined one after another, but a variable never stands longer than somebody asks for it:
what only one literal has is left out of its facts first, what no later literal has is left out of
the rows. So two literals that meet in one of few values are not joined pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mlnlearn.counting.pattern import EQUALS, Body, Pattern
from mlnlearn.logic.atoms import Predicate

COUNT = "CAST(count(*) AS DOUBLE)"
"""How many groundings there are, as a number whose sums do not wrap."""
MOST_GROUNDINGS = 2.0**53
"""From here on such a number may be rounded."""


@dataclass(frozen=True, slots=True)
class AskedCandidates:
    """A conjunction, or several that differ in the constant at one place of the last literal."""

    body: Body
    slot: int | None


@dataclass(frozen=True, slots=True)
class FactSource:
    """What a statement needs to know of the facts.

    Attributes
    ----------
    table
        Tells what a predicate's facts are called, by some places alone: each of these rows is there
        once, and where they are not all places, ``m`` is how many facts it stands for.
    code
        Tells the code of a constant, by its type and name.
    """

    table: Callable[[Predicate, tuple[int, ...]], str]
    code: Callable[[str, str], int]


@dataclass(slots=True)
class _JoinedExamples:
    """Examples with the groundings that are joined so far.

    Attributes
    ----------
    source
        What stands after ``FROM``.
    values
        The columns of variables, by their numbers.
    where
        Conditions.
    factors
        Columns whose product is how many groundings a row stands for.
    repeated
        Whether an example may have several rows.
    slot
        The column of the open place; 0 where there is none.
    """

    source: str
    values: dict[int, str]
    where: list[str] = field(default_factory=list)
    factors: list[str] = field(default_factory=list)
    repeated: bool = False
    slot: str = "0"


class ExampleJoin:
    r"""Writes statements that join examples with the facts of conjunctions.

    Parameters
    ----------
    facts
        What the facts are called.
    table
        The examples: columns ``r``, their number, and ``a0``, ``a1``, …, the target's arguments.
    heads
        How many arguments the target has.
    counted
        Whether groundings are counted, in a column ``m``; else each example is there once.

    Examples
    --------
    >>> ta = Predicate("ta", ("course", "person", "term"))
    >>> def table(predicate, places):
    ...     return predicate.name + "".join(map(str, places))
    >>> facts = FactSource(table, lambda kind, name: 7)
    >>> once = ExampleJoin(facts, "people", 1, counted=False)
    >>> print(once.select(AskedCandidates((Pattern(ta, (1, 0, "Spring")),), None)))
    SELECT v.r AS r, 0 AS s FROM people v JOIN ta12 t0 ON t0.c1 = v.a0 AND t0.c2 = 7
    >>> together = Pattern(ta, (1, 0, 2)), Pattern(ta, (3, 4, 2))
    >>> print(once.select(AskedCandidates(together, None)).replace(" JOIN", "\nJOIN"))
    SELECT DISTINCT v.r AS r, 0 AS s FROM people v
    JOIN ta12 t0 ON t0.c1 = v.a0
    JOIN ta2 t1 ON t1.c2 = t0.c2
    """

    def __init__(self, facts: FactSource, table: str, heads: int, *, counted: bool) -> None:
        self.facts, self.table, self.heads, self.counted = facts, table, heads, counted

    def select(self, candidates: AskedCandidates, number: int | None = None) -> str:
        """Return a statement for the examples that have candidates: ``r``, ``s``, perhaps ``m``.

        Where candidates differ in a constant, ``s`` is its code, else 0; where they are numbered,
        ``k`` is their number.
        """
        body = candidates.body
        rows = _JoinedExamples(
            f"{self.table} v", {place: f"v.a{place}" for place in range(self.heads)}
        )
        for place, pattern in enumerate(body):
            later = {term for other in body[place + 1 :] for term in other.variables}
            last = place == len(body) - 1
            self._add(rows, f"t{place}", pattern, later, candidates.slot if last else None)
            if not last:
                rows = self._forgotten(rows, later)
        columns = {} if number is None else {"k": str(number)}
        columns |= {"r": "v.r", "s": rows.slot}
        return self._projected(rows, columns, ["v.r", *([] if rows.slot == "0" else [rows.slot])])

    def _add(
        self,
        rows: _JoinedExamples,
        name: str,
        pattern: Pattern,
        later: set[int],
        open_place: int | None,
    ) -> None:
        """Join one more literal."""
        if pattern.predicate.name == EQUALS:  # of the target's arguments, which have values
            terms = [
                str(self.facts.code(kind, term)) if isinstance(term, str) else rows.values.get(term)
                for kind, term in zip(pattern.predicate.types, pattern.terms, strict=True)
            ]
            if open_place is None:
                rows.where.append(" = ".join(map(str, terms)))
            else:
                rows.slot = str(terms[1 - open_place])
            return
        asked: list[str] = []
        places: list[int] = []
        new: dict[int, str] = {}
        for place, (kind, term) in enumerate(
            zip(pattern.predicate.types, pattern.terms, strict=True)
        ):
            column = f"{name}.c{place}"
            if place == open_place:
                rows.slot = column
            elif isinstance(term, str):
                asked.append(f"{column} = {self.facts.code(kind, term)}")
            elif term in rows.values or term in new:
                asked.append(f"{column} = {rows.values.get(term) or new[term]}")
            elif term in later or pattern.terms.count(term) > 1:
                new[term] = column
            else:
                continue
            places.append(place)
        table = self.facts.table(pattern.predicate, tuple(places))
        rows.source += f" JOIN {table} {name} ON {' AND '.join(asked) or '1 = 1'}"
        rows.values |= new
        rows.repeated = rows.repeated or bool(new)
        if len(places) < len(pattern.terms):
            rows.factors.append(f"{name}.m")

    def _forgotten(self, rows: _JoinedExamples, later: set[int]) -> _JoinedExamples:
        """Return rows without the variables that no later literal has."""
        left = {term: f"x{term}" for term in rows.values if term < self.heads or term in later}
        if len(left) == len(rows.values):
            return rows
        columns = {name: rows.values[term] for term, name in left.items()}
        text = self._projected(rows, {"r": "v.r", **columns}, ["v.r", *columns.values()])
        return _JoinedExamples(
            f"({text}) v",
            {term: f"v.{name}" for term, name in left.items()},
            factors=["v.m"] if self.counted else [],
            repeated=len(left) > self.heads,
        )

    def _projected(self, rows: _JoinedExamples, columns: dict[str, str], group: list[str]) -> str:
        """Return a statement for some columns, each row of them once, or with its groundings."""
        chosen = ", ".join(f"{column} AS {name}" for name, column in columns.items())
        source = rows.source + (f" WHERE {' AND '.join(rows.where)}" if rows.where else "")
        if not self.counted:
            return f"SELECT {'DISTINCT ' if rows.repeated else ''}{chosen} FROM {source}"
        product = " * ".join(rows.factors)
        if not rows.repeated:
            return f"SELECT {chosen}, {product or 'CAST(1 AS DOUBLE)'} AS m FROM {source}"
        amount = f"sum({product})" if product else COUNT
        return f"SELECT {chosen}, {amount} AS m FROM {source} GROUP BY {', '.join(group)}"
