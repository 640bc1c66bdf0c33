"""Where people and agents meet Hookline. No logic of its own."""
