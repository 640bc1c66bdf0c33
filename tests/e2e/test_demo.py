"""`hookline demo`: a story that a newcomer understands, and no trace of it afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

STORY = [
    "$ cat hookline.yaml",
    "$ hookline trust --yes",
    "$ hookline task add 'Write greet.sh to greet one person' --type feature",
    "T-3    not ready",
    "$ hookline task graph",
    "○ T-1 Write greet.sh",
    "$ hookline work --once",
    "T-1   ada starts",
    "expected: Hello, Ada!  got: Hello, !",
    "continue: 1 of 1 validation",
    "tests",
    "exit 1 → agent",
    "when changed('doc/*') is false",
    "iteration 2/20",
    "complete: All validation rules",
    "T-1   merged",
    "T-2   ✗ before_submit changelog",
    "CHANGELOG.md has no line ending in (T-2)",
    "T-2   ada fixes it",
    "T-2   ✓ before_submit changelog",
    "T-2   merged",
    "T-3   ✗ before_merge  gatekeeper",
    "qa asks for changes",
    "T-3   ada fixes it",
    "qa approves",
    "T-3   merged",
    "3 tasks started, 3 merged",
    "$ sh greet.sh --shout Ada Bob",
    "HELLO, BOB!",
    "✓ T-3 Add --shout",
    "○ T-4 Review: Add --shout [review, agent]",
    "$ hookline why links",
    "links did not run",
    "$ hookline session report T-1-ada",
    "✓ all three tasks were merged into main",
    "What to try next",
    "hookline init",
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_it_tells_its_story_and_keeps_what_it_told(place: Place) -> None:
    shown = place.ok("demo", "--keep", env={"HOOKLINE_AGENT": "me", "HOOKLINE_DIR": "elsewhere"})
    position = 0
    for part in STORY:
        assert part in shown[position:], f"{part!r} is missing after {shown[:position][-200:]!r}"
        position = shown.index(part, position) + len(part)
    (kept,) = (place.base / "tmp").iterdir()
    root = kept / "repository"
    assert str(root) in shown[position:]
    # A path is left whole, so that it can be copied.
    assert max(len(line) for line in shown.splitlines() if str(kept) not in line) <= 80
    assert "\x1b" not in shown
    assert "✗ a " not in shown
    assert not place.home.exists()
    assert list(place.root.iterdir()) == []
    env = {"HOOKLINE_HOME": str(kept / "home")}
    tasks = {task["id"]: task for task in place.json("task", "list", "--all", cwd=root, env=env)}
    assert [tasks[name]["state"] for name in ("T-1", "T-2", "T-3")] == ["completed"] * 3
    assert tasks["T-4"]["parentTaskId"] == "T-3"
    merged = [tasks[name]["artifacts"][0] for name in ("T-1", "T-2", "T-3")]
    said = subprocess.run(
        ("git", "log", "--merges", "--first-parent", "--reverse", "--format=%H", "main"),
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == merged
    assert subprocess.run(("sh", "test.sh"), cwd=root, check=False).returncode == 0
    assert "usage: greet.sh [--shout]" in (root / "usage.txt").read_text()
    assert "links did not run" in place.ok("why", "links", cwd=root, env=env)
    assert "T-1-ada" in (root / ".hookline/reports/R-1.html").read_text()
    assert place.hookline("doctor", cwd=root, env=env).returncode == 0
    assert place.json("trust", "--show", cwd=root, env=env)["trusted"] is True
    assert place.json("check", cwd=root, env=env)["errors"] == 0


@pytest.mark.torture
def test_it_reports_in_json_and_leaves_nothing(place: Place) -> None:
    report = place.json("demo")
    assert (report["ok"], report["folder"]) == (True, None)
    assert [fact["happened"] for fact in report["facts"]] == [True] * 7
    assert {step["exitCode"] for step in report["steps"]} == {0}
    assert list((place.base / "tmp").iterdir()) == []
    assert not place.home.exists()
    assert list(place.root.iterdir()) == []


def test_a_machine_without_git_is_told_so(place: Place) -> None:
    (place.programs / "sh").symlink_to("/bin/sh")
    done = place.hookline("demo", env={"PATH": str(place.programs)})
    assert done.returncode == 1
    assert "the demo needs git" in done.stderr
    assert list((place.base / "tmp").iterdir()) == []


def test_an_interrupt_cleans_up(place: Place) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hookline", "demo"],
        cwd=place.root,
        env=place.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "T-1   iteration 1/20" not in (line := process.stdout.readline()):
        assert line, process.communicate()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert errors == "interrupted\n"
    temporary = place.base / "tmp"
    assert list(temporary.iterdir()) == []
    deadline = time.monotonic() + 30
    while list(_programs_in(temporary)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _programs_in(folder: Path) -> Iterator[str]:
    """The names of the processes that work in a folder."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if os.readlink(process / "cwd").startswith(str(folder)):
                    yield (process / "comm").read_text().strip()
            except OSError:  # it ended while we looked
                continue
