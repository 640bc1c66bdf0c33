"""What happens, for those who watch."""
