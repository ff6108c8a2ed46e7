"""Samplers and local search as compiled kernels over a network's flat arrays."""
