"""`when` conditions, templates and references: what a hook's text can contain."""
