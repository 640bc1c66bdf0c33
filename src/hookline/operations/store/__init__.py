"""A project's store as a whole: copied, pruned, and put right after a server lost something."""
