"""`hookline init --check`, and a second `init`: nothing is changed, and that is the truth."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from pathlib import Path

# SQLite's own, which come and go with each reader.
PASSING = ("hookline.db-shm", "hookline.db-wal")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.git()
    made.put("Makefile", "test:\n\ttrue\n")
    made.program("claude", "echo 2.1")
    return made


def snapshot(*folders: Path) -> dict[str, str]:
    """Each file below these folders with its content."""
    found = {}
    for folder in folders:
        for here, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(here, name)
                if name not in PASSING:
                    with open(path, "rb") as file:
                        found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def everything(place: Place) -> dict[str, str]:
    return snapshot(place.root, place.home, place.base / "user", place.base / "tmp")


def test_it_shows_what_would_be_written_and_writes_nothing(place: Place) -> None:
    before = everything(place)
    done = place.hookline("init", "--check")
    assert done.returncode == 1
    assert "would write hookline.yaml" in done.stdout
    assert "would write .hookline/" in done.stdout
    assert '│   - {name: tests_pass, type: command, command: "make test"' in done.stdout
    assert done.stdout.endswith("next: hookline init\n")
    report = place.json("init", "--check")
    assert report["missing"] == ["hookline.yaml", "store"]
    assert (report["created"], report["kept"]) == ([], [])
    assert everything(place) == before
    place.ok("init")
    assert place.written == report["file"]


def test_after_init_nothing_would_change(place: Place) -> None:
    place.ok("init")
    before = everything(place)
    assert "nothing would change" in place.ok("init", "--check")
    assert place.json("init", "--check")["missing"] == []
    assert everything(place) == before


def test_a_second_init_changes_no_byte(place: Place) -> None:
    place.ok("init")
    place.ok("task", "add", "one")
    before, events = everything(place), place.json("events", "--all")
    for words in ((), ("--yes",), ("--try-tests",)):
        place.ok("init", *words)
    assert place.json("events", "--all") == events
    assert everything(place) == before


def test_it_stays_so_whatever_the_project_becomes(place: Place) -> None:
    place.ok("init")
    text = place.written
    place.put("go.mod", "module x\n")
    place.program("go")
    place.ok("init")
    assert place.written == text
    assert place.hookline("init", "--check").returncode == 0


def test_a_base_branch_that_would_be_chosen_is_named(place: Place) -> None:
    place.ok("init")
    assert place.hookline("init", "--check").returncode == 0
    identity = ("-c", "user.name=Ada", "-c", "user.email=a@b.c")
    commit = ("git", *identity, "commit", "-q", "--allow-empty", "-m", "A start")
    subprocess.run(commit, cwd=place.root, check=True)
    assert place.json("init", "--check")["missing"] == ["base branch"]
    assert place.hookline("init", "--check").returncode == 1
    place.ok("init")
    assert place.hookline("init", "--check").returncode == 0


def test_a_configuration_of_others_would_not_change(place: Place) -> None:
    place.configure("version: 1\n")
    report = place.json("init", "--check")
    assert (report["missing"], report["file"]) == (["store"], None)
    assert not place.started.exists()


def test_it_runs_no_tests(place: Place) -> None:
    done = place.hookline("init", "--check", "--try-tests")
    assert done.returncode == 2
    assert "not allowed with argument" in done.stderr
