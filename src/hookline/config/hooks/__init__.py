"""Entries of `hooks:` into hooks."""
