"""`hookline task`, `dep`, `note` and `checkpoint`."""
