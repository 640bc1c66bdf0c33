"""The named blocks of .sql files, read once."""

from __future__ import annotations

import os


def load(name: str) -> dict[str, str]:
    """The blocks of a file of this folder, by name."""
    path = os.path.join(os.path.dirname(__file__), name)
    with open(path, encoding="utf-8") as file:
        blocks = file.read().split("-- name: ")[1:]
    found = {}
    for block in blocks:
        title, _, rest = block.partition("\n")
        found[title] = "\n".join(line for line in rest.splitlines() if not line.startswith("--"))
    return found


SQL = load("queries.sql")
