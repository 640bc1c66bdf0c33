"""`hookline init` in repositories that try to stop it, to mislead it, or to run something."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from hookline.trust import manifest
from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = (
    *("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "go.work", "Makefile", "justfile"),
    *("tox.ini", "noxfile.py", "uv.lock", "poetry.lock", "pytest.ini", "conftest.py", "pom.xml"),
    *("build.gradle", "gradlew", "mvnw", "Rakefile", "composer.json", ".gitignore", "setup.cfg"),
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.git()
    for name in ("pytest", "uv", "npm", "npx", "node", "go", "cargo", "make", "mvn", "gradle"):
        made.program(name)
    made.program("claude", "echo 2.1")
    return made


def pipes(place: Place) -> None:
    for name in NAMES:
        os.mkfifo(place.root / name)


def links(place: Place) -> None:
    for name in NAMES:
        (place.root / name).symlink_to("/dev/zero")
    (place.root / "tests").symlink_to("/")
    (place.root / "packages").symlink_to(place.root)


def links_that_lead_outside(place: Place) -> None:
    outside = place.base / "outside"
    outside.mkdir()
    (outside / "Makefile").write_text("test:\n\tx\n")
    (place.root / "Makefile").symlink_to(outside / "Makefile")
    (place.root / "api").symlink_to(outside)


def folders(place: Place) -> None:
    for name in NAMES:
        (place.root / name).mkdir()


def huge_files(place: Place) -> None:
    for name in set(NAMES) - {"gradlew", "mvnw"}:
        with open(place.root / name, "wb") as file:
            file.truncate(1 << 34)


def many_files(place: Place) -> None:
    for folder in ("tests", "src", "packages"):
        (place.root / folder).mkdir()
        for number in range(3_000):
            (place.root / folder / f"{number}.js").touch()


def deep_folders(place: Place) -> None:
    here = place.root
    for _ in range(500):
        here = here / "d"
        here.mkdir()


def odd_types(place: Place) -> None:
    odd = '{"scripts": {"test": {"a": 1}, "lint": []}, "workspaces": {"packages": 5},'
    place.put("package.json", f'{odd} "dependencies": "vitest", "packageManager": {{}}}}')
    place.put("composer.json", '{"scripts": 3}')
    place.put("pyproject.toml", "[tool]\npdm = 3\nhatch = []\n")


def deep_values(place: Place) -> None:
    place.put("package.json", "[" * 500_000)
    place.put("composer.json", '{"scripts":' * 100_000)
    place.put("pyproject.toml", "a = " + "[" * 500_000)


def bytes_of_no_text(place: Place) -> None:
    for name in NAMES:
        (place.root / name).write_bytes(bytes(range(256)) * 20)


def unreadable(place: Place) -> None:
    for name in NAMES:
        place.put(name, "test:\n", 0)


NOTHING: list[Callable[[Place], None]] = [
    *(links_that_lead_outside, folders, many_files, deep_folders, odd_types),
]
# Their names alone show something, such as a go.mod that cannot be read.
SOMETHING: list[Callable[[Place], None]] = [
    *(pipes, links, huge_files, deep_values, bytes_of_no_text, unreadable),
]


@pytest.mark.parametrize("make", [*NOTHING, *SOMETHING])
def test_it_ends_and_executes_nothing(place: Place, make: Callable[[Place], None]) -> None:
    make(place)
    report = place.json("init")
    assert report["created"] == ["hookline.yaml", "store"]
    if make in NOTHING:
        assert report["found"]["tests"] == []
    # What a line names, such as a wrapper, belongs to the repository.
    lines = [rule["command"] for rule in yaml.safe_load(place.written).get("validation") or []]
    assert report["trusted"] == (not any("gradlew" in line for line in lines))
    assert not place.started.exists()
    assert place.json("check")["errors"] == 0
    assert len(place.written) < 4_000


def test_what_is_too_large_to_verify_is_not_trusted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "MAX_FILE", 1 << 20)  # a GiB would take its time
    place.put("build.gradle", "")
    place.put("gradlew", "#" * (2 << 20))
    report = place.json("init")
    assert (report["trusted"], report["next"]) == (False, "hookline trust")
    assert "gradlew is too large to be verified" in " ".join(report["notes"])
    assert place.hookline("validate").returncode == 2


def test_names_of_files_and_folders_never_become_code(place: Place) -> None:
    """A folder becomes part of a line only with a plain name, a file only part of a comment."""
    folders = ("$(touch ran)", "`touch ran`", "a; touch ran", "a\n- evil", "{{task_id}}", "'\"")
    for name in folders:
        place.put(f"{name}/go.mod", "module x\n")
        place.put(f"tests/{name}/test_a.py", "")
    os.makedirs(os.fsencode(place.root) + b"/tests/\xff\xfe")
    (place.root / "tests" / os.fsdecode(b"\xff\xfe") / "test_a.py").touch()
    report = place.json("init", "--try-tests")
    assert [each["command"] for each in report["found"]["tests"]] == ["pytest -q"]
    assert [rule["command"] for rule in yaml.safe_load(place.written)["validation"]] == [
        "pytest -q"
    ]
    assert place.json("check")["problems"] == []
    assert not (place.root / "ran").exists()


def test_folders_that_would_have_one_name_have_two(place: Place) -> None:
    for folder in ("a/b", "a_b"):
        place.put(f"{folder}/go.mod", "module x\n")
    place.json("init")
    rules = yaml.safe_load(place.written)["validation"]
    assert sorted(rule["command"] for rule in rules) == [
        "cd a/b && go test ./...",
        "cd a_b && go test ./...",
    ]
    assert place.json("check")["problems"] == []


def test_git_of_the_repository_runs_no_program(place: Place) -> None:
    canary = place.base / "ran"
    for key in ("core.fsmonitor", "core.sshCommand", "diff.external", "core.pager"):
        words = ("git", "config", key, f"touch {canary}")
        subprocess.run(words, cwd=place.root, check=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        place.put(f".git/hooks/{name}", f"#!/bin/sh\ntouch {canary}\n", 0o755)
    place.ok("init")
    place.ok("init", "--check")
    assert not canary.exists()
