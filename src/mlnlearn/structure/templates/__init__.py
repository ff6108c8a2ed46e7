"""Learners that first find which literals go together, and then which clauses these make."""
