"""Databases as they are found: a shop in SQLite, with all that is untidy, and one planted cause.

Eleven tables: keys that are texts, composite or missing, a table that refers to itself, one without
rows, one of forty columns; names with blanks, umlauts and reserved words; BLOBs, free text, e-mail
addresses, days and moments, constant columns, empty cells. Whether a customer leaves the shop
(``customer.churned``) depends on one thing alone, of one of twelve kinds.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.synthetic.messy_causes import CAUSES, Cells, ShopWorld, Truths
from mlnlearn.data.vocabulary import moment_name
from mlnlearn.errors import InputError

TARGET = "customer.churned"
_QUESTIONS = 40
_DEFINITIONS = """
CREATE TABLE region (code TEXT PRIMARY KEY, climate TEXT, country TEXT);
CREATE TABLE "Städte" ("Name" TEXT PRIMARY KEY, "Größe" TEXT, "in region" TEXT REFERENCES region);
CREATE TABLE customer (
    id INTEGER PRIMARY KEY, town TEXT REFERENCES "Städte", "group" TEXT, plan TEXT, member BOOLEAN,
    "Größe (cm)" REAL, joined DATE, recommended_by INTEGER REFERENCES customer, "e-mail" TEXT,
    remark TEXT, photo BLOB, currency TEXT, fax TEXT, churned BOOLEAN);
CREATE TABLE product (id INTEGER PRIMARY KEY, "Kategorie" TEXT, price REAL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer, day DATE, "sent by" TEXT,
    amount REAL);
CREATE TABLE "order items" (
    "order" INTEGER REFERENCES orders, product INTEGER REFERENCES product, quantity INTEGER,
    PRIMARY KEY ("order", product));
CREATE TABLE visit (customer INTEGER REFERENCES customer, at TIMESTAMP, page TEXT, seconds REAL);
CREATE TABLE "support call" (customer INTEGER REFERENCES customer, topic TEXT);
CREATE TABLE survey (
    customer INTEGER PRIMARY KEY REFERENCES customer, {questions});
CREATE TABLE archive (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer, text TEXT);
CREATE TABLE log (line TEXT);
"""


@dataclass(frozen=True)
class Planted:
    """What the target depends on.

    Attributes
    ----------
    kind
        One of `CAUSES`.
    target
        The column that depends on it, as ``table.column``.
    columns
        What a rule that tells of it has to speak of: columns as ``table.column``; or, where only
        the number of rows matters, a table.
    sentence
        The dependency in words.
    """

    kind: str
    target: str
    columns: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, eq=False)
class MessyShop:
    """A shop: its tables, what was planted, and the best that can be predicted.

    Attributes
    ----------
    planted
        What the target depends on.
    tables
        Cells by table and column; None for an empty cell.
    probabilities
        Of leaving, for each customer, before cells were emptied.
    """

    planted: Planted
    tables: dict[str, dict[str, list[Any]]]
    probabilities: NDArray[np.float64]

    def write(self, path: str | Path) -> None:
        """Write the tables to a new SQLite file."""
        questions = ", ".join(f"q{number} TEXT" for number in range(1, _QUESTIONS + 1))
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(_DEFINITIONS.format(questions=questions))
            for name, columns in self.tables.items():
                places = ", ".join("?" * len(columns))
                rows = zip(*columns.values(), strict=True)
                connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)
            connection.commit()


def messy_shop(
    kind: str = "own column",
    customers: int = 1000,
    *,
    missing: float = 0.3,
    strength: float = 0.85,
    rng: np.random.Generator | int = 0,
) -> MessyShop:
    """Make up a shop in which one thing decides who leaves.

    Parameters
    ----------
    kind
        What it is: one of `CAUSES`.
    customers
        How many; there are three times as many orders and five times as many visits.
    missing
        The share of empty cells, in all columns but keys, links, times and the target.
    strength
        The probability that a customer for whom the cause holds leaves; of others, that they stay.
    rng
        A generator, or a seed.

    Examples
    --------
    >>> shop = messy_shop("count of links", 100)
    >>> shop.planted.columns, len(shop.tables), len(shop.tables["survey"])
    (('orders',), 11, 41)
    """
    if kind not in CAUSES:
        raise InputError(f"no such kind {kind!r}", hint=f"there are: {', '.join(CAUSES)}")
    generator = np.random.default_rng(rng)
    world = ShopWorld(customers, generator)
    holds, columns, sentence = CAUSES[kind](world)
    probabilities = np.where(holds, strength, 1 - strength)
    churned = generator.random(customers) < probabilities
    tables = _tables(world, churned, missing, generator)
    return MessyShop(Planted(kind, TARGET, columns, sentence), tables, probabilities)


def _tables(
    world: ShopWorld, churned: Truths, missing: float, rng: np.random.Generator
) -> dict[str, dict[str, list[Any]]]:
    def gaps(cells: Cells) -> list[Any]:
        """Return cells of which some are empty."""
        empty = rng.random(len(cells)) < missing
        return [None if gone else cell for cell, gone in zip(cells.tolist(), empty, strict=True)]

    customers, towns = world.customers, [f"Stadt {n}" for n in range(len(world.town_size))]
    ids = np.arange(1, customers + 1)
    orders = len(world.order_customer)
    products = max(5, customers // 10)
    per_order = np.repeat(np.arange(orders), 2)
    items = np.unique(np.stack([per_order, rng.integers(products, size=len(per_order))]), axis=1)
    answers = np.array(["yes", "no", "rather", "never"])
    words = np.array(["good", "late", "again", "box", "blue", "call", "friend", "twice"])
    remarks = [" ".join(rng.choice(words, 6)) + f" no. {n}" for n in ids]
    regions = len(world.climate)
    return {
        "region": {
            "code": [f"R{n}" for n in range(regions)],
            "climate": world.climate.tolist(),
            "country": ["AT"] * regions,
        },
        "Städte": {
            "Name": towns,
            "Größe": world.town_size.tolist(),
            "in region": [f"R{n}" for n in world.town_region],
        },
        "customer": {
            "id": ids.tolist(),
            "town": [towns[n] for n in world.town],
            "group": gaps(world.group),
            "plan": gaps(world.plan),
            "member": gaps(world.member.astype(int)),
            "Größe (cm)": gaps(world.height),
            "joined": list(map(moment_name, world.joined)),
            "recommended_by": [None if n < 0 else int(n) + 1 for n in world.recommended_by],
            "e-mail": [f"customer{n}@example.org" for n in ids],
            "remark": gaps(np.array(remarks, object)),
            "photo": [rng.bytes(16) for _ in ids],
            "currency": ["EUR"] * customers,
            "fax": [None] * customers,
            "churned": churned.astype(int).tolist(),
        },
        "product": {
            "id": list(range(1, products + 1)),
            "Kategorie": gaps(rng.choice(np.array(["toys", "food", "music"]), products)),
            "price": gaps(rng.exponential(20, products).round(2)),
        },
        "orders": {
            "id": list(range(1, orders + 1)),
            "customer": (world.order_customer + 1).tolist(),
            "day": list(map(moment_name, world.order_day)),
            "sent by": gaps(world.sent_by),
            "amount": gaps(world.amount.round(2)),
        },
        "order items": {
            "order": (items[0] + 1).tolist(),
            "product": (items[1] + 1).tolist(),
            "quantity": gaps(rng.integers(1, 5, items.shape[1:])),
        },
        "visit": {
            "customer": (world.visit_customer + 1).tolist(),
            "at": list(map(moment_name, world.visit_at)),
            "page": gaps(world.page),
            "seconds": gaps(world.seconds),
        },
        "support call": {
            "customer": (world.call_customer + 1).tolist(),
            "topic": gaps(world.topic),
        },
        "survey": {
            "customer": ids.tolist(),
            **{
                f"q{number}": gaps(rng.choice(answers, customers))
                for number in range(1, _QUESTIONS + 1)
            },
        },
        "archive": {"id": [], "customer": [], "text": []},
        "log": {"line": [f"{n} opened the shop" for n in range(20)]},
    }
