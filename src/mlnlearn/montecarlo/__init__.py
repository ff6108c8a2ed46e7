"""Markov chains of any sampler: how long to run them, and how far to trust what they say."""
