"""Learning weights: objectives with value and gradient, and their optimisation."""
