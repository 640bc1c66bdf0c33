"""`hookline init` on real small projects: the written test command is right, and really runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.first_run import Place
from tests.e2e.init_layouts import LAYOUTS, NEED_NETWORK

# Nothing is fetched: what is not on this machine is a failure.
OFFLINE = {
    "UV_OFFLINE": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "PIP_NO_INDEX": "1",
    "NPM_CONFIG_OFFLINE": "true",
    "CARGO_NET_OFFLINE": "true",
    "GOFLAGS": "-count=1",  # a result from go's cache knows no file of another module
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "POETRY_VIRTUALENVS_IN_PROJECT": "true",
    "PDM_CHECK_UPDATE": "false",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def configured(place: Place) -> dict[str, object]:
    """The commands under `validation:` that are live."""
    rules = yaml.safe_load(place.written).get("validation") or []
    return {rule["name"]: rule["command"] for rule in rules}


def stops(place: Place) -> object:
    return (yaml.safe_load(place.written)["hooks"] or {}).get("stop")


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_command_is_live_where_its_program_is(place: Place, name: str) -> None:
    layout = LAYOUTS[name]
    layout.make(place)
    for program in layout.programs:
        place.program(program)
    report = place.json("init")
    assert tuple(configured(place).values()) == layout.commands
    assert [each["command"] for each in report["found"]["tests"]] == list(layout.commands)
    assert stops(place) == ["evidence"]
    assert place.json("check")["problems"] == []
    assert not place.started.exists(), "something was executed"


@pytest.mark.parametrize("name", [name for name, each in LAYOUTS.items() if each.programs])
def test_the_command_is_a_comment_where_its_program_is_missing(place: Place, name: str) -> None:
    layout = LAYOUTS[name]
    layout.make(place)
    (place.programs / "git").symlink_to(shutil.which("git") or "/usr/bin/git")
    report = place.json("init", env={"PATH": str(place.programs)})
    assert [each["missing"] for each in report["found"]["tests"]] == list(layout.programs)
    assert configured(place) == {}
    assert stops(place) is None
    for program, command in zip(layout.programs, layout.commands, strict=True):
        assert f"# {program} is not on PATH\n" in place.written
        assert f'command: "{command}"' in place.written
        told = f"{program} is not on PATH: `{command}` is written as a comment"
        assert told in report["notes"]
    assert place.json("check")["problems"] == []


REAL = [name for name in LAYOUTS if name not in NEED_NETWORK]


@pytest.mark.examples(8)
@pytest.mark.parametrize("name", REAL)
def test_the_command_really_tests_the_project(place: Place, name: str) -> None:
    layout = LAYOUTS[name]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if missing := [each for each in layout.programs if shutil.which(each, path=path) is None]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    if layout.version:
        found = subprocess.run(
            (layout.programs[-1], "--version"),
            env={**os.environ, "PATH": path},
            cwd=place.root,
            capture_output=True,
            text=True,
        ).stdout
        if not found.startswith(layout.version):
            pytest.skip(f"{layout.programs[-1]} is version {found.strip()}")
    layout.make(place)
    own = {"PATH": path, "HOME": os.environ["HOME"], "BROKEN": str(place.root / layout.broken)}
    env = {**OFFLINE, **own}
    report = place.json("init", "--try-tests", env=env)
    assert [(each["command"], each["exitCode"]) for each in report["tried"]] == [
        (command, 0) for command in layout.commands
    ], report["tried"]
    assert tuple(configured(place).values()) == layout.commands
    place.ok("trust", "--yes", env=env)  # a wrapper belongs to the repository
    assert place.hookline("validate", env=env).returncode == 0
    place.put(layout.broken, "broken")
    assert place.hookline("validate", env=env).returncode == 1


def test_without_tests_it_says_so(place: Place) -> None:
    place.git()
    place.put("README.md", "# Shop\n")
    report = place.json("init")
    assert report["found"]["tests"] == []
    assert "no tests were found" in " ".join(report["notes"])
    assert "# No tests were found" in place.written
    assert "none found" in place.ok("init", "--check")
    assert place.json("check")["problems"] == []
