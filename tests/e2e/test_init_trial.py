"""`hookline init --try-tests`: the tests of a repository run once, and what happened is written."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from hookline.operations.setup import trial
from tests.e2e.conftest import PATIENCE, eventually, is_running
from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.git()
    return made


def makefile(place: Place, line: str) -> None:
    place.put("Makefile", "test:\n\t@sh test.sh\n\nlint:\n\t@echo fine\n")
    place.put("test.sh", f"{line}\n")


def live(place: Place) -> list[str]:
    """The commands under `validation:`."""
    return [rule["command"] for rule in yaml.safe_load(place.written).get("validation") or []]


def test_a_command_that_passes_is_live(place: Place) -> None:
    makefile(place, "echo 12 passed")
    assert re.search(r"✓ `make test` passed in \d+\.\d s", place.ok("init", "--try-tests"))
    assert live(place) == ["make test"]


def test_a_command_that_fails_is_a_comment_with_what_happened(place: Place) -> None:
    makefile(place, "echo begun; echo '1 failed, 2 passed'; exit 7")
    report = place.json("init", "--try-tests")
    (tried,) = report["tried"]
    assert (tried["exitCode"], tried["timedOut"]) == (2, False)  # make's own
    assert live(place) == []
    told = r"`make test` did not pass: exit 2 after \d+\.\d s: 1 failed, 2 passed"
    assert re.search(rf"^# {told}$", place.written, re.MULTILINE)
    assert '#   - {name: tests_pass, type: command, command: "make test"' in place.written
    assert "  # stop: [evidence]" in place.written
    told = "no check is active: a promise counts if a file changed, and nothing proves it"
    assert told in report["notes"]
    assert f"  # Not yet: {told}.\n  # stop: [evidence]" in place.written
    assert place.json("check")["problems"] == []


NODE = """\
node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module 'tape'
Require stack:
- /home/ada/left-pad/test.js
    at Function._load (node:internal/modules/cjs/loader:1051:27) {
  code: 'MODULE_NOT_FOUND',
}

Node.js v20.20.2
"""
PYTEST = """\
E   ModuleNotFoundError: No module named 'freezegun'
=========================== short test summary info ============================
ERROR tests/test_time.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
1 error in 0.05s
"""
CARGO = "error[E0425]: cannot find value `x` in this scope\n\nFor more information, try --explain\n"
REASONS = {
    "node": (NODE, "Error: Cannot find module 'tape'"),
    "pytest": (PYTEST, "ModuleNotFoundError: No module named 'freezegun'"),
    "cargo": (CARGO, "error[E0425]: cannot find value `x` in this scope"),
    "TAP": ("ok 1 a\nnot ok 2 pads\n# tests 2\n# fail 1\n", "not ok 2 pads"),
    "a shell": ("sh: 1: jest: not found\nbye\n", "sh: 1: jest: not found"),
}


@pytest.mark.parametrize(("printed", "reason"), REASONS.values(), ids=REASONS)
def test_the_reason_is_the_line_that_names_the_error(
    place: Place, printed: str, reason: str
) -> None:
    place.put("printed", printed)
    makefile(place, "cat printed; exit 1")
    place.json("init", "--try-tests")
    assert re.search(rf"^# `make test` did not .* s: {re.escape(reason)}$", place.written, re.M)


def test_a_command_that_takes_too_long_is_a_comment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TRIAL_SECONDS", 0.5)
    makefile(place, "echo begun; sleep 1000")
    (tried,) = place.json("init", "--try-tests")["tried"]
    assert tried["timedOut"] is True
    assert live(place) == []
    assert re.search(r"# `make test` did not pass: timed out after \d+\.\d s: begun", place.written)


def test_of_several_commands_only_those_that_fail_are_comments(place: Place) -> None:
    place.put("api/Makefile", "test:\n\ttrue\n")
    place.put("web/Makefile", "test:\n\tfalse\n")
    place.json("init", "--try-tests")
    assert live(place) == ["cd api && make test"]
    assert '  # - {name: tests_web, type: command, command: "cd web && make test"' in place.written
    assert "\n  stop: [evidence]" in place.written
    assert place.json("check")["problems"] == []


HOSTILE = {
    "a new line of YAML": r"printf 'x\r\nhooks: {stop: []}\205\342\200\250version: 2'",
    "codes of a terminal": r"printf '\033[2J\033]0;title\007failed'",
    "no text at all": "head -c 100000 /dev/urandom",
    "a line without end": "head -c 3000000 /dev/zero | tr '\\0' x",
    "much": "yes | head -c 30000000",
    "a comment": "echo '# agent: evil'",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_what_tests_print_stays_one_line_of_a_comment(place: Place, line: str) -> None:
    makefile(place, f"{line}; exit 1")
    shown = place.ok("init", "--try-tests")
    assert "\x1b" not in shown
    assert len(shown) < 4000
    assert len(place.written) < 4000
    assert yaml.safe_load(place.written) == {
        "version": 1,
        "session": {"iterations": 20, "budget": {"minutes": 120}},
        "hooks": {
            "post_iteration": [
                {"name": "lint", "command": "make lint", "timeout": "2m", "pipe_output": True}
            ]
        },
    }
    assert place.json("check")["problems"] == []


def test_a_secret_that_tests_print_is_not_written(place: Place) -> None:
    makefile(place, "echo using $API_TOKEN; exit 1")
    token = "Zk3vQ8mX2pL7wR9tY5nB4cJ6"
    done = place.hookline("init", "--try-tests", "--json", env={"API_TOKEN": token})
    assert '"exitCode":2' in done.stdout
    assert token not in done.stdout + done.stderr + place.written


def test_tests_do_not_see_what_is_typed(place: Place) -> None:
    makefile(place, "cat > seen")
    assert place.typed("y\ny\nsecret\n", "init")[0] == 0
    assert (place.root / "seen").read_text() == ""


def begun(place: Place) -> tuple[subprocess.Popen[bytes], int]:
    """An `init` whose tests run, and the process of a program that they have started."""
    makefile(place, "sleep 1000 & echo $! > pid.tmp; mv pid.tmp pid; wait")
    process = subprocess.Popen(
        (sys.executable, "-m", "hookline", "init", "--try-tests"),
        cwd=place.root,
        env=place.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    eventually((place.root / "pid").exists, "the start of the tests")
    return process, int((place.root / "pid").read_text())


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_when_it_is_stopped_nothing_is_written_and_nothing_runs_on(
    place: Place, number: int, code: int
) -> None:
    process, child = begun(place)
    process.send_signal(number)
    assert process.wait(PATIENCE) == code
    eventually(lambda: not is_running(child), "the end of the tests")
    assert not (place.root / "hookline.yaml").exists()
    assert not (place.root / ".hookline").exists()


def test_it_tries_nothing_where_it_would_write_nothing(place: Place) -> None:
    makefile(place, "touch ran")
    place.configure("version: 1\n")
    report = place.json("init", "--try-tests")
    assert report["tried"] == []
    assert "`hookline validate`" in " ".join(report["notes"])
    assert not (place.root / "ran").exists()
