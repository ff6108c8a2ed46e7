"""A made-up shop of any size, written straight to Parquet: no row of it is ever in Python.

A customer has about two orders, an order about three products, a product one kind; a fifth of the
customers left.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

SCHEMA = "ordered(order, customer)\ncontains(order, product)\nkind(product, sort)\nleft(customer)\n"
FACTS_PER_CUSTOMER = 8.6

_DRAWN = "(hash({0}, {1}) % 1000003) / 1000003.0"
_TABLES = {
    "ordered": "SELECT 'O' || o AS a0, 'C' || floor({u} * {customers})::BIGINT AS a1 "
    "FROM range({orders}) t(o)",
    "contains": "SELECT DISTINCT 'O' || o AS a0, 'P' || floor({v} * {products})::BIGINT AS a1 "
    "FROM range({orders}) t(o), range(3) s(k)",
    "kind": "SELECT 'P' || p AS a0, 'K' || (p % 20) AS a1 FROM range({products}) t(p)",
    "left": "SELECT 'C' || c AS a0 FROM range({customers}) t(c) WHERE {w} < 0.2",
}


def write_shop(customers: int, folder: Path) -> None:
    """Write a shop: one file a predicate, and the schema beside them."""
    folder.mkdir(parents=True)
    numbers = {
        "customers": customers,
        "orders": 2 * customers,
        "products": max(customers // 10, 20),
        "u": _DRAWN.format("o", 1),
        "v": _DRAWN.format("o * 3 + k", 2),
        "w": _DRAWN.format("c", 3),
    }
    with duckdb.connect(config={"memory_limit": "1GB", "threads": 1}) as connection:
        for name, text in _TABLES.items():
            path = folder / f"{name}.parquet"
            connection.execute(f"COPY ({text.format(**numbers)}) TO '{path}' (FORMAT parquet)")
    (folder / "schema.mln").write_text(SCHEMA, encoding="utf-8")
