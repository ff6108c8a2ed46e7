"""Boosted trees over features along links."""
