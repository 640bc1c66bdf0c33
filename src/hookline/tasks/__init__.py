"""The verbs of the task graph: one function each, inside the caller's transaction."""
