"""Alchemy's language: readers and a writer for ``.mln`` files, a fast reader for ``.db`` text."""

from mlnlearn.syntax.mln import MlnFile, parse_formula, parse_mln, read_mln
from mlnlearn.syntax.writer import write_mln

__all__ = ["MlnFile", "parse_formula", "parse_mln", "read_mln", "write_mln"]
