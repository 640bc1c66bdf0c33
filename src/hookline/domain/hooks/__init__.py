"""What hooks are given and may answer, and how their calls went."""
