"""The walks of docs/architecture.md, followed along the imports of the source."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hookline"
PAGE = ROOT / "docs" / "architecture.md"
# What two names share one room: the composition root is handed to what it is made of, and a point
# names the payload that the domain defines.
ONE_ROOM = {"wiring": "app", "points": "domain"}
# The lowest rooms, which CONTRIBUTING.md does not list.
ABRIDGED = {
    "cancelling",
    "points",
    "project",
    "plugins",
    "files",
    "digest",
    "errors",
    "immutable",
    "programs",
    "typed",
    "version",
}


def _rooms() -> dict[str, int]:
    """Each room with its height: what is higher imports what is lower, never the other way."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in contracts["contracts"] if each["type"] == "layers"]
    heights = {
        name.strip().removeprefix("hookline."): -place
        for place, names in enumerate(layers)
        for name in re.split("[:|]", names)
    }
    return {room: heights[ONE_ROOM.get(room, room)] for room in heights}


HEIGHTS = _rooms()


def _walks() -> dict[str, list[tuple[str, str]]]:
    """Each walk as its modules with their rooms, from top to bottom."""
    section = PAGE.read_text(encoding="utf-8").partition("## A stranger's walk")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in header[1:]}
    for room, *cells in rows:
        for name, cell in zip(found, cells, strict=True):
            found[name] += [(room.strip("`"), each) for each in re.findall("`([^`]+)`", cell)]
    return found


WALKS = _walks()


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "hookline"


def _place(name: str) -> str:
    return name.replace(".", "/").removeprefix("hookline").lstrip("/")


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of ours that one names, also those that only type checkers read."""
    tree = ast.parse((SOURCE / module).read_text(encoding="utf-8"))
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {_place(each.name) for each in node.names if _is_ours(each.name)}
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            assert not node.level, f"{module} imports by a relative name"
            base = _place(node.module or "")
            named |= {base, *(f"{base}/{each.name}".lstrip("/") for each in node.names)}
    files = {f"{each}.py" for each in named} | {f"{each}/__init__.py" for each in named}
    return frozenset(each for each in files if (SOURCE / each).is_file())


def _height(module: str) -> int | None:
    """None for modules that are in no room, such as adapters."""
    return HEIGHTS.get(module.partition("/")[0].removesuffix(".py"))


def test_there_are_four_walks() -> None:
    assert list(WALKS) == [
        *("`task complete`", "an iteration of a session"),
        *("submit to merge", "an iteration of a run"),
    ]


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_goes_down_from_room_to_room(name: str) -> None:
    walk = WALKS[name]
    assert len(walk) >= 5
    for room, module in walk:
        assert module.partition("/")[0].removesuffix(".py") == room
        assert (SOURCE / module).is_file()
    inside = [module for room, module in walk if room != "adapters"]
    heights = [_height(module) for module in inside]
    assert None not in heights
    assert heights == sorted(heights, key=lambda height: -(height or 0))
    for place, lower in enumerate(inside[1:], 1):
        above = inside[:place]
        assert any(lower in _imports(upper) for upper in above), f"nothing above names {lower}"


@pytest.mark.parametrize("name", WALKS)
def test_adapters_fill_the_port_that_a_walk_ends_at(name: str) -> None:
    *_, port = [module for room, module in WALKS[name] if room == "ports"]
    adapters = [module for room, module in WALKS[name] if room == "adapters"]
    assert adapters
    for adapter in adapters:
        assert all((_height(each) or -99) <= (_height(port) or 0) for each in _imports(adapter))


def test_nothing_names_a_room_above() -> None:
    upwards = [
        f"{module} names {each}"
        for module in (str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py"))
        for each in _imports(module)
        if (_height(module) is not None and _height(each) is not None)
        and (_height(each) or 0) > (_height(module) or 0)
    ]
    assert upwards == []


def test_no_module_names_more_than_20_others() -> None:
    named = {each: _imports(each) for each in map(_module, SOURCE.rglob("*.py"))}
    # A package is named with each of its modules that is.
    widest = {
        module: [e for e in found if not e.endswith("__init__.py") or not _is_package_of(e, found)]
        for module, found in named.items()
    }
    assert {module: len(found) for module, found in widest.items() if len(found) > 20} == {}


def _module(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def _is_package_of(package: str, others: frozenset[str]) -> bool:
    folder = package.removesuffix("__init__.py")
    return any(each.startswith(folder) and each != package for each in others)


def test_only_the_composition_root_names_adapters_and_they_name_no_room_above_ports() -> None:
    modules = [str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py")]
    named_by = {m for m in modules if any(_is_adapter(each) for each in _imports(m))}
    elsewhere = {m for m in named_by if not _is_adapter(m)}
    assert {m.partition("/")[0] for m in elsewhere} <= {"app.py", "wiring", "testing"}
    for module in filter(_is_adapter, modules):
        above = [e for e in _imports(module) if (_height(e) or -99) > HEIGHTS["ports"]]
        assert above == [], module


def _is_adapter(module: str) -> bool:
    return module.startswith("adapters/")


def test_nothing_that_runs_knows_pytest_or_the_fakes() -> None:
    for path in SOURCE.rglob("*.py"):
        place, text = path.relative_to(SOURCE), path.read_text(encoding="utf-8")
        assert "import pytest" not in text or place.parts[:2] == ("testing", "contracts"), place
        assert "from hookline.testing" not in text or place.parts[0] == "testing", place


def test_every_module_has_its_room() -> None:
    names = {each.stem for each in SOURCE.glob("*.py")}
    names |= {each.parent.name for each in SOURCE.glob("*/*.py")}
    # Adapters have a contract of their own; the others are only read, or only start the rest.
    elsewhere = {"adapters", "testing", "demo", "prompts", "__init__", "__main__"}
    assert names - elsewhere == HEIGHTS.keys()
    told = (ROOT / "CONTRIBUTING.md").read_text().partition("## Layers")[2].partition("\n## ")[0]
    assert [name for name in HEIGHTS if name not in ABRIDGED and name not in told] == []
