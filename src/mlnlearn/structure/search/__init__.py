"""Search for clauses by weighted pseudo-likelihood: scoring, fitting, pruning, resuming."""
