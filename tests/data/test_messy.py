"""The made-up shop: who leaves is what SQL finds, and everything untidy is there."""

import contextlib
import sqlite3

import numpy as np
import pytest

from mlnlearn.data.synthetic import messy_shop
from mlnlearn.data.synthetic.messy_causes import CAUSES
from mlnlearn.errors import InputError

# For whom each cause holds, asked of the file: another way than that of the generator.
QUERIES = {
    "own column": """SELECT "group" = 'gold' FROM customer ORDER BY id""",
    "threshold": """SELECT "Größe (cm)" > :middle FROM customer ORDER BY id""",
    "category pair": """SELECT "group" = 'gold' AND plan = 'yearly' FROM customer ORDER BY id""",
    "linked column": """SELECT s."Größe" = 'village' FROM customer c
        JOIN "Städte" s ON s."Name" = c.town ORDER BY c.id""",
    "two links away": """SELECT climate = 'wet' FROM customer c JOIN "Städte" s ON s."Name" = c.town
        JOIN region r ON r.code = s."in region" ORDER BY c.id""",
    "self-reference": """SELECT coalesce(o.member, 0) FROM customer c
        LEFT JOIN customer o ON o.id = c.recommended_by ORDER BY c.id""",
    "count of links": """SELECT count(o.id) >= 3 FROM customer c
        LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id ORDER BY c.id""",
    "exists link": """SELECT EXISTS (SELECT 1 FROM "support call" s WHERE s.customer = c.id)
        FROM customer c ORDER BY c.id""",
    "share of linked value": """SELECT coalesce(avg(o."sent by" = 'courier') >= 0.5, 0)
        FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id ORDER BY c.id""",
}
NUMBERS = {
    "mean of linked number": "SELECT avg(amount) FROM orders GROUP BY customer",
    "largest linked number": "SELECT max(seconds) FROM visit GROUP BY customer",
    "latest link": "SELECT julianday(max(day)) FROM orders GROUP BY customer",
    "threshold": 'SELECT "Größe (cm)" FROM customer',
}


@pytest.mark.parametrize("kind", CAUSES)
def test_the_cause_is_in_the_tables(kind, tmp_path):
    shop = messy_shop(kind, 200, missing=0.0, strength=1.0, rng=3)
    shop.write(tmp_path / "shop.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as file:
        churned = [row[0] for row in file.execute("SELECT churned FROM customer ORDER BY id")]
        numbers = [row[0] for row in file.execute(NUMBERS[kind])] if kind in NUMBERS else [0]
        middle = float(np.median(numbers))
        if kind in QUERIES:
            found = [row[0] for row in file.execute(QUERIES[kind], {"middle": middle})]
            assert churned == found
        else:
            # amounts are written in cents, so a mean may fall on either side of the middle
            assert sum(churned) == pytest.approx(sum(n > middle for n in numbers), abs=1)
        assert file.execute("PRAGMA foreign_key_check").fetchall() == []
    assert 0.2 < np.mean(churned) < 0.8
    assert shop.planted.kind == kind


def test_all_that_is_untidy():
    shop = messy_shop(customers=300, rng=np.random.default_rng(5))
    again = messy_shop(customers=300, rng=5)
    assert again.tables == shop.tables
    assert messy_shop(customers=300, rng=6).tables != shop.tables
    customer = shop.tables["customer"]
    assert isinstance(customer["photo"][0], bytes)
    assert sum(cell is None for cell in customer["group"]) == pytest.approx(90, abs=40)
    assert not shop.tables["archive"]["id"]
    assert None not in customer["churned"]
    pairs = list(zip(*list(shop.tables["visit"].values())[:1], strict=True))
    assert len(set(pairs)) < len(pairs)  # several rows a customer, and no key
    with pytest.raises(InputError, match="no such kind 'magic'"):
        messy_shop("magic")
