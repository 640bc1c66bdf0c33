"""Hooks: what they are, when they run, and how their answers become one."""
