"""What several databases have in common."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema


def common_schema(databases: Sequence[Database]) -> Schema:
    """Return the schema of databases, which must have the same predicates.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)")
    >>> one = Database.from_facts(schema, {"smokes": [("Anna",)]})
    >>> two = Database.from_facts(schema, {"smokes": [("Carl",)]})
    >>> common_schema([one, two]) is schema
    True
    """
    if not databases:
        raise InputError("give at least one database")
    first = databases[0]
    for database in databases[1:]:
        if database.schema.predicates != first.schema.predicates:
            raise InputError(
                f"{database.name or 'a database'} has other predicates than "
                f"{first.name or 'the first database'}",
                hint="read all databases with one schema",
            )
    return first.schema
