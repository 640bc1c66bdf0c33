"""What people and agents can do to an opened project: one function each, for every surface."""
