"""Setting up a project: look around, try its tests, write hookline.yaml, make the store."""
