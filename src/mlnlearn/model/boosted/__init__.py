"""Boosted models: trees and clauses over relational data, their files, and their answers."""

from mlnlearn.model.boosted.model import BoostedModel

__all__ = ["BoostedModel"]
