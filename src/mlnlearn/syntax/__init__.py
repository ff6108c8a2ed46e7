"""Alchemy's language: readers and a writer for ``.mln`` files, a fast reader for ``.db`` text."""

from mlnlearn.syntax.mln import MlnFile, parse_formula, parse_mln, read_mln
from mlnlearn.syntax.writer import write_by_constant, write_mln, write_rule

__all__ = [
    "MlnFile",
    "parse_formula",
    "parse_mln",
    "read_mln",
    "write_by_constant",
    "write_mln",
    "write_rule",
]
