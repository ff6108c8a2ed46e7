"""The command line: the only part of the library that prints."""
