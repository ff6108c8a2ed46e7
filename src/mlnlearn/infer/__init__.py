"""Answers from models: grounding, exact and sampling methods, queries."""
