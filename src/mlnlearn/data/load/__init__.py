"""Loaders: Alchemy files, tables (CSV, Parquet, data frames, SQL), facts and triples."""
