"""MSL: structure learning by beam or shortest-first search."""
