"""Learn Markov logic networks from relational data."""
