"""LHL: structure learning on a graph whose nodes are clusters of constants."""
