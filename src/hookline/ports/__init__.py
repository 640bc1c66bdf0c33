"""What the core needs from the outside world. Adapters implement these; nothing else does."""
