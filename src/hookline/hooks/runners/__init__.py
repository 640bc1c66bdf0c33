"""How a project's tests and linters are run, as its lock files and manifests show it.

`search.py` is asked by `init`, `check` and the gates; nothing of the project is executed.
"""
