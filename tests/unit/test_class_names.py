"""Each class name has one meaning."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import hookline

ROOT = Path(hookline.__file__).parent


def test_only_a_port_and_its_adapter_share_the_name_of_a_class() -> None:
    rooms: dict[str, list[str]] = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef):
                rooms[node.name].append(path.relative_to(ROOT).parts[0])
    shared = {name: found for name, found in rooms.items() if len(found) > 1}
    assert {n: found for n, found in shared.items() if sorted(found) != ["adapters", "ports"]} == {}
