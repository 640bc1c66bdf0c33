"""`hookline demo`."""
