"""Unknown atoms of boosted models: their rules made ground once, then sampled atom by atom."""
