"""The page of a project: its API, its stream of events, and its files."""
