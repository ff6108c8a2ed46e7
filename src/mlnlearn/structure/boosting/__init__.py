"""Functional gradient boosting of relational models."""

from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN

__all__ = ["BoostedMLN", "BoostedRDN"]
