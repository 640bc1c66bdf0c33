"""The verbs of the task graph: one function each, inside one transaction of the caller's."""
