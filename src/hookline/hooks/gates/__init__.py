"""Gates: which apply to a task, what each said, and that in short."""
