"""`hookline gate`, `submit`, `merge` and `worktree`."""
