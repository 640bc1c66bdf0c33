"""Where people and agents meet Hookline. No logic here."""
