"""The named blocks of queries.sql, read once."""

from __future__ import annotations

import os


def _load() -> dict[str, str]:
    path = os.path.join(os.path.dirname(__file__), "queries.sql")
    with open(path, encoding="utf-8") as file:
        blocks = file.read().split("-- name: ")[1:]
    found = {}
    for block in blocks:
        name, _, rest = block.partition("\n")
        found[name] = "\n".join(line for line in rest.splitlines() if not line.startswith("--"))
    return found


SQL = _load()
