"""Numbers of rows: learned through links, and asked for rows and entities never seen."""

import numpy as np
import pandas as pd
import pytest

from mlnlearn.errors import InputError
from mlnlearn.sklearn import MLNRegressor


def shop(seed=0):
    """Return orders, their prices, and customers: a price is ten times the customer's level."""
    rng = np.random.default_rng(seed)
    customers = pd.DataFrame({"id": [f"C{k}" for k in range(40)], "level": rng.integers(1, 9, 40)})
    orders = pd.DataFrame({"customer": rng.choice(customers["id"], 200)})
    level = customers.set_index("id")["level"]
    return customers, orders, 10.0 * level[orders["customer"]].to_numpy()


def test_a_number_is_learned_through_a_link_and_for_new_customers():
    customers, orders, prices = shop()
    regressor = MLNRegressor(
        {"customer": customers}, {"customer": "id"}, {"customer": "customer"}, random_state=1
    )
    regressor.fit(orders, prices)
    assert np.abs(regressor.predict(orders) - prices).mean() < 5
    more = pd.DataFrame({"id": ["New1", "New2"], "level": [1, 8]})
    regressor.set_params(tables={"customer": pd.concat([customers, more])})
    low, high = regressor.predict(pd.DataFrame({"customer": ["New1", "New2"]}))
    assert low < 30 < 60 < high
    unknown = regressor.predict(pd.DataFrame({"customer": ["Nobody", "New2"]}))
    assert np.isfinite(unknown).all()
    assert unknown[1] == pytest.approx(high)


def test_rows_are_answered_in_their_order():
    frame = pd.DataFrame({"size": np.arange(120)[::-1]})
    regressor = MLNRegressor(random_state=0, n_jobs=1).fit(frame, frame["size"] * 1.0)
    found = regressor.predict(frame)
    assert np.corrcoef(found, frame["size"])[0, 1] > 0.98
    assert regressor.predict(frame[:3]) == pytest.approx(found[:3])


def test_what_does_not_fit_is_refused():
    regressor = MLNRegressor()
    with pytest.raises(InputError, match="two dimensions"):
        regressor.fit([1, 2, 3], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="no gaps"):
        regressor.fit([[1], [2]], [1.0, float("nan")])
    fitted = MLNRegressor().fit(pd.DataFrame({"a": range(30)}), range(30))
    with pytest.raises(InputError, match="learned from: a"):
        fitted.predict(pd.DataFrame({"b": [1]}))
