"""Learners of structure: which rules there are, and their weights."""
