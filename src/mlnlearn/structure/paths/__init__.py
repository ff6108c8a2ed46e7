"""A learner of rules along the paths of a knowledge graph."""
