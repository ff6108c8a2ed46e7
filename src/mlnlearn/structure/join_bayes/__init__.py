"""From tables to rules: learn-and-join Bayes nets, moralised nets, and decision trees."""
