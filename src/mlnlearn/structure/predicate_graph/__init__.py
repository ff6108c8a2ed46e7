"""GSLP: structure learning by paths in a graph of predicates."""
