"""The built-in stop hooks."""
