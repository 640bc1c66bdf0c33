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
    "$ hookline task add 'Write the parser' --label agent",
    "T-3    created",
    "$ hookline task graph",
    "$ hookline task start T-1",
    "hook linter at event",
    "hook stuck at event",
    "no end after 1 s",
    "$ hookline task complete T-1",
    "○ T-2 Test the parser",
    "Review: Write the parser [review, agent]",
    "Tell the team: Write the parser",
    "T-1 is done",
    "was sent: task_completed T-1",
    "$ hookline events",
    "dependency_satisfied",
    "agent_metrics",
    "code_measured",
    "$ hookline why pager",
    "pager did not run",
    "'urgent' in task.labels",
    "$ hookline why stuck",
    "stuck timed out",
    "$ hookline hook replay announce --event",
    "same as recorded",
    "What to try next",
    "hookline init",
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_it_tells_its_story_in_time_and_leaves_nothing(place: Place) -> None:
    started = time.monotonic()
    shown = place.ok("demo")
    assert time.monotonic() - started < 20
    position = 0
    for part in STORY:
        assert part in shown[position:], f"{part!r} is missing after {shown[:position][-200:]!r}"
        position = shown.index(part, position)
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "\x1b" not in shown
    assert list((place.base / "tmp").iterdir()) == []
    assert not place.home.exists()
    assert list(place.root.iterdir()) == []


def test_json_is_one_value_with_every_command(place: Place) -> None:
    report = place.json("demo")
    assert report["ok"] is True
    assert report["webhook"] == ["task_completed T-1"]
    assert report["folder"] is None
    assert {step["exitCode"] for step in report["steps"]} == {0}
    assert report["steps"][0]["command"] == "cat hookline.yaml"


def test_keep_leaves_a_project_that_works(place: Place) -> None:
    report = place.json("demo", "--keep")
    root = Path(report["folder"])
    env = {"HOOKLINE_HOME": str(root.parent / "home")}
    assert "Publish it" in place.ok("task", "list", cwd=root, env=env)
    assert place.hookline("doctor", cwd=root, env=env).returncode == 0
    assert place.json("trust", "--show", cwd=root, env=env)["trusted"] is True
    assert place.json("check", cwd=root, env=env)["errors"] == 0


@pytest.mark.parametrize("agent", ["HOOKLINE_AGENT", "HOOKLINE_HOOK", "HOOKLINE_DIR"])
def test_it_works_wherever_it_is_started(place: Place, agent: str) -> None:
    place.ok("demo", env={agent: "somewhere"})
    assert not (place.root / "somewhere").exists()


def test_an_interrupt_cleans_up(place: Place) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hookline", "demo"],
        cwd=place.root,
        env=place.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    temporary = place.base / "tmp"
    deadline = time.monotonic() + 60
    while not any("sleep" in name for name in _programs_in(temporary)):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "interrupted\n"
    assert list(temporary.iterdir()) == []
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
