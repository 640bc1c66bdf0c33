"""What is seen of a session while it runs."""
