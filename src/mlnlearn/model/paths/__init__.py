"""Rules along the paths of a knowledge graph, and what they predict."""
