"""`hookline hook`, `events`, `emit`, `why` and `validate`."""
