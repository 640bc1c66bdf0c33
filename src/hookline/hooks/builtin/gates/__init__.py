"""The built-in gates of submissions and merges."""
