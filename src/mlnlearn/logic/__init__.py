"""First-order logic as frozen, hashable values, and pure passes over them."""
