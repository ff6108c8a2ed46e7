"""A model on one page: rules, drawings, plots, and atoms with their explanations."""

from mlnlearn.report.page import report

__all__ = ["report"]
