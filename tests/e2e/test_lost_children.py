"""What an agent starts ends with its turn, in whichever session and environment it is."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually, is_running, kill, reapers
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig
from tests.e2e.test_reaper import _pids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

# In a session of its own, without the environment, and an orphan; it writes its number.
LOST = """\
env -i PATH="$PATH" setsid sh -c 'echo $$ > {file}.part; mv {file}.part {file}; exec sleep 600' \\
  > /dev/null 2>&1 < /dev/null &
until [ -e {file} ]; do sleep 0.02; done
"""
STAYS = "trap '' TERM\nwhile :; do sleep 0.2; done\n"


@pytest.fixture
def file(cli: Cli) -> Path:
    return cli.root.parent / "pid"


def test_what_hides_from_its_turn_ends_with_it(cli: Cli, file: Path) -> None:
    rig = Rig(cli)
    rig.turns(f"({LOST.format(file=file)})\necho '<promise>COMPLETE</promise>'")
    rig.configure({})
    process = rig.start()
    process.communicate(timeout=60)
    assert process.returncode == 0
    (lost,) = _pids(file)
    assert not is_running(lost)


def test_what_hides_from_its_turn_ends_when_the_command_is_killed(cli: Cli, file: Path) -> None:
    rig = Rig(cli)
    rig.turns(f"({LOST.format(file=file)})\n{STAYS}")
    rig.configure({})
    process = rig.start()
    (lost,) = _pids(file)
    kill(process)
    eventually(lambda: not is_running(lost), "the end of what the agent had started")


def test_what_hides_from_its_turn_is_no_person(cli: Cli, file: Path) -> None:
    rig = Rig(cli)
    forget = "env -u HOOKLINE_AGENT -u HOOKLINE_SESSION -u HOOKLINE_EFFECT_ID setsid"
    said = f"{HOOKLINE} session message s hello; echo $? > {file}.part; mv {file}.part {file}"
    rig.turns(f"({forget} sh -c '{said}' &)\nuntil [ -e {file} ]; do sleep 0.02; done", PROMISE)
    rig.configure({})
    assert rig.run().said[:2] == (0, "completed")
    assert file.read_text() == "4\n"
    assert "hello" not in rig.prompts()[1].text


def test_a_reaper_that_was_killed_is_replaced(cli: Cli, file: Path) -> None:
    """With the next program that starts or ends; the new one hears of all that run."""
    rig = Rig(cli)
    go, next_file = file.with_name("go"), file.with_name("next")
    rig.turns(
        f"touch {file}.1; until [ -e {go} ]; do sleep 0.02; done",
        f"echo $$ > {next_file}.part; mv {next_file}.part {next_file}\n{STAYS}",
    )
    rig.configure({})
    process = rig.start()
    eventually(file.with_name("pid.1").exists, "the first turn")
    (first,) = reapers(process)
    os.kill(first, signal.SIGKILL)
    go.touch()
    (agent,) = _pids(next_file)
    (second,) = reapers(process)
    assert second != first
    kill(process)
    eventually(lambda: not is_running(agent), "the end of the agent")
