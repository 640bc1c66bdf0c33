"""`hookline insights`."""
