# %% [markdown]
# # Weights of given rules
#
# Friends smoke alike, and smoking causes cancer: how strongly, is learned from data. A bar is a weight, the
# log-odds that one more true grounding adds.

# %%
import mlnlearn as ml

made = ml.synthetic.smokers(60, rng=1)
rules = ml.MLN.parse(f"""
{made.schema}
smokes(x) => cancer(x)
friends(x,y) ^ smokes(x) => smokes(y)
""")
learned = ml.learn_pseudolikelihood(rules, made.databases)
learned.mln.plot_rules()
