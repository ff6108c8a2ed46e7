"""ILS: structure learning by iterated local search."""
