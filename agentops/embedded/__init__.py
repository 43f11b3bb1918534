"""A PostgreSQL of our own and a whole installation in one process, for a machine that has neither."""
