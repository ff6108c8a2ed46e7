"""Typed, integer-coded relational data: databases, example sets, loaders and generators."""
