"""What `hookline check` finds besides the shape of a file."""
