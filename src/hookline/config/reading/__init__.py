"""A configuration file as text and nodes, and what is wrong with it."""
