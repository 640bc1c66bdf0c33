"""A task's work on its way to the base branch: gates, submissions and merges."""
