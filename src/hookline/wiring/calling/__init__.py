"""What calls hooks, and what follows from events."""
