"""`hookline run` and `hookline session`."""
