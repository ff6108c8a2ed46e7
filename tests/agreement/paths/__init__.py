"""The ways in which the library answers the questions of a case, one module a question."""
