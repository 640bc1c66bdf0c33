"""The composition root, split by cost: a command loads what it uses."""
