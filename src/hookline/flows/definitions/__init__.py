"""Flows as people write them: Python files and steps in YAML, how they are found and drawn."""
