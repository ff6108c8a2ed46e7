# %% [markdown]
# # A Bayes net of columns
#
# Which columns depend on which, and what belongs into an empty cell.

# %%
import polars as pl

import mlnlearn as ml

person = pl.DataFrame(
    {"id": range(60), "sex": ["f", "m"] * 30, "fan": ["x", "y"] * 25 + ["y", "x"] * 5}
)
model = ml.LAJDT().fit({"person": person}).model
print(model.net)
model.plot_rules()
