"""Sessions with the configuration that `hookline init` wrote: only proven work is done."""

from __future__ import annotations

import json
import os
import re
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
def bare(tmp_path: Path) -> Place:
    """A project with pytest and ruff, and an agent on PATH."""
    made = Place(tmp_path)
    made.git()
    made.put("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")
    made.put(".gitignore", "ignored/\n__pycache__/\n")
    made.put("tests/test_total.py", RIGHT)
    made.program("claude", "echo 2.1")
    return made


def init(place: Place, *options: str) -> None:
    path = f"{place.programs}{os.pathsep}{ENV['PATH']}"
    place.ok("init", "--yes", *options, env={**ENV, "PATH": path})


@pytest.fixture
def place(bare: Place) -> Place:
    """The same, set up."""
    init(bare)
    assert "\n  stop: [evidence]" in bare.written
    return bare


def run(place: Place, *turns: dict[str, str], iterations: int) -> dict[str, Any]:
    """How a session ended."""
    place.play(*turns)
    words = ("run", "Add the total", "--iterations", str(iterations), "--json")
    lines = place.hookline(*words, env=ENV).stdout.splitlines()
    ended: dict[str, Any] = json.loads(lines[-1])
    assert ended["type"] == "session_ended", lines
    data: dict[str, Any] = ended["data"]
    return data


BREAK = f"printf '{BROKEN}' > tests/test_total.py".replace("\n", "\\n")
UNCHANGED = ("- a change: the diff is empty (ignored files and .hookline do not count)\n",)
FAILING = ("- the check tests_pass, which failed: exit code 1\n", "assert (1 + 1) == 3")
# What an agent does before it promises that all is done, and what it reads in its next prompt.
UNPROVEN = {
    "only talks": (":", UNCHANGED),
    "breaks a test": (BREAK, FAILING),
    "changes only ignored files": ("mkdir ignored; echo x > ignored/a", UNCHANGED),
    "changes only .hookline": ("echo x > .hookline/a", UNCHANGED),
}


@pytest.mark.examples(2)
@pytest.mark.parametrize(("does", "reads"), UNPROVEN.values(), ids=UNPROVEN)
def test_what_is_not_proven_is_not_done_and_the_agent_reads_why(
    place: Place, does: str, reads: tuple[str, ...]
) -> None:
    assert_not_done(place, does, reads)


def test_a_test_that_failed_at_the_start_has_to_pass(bare: Place) -> None:
    bare.put("tests/test_total.py", BROKEN)
    init(bare)
    assert_not_done(bare, "echo x > notes.txt", FAILING)


def assert_not_done(place: Place, does: str, reads: tuple[str, ...]) -> None:
    """A session does not complete on a promise, and the next prompt says what is missing."""
    prompt = place.base / "prompt"
    ended = run(place, {**DONE, "run": does}, {**DONE, "run": f"cat > {prompt}"}, iterations=2)
    assert (ended["outcome"], ended["reason"]) == ("limit", "iterations")
    for each in reads:
        assert each in prompt.read_text()


def test_without_a_live_check_it_is_said_before_the_start_and_nothing_is_called_proven(
    bare: Place,
) -> None:
    bare.put("tests/test_total.py", BROKEN)
    init(bare, "--try-tests")
    why = "FAILED tests/test_total.py::test_total - assert (1 + 1) == 3"
    assert re.search(rf"^# `.*pytest -q` did not pass: exit 1 .*: {re.escape(why)}$", *lines(bare))
    bare.play({**DONE, "run": "echo x > notes.txt"})
    done = bare.hookline("run", "Add the total", env=ENV)
    first, help, *_ = done.stderr.splitlines()
    assert first.startswith("warning: no check is active: the agent's word is taken, and its")
    assert first.endswith("work counts as unproven")
    assert "`validation:` in hookline.yaml" in help
    assert "Proven" not in done.stdout
    assert "✗ T-1   COMPLETED UNPROVEN" in bare.ok("report")


def lines(place: Place) -> tuple[str, re.RegexFlag]:
    return place.written, re.MULTILINE


def test_with_a_live_check_nothing_is_warned_of(place: Place) -> None:
    place.play({**DONE, "run": "echo x > notes.txt"})
    assert "no check is active" not in place.hookline("run", "Add the total", env=ENV).stderr


@pytest.mark.torture
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


def test_what_help_says_takes_away_the_work_and_nothing_of_hookline(place: Place) -> None:
    subprocess.run(("git", "add", "tests", ".gitignore"), cwd=place.root, check=True)
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(("git", *who, "commit", "-qm", "A start"), cwd=place.root, check=True)
    (words,) = re.findall(r"`(git stash [^`]+)`", place.ok("help", "undo"))
    undo = words.replace("git", " ".join(("git", *who)), 1)
    # A second time as well: what the first takes away must not uncover more.
    for tasks, name in enumerate(("one", "two"), 1):
        ended = run(place, {**DONE, "run": f"echo x > {name}.txt"}, iterations=1)
        assert ended["outcome"] == "completed"
        subprocess.run(undo, shell=True, cwd=place.root, check=True)
        assert not (place.root / f"{name}.txt").exists()
        assert (place.root / "hookline.yaml").exists()
        assert place.ok("task", "list", "--all").count("completed") == tasks


def test_git_sees_nothing_of_hookline_but_what_a_person_writes(place: Place) -> None:
    ignored = place.root / ".hookline" / ".gitignore"
    ignored.unlink()  # as by `git clean`, where an older version let git see it
    place.ok("task", "add", "Something")
    assert ignored.exists()
    place.put(".hookline/hooks/task_created/mine.sh", "#!/bin/sh\n", mode=0o755)
    words = ("git", "status", "--short", "--untracked-files=all", "--", ".hookline")
    seen = subprocess.run(words, cwd=place.root, capture_output=True, text=True, check=True)
    assert seen.stdout == "?? .hookline/hooks/task_created/mine.sh\n"
