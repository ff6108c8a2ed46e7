"""Exact log partition functions without grounding: compile once, evaluate for any weights."""
