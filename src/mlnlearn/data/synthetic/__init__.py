"""Generators of relational data with a known truth, from ten to ten million facts."""

from mlnlearn.data.synthetic.disjunctive import disjunctive
from mlnlearn.data.synthetic.hide import hide
from mlnlearn.data.synthetic.messy import MessyShop, Planted, messy_shop
from mlnlearn.data.synthetic.planted_graph import PlantedGraph, planted_graph
from mlnlearn.data.synthetic.smokers import smokers
from mlnlearn.data.synthetic.truth import Synthetic, Truth
from mlnlearn.data.synthetic.university import university

__all__ = [
    "MessyShop",
    "Planted",
    "PlantedGraph",
    "Synthetic",
    "Truth",
    "disjunctive",
    "hide",
    "messy_shop",
    "planted_graph",
    "smokers",
    "university",
]
