"""Everything that Hookline does in a repository of git."""
