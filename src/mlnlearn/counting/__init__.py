"""Counting groundings: everything a learner asks of the data."""
