"""Timings of the library; run them all with ``python -m bench``."""
