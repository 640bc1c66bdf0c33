"""Sessions with the configuration that `hookline init` wrote: only proven work is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PATIENCE, eventually
from tests.e2e.first_run import Place

DONE = {"text": "All done. <promise>COMPLETE</promise>"}
BROKEN = "def test_total():\n    assert 1 + 1 == 3\n"
RIGHT = "def test_total():\n    assert 1 + 1 == 2\n"
# A user's Python writes bytecode into the project, which is no work of an agent.
ENV = {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A project with pytest and ruff, set up for an agent that plays its turns."""
    made = Place(tmp_path)
    made.git()
    made.put("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")
    made.put("tests/test_total.py", RIGHT)
    made.program("claude", "echo 2.1")
    path = f"{made.programs}{os.pathsep}{ENV['PATH']}"
    made.ok("init", "--yes", env={**ENV, "PATH": path})
    assert "\n  stop: [evidence]" in made.written
    return made


def run(place: Place, *turns: dict[str, str], iterations: int) -> dict[str, Any]:
    """How a session ended."""
    place.play(*turns)
    words = ("run", "Add the total", "--iterations", str(iterations), "--json")
    lines = place.hookline(*words, env=ENV).stdout.splitlines()
    ended: dict[str, Any] = json.loads(lines[-1])
    assert ended["type"] == "session_ended", lines
    data: dict[str, Any] = ended["data"]
    return data


def test_a_promise_without_a_change_is_not_done(place: Place) -> None:
    ended = run(place, DONE, DONE, DONE, iterations=3)
    assert (ended["outcome"], ended["reason"]) == ("limit", "iterations")


def test_a_promise_while_tests_fail_is_not_done(place: Place) -> None:
    breaks = {**DONE, "run": f"printf '{BROKEN}' > tests/test_total.py".replace("\n", "\\n")}
    still = {**DONE, "expect": "assert (1 + 1) == 3", "run": "echo x >> notes.txt"}
    ended = run(place, breaks, still, iterations=2)
    assert (ended["outcome"], ended["reason"]) == ("limit", "iterations")


def test_tests_that_failed_before_are_not_done_either(place: Place) -> None:
    place.put("tests/test_total.py", BROKEN)
    ended = run(place, {**DONE, "run": "echo x > notes.txt"}, iterations=1)
    assert (ended["outcome"], ended["reason"]) == ("limit", "iterations")


def test_what_an_interrupted_turn_changed_counts_as_work(place: Place) -> None:
    place.play({"run": "echo 'total = 2' > total.py; sleep 1000"}, DONE)
    process = subprocess.Popen(
        (sys.executable, "-m", "hookline", "run", "Add the total"),
        cwd=place.root,
        env=place.environment(**ENV),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    eventually((place.root / "total.py").exists, "the agent's change")
    process.kill()
    process.wait(PATIENCE)
    place.play(DONE, DONE, DONE)
    lines = place.hookline("run", "--resume", "--json", env=ENV).stdout.splitlines()
    assert json.loads(lines[-1])["data"]["outcome"] == "completed"


def test_proven_work_is_done_and_the_agent_reads_the_linter(place: Place) -> None:
    unused = {"run": "echo 'import os' > total.py", "text": "More to do."}
    fixed = {**DONE, "expect": "F401", "run": "echo 'total = 2' > total.py"}
    ended = run(place, unused, fixed, iterations=3)
    assert (ended["outcome"], ended["iterations"]) == ("completed", 2)
    assert ended["reason"].startswith("Proven: tests_pass passed on a diff of ")
