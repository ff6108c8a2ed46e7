"""Lifted structure learning (LSL): greedy search by exact likelihood among liftable networks."""
