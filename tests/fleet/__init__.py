"""Several hosts over one server: what they do when one of them dies, hangs, or is cut off."""
