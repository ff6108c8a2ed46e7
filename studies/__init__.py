"""Published tables, computed anew: one module a table, run as ``python -m studies.<module>``."""
