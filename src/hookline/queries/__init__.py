"""What people are shown of an opened project: read-only queries that every surface shares."""
