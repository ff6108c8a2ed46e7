"""LSM: structure learning by motifs of the graph of true atoms."""
