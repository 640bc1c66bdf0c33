"""`hookline work`: which task an agent gets next, the lanes, and the result."""
