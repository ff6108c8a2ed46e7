"""How good predictions are: metrics, folds, cross-validation and tests of significance."""
