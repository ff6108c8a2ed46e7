"""What can make a customer of a made-up shop leave: one cause of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DAY = 86_400.0
_FIRST_DAY = 1_577_836_800.0  # 2020-01-01

Cells = NDArray[Any]
Truths = NDArray[np.bool_]


class ShopWorld:
    """All cells before some are emptied, as arrays."""

    def __init__(self, customers: int, rng: np.random.Generator) -> None:
        def drawn(
            values: Sequence[str], count: int, shares: Sequence[float] | None = None
        ) -> Cells:
            return rng.choice(np.array(values), count, p=shares)

        def owners(mean: float) -> NDArray[np.int64]:
            """Return a customer for each row of something that most have some of."""
            counts = rng.poisson(mean, customers)
            return rng.permutation(np.repeat(np.arange(customers), counts))

        self.customers, towns, regions = customers, max(8, customers // 25), 8
        self.climate = np.array(["wet", "dry"])[np.arange(regions) % 2]
        self.town_size = drawn(["village", "city", "harbour"], towns, [0.4, 0.3, 0.3])
        self.town_region = rng.permutation(towns) % regions
        self.town = rng.integers(towns, size=customers)
        self.group = drawn(["gold", "silver", "bronze"], customers, [0.5, 0.3, 0.2])
        self.plan = drawn(["yearly", "monthly"], customers, [0.6, 0.4])
        self.member = rng.random(customers) < 0.5
        self.height = rng.normal(172, 9, customers).round(1)
        self.joined = _FIRST_DAY + _DAY * rng.integers(365, size=customers)
        # the first customers were recommended by nobody
        earlier = (rng.random(customers) * np.arange(customers)).astype(int)
        self.recommended_by = np.where(rng.random(customers) < 0.9, earlier, -1)
        self.recommended_by[0] = -1
        self.order_customer = owners(3)
        orders = len(self.order_customer)
        self.order_day = _FIRST_DAY + _DAY * (365 + rng.integers(730, size=orders))
        self.sent_by = drawn(["post", "courier", "pickup"], orders, [0.35, 0.45, 0.2])
        spends = rng.normal(0, 0.5, customers)
        self.amount = np.exp(3.5 + spends[self.order_customer] + rng.normal(0, 0.3, orders))
        self.visit_customer = owners(5)
        visits = len(self.visit_customer)
        self.visit_at = _FIRST_DAY + np.floor(_DAY * 1095 * rng.random(visits))
        self.page = drawn(["home", "search", "cart", "help"], visits)
        self.seconds = rng.exponential(60, visits).round(1)
        calls = rng.poisson(2, customers) * (rng.random(customers) < 0.5)
        self.call_customer = np.repeat(np.arange(customers), calls)
        self.topic = drawn(["bill", "delivery", "other"], len(self.call_customer))
        self.rng = rng

    def count(self, owner: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows each customer has."""
        return np.bincount(owner, minlength=self.customers)

    def mean(self, owner: NDArray[np.int64], values: Cells) -> NDArray[np.float64]:
        """Return the mean over each customer's rows; NaN for those without."""
        sums = np.bincount(owner, values, minlength=self.customers)
        count = self.count(owner)
        return np.where(count > 0, sums / np.maximum(count, 1), np.nan)

    def largest(self, owner: NDArray[np.int64], values: Cells) -> NDArray[np.float64]:
        """Return the largest number in each customer's rows; NaN for those without."""
        found = np.full(self.customers, -np.inf)
        np.maximum.at(found, owner, values)
        return np.where(np.isfinite(found), found, np.nan)


Cause = tuple[Truths, tuple[str, ...], str]
"""For whom it holds; what a rule that tells of it has to speak of; and in words."""


def _above_middle(numbers: NDArray[np.float64]) -> Truths:
    """Tell who is above the median; who has no number is not."""
    return np.greater(numbers, np.nanmedian(numbers))


def _own(world: ShopWorld) -> Cause:
    return world.group == "gold", ("customer.group",), "customers of group gold leave"


def _threshold(world: ShopWorld) -> Cause:
    holds = _above_middle(world.height)
    return holds, ("customer.Größe (cm)",), "tall customers leave"


def _pair(world: ShopWorld) -> Cause:
    holds = (world.group == "gold") & (world.plan == "yearly")
    columns = ("customer.group", "customer.plan")
    return holds, columns, "customers of group gold with a yearly plan leave"


def _linked(world: ShopWorld) -> Cause:
    holds = world.town_size[world.town] == "village"
    return holds, ("Städte.Größe",), "customers from villages leave"


def _two_links(world: ShopWorld) -> Cause:
    holds = world.climate[world.town_region[world.town]] == "wet"
    return holds, ("region.climate",), "customers from wet regions leave"


def _self(world: ShopWorld) -> Cause:
    holds = (world.recommended_by >= 0) & world.member[world.recommended_by]
    columns = ("customer.recommended_by", "customer.member")
    return holds, columns, "customers recommended by a member leave"


def _count(world: ShopWorld) -> Cause:
    count = world.count(world.order_customer)
    return count >= 3, ("orders",), "customers with three orders or more leave"


def _exists(world: ShopWorld) -> Cause:
    holds = world.count(world.call_customer) > 0
    return holds, ("support call",), "customers who called for support leave"


def _mean(world: ShopWorld) -> Cause:
    holds = _above_middle(world.mean(world.order_customer, world.amount))
    return holds, ("orders.amount",), "customers whose orders are large on average leave"


def _largest(world: ShopWorld) -> Cause:
    holds = _above_middle(world.largest(world.visit_customer, world.seconds))
    return holds, ("visit.seconds",), "customers with one long visit leave"


def _share(world: ShopWorld) -> Cause:
    by_courier = (world.sent_by == "courier").astype(float)
    holds = np.greater_equal(world.mean(world.order_customer, by_courier), 0.5)
    return holds, ("orders.sent by",), "customers with half of their orders sent by courier leave"


def _latest(world: ShopWorld) -> Cause:
    holds = _above_middle(world.largest(world.order_customer, world.order_day))
    return holds, ("orders.day",), "customers whose latest order is recent leave"


CAUSES: dict[str, Callable[[ShopWorld], Cause]] = {
    "own column": _own,
    "threshold": _threshold,
    "category pair": _pair,
    "linked column": _linked,
    "two links away": _two_links,
    "self-reference": _self,
    "count of links": _count,
    "exists link": _exists,
    "mean of linked number": _mean,
    "largest linked number": _largest,
    "share of linked value": _share,
    "latest link": _latest,
}
"""What a customer's leaving can depend on, by kind."""
