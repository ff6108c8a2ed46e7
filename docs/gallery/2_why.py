# %% [markdown]
# # Why one atom is probable
#
# The log-odds of an atom are a sum over rules: a waterfall shows how they add up.

# %%
import mlnlearn as ml

rules = ml.MLN.parse("""
smokes(person)
friends(person,person)
-1 smokes(x)
1.5 friends(x,y) ^ smokes(x) => smokes(y)
-0.5 friends(x,y) ^ !smokes(x) => smokes(y)
""")
people = ml.parse_db(
    "friends(Anna,Bob)\nfriends(Carl,Bob)\nfriends(Dora,Bob)\nsmokes(Anna)\nsmokes(Carl)",
    rules.schema,
)
why = ml.explain(rules, people, "smokes(Bob)")
print(why.sentence())
why.plot()
