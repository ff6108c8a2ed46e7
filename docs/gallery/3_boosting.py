# %% [markdown]
# # Who advises whom
#
# Boosted clauses from three departments, and how their log-odds rank the pairs of a fourth.

# %%
import matplotlib.pyplot as plt

import mlnlearn as ml

*train, test = ml.synthetic.university(60, areas=4, rng=1).databases
learner = ml.BoostedMLN(target="advisedBy", representation="clauses", steps=8)
model = learner.fit(train).model
model.plot_rules(8)

# %%
answers = model.query(test.without_facts(["advisedBy"]))
true = set(test.rows("advisedBy"))
best = answers.top(100)
hits = [sum(a.constants in true for a in best[:k]) for k in range(1, 101)]
_, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(range(1, 101), hits, color="#1f5fae")
ax.set_xlabel("pairs, the most probable first")
_ = ax.set_ylabel(f"true, of {len(true)}")
