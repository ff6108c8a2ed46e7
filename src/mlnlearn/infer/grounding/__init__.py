"""Grounding: from a model and evidence to a network of what is left open."""
