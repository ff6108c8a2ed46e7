# %% [markdown]
# # Missing links of a graph
#
# Grandparents follow from parents; the rules along paths are found, and their confidence drawn.

# %%
import mlnlearn as ml

parents = [(f"p{a}", "parent", f"p{b}") for a in range(40) for b in (2 * a + 1, 2 * a + 2)]
grand = [(a, "grandparent", d) for a, _, b in parents for c, _, d in parents if b == c]
split = ml.from_triples(parents + grand[20:], grand[:10], grand[10:20])
model = ml.Paths(max_length=2).fit(split).model
print("mean reciprocal rank:", model.rank(split.test, filtered=split.all).mrr)
model.plot_rules(6)
