"""The embedded store: one SQLite file with the log, its projection and the record of calls."""
