"""What advances runs, and which processes do."""
