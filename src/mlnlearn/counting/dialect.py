"""Dialects of SQL: the few things that the servers we count on say differently."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one server writes what the standard leaves open.

    Attributes
    ----------
    name
        What it is called.
    quote
        The sign around names.
    hint
        What stands before the body of a subquery in ``WITH``, so that it is not computed apart.
    wide
        A type for whole numbers beyond 64 bits.
    wide_limit
        Sums of that type may go wrong without a word from here on; 0 where the server refuses what
        does not fit.
    real, text
        Types for floating-point numbers and for names.

    Examples
    --------
    >>> print(DUCKDB.quoted('the "best" one'), SPARK.quoted("person"))
    "the ""best"" one" `person`
    """

    name: str
    quote: str
    hint: str
    wide: str
    wide_limit: int
    real: str
    text: str

    def quoted(self, name: str) -> str:
        """Return a name as an identifier, whatever signs it has."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def literal(self, text: str) -> str:
        r"""Return a text as a constant.

        Examples
        --------
        >>> print(POSTGRESQL.literal("it's"), SPARK.literal("a\\b"))
        'it''s' 'a\\b'
        """
        if self.quote == "`":  # where a backslash escapes, quotes too
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + text.replace("'", "''") + "'"


DUCKDB = Dialect("DuckDB", '"', "NOT MATERIALIZED ", "HUGEINT", 0, "DOUBLE", "VARCHAR")
# a server may add up decimals beyond their 38 digits, and wrap (Sail does)
SPARK = Dialect("Spark", "`", "", "DECIMAL(38,0)", 10**37, "DOUBLE", "STRING")
POSTGRESQL = Dialect(
    "PostgreSQL", '"', "NOT MATERIALIZED ", "NUMERIC", 0, "DOUBLE PRECISION", "TEXT"
)
