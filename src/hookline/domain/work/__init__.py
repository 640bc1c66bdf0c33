"""A task's work on its way to the base branch: repository, forge, submissions."""
