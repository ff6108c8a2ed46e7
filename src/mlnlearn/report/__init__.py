"""A model on one page: rules, drawings, plots, and atoms with their explanations."""

from mlnlearn.report.markdown import markdown_report
from mlnlearn.report.page import report_page as report

__all__ = ["markdown_report", "report"]
