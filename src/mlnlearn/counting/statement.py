"""Statements: plans written as SQL, one for a query or one for several.

Each step of a plan is a subquery that joins two factors, groups by the variables still needed, and
adds up products of counts. What differs between servers is a `Dialect`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlnlearn.counting.dialect import Dialect
from mlnlearn.counting.plan import Plan
from mlnlearn.counting.query import Query
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Variable

MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FactTable:
    """Where a server has the facts of a predicate: columns ``d``, ``c0``, ``c1``, …; how many."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """What a statement needs to know of the data: a predicate's table, a constant's code."""

    table: Callable[[Predicate], FactTable]
    code: Callable[[str, str], int]


@dataclass(frozen=True, slots=True)
class SqlFactor:
    """A subquery: columns `d` and one per variable, and `n` where its counts are not all 1.

    No count, nor any sum of its counts, exceeds `total`. Where that is more than the server adds up
    safely, a column `a` has the counts as floating-point numbers, too.
    """

    name: str
    variables: tuple[Variable, ...]
    counted: bool
    total: int
    doubted: bool = False


class Statement:
    """Writes the subqueries of one statement, from the relations to the answers.

    Examples
    --------
    >>> from mlnlearn.counting.dialect import SPARK
    >>> from mlnlearn.counting.plan import Size, make_plan
    >>> smokes = Predicate("smokes", ("person",))
    >>> query = Query((smokes("x"),))
    >>> plan = make_plan([Size(3.0, {Variable("x"): 3.0})], ())
    >>> facts = Vocabularies(lambda predicate: FactTable("r0", 3), lambda kind, name: 0)
    >>> statement = Statement(SPARK, facts)
    >>> _ = statement.add(query, plan)
    >>> print(statement.text())
    WITH
    f0 AS (SELECT d, c0 AS v0 FROM r0),
    f1 AS (SELECT f0.d, count(*) AS n FROM f0 GROUP BY f0.d)
    SELECT d, n FROM f1 ORDER BY d
    """

    def __init__(self, dialect: Dialect, facts: Vocabularies, *, alone: bool = False) -> None:
        # of one database alone `d` is 0: it need not be joined, nor grouped by beside others
        self.dialect, self.facts, self.alone = dialect, facts, alone
        self._parts: dict[str, str] = {}
        self._answers: list[tuple[SqlFactor, tuple[str, ...]]] = []

    def add(self, query: Query, plan: Plan[Variable]) -> int:
        """Write the steps of a query's plan; return how many rows its answer has at most."""
        names = {variable: f"v{i}" for i, variable in enumerate(query.variables)}
        factors = [self._base(atom, names) for atom in query.atoms]
        for step in plan.steps:
            inputs = [factors[number] for number in step.inputs]
            factors.append(self._step(inputs, step.variables, names))
        self._answers.append((factors[-1], tuple(names[variable] for variable in query.group)))
        return factors[-1].total

    def text(self) -> str:
        """Return the statement of the only query, its rows in order.

        Groups of one database alone have no column ``d``. Counts that 64 bits do not hold are cut
        off there; a column ``approximate`` tells.
        """
        ((factor, group),) = self._answers
        columns = ", ".join(group if self.alone and group else ("d", *group))
        answer = f"SELECT {columns}, {self._counts(factor, False)} FROM {factor.name}"
        return f"{self._subqueries()}{answer} ORDER BY {columns}"

    def union(self) -> str:
        """Return one statement for all queries: ``q`` is the query, ``g0``, … are its group."""
        width = max(len(group) for _, group in self._answers)
        wide = any(self._is_wide(factor) for factor, _ in self._answers)
        selects = []
        for number, (factor, group) in enumerate(self._answers):
            padded = [*group, *["0"] * (width - len(group))]
            columns = [f"{number} AS q", "d", *(f"{c} AS g{i}" for i, c in enumerate(padded))]
            counts = self._counts(factor, wide)
            selects.append(f"SELECT {', '.join(columns)}, {counts} FROM {factor.name}")
        order = ", ".join(["q", "d", *(f"g{i}" for i in range(width))])
        return f"{self._subqueries()}{' UNION ALL '.join(selects)} ORDER BY {order}"

    def _subqueries(self) -> str:
        hint = self.dialect.hint
        return "WITH\n" + ",\n".join(f"{n} AS {hint}({b})" for b, n in self._parts.items()) + "\n"

    def _is_wide(self, factor: SqlFactor) -> bool:
        return factor.counted and factor.total > MOST

    def _counts(self, factor: SqlFactor, wide: bool) -> str:
        """Return the columns of the counts, in 64 bits, and what they are about where asked for."""
        real = self.dialect.real
        if not self._is_wide(factor):
            count = "n" if factor.counted else "CAST(1 AS BIGINT) AS n"
            return f"{count}, CAST(0 AS {real}) AS approximate" if wide else count
        about = "a" if factor.doubted else f"CAST(n AS {real})"
        return f"CAST(least(n, {MOST}) AS BIGINT) AS n, {about} AS approximate"

    def _name(self, body: str) -> str:
        """Return the name of a subquery; the same for the same text."""
        return self._parts.setdefault(body, f"f{len(self._parts)}")

    def _base(self, atom: Atom, names: dict[Variable, str]) -> SqlFactor:
        """Select the facts that match an atom's constants and repeated variables."""
        places: dict[Variable, str] = {}
        conditions = []
        for place, (term, kind) in enumerate(zip(atom.terms, atom.predicate.types, strict=True)):
            if isinstance(term, Constant):
                conditions.append(f"c{place} = {self.facts.code(kind, term.name)}")
            elif term in places:
                conditions.append(f"c{place} = {places[term]}")
            else:
                places[term] = f"c{place}"
        chosen = ["d", *(f"{place} AS {names[v]}" for v, place in places.items())]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        table = self.facts.table(atom.predicate)
        body = f"SELECT {', '.join(chosen)} FROM {table.name}{where}"
        return SqlFactor(self._name(body), tuple(places), False, table.rows)

    def _step(
        self, inputs: Sequence[SqlFactor], group: tuple[Variable, ...], names: dict[Variable, str]
    ) -> SqlFactor:
        """Join factors on database and shared variables; sum out all but the group."""
        sides = [factor.name for factor in inputs]
        if len(set(sides)) < len(sides):  # one subquery, joined to itself
            sides[-1] = "again"
        first: dict[Variable, str] = {}
        conditions = [] if self.alone else [f"{side}.d = {sides[0]}.d" for side in sides[1:]]
        for factor, side in zip(inputs, sides, strict=True):
            for variable in factor.variables:
                column = f"{side}.{names[variable]}"
                if variable in first:
                    conditions.append(f"{column} = {first[variable]}")
                first.setdefault(variable, column)
        total = math.prod(factor.total for factor in inputs)
        summed = len(group) < len(first)
        grouped = [first[variable] for variable in group]
        if not (self.alone and group):
            grouped.insert(0, f"{sides[0]}.d")
        columns = ", ".join(["0 AS d", *grouped] if self.alone and group else grouped)
        amounts = self._amounts(list(zip(inputs, sides, strict=True)), total, summed)
        tables = [
            factor.name if factor.name == side else f"{factor.name} AS {side}"
            for factor, side in zip(inputs, sides, strict=True)
        ]
        body = f"SELECT {', '.join([columns, *amounts])} FROM {', '.join(tables)}"
        body += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        body += f" GROUP BY {', '.join(grouped)}" if summed else ""
        return SqlFactor(self._name(body), group, bool(amounts), total, len(amounts) > 1)

    def _amounts(
        self, inputs: Sequence[tuple[SqlFactor, str]], total: int, summed: bool
    ) -> list[str]:
        """Return the columns of a join's counts: none where they are all 1."""
        wide = total > MOST
        counts = [f"{side}.n" for factor, side in inputs if factor.counted]
        if not counts:
            return ["count(*) AS n"] if summed else []
        doubted = 0 < self.dialect.wide_limit <= total
        abouts = [
            f"{side}.a" if factor.doubted else f"CAST({side}.n AS {self.dialect.real})"
            for factor, side in inputs
            if factor.counted
        ]
        if wide:
            counts[0] = f"CAST({counts[0]} AS {self.dialect.wide})"
        product, about = " * ".join(counts), " * ".join(abouts)
        if summed:
            kind = self.dialect.wide if wide else "BIGINT"
            product, about = f"CAST(sum({product}) AS {kind})", f"sum({about})"
        return [f"{product} AS n", f"{about} AS a"] if doubted else [f"{product} AS n"]
