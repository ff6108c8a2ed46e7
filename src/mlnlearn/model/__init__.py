"""Models: what a learner returns and a query is asked of."""
