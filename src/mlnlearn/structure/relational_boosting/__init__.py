"""Boosted trees over features along links: the learner."""
