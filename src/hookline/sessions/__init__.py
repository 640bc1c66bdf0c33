"""Sessions: an agent works in a loop, and hooks talk to it."""
