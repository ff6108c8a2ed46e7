"""BUSL, HGSM and DMSP: structure learning from truth tables of chains of true atoms."""
