# %% [markdown]
# # Counting what would never fit
#
# True groundings of a rule over more and more students: the number of groundings grows with the third power, the time
# does not.

# %%
import time

import matplotlib.pyplot as plt

import mlnlearn as ml

sizes, total, seconds = [100, 200, 400, 800], [], []
for size in sizes:
    data = ml.synthetic.university(size, areas=1, rng=1)
    engine = ml.MemoryEngine(data.databases)
    rule = ml.parse_formula("publication(t,s) ^ publication(t,p) => advisedBy(s,p)", data.schema)
    started = time.process_time()
    ml.true_groundings(engine, rule.formula)
    seconds.append(time.process_time() - started)
    total += ml.groundings(engine, rule.formula)
print([f"{count:,}" for count in total])
_, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.loglog(sizes, total, label="groundings")
ax.loglog(sizes, [max(s, 1e-4) for s in seconds], label="CPU seconds")
ax.set_xlabel("students")
_ = ax.legend()
