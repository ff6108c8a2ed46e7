"""Generators of relational data with a known truth, from ten to ten million facts."""

from mlnlearn.data.synthetic.disjunctive import disjunctive
from mlnlearn.data.synthetic.hide import hide
from mlnlearn.data.synthetic.smokers import smokers
from mlnlearn.data.synthetic.truth import Synthetic, Truth
from mlnlearn.data.synthetic.university import university

__all__ = ["Synthetic", "Truth", "disjunctive", "hide", "smokers", "university"]
