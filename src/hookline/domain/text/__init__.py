"""Text from outside: made safe to keep, to show and to tell to agents."""
