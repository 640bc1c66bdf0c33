"""`hookline work`."""
